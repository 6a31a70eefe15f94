//! Rate limits: a bucket per key that fills steadily and is emptied by requests or bytes.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tradewind_daemon::live::Usage;

use crate::api::Rate;

/// Beyond so many, full buckets are thrown away: a new one is full, too.
const MANY: usize = 4_096;

/// A bucket for each who comes.
#[derive(Debug)]
pub(crate) struct Buckets<K> {
    /// What the limit is called in refusals.
    name: &'static str,
    rate: Rate,
    levels: Mutex<HashMap<K, Level>>,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    /// Thousandths of a request, or of a byte.
    left: u64,
    at: Instant,
}

impl<K: Eq + Hash> Buckets<K> {
    pub(crate) fn new(name: &'static str, rate: Rate) -> Buckets<K> {
        Buckets { name, rate, levels: Mutex::default() }
    }

    fn full(&self) -> u64 {
        u64::from(self.rate.burst) * 1_000
    }

    fn levels(&self, now: Instant) -> MutexGuard<'_, HashMap<K, Level>> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if levels.len() >= MANY {
            levels.retain(|_, level| self.filled(*level, now).left < self.full());
        }
        levels
    }

    /// Takes `amount` from the bucket of `key`. More than the bucket holds needs a full one.
    /// Constant time; linear in the keys that came recently, now and then.
    ///
    /// # Errors
    /// If there is less in it: how much of the limit is used, and when there will be enough.
    pub(crate) fn take(&self, key: K, amount: u64, now: Instant) -> Result<(), Usage> {
        let (full, mut levels) = (self.full(), self.levels(now));
        let level = levels.entry(key).or_insert(Level { left: full, at: now });
        *level = self.filled(*level, now);
        let wanted = amount.saturating_mul(1_000).min(full);
        match level.left.checked_sub(wanted) {
            Some(left) => {
                level.left = left;
                Ok(())
            }
            None => Err(self.usage(level.left, wanted)),
        }
    }

    fn usage(&self, left: u64, wanted: u64) -> Usage {
        let per_second = u64::from(self.rate.per_second.max(1)) * 1_000;
        let used = self.full().saturating_sub(left).div_ceil(1_000);
        let wait = wanted.saturating_sub(left).div_ceil(per_second).max(1);
        Usage { limit: self.name.to_owned(), used, allowed: self.rate.burst.into(), wait }
    }

    fn filled(&self, level: Level, now: Instant) -> Level {
        let passed = now.saturating_duration_since(level.at).as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        if passed == 0 {
            return level;
        }
        let more = passed.saturating_mul(self.rate.per_second.into());
        Level { left: level.left.saturating_add(more).min(self.full()), at: now }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let buckets = Buckets::new("things", Rate { per_second: 2, burst: 3 });
        let begin = Instant::now();
        let at = |millis| begin + Duration::from_millis(millis);
        let take = |key, amount, millis| buckets.take(key, amount, at(millis));
        let taken: Vec<bool> = (0..4).map(|_| take("a", 1, 0).is_ok()).collect();
        assert_eq!(taken, [true, true, true, false]);
        assert!(take("b", 1, 0).is_ok());
        let usage = take("a", 2, 499).unwrap_err();
        let told = (usage.limit.as_str(), usage.used, usage.allowed, usage.wait);
        assert_eq!(told, ("things", 3, 3, 1));
        assert!(take("a", 1, 500).is_ok());
        assert!(take("a", 1, 501).is_err());
        // What cannot be taken costs nothing; more than the bucket holds empties a full one.
        assert!(take("b", 3, 1).is_err() && take("b", 2, 1).is_ok());
        assert!(take("c", 100, 0).is_ok() && take("c", 1, 0).is_err());
    }
}
