//! How values are spread, kept small: exact counts at some hundred thresholds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts of whole numbers up to thresholds. Small numbers have a threshold each; above, 64 to
/// every doubling, so in a picture the curve looks like that of all values. Two distributions
/// add up; the order of values does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// Values in the bucket that ends with this threshold, the threshold included.
    buckets: BTreeMap<i64, u64>,
    total: u64,
    #[serde(rename = "most")] // as files of earlier releases have it
    max: i64,
}

/// Bits of a number that its threshold keeps.
const BITS: u32 = 6;

impl Distribution {
    /// Counts `value`; below zero counts as zero. O(log thresholds).
    pub fn add(&mut self, value: i64) {
        let value = value.max(0);
        *self.buckets.entry(threshold(value)).or_default() += 1;
        self.total += 1;
        self.max = self.max.max(value);
    }

    /// Counts all that `other` counted.
    pub fn merge(&mut self, other: &Distribution) {
        for (&threshold, count) in &other.buckets {
            let sum = self.buckets.entry(threshold).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.total = self.total.saturating_add(other.total);
        self.max = self.max.max(other.max);
    }

    /// How many values there are.
    pub fn len(&self) -> u64 {
        self.total
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The largest value, 0 if there is none.
    pub fn max(&self) -> i64 {
        self.max
    }

    /// Each threshold with the share of values at or below it: ascending, and 1 in the end.
    pub fn steps(&self) -> Vec<(i64, f64)> {
        let mut below = 0_u64;
        let share = |(&threshold, &count): (&i64, &u64)| {
            below = count.saturating_add(below);
            (threshold.min(self.max), below as f64 / self.total as f64)
        };
        self.buckets.iter().map(share).collect()
    }

    /// The minimum threshold with at least this share of values at or below it: right within 1.6 %.
    pub fn quantile(&self, share: f64) -> Option<i64> {
        self.steps().into_iter().find(|step| step.1 >= share).map(|step| step.0)
    }
}

impl FromIterator<i64> for Distribution {
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Distribution {
        let mut counted = Distribution::default();
        for value in values {
            counted.add(value);
        }
        counted
    }
}

/// The last number that shares the leading bits of `value`.
fn threshold(value: i64) -> i64 {
    let bits = i64::BITS - value.leading_zeros();
    let low = bits.saturating_sub(BITS + 1);
    value | ((1 << low) - 1)
}
