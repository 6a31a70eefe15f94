//! Numbers for people: as many digits as the paper prints.

use tradewind_io::present;

use crate::findings::{Number, Published};
use crate::tally::Estimate;

/// With thousands separated: `1,160,029`, `59.85`.
pub(super) fn grouped(value: f64, decimals: u8) -> String {
    present::fixed(value, decimals.into())
}

/// As printed, with its unit.
pub(super) fn published(published: &Published) -> String {
    with_unit(grouped(published.value, published.decimals), &published.unit)
}

/// `59.37 ± 0.21 units`; without ± where nothing is random.
pub(super) fn measured(number: &Number) -> String {
    let Published { value, decimals, unit, .. } = number.published;
    // Small whole numbers get a place more than the paper gives them, where there is something.
    let exact = number.measured.half_width() == 0.0;
    let decimals = if *decimals == 0 && value.abs() < 1_000.0 && !exact { 1 } else { *decimals };
    with_unit(estimate(&number.measured, decimals), unit)
}

/// A mean with half its interval's width, or without where that is nothing.
pub(super) fn estimate(of: &Estimate, decimals: u8) -> String {
    let mean = grouped(of.mean, decimals);
    match of.half_width() {
        0.0 => mean,
        half if half.is_finite() => format!("{mean} ± {}", grouped(half, decimals)),
        _ => mean,
    }
}

/// Measured over published, with three decimals.
pub(super) fn ratio(number: &Number) -> String {
    grouped(number.ratio(), 3)
}

fn with_unit(text: String, unit: &str) -> String {
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}
