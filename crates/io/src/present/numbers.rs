//! Numbers in words.

use std::fmt::Display;

/// What stands for a number that is not known.
const UNKNOWN: &str = "–";

/// A whole number with thousands separated: `4,008`.
pub fn grouped(number: impl Display) -> String {
    apart(&number.to_string())
}

/// A number with so many decimals and thousands separated: `1,160,029`, `-59.85`; `–` for what is
/// not finite.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    signed(value, &format!("{:.decimals$}", value.abs()))
}

/// Four significant digits at most, thousands separated; `–` for what is not finite.
pub(super) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    let size = value.abs();
    let decimals = match size {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        0.0 => 0,
        _ => 3,
    };
    match size {
        1e15.. => format!("{value:.3e}"),
        _ => signed(value, trimmed(&format!("{size:.decimals$}"))),
    }
}

/// A number with as many digits as it needs beside others of the size of `max`.
pub fn beside(value: f64, max: f64) -> String {
    let digits = (2.0 - max.max(f64::MIN_POSITIVE).log10().floor()).clamp(0.0, 6.0) as usize;
    signed(value, trimmed(&format!("{:.digits$}", value.abs())))
}

/// An amount of micro-credits in credits, exact: `1,234.5`.
pub fn credits(micro: i128) -> String {
    let size = micro.unsigned_abs();
    let (whole, rest) = (size / 1_000_000, size % 1_000_000);
    let sign = if micro < 0 { "-" } else { "" };
    format!("{sign}{}", apart(trimmed(&format!("{whole}.{rest:06}"))))
}

/// A price in micro-credits per node-second as one per node-hour, with as few digits as name that price:
/// 20 credits are written as 5,556 millionths per second, which are exactly 20.0016 per hour. It differs
/// by one part in 200 at most.
pub fn hourly(price: i128) -> i128 {
    let exact = price.saturating_mul(3_600);
    let slack = (exact.abs() / 200).min(1_799);
    let rounded = |digits: u32| {
        let unit = 10_i128.pow(digits);
        exact.saturating_add(unit / 2).div_euclid(unit).saturating_mul(unit)
    };
    let short = (1..9).rev().map(rounded).find(|it| (it - exact).abs() <= slack);
    short.unwrap_or(exact)
}

/// A decimal number without zeros at its end that say nothing.
pub fn trimmed(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// With thousands separated, and with the sign of `value` unless it is written as zero.
fn signed(value: f64, size: &str) -> String {
    let zero = size.chars().all(|c| matches!(c, '0' | '.'));
    let sign = if value < 0.0 && !zero { "-" } else { "" };
    format!("{sign}{}", apart(size))
}

/// The digits before the point in threes.
fn apart(text: &str) -> String {
    let (sign, digits) = text.split_at(text.len() - text.trim_start_matches('-').len());
    let whole = digits.find('.').unwrap_or(digits.len());
    let mut out = String::with_capacity(text.len() + whole / 3);
    out.push_str(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && at < whole && (whole - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_and_nothing_has_no_sign() {
        assert_eq!([grouped(0), grouped(999), grouped(1_000)], ["0", "999", "1,000"]);
        assert_eq!(grouped(-1_234_567i64), "-1,234,567");
        assert_eq!(fixed(1_160_029.4, 0), "1,160,029");
        assert_eq!(fixed(-59.849, 2), "-59.85");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(999.0, 1), "999.0");
        assert_eq!([fixed(f64::NAN, 2), significant(f64::INFINITY)], ["–", "–"]);
    }

    #[test]
    fn digits_are_as_many_as_say_something() {
        assert_eq!(
            [significant(1_234.5), significant(-12.34), significant(0.1)],
            ["1,234", "-12.3", "0.1"]
        );
        assert_eq!([significant(0.0), significant(2e15)], ["0", "2.000e15"]);
        assert_eq!(
            [beside(1_250.0, 5_000.0), beside(0.5, 2.0), beside(-3.0, 100.0)],
            ["1,250", "0.5", "-3"]
        );
    }

    #[test]
    fn prices_per_hour_have_few_digits_and_name_one_price_per_second() {
        let few = [5_556, 1, 278, 27_778, 1_000, 0, 123_457, -5_556].map(hourly);
        let wanted =
            [20_000_000, 3_600, 1_000_000, 100_000_000, 3_600_000, 0, 444_445_000, -20_000_000];
        assert_eq!(few, wanted);
        for price in (0..200_000).step_by(7).chain([i128::from(i64::MAX)]) {
            assert_eq!((hourly(price) + 1_800).div_euclid(3_600), price, "{price}");
        }
    }

    #[test]
    fn amounts_are_exact() {
        let amounts = [0, 1_234_500_000, -2_000_000, 1].map(credits);
        assert_eq!(amounts, ["0", "1,234.5", "-2", "0.000001"]);
    }
}
