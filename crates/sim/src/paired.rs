//! Two policies on the same seeds: the difference pair by pair, with a test that is corrected for
//! the number of comparisons.
//!
//! What seeds have in common (one has more jobs than another) cancels in pairs, so a difference
//! shows with far fewer seeds than two separate intervals need.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// With fewer pairs nothing is said: the test then rests on the assumption that differences are
/// normal, and on nothing else.
pub const PAIRS_LEAST: usize = 5;

/// A difference is called certain where the corrected probability of a larger one by chance is
/// below this.
pub const ALPHA: f64 = 0.05;

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// One minus the other.
    Difference,
    /// The logarithm of one over the other, given as a ratio. All values are above 0.
    LogRatio,
}

/// What pairs of values say of their difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Compared {
    /// There are fewer than [`PAIRS_LEAST`] pairs.
    TooFew,
    /// Both values are the same in every pair.
    Same,
    /// The values of all pairs are the same: the seeds change nothing, so they are one pair.
    NoChance,
    /// They differ, by this in the mean.
    Tested(Sample),
}

/// Differences that vary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Number of pairs.
    pub pairs: usize,
    /// How they are compared.
    pub scale: Scale,
    /// The mean of differences, or of logarithms of ratios.
    mean: f64,
    /// Its standard error, above 0.
    error: f64,
}

impl Sample {
    /// The mean difference, or the geometric mean of ratios.
    pub fn mean(&self) -> f64 {
        self.shown(self.mean)
    }

    /// Whether the first value is the smaller one in the mean.
    pub fn is_below(&self) -> bool {
        self.mean < 0.0
    }

    /// The probability of a mean at least as far from none if there is none (paired t-test,
    /// two-sided).
    pub fn p(&self) -> f64 {
        self.student().map_or(1.0, |t| 2.0 * t.cdf(-(self.mean / self.error).abs()))
    }

    /// The interval of [`Sample::mean`] that leaves out `alpha`.
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let quantile = self.student().map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - alpha / 2.0));
        let half = quantile * self.error;
        (self.shown(self.mean - half), self.shown(self.mean + half))
    }

    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 pairs")]
    fn student(&self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, (self.pairs - 1) as f64).ok()
    }

    fn shown(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Difference => value,
            Scale::LogRatio => value.exp(),
        }
    }
}

/// Compares `pairs` of values; with [`Scale::LogRatio`] only if all are above 0, otherwise by
/// their differences. O(n).
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 pairs")]
pub fn compare(pairs: &[(f64, f64)], scale: Scale) -> Compared {
    let (count, n) = (pairs.len(), pairs.len() as f64);
    let Some(first) = pairs.first() else { return Compared::TooFew };
    if count < PAIRS_LEAST {
        return Compared::TooFew;
    }
    if pairs.iter().all(|(one, other)| one == other) {
        return Compared::Same;
    }
    let positive = pairs.iter().all(|(one, other)| *one > 0.0 && *other > 0.0);
    let scale = if positive { scale } else { Scale::Difference };
    let difference = |&(one, other): &(f64, f64)| match scale {
        Scale::Difference => one - other,
        Scale::LogRatio => (one / other).ln(),
    };
    let from = difference(first);
    let mean = from + pairs.iter().map(|pair| difference(pair) - from).sum::<f64>() / n;
    let squares: f64 = pairs.iter().map(|pair| (difference(pair) - mean).powi(2)).sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    // Differences that do not vary but for rounding say nothing of chance.
    match error > 1e-12 * mean.abs() && error.is_finite() {
        true => Compared::Tested(Sample { pairs: count, scale, mean, error }),
        false => Compared::NoChance,
    }
}

/// One of several comparisons, after the correction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corrected {
    /// The probability by Holm's method: the difference is certain below [`ALPHA`].
    pub p: f64,
    /// The interval of the mean, widened in the same steps: it leaves out "no difference" exactly
    /// where `p` is below [`ALPHA`].
    pub interval: (f64, f64),
}

impl Corrected {
    /// Whether there is a difference.
    pub fn is_certain(&self) -> bool {
        self.p < ALPHA
    }
}

