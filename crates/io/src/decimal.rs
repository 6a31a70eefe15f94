//! Exact decimals of credits and of JSON; the rest is [`tradewind_swf::decimal`].

use tradewind_model::{Money, Price};

pub use tradewind_swf::decimal::{DecimalError, format, parse};

/// Credits with up to six decimals, for an argument on a command line.
///
/// # Errors
/// A message in lower case.
pub fn parse_credits(text: &str) -> Result<Money, String> {
    let micro = parse(text, 6).map_err(|err| format!("`{text}` is {err}"))?;
    if (0..=Money::MAX.0).contains(&micro) {
        return Ok(Money(micro));
    }
    Err(format!("`{text}` credits is not within 0 and {}", Money::MAX))
}

/// `amount` as an exact JSON number of credits.
pub(crate) fn credits(amount: Money) -> serde_json::Number {
    json(amount.0, 6)
}

/// `price` as an exact JSON number of credits.
pub(crate) fn price(price: Price) -> serde_json::Number {
    json(price.0, 6)
}

/// `scaled` / 10^`decimals` as an exact JSON number.
pub(crate) fn json(scaled: i64, decimals: u32) -> serde_json::Number {
    // `format` writes JSON's own number syntax, so this cannot fail.
    format(scaled, decimals).parse().unwrap_or_else(|_| serde_json::Number::from(scaled))
}
