//! Buckets of tokens in the other sense: what fills steadily and is emptied by requests.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::api::Rate;

/// Beyond so many, full buckets are thrown away: a new one is full, too.
const MANY: usize = 4_096;

/// A bucket for each who comes.
#[derive(Debug)]
pub(super) struct Buckets<K> {
    rate: Rate,
    levels: Mutex<HashMap<K, Level>>,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    /// Thousandths of a request.
    left: u64,
    at: Instant,
}

impl<K: Eq + Hash> Buckets<K> {
    pub(super) fn new(rate: Rate) -> Buckets<K> {
        Buckets { rate, levels: Mutex::default() }
    }

    /// Whether `key` has so many requests left; takes them, or what there is. Constant, now and
    /// then linear in those who came lately.
    pub(super) fn take(&self, key: K, requests: u32, now: Instant) -> bool {
        let full = u64::from(self.rate.burst) * 1_000;
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if levels.len() >= MANY {
            levels.retain(|_, level| self.filled(*level, now).left < full);
        }
        let level = levels.entry(key).or_insert(Level { left: full, at: now });
        *level = self.filled(*level, now);
        let wanted = u64::from(requests) * 1_000;
        let enough = level.left >= wanted;
        level.left = level.left.saturating_sub(if enough || requests > 1 { wanted } else { 0 });
        enough
    }

    fn filled(&self, level: Level, now: Instant) -> Level {
        let passed = now.saturating_duration_since(level.at).as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        if passed == 0 {
            return level;
        }
        let more = passed.saturating_mul(self.rate.per_second.into());
        let full = u64::from(self.rate.burst) * 1_000;
        Level { left: level.left.saturating_add(more).min(full), at: now }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let buckets = Buckets::new(Rate { per_second: 2, burst: 3 });
        let begin = Instant::now();
        let at = |millis| begin + Duration::from_millis(millis);
        let taken: Vec<bool> = (0..4).map(|_| buckets.take("a", 1, at(0))).collect();
        assert_eq!(taken, [true, true, true, false]);
        assert!(buckets.take("b", 1, at(0)));
        assert!(!buckets.take("a", 1, at(499)));
        assert!(buckets.take("a", 1, at(500)));
        assert!(!buckets.take("a", 1, at(501)));
        assert!(!buckets.take("b", 100, at(501)) && !buckets.take("b", 1, at(600)));
    }
}
