//! Numbers for people: as many digits as the paper prints.

use crate::findings::{Number, Published};
use crate::tally::Estimate;

/// With thousands separated: `1,160,029`, `59.85`.
pub(super) fn grouped(value: f64, decimals: u8) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let text = format!("{:.*}", usize::from(decimals), value.abs());
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(w, r)| (w, Some(r)));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(rest) = rest {
        out.push('.');
        out.push_str(rest);
    }
    let zero = out.chars().all(|c| matches!(c, '0' | '.' | ','));
    if value < 0.0 && !zero { format!("-{out}") } else { out }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_and_nothing_has_no_sign() {
        assert_eq!(grouped(1_160_029.4, 0), "1,160,029");
        assert_eq!(grouped(-59.849, 2), "-59.85");
        assert_eq!(grouped(-0.001, 2), "0.00");
        assert_eq!(grouped(f64::NAN, 2), "–");
        assert_eq!(grouped(999.0, 1), "999.0");
    }
}
