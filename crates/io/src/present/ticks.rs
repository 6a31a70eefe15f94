//! Round numbers and moments on axes.
//!
//! [`ticks`] and [`log2`] use only the four basic operations, which give the same bits on every
//! machine.

/// Round values from at or below `low` to at or above `high`, and zero among them; at most
/// `max` + 1 steps apart by 1, 2 or 5 times a power of ten.
pub fn ticks(low: f64, high: f64, max: usize) -> Vec<f64> {
    let low = if low.is_finite() { low.min(0.0) } else { 0.0 };
    let high = if high.is_finite() { high.max(0.0) } else { 0.0 };
    ticks_between(low, high, max)
}

/// The same, but zero is there only if it lies between `low` and `high`; both are finite.
pub fn ticks_between(low: f64, high: f64, max: usize) -> Vec<f64> {
    let range = if high - low > 0.0 { high - low } else { 1.0 };
    let max = max.max(1) as f64;
    let mut power = 1.0;
    while range / power > max {
        power *= 10.0;
    }
    while range / (power / 10.0) <= max && power > 1e-9 {
        power /= 10.0;
    }
    let step = [power / 5.0, power / 2.0, power]
        .into_iter()
        .find(|step| range / step <= max)
        .unwrap_or(power);
    let first = (low / step).floor();
    let last = (high / step).ceil().max(first + 1.0);
    let count = (last - first) as usize;
    (0..=count).map(|i| (first + i as f64) * step).collect()
}

/// The binary logarithm of a positive number, by halving and a series: within 1e-12, and the same
/// bits with every library of mathematics.
pub fn log2(value: f64) -> f64 {
    const TERMS: i32 = 24;
    let (mut mantissa, mut whole) = (value.clamp(f64::MIN_POSITIVE, f64::MAX), 0.0);
    while mantissa >= 2.0 {
        (mantissa, whole) = (mantissa / 2.0, whole + 1.0);
    }
    while mantissa < 1.0 {
        (mantissa, whole) = (mantissa * 2.0, whole - 1.0);
    }
    // ln m = 2 artanh((m − 1) / (m + 1))
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let (square, mut power, mut sum) = (ratio * ratio, ratio, 0.0);
    for term in 0..TERMS {
        sum += power / f64::from(2 * term + 1);
        power *= square;
    }
    whole + 2.0 * sum / std::f64::consts::LN_2
}

/// A round number that is not below `largest`, for the end of an axis from 0 on; 1 for nothing.
pub fn round_up(largest: f64) -> f64 {
    if largest <= 0.0 || !largest.is_finite() {
        return 1.0;
    }
    let size = 10_f64.powf(largest.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let fits = |step: &f64| step * size >= largest * (1.0 - 1e-9);
    steps.into_iter().find(fits).unwrap_or(10.0) * size
}

const DAY: i64 = 86_400;

/// Seconds from tick to tick on axes of moments; beyond the last, they double.
const TIME_STEPS: [i64; 20] = [
    1,
    5,
    15,
    30,
    60,
    300,
    900,
    1_800,
    3_600,
    2 * 3_600,
    3 * 3_600,
    6 * 3_600,
    12 * 3_600,
    DAY,
    2 * DAY,
    5 * DAY,
    10 * DAY,
    20 * DAY,
    50 * DAY,
    100 * DAY,
];

/// Seconds from tick to tick on an axis of `span` seconds, such that there are at most `max`
/// whole steps.
pub fn time_step(span: i64, max: i64) -> i64 {
    let fits = |step: &i64| span / step <= max.max(1);
    let listed = TIME_STEPS.into_iter().find(fits);
    listed.unwrap_or_else(|| {
        let mut step = 200 * DAY;
        while !fits(&step) {
            step *= 2;
        }
        step
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        let ends = [0.0, 0.9, 11.0, 1_234.0, f64::NAN].map(round_up);
        assert_eq!(ends, [1.0, 1.0, 12.0, 1_600.0, 1.0]);
    }

    #[test]
    fn steps_of_time_are_round_and_few() {
        assert_eq!([time_step(DAY, 8), time_step(7 * DAY, 8)], [3 * 3_600, DAY]);
        assert_eq!([time_step(0, 8), time_step(4_000 * DAY, 4)], [1, 1_600 * DAY]);
    }
}
