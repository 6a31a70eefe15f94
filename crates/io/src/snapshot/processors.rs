//! Which processors are free.

use std::collections::BTreeMap;
use std::ops::Range;

/// Free processors as maximal ranges, by their first processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FreeProcessors {
    ranges: BTreeMap<u32, u32>,
    count: u32,
}

impl FreeProcessors {
    /// All of `0..count` free.
    pub(super) fn new(count: u32) -> FreeProcessors {
        let ranges = if count > 0 { BTreeMap::from([(0, count)]) } else { BTreeMap::new() };
        FreeProcessors { ranges, count }
    }

    /// How many are free.
    pub(super) fn free(&self) -> u32 {
        self.count
    }

    /// Takes the `wanted` lowest free processors, or all if there are fewer. O(ranges taken).
    pub(super) fn take(&mut self, wanted: u32) -> Vec<Range<u32>> {
        let mut taken = Vec::new();
        let mut missing = wanted;
        while missing > 0
            && let Some((start, end)) = self.ranges.pop_first()
        {
            let until = end.min(start.saturating_add(missing));
            taken.push(start..until);
            missing -= until - start;
            if until < end {
                self.ranges.insert(until, end);
            }
        }
        self.count -= wanted - missing;
        taken
    }

    /// Gives back what was taken. O(ranges given × log ranges).
    pub(super) fn give(&mut self, ranges: &[Range<u32>]) {
        for range in ranges {
            self.count += range.end - range.start;
            let (mut start, mut end) = (range.start, range.end);
            if let Some((&before, &until)) = self.ranges.range(..start).next_back()
                && until == start
            {
                start = before;
            }
            if let Some(until) = self.ranges.remove(&end) {
                end = until;
            }
            self.ranges.insert(start, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The ranges behave as a plain set of which the lowest are taken.
        #[test]
        fn equals_a_plain_set(steps in proptest::collection::vec((any::<bool>(), 0u32..12), 0..60)) {
            let mut ours = FreeProcessors::new(20);
            let mut plain: BTreeSet<u32> = (0..20).collect();
            let mut held: Vec<Vec<Range<u32>>> = Vec::new();
            for (give, n) in steps {
                if give && !held.is_empty() {
                    let ranges = held.swap_remove(n as usize % held.len());
                    ours.give(&ranges);
                    plain.extend(ranges.into_iter().flatten());
                } else {
                    let taken = ours.take(n);
                    let lowest: Vec<u32> = plain.iter().copied().take(n as usize).collect();
                    plain.retain(|p| !lowest.contains(p));
                    prop_assert_eq!(taken.iter().cloned().flatten().collect::<Vec<_>>(), lowest);
                    held.push(taken);
                }
                prop_assert_eq!(ours.free() as usize, plain.len());
                let ranges = ours.ranges.iter().flat_map(|(a, b)| *a..*b);
                prop_assert_eq!(ranges.collect::<Vec<_>>(), plain.iter().copied().collect::<Vec<_>>());
            }
        }
    }
}
