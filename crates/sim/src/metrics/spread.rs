//! How a measure is spread over the jobs.

use super::entry::{Better, Entry, Unit, Value};

/// Mean and quantiles of one measure over jobs. A quantile q is the minimum of the values that a
/// share q of them does not exceed (nearest rank): always the value of some job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    mean: f64,
    median: Value,
    p95: Value,
    p99: Value,
    max: Value,
}

impl Spread {
    /// Of whole numbers; `None` if there are none. The sum is exact.
    #[expect(clippy::cast_precision_loss, reason = "the quotient is for reading")]
    pub(super) fn of_whole(values: &mut [i64]) -> Option<Spread> {
        let whole = |value: i64| Value::Whole(value.into());
        let sum: i128 = values.iter().map(|value| i128::from(*value)).sum();
        let max = whole(values.iter().copied().max()?);
        let mean = sum as f64 / values.len() as f64;
        let mut quantile = |percent| {
            let at = rank(values.len(), percent);
            whole(*values.select_nth_unstable(at).1)
        };
        Some(Spread { mean, median: quantile(50), p95: quantile(95), p99: quantile(99), max })
    }

    /// Of quotients; `None` if there are none. They are summed up in the order of jobs.
    #[expect(clippy::cast_precision_loss, reason = "the quotient is for reading")]
    pub(super) fn of_quotients(values: &mut [f64]) -> Option<Spread> {
        let max = Value::Quotient(values.iter().copied().max_by(f64::total_cmp)?);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mut quantile = |percent| {
            let at = rank(values.len(), percent);
            Value::Quotient(*values.select_nth_unstable_by(at, f64::total_cmp).1)
        };
        Some(Spread { mean, median: quantile(50), p95: quantile(95), p99: quantile(99), max })
    }

    /// Its five numbers, named after `measure`; less is better.
    pub(super) fn entries(of: Option<Spread>, measure: &str, unit: Unit) -> [Entry; 5] {
        let entry = |of_what: &str, value| Entry {
            name: format!("{of_what}_{measure}"),
            unit,
            better: Better::Lower,
            value,
        };
        [
            entry("mean", of.map(|it| Value::Quotient(it.mean))),
            entry("median", of.map(|it| it.median)),
            entry("p95", of.map(|it| it.p95)),
            entry("p99", of.map(|it| it.p99)),
            entry("max", of.map(|it| it.max)),
        ]
    }
}

/// The place of a quantile among `count` values in order, `count` at least 1.
fn rank(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_are_values_of_jobs() {
        let spread = Spread::of_whole(&mut [4, 1, 3, 2]).unwrap();
        let whole = |n| Value::Whole(n);
        assert_eq!((spread.mean, spread.median, spread.p95), (2.5, whole(2), whole(4)));
        let mut many: Vec<i64> = (1..=100).rev().collect();
        let spread = Spread::of_whole(&mut many).unwrap();
        assert_eq!((spread.median, spread.p95, spread.max), (whole(50), whole(95), whole(100)));
        assert_eq!(Spread::of_quotients(&mut []), None);
    }

    proptest! {
        #[test]
        fn a_quantile_is_the_smallest_value_that_enough_do_not_exceed(
            values in prop::collection::vec(0i64..20, 1..60),
        ) {
            let spread = Spread::of_whole(&mut values.clone()).unwrap();
            for (found, percent) in [(spread.median, 50), (spread.p95, 95), (spread.max, 100)] {
                let enough = |&v: &i64| {
                    values.iter().filter(|it| **it <= v).count() * 100 >= values.len() * percent
                };
                let min = values.iter().copied().filter(enough).min().unwrap();
                prop_assert_eq!(found, Value::Whole(min.into()));
            }
            let mut quotients: Vec<f64> = values.iter().map(|v| *v as f64).collect();
            let same = Spread::of_quotients(&mut quotients).unwrap();
            prop_assert_eq!(same.p95.as_f64(), spread.p95.as_f64());
        }
    }
}
