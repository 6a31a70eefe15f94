//! Numbers from 0 to 1 for those who learn.

use tradewind_model::Span;

/// Spans above a week look alike.
const LONG: i64 = 7 * 86_400;

/// A span from 0 to 1: the logarithm of one second more than it, over that of a week; linear between
/// powers of two, so that no machine's C library has a say.
pub(super) fn log(span: Span) -> f32 {
    let whole = (span.0.clamp(0, LONG) + 1) as u32;
    // log2 of a week and a second, in the same way.
    const WEEK: f32 = 19.0 + (604_801.0 / 524_288.0 - 1.0);
    (bits(whole) / WEEK).min(1.0)
}

fn bits(whole: u32) -> f32 {
    let power = whole.ilog2();
    power as f32 + (whole as f32 / (1_u32 << power) as f32 - 1.0)
}

/// How much of the whole.
pub(super) fn share(part: u32, whole: u32) -> f32 {
    (part as f32 / whole.max(1) as f32).min(1.0)
}

/// A count from 0 to 1; half of it where it is `half`.
pub(super) fn many(count: usize, half: usize) -> f32 {
    count as f32 / (count + half).max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_from_nothing_to_a_week() {
        assert_eq!(log(Span(-5)), 0.0);
        assert_eq!(log(Span(0)), 0.0);
        assert!((log(Span(LONG)) - 1.0).abs() < 1e-6);
        assert_eq!(log(Span(i64::MAX)), log(Span(LONG)));
        let mut last = -1.0;
        for span in [0, 1, 2, 3, 10, 100, 3_600, 86_400, LONG] {
            let exact = (span as f64 + 1.0).ln() / (LONG as f64 + 1.0).ln();
            assert!((f64::from(log(Span(span))) - exact).abs() < 0.006, "{span}");
            assert!(log(Span(span)) > last);
            last = log(Span(span));
        }
    }
}
