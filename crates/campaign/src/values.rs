//! Values of options, from text.

use tradewind_io::diagnostics::did_you_mean;
use tradewind_io::{decimal, duration, scenario};
use tradewind_model::{Component, Limit, Money, Quantity, Rho, Span};

/// `auto` or a length of time.
pub fn time_limit(text: &str) -> Result<Limit<Span>, String> {
    match text {
        "auto" => Ok(Limit::Auto),
        text => duration::parse_span(text).map(Limit::At),
    }
}

/// `auto` or an amount in credits.
pub fn budget_limit(text: &str) -> Result<Limit<Money>, String> {
    match text {
        "auto" => Ok(Limit::Auto),
        text => decimal::parse_credits(text).map(Limit::At),
    }
}

/// A component of a vector of criteria: `energy`, `idleness`, `most:sum:watts`.
pub fn component(text: &str) -> Result<Component, String> {
    scenario::component(text).ok_or_else(|| did_you_mean(text, &scenario::COMPONENTS))
}

/// A limit on a quantity: `energy=2.5`, in the unit in which sums are shown; times also as `2h`.
pub fn sum_limit(text: &str) -> Result<(Quantity, i64), String> {
    let (name, value) = text.rsplit_once('=').ok_or("not QUANTITY=LIMIT")?;
    let quantity =
        scenario::quantity(name).ok_or_else(|| did_you_mean(name, &scenario::COMPONENTS))?;
    let (decimals, unit) = scenario::quantity_scale(&quantity);
    let limit = match decimals {
        0 => duration::parse_span(value)?.0,
        decimals => decimal::parse(value, decimals).map_err(|err| format!("`{value}` is {err}"))?,
    };
    if !(0..=i64::MAX / 4 / unit).contains(&limit) {
        return Err(format!("`{value}` is out of range"));
    }
    Ok((quantity, limit * unit))
}

/// A factor above 0 and up to 1, with at most three decimals.
pub fn rho(text: &str) -> Result<Rho, String> {
    let thousandths = decimal::parse(text, 3).ok().and_then(|value| u32::try_from(value).ok());
    thousandths
        .and_then(Rho::from_thousandths)
        .ok_or_else(|| "not a number above 0 and up to 1 with at most three decimals".to_owned())
}

/// A number from 1, or a word that stands for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// `auto` or `all`.
    Word,
    /// A number.
    Number(u32),
}

/// `all` or a number from 1.
pub fn count_or_all(text: &str) -> Result<Count, String> {
    count(text, "all")
}

/// `auto` or a number from 1.
pub fn count_or_auto(text: &str) -> Result<Count, String> {
    count(text, "auto")
}

fn count(text: &str, word: &str) -> Result<Count, String> {
    match text.parse::<u32>() {
        Ok(value) if value >= 1 => Ok(Count::Number(value)),
        _ if text == word => Ok(Count::Word),
        _ => Err(format!("not a whole number from 1, nor `{word}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_above_zero_and_up_to_one() {
        assert_eq!(rho("0.8").ok().map(Rho::thousandths), Some(800));
        for text in ["0", "1.001", "0.0001", "2", "-0.5", "NaN", "1e999"] {
            assert!(rho(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_start_at_one() {
        assert_eq!(count_or_all("all"), Ok(Count::Word));
        assert_eq!(count_or_auto("7"), Ok(Count::Number(7)));
        for text in ["0", "-1", "auto", "1.5", "99999999999", ""] {
            assert!(count_or_all(text).is_err(), "{text}");
        }
    }

    #[test]
    fn limits_are_auto_or_exact() {
        assert_eq!(time_limit("auto"), Ok(Limit::Auto));
        assert_eq!(time_limit("15m"), Ok(Limit::At(Span(900))));
        assert_eq!(budget_limit("0.000001"), Ok(Limit::At(Money(1))));
        for text in ["", "ten", "-1", "NaN", "1e999"] {
            assert!(time_limit(text).is_err() && budget_limit(text).is_err(), "{text}");
        }
    }
}
