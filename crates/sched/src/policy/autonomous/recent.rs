//! How long the jobs that started last at a site had waited.

use std::collections::VecDeque;

use tradewind_model::Span;

/// As many starts count.
const STARTS: usize = 32;
/// A job that is expected to run for less time counts as if it ran for so long (bounded slowdown).
const SHORTEST: i64 = 10;
const WHOLE: i64 = 1_000;

/// The expected slowdowns of the last [`STARTS`] jobs that started at a site: wait and expected
/// length over that length, in thousandths, rounded down.
#[derive(Debug, Clone, Default)]
pub(super) struct RecentSlowdowns {
    last: VecDeque<i64>,
    sum: i64,
}

impl RecentSlowdowns {
    /// A job starts. O(1).
    pub(super) fn started(&mut self, waited: Span, length: Span) {
        let length = length.0.max(SHORTEST);
        let slowdown = WHOLE.saturating_mul(waited.0.max(0).saturating_add(length)) / length;
        // So that sums stay within bounds.
        let slowdown = slowdown.min(i64::from(u32::MAX));
        self.last.push_back(slowdown);
        self.sum += slowdown;
        if self.last.len() > STARTS {
            self.sum -= self.last.pop_front().unwrap_or_default();
        }
    }

    /// Their mean in thousandths, rounded down; 1,000 if no job has started.
    pub(super) fn mean(&self) -> u32 {
        let count = self.last.len() as i64;
        let mean = if count == 0 { WHOLE } else { self.sum / count };
        u32::try_from(mean).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_mean_is_that_of_the_last_starts(
            starts in prop::collection::vec((0i64..5_000, 0i64..500), 0..100),
        ) {
            let mut recent = RecentSlowdowns::default();
            let mut all = vec![];
            for (waited, length) in starts {
                recent.started(Span(waited), Span(length));
                let length = length.max(10);
                all.push((waited + length) * 1_000 / length);
                let last: Vec<i64> = all.iter().rev().take(32).copied().collect();
                let mean = last.iter().sum::<i64>() / last.len() as i64;
                prop_assert_eq!(i64::from(recent.mean()), mean);
            }
        }
    }

    #[test]
    fn without_starts_there_is_no_slowdown() {
        assert_eq!(RecentSlowdowns::default().mean(), 1_000);
        let mut endless = RecentSlowdowns::default();
        (0..100).for_each(|_| endless.started(Span::MAX, Span(1)));
        assert_eq!(endless.mean(), u32::MAX);
    }
}