/// Holm's correction (1979) for all of `samples` together: the smallest of m probabilities counts
/// m times, the next one m - 1 times, and so on, and none less than those before it. The chance
/// that any difference is called certain where there is none is then at most [`ALPHA`].
/// O(m log m).
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 comparisons")]
pub fn holm(samples: &[Sample]) -> Vec<Corrected> {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by(|a, b| samples[*a].p().total_cmp(&samples[*b].p()).then(a.cmp(b)));
    let none = Corrected { p: 1.0, interval: (f64::NAN, f64::NAN) };
    let mut all = vec![none; samples.len()];
    let (mut least, mut failed_at) = (0.0f64, None);
    for (rank, &index) in order.iter().enumerate() {
        let sample = &samples[index];
        let p = (sample.p() * (samples.len() - rank) as f64).min(1.0).max(least);
        least = p;
        if p >= ALPHA {
            failed_at.get_or_insert(rank);
        }
        let times = (samples.len() - failed_at.unwrap_or(rank)) as f64;
        all[index] = Corrected { p, interval: sample.interval(ALPHA / times) };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(pairs: &[(f64, f64)], scale: Scale) -> Sample {
        match compare(pairs, scale) {
            Compared::Tested(sample) => sample,
            other => panic!("{other:?}"),
        }
    }

    /// Values with a common part that is far larger than what they differ by.
    fn shifted(by: &[f64]) -> Vec<(f64, f64)> {
        let common = [100.0, 900.0, 50.0, 400.0, 700.0, 20.0];
        by.iter().zip(common).map(|(by, common)| (common + by, common)).collect()
    }

    #[test]
    fn a_test_by_hand() {
        // Differences 1 to 5: mean 3, s² = 2.5, error √0.5, t = 4.243, p = 0.0132 with 4 degrees.
        let found = sample(&shifted(&[1.0, 2.0, 3.0, 4.0, 5.0]), Scale::Difference);
        assert!((found.mean() - 3.0).abs() < 1e-9);
        assert!((found.p() - 0.013_2).abs() < 0.000_1, "{}", found.p());
        let (low, high) = found.interval(0.05);
        assert!((low - (3.0 - 1.963)).abs() < 0.001 && (high - (3.0 + 1.963)).abs() < 0.001);
    }

    #[test]
    fn ratios_are_compared_by_their_logarithms() {
        let pairs: Vec<(f64, f64)> = [1.9, 2.0, 2.1, 2.0, 2.0]
            .iter()
            .zip([1.0, 10.0, 100.0, 3.0, 7.0])
            .map(|(ratio, of)| (ratio * of, of))
            .collect();
        let found = sample(&pairs, Scale::LogRatio);
        assert!((found.mean() - 2.0).abs() < 0.01 && found.p() < 0.001);
        let (low, high) = found.interval(0.05);
        assert!(low > 1.8 && high < 2.2, "{low} {high}");
        // Where a value is 0 there is no logarithm.
        let zero = [(0.0, 1.0), (1.0, 3.0), (2.0, 3.0), (4.0, 5.0), (1.0, 2.0)];
        assert_eq!(sample(&zero, Scale::LogRatio).scale, Scale::Difference);
    }

    #[test]
    fn few_pairs_equal_pairs_and_equal_seeds_say_nothing() {
        let few = [(1.0, 2.0), (1.0, 3.0), (1.0, 4.0), (1.0, 5.0)];
        assert_eq!(compare(&few, Scale::Difference), Compared::TooFew);
        assert_eq!(compare(&[], Scale::Difference), Compared::TooFew);
        assert_eq!(compare(&[(0.3, 0.3); 9], Scale::LogRatio), Compared::Same);
        assert_eq!(compare(&[(0.1, 0.3); 9], Scale::LogRatio), Compared::NoChance);
        assert_eq!(compare(&[(0.1, 0.3); 9], Scale::Difference), Compared::NoChance);
    }

    #[test]
    fn holm_counts_the_smallest_most_often() {
        let of = |by: &[f64]| sample(&shifted(by), Scale::Difference);
        let clear = of(&[10.0, 10.1, 9.9, 10.0, 10.2]);
        let one = of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let none = of(&[1.0, -2.0, 3.0, -4.0, 1.5]);
        let all = holm(&[none, one, clear]);
        assert!((all[2].p - 3.0 * clear.p()).abs() < 1e-12);
        assert!((all[1].p - 2.0 * one.p()).abs() < 1e-12);
        assert!(all[0].p >= all[1].p && !all[0].is_certain());
        assert_eq!([all[1].is_certain(), all[2].is_certain()], [true, true]);
        // Among many, the same difference is not certain; and the intervals say the same.
        let many = holm(&[one, one, one, one, one, none]);
        assert!(many.iter().all(|corrected| !corrected.is_certain()));
        for corrected in all.iter().chain(&many) {
            let (low, high) = corrected.interval;
            assert_eq!(corrected.is_certain(), low > 0.0 || high < 0.0, "{corrected:?}");
        }
        assert!(holm(&[]).is_empty());
    }
}
