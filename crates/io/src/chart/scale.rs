//! Round numbers on axes, and numbers in words.
//!
//! Only the four basic operations, which give the same bits on every machine.

use super::grouped;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds; written with minutes, hours and days where there is room.
    Seconds,
    /// A share from 0 to 1, written in percent.
    Share,
    /// A plain number.
    Ratio,
    /// Credits.
    Credits,
    /// Things.
    Count,
}

impl Unit {
    /// What stands on an axis or in the head of a column; nothing for plain numbers.
    pub fn label(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Share => "%",
            Unit::Credits => "credits",
            Unit::Ratio | Unit::Count => "",
        }
    }

    /// `value` with four significant digits at most, thousands separated, without its unit.
    pub fn number(self, value: f64) -> String {
        match self {
            Unit::Share => number(value * 100.0),
            _ => number(value),
        }
    }

    /// `value` with its unit, for people: `1 h 20 min`, `83.4 %`.
    pub fn say(self, value: f64) -> String {
        match self {
            Unit::Seconds => span(value),
            Unit::Share => format!("{} %", number(value * 100.0)),
            Unit::Credits => format!("{} credits", number(value)),
            Unit::Ratio | Unit::Count => number(value),
        }
    }
}

/// The unit of an axis: spans of time and amounts come in the unit that suits the largest of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// How its numbers are written.
    pub(super) unit: Unit,
    /// What one of it is.
    pub(super) size: f64,
    pub(super) label: &'static str,
}

impl Scale {
    /// For values up to `max`.
    pub(super) fn new(unit: Unit, max: f64) -> Scale {
        let (size, label) = match (unit, max) {
            (Unit::Seconds, 259_200.0..) => (86_400.0, "d"),
            (Unit::Seconds, 7_200.0..) => (3_600.0, "h"),
            (Unit::Seconds, 300.0..) => (60.0, "min"),
            (Unit::Credits, 1e7..) => (1e6, "million credits"),
            _ => (1.0, unit.label()),
        };
        let unit = if unit == Unit::Seconds { Unit::Ratio } else { unit };
        Scale { unit, size, label }
    }

    /// `value`, given in seconds or whatever else the unit was made for, as it is written.
    pub(super) fn number(&self, value: f64) -> String {
        self.unit.number(value / self.size)
    }
}

/// Four significant digits at most, thousands separated; `–` for what is no number.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    let decimals = match size {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        0.0 => 0,
        _ => 3,
    };
    if size >= 1e15 {
        return format!("{value:.3e}");
    }
    let text = format!("{size:.decimals$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let rest = rest.trim_end_matches('0');
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    let zero = whole == "0" && rest.is_empty();
    let sign = if value < 0.0 && !zero { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{rest}")
}

/// A span of time in its two largest units: `45 s`, `3 min 20 s`, `1 h 20 min`, `2 d 4 h`.
pub(super) fn span(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "–".to_owned();
    }
    if seconds < 0.0 {
        return format!("-{}", span(-seconds));
    }
    let rounded = |unit: f64| (seconds / unit).round() as usize;
    match seconds {
        ..59.5 => format!("{} s", number(seconds)),
        ..3_599.5 => pair(rounded(1.0), 60, ["min", "s"]),
        ..86_370.0 => pair(rounded(60.0), 60, ["h", "min"]),
        ..8_640_000.0 => pair(rounded(3_600.0), 24, ["d", "h"]),
        _ => format!("{} d", grouped(rounded(86_400.0))),
    }
}

/// `count` small units in large ones and what is left.
fn pair(count: usize, small_in_large: usize, names: [&str; 2]) -> String {
    let (large, small) = (count / small_in_large, count % small_in_large);
    match small {
        0 => format!("{large} {}", names[0]),
        _ => format!("{large} {} {small} {}", names[0], names[1]),
    }
}

/// Round values from at or below `low` to at or above `high`, and zero among them; at most
/// `max` + 1 steps apart by 1, 2 or 5 times a power of ten.
pub(super) fn ticks(low: f64, high: f64, max: usize) -> Vec<f64> {
    let low = if low.is_finite() { low.min(0.0) } else { 0.0 };
    let high = if high.is_finite() { high.max(0.0) } else { 0.0 };
    ticks_between(low, high, max)
}

/// The same, but zero is there only if it lies between `low` and `high`; both are finite.
pub(super) fn ticks_between(low: f64, high: f64, max: usize) -> Vec<f64> {
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
pub(super) fn log2(value: f64) -> f64 {
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
