//! A set of small integers that finds its neighbours fast.

/// A set of integers up to a fixed size as a tree of 64-bit words: a bit of an upper word says
/// whether the word under it holds anything. Every operation is O(log₆₄ size).
#[derive(Debug, Default)]
pub(super) struct Bits {
    /// All levels, the lowest first.
    words: Vec<u64>,
    /// Where each level starts in `words`; the last level is one word.
    levels: Vec<usize>,
}

impl Bits {
    /// Makes this the empty set of integers up to `size`.
    pub(super) fn reset(&mut self, size: usize) {
        self.levels.clear();
        // Room for `size` itself, so that `next` and `previous` may be asked about it.
        let (mut total, mut level) = (0, size / 64 + 1);
        loop {
            self.levels.push(total);
            total += level;
            if level == 1 {
                break;
            }
            level = level.div_ceil(64);
        }
        self.words.clear();
        self.words.resize(total, 0);
    }

    pub(super) fn contains(&self, i: u32) -> bool {
        self.words[i as usize / 64] >> (i % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn insert(&mut self, i: u32) {
        let word = &mut self.words[i as usize / 64];
        let before = *word;
        *word |= 1 << (i % 64);
        if before == 0 {
            self.insert_above(i as usize / 64);
        }
    }

    fn insert_above(&mut self, mut at: usize) {
        for &base in &self.levels[1..] {
            let word = &mut self.words[base + at / 64];
            let before = *word;
            *word |= 1 << (at % 64);
            if before != 0 {
                return;
            }
            at /= 64;
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, i: u32) {
        let word = &mut self.words[i as usize / 64];
        *word &= !(1 << (i % 64));
        if *word == 0 {
            self.remove_above(i as usize / 64);
        }
    }

    fn remove_above(&mut self, mut at: usize) {
        for &base in &self.levels[1..] {
            let word = &mut self.words[base + at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The minimum member that is at least `from`.
    #[inline]
    pub(super) fn next(&self, from: u32) -> Option<u32> {
        let rest = self.words[from as usize / 64] & (u64::MAX << (from % 64));
        match rest {
            0 => self.next_beyond(from),
            _ => Some((from & !63) + rest.trailing_zeros()),
        }
    }

    fn next_beyond(&self, from: u32) -> Option<u32> {
        let mut at = from as usize;
        for (level, &base) in self.levels.iter().enumerate() {
            let end = self.levels.get(level + 1).copied().unwrap_or(self.words.len());
            let word = self.words[base..end].get(at / 64).copied().unwrap_or(0);
            let rest = word & (u64::MAX << (at % 64));
            if rest != 0 {
                let found = (at & !63) + rest.trailing_zeros() as usize;
                return Some(self.descend(level, found, u64::trailing_zeros));
            }
            at = at / 64 + 1;
        }
        None
    }

    /// The greatest member below `below`.
    #[inline]
    pub(super) fn previous(&self, below: u32) -> Option<u32> {
        let rest = self.words[below as usize / 64] & ((1 << (below % 64)) - 1);
        match rest {
            0 => self.previous_beyond(below),
            _ => Some((below & !63) + 63 - rest.leading_zeros()),
        }
    }

    fn previous_beyond(&self, below: u32) -> Option<u32> {
        let mut at = below as usize;
        for (level, &base) in self.levels.iter().enumerate() {
            let end = self.levels.get(level + 1).copied().unwrap_or(self.words.len());
            let word = self.words[base..end].get(at / 64).copied().unwrap_or(0);
            let rest = word & ((1 << (at % 64)) - 1);
            if rest != 0 {
                let found = (at & !63) + 63 - rest.leading_zeros() as usize;
                return Some(self.descend(level, found, |word| 63 - word.leading_zeros()));
            }
            at /= 64;
        }
        None
    }

    /// From a non-empty word at `level`, whose bit is number `at` there, down to a member; `pick`
    /// says which bit of each word to follow.
    fn descend(&self, level: usize, mut at: usize, pick: impl Fn(u64) -> u32) -> u32 {
        for &base in self.levels[..level].iter().rev() {
            at = at * 64 + pick(self.words[base + at]) as usize;
        }
        at as u32
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_an_ordered_set(
            size in prop::sample::select(vec![1u32, 64, 65, 4_096, 4_097, 300_000]),
            steps in prop::collection::vec((any::<u32>(), any::<bool>()), 0..60),
        ) {
            let mut bits = Bits::default();
            bits.reset(size as usize);
            let mut set = BTreeSet::new();
            for (value, add) in steps {
                // Half of all values crowd at the low end.
                let value = if value % 2 == 0 { value % size } else { value % size.min(70) };
                match add {
                    true => { bits.insert(value); set.insert(value); }
                    false => { bits.remove(value); set.remove(&value); }
                }
                prop_assert_eq!(bits.contains(value), add);
                for probe in [0, value, value.saturating_sub(3), size / 2, size] {
                    prop_assert_eq!(bits.next(probe), set.range(probe..).next().copied());
                    prop_assert_eq!(bits.previous(probe), set.range(..probe).next_back().copied());
                }
            }
        }
    }
}
