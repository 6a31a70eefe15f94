//! One measure with its name, so that code that shows measures need not know them.

use std::fmt;

/// A measure of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// As in files and tables; `docs/reference/metrics.md` has the formula.
    pub name: String,
    /// Of the value.
    pub unit: Unit,
    /// Which of two values is the better one.
    pub better: Better,
    /// `None` where there is nothing to measure: a mean over no jobs, say.
    pub value: Option<Value>,
}

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// Seconds.
    Seconds,
    /// Seconds of one node.
    NodeSeconds,
    /// Nothing: a quotient of like things.
    Ratio,
    /// Credits.
    Credits,
    /// Kilowatt-hours.
    KilowattHours,
    /// Grams of CO₂e.
    Grams,
}

impl Unit {
    /// As written behind a number; empty for counts and ratios.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Count | Unit::Ratio => "",
            Unit::Seconds => "s",
            Unit::NodeSeconds => "node·s",
            Unit::Credits => "credits",
            Unit::KilowattHours => "kWh",
            Unit::Grams => "gCO2e",
        }
    }
}

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
    /// Neither direction is better in all cases.
    Neither,
}

/// A number: exact as long as nothing was divided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(i128),
    /// An amount in micro-credits, or in millionths of another unit.
    Credits(i128),
    /// A quotient; finite.
    Quotient(f64),
}

impl Value {
    /// The nearest float; of an amount, credits.
    #[expect(clippy::cast_precision_loss, reason = "for reading; nothing is decided by it")]
    pub fn as_f64(self) -> f64 {
        match self {
            Value::Whole(whole) => whole as f64,
            Value::Credits(micro) => micro as f64 / 1e6,
            Value::Quotient(quotient) => quotient,
        }
    }
}

/// As a JSON number, exact: `12`, `0.5`, `3.0` for a quotient that happens to be whole.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Whole(whole) => write!(f, "{whole}"),
            Value::Quotient(quotient) => write!(f, "{quotient:?}"),
            Value::Credits(micro) => {
                let sign = if micro < 0 { "-" } else { "" };
                let (whole, rest) =
                    (micro.unsigned_abs() / 1_000_000, micro.unsigned_abs() % 1_000_000);
                match rest {
                    0 => write!(f, "{sign}{whole}"),
                    _ => {
                        let text = format!("{sign}{whole}.{rest:06}");
                        f.write_str(text.trim_end_matches('0'))
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_json_numbers() {
        let all = [
            (Value::Whole(-3), "-3"),
            (Value::Quotient(3.0), "3.0"),
            (Value::Quotient(0.1), "0.1"),
            (Value::Credits(12_500_000), "12.5"),
            (Value::Credits(-1), "-0.000001"),
            (Value::Credits(i128::from(i64::MAX) * 1_000_000), "9223372036854775807"),
        ];
        for (value, text) in all {
            assert_eq!(value.to_string(), text);
        }
    }
}
