//! What several replications say together: their mean and how sure it is.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// The probability that an interval holds the true mean, if replications are independent and
/// their values near normal.
pub const CONFIDENCE: f64 = 0.95;

/// A mean with its confidence interval: mean ± half width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimated {
    /// Number of values.
    pub count: usize,
    /// Their arithmetic mean.
    pub mean: f64,
    /// t · s / √n with Student's t for n − 1 degrees of freedom at [`CONFIDENCE`] (two-sided) and
    /// the sample's standard deviation s. `None` for a single value, which says nothing of it.
    pub half_width: Option<f64>,
}

/// The mean of `values` and its 95 % confidence interval; `None` if there are none. Exact but for
/// the rounding of floats; O(n).
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 replications")]
pub fn estimate(values: &[f64]) -> Option<Estimated> {
    let count = values.len();
    let n = count as f64;
    let first = *values.first()?;
    // From the first value on: equal values have exactly their own mean.
    let mean = first + values.iter().map(|value| value - first).sum::<f64>() / n;
    let half_width = (count > 1).then(|| {
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        student_t(n - 1.0) * (squares / (n - 1.0) / n).sqrt()
    });
    Some(Estimated { count, mean, half_width })
}

/// The quantile of Student's t with so many degrees of freedom that leaves out half of what
/// [`CONFIDENCE`] leaves on either side; not a number for none.
pub fn student_t(freedom: f64) -> f64 {
    let quantile = 1.0 - (1.0 - CONFIDENCE) / 2.0;
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(quantile))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_printed_tables() {
        for (freedom, table) in
            [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (9.0, 2.262), (29.0, 2.045), (99.0, 1.984)]
        {
            assert!((student_t(freedom) - table).abs() < 0.000_6, "{freedom}");
        }
    }

    #[test]
    fn an_interval_by_hand() {
        // Mean 3, s² = 2.5, n = 5: 2.776 · √0.5 = 1.963.
        let estimated = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((estimated.count, estimated.mean), (5, 3.0));
        assert!((estimated.half_width.unwrap() - 1.963).abs() < 0.001);
    }

    #[test]
    fn equal_values_are_certain_and_single_ones_are_not() {
        assert_eq!(estimate(&[0.475; 3]).unwrap().half_width, Some(0.0));
        assert_eq!(estimate(&[7.0]).unwrap().half_width, None);
        assert_eq!(estimate(&[]), None);
    }
}
