//! Values of this command's options, from text.

use tradewind_io::swf::transform::Factor;
use tradewind_io::{decimal, duration};
use tradewind_model::Span;

/// A factor above 0 with at most six decimals, up to a million.
pub(super) fn factor(text: &str) -> Result<Factor, String> {
    let millionths = decimal::parse(text, 6).ok().filter(|n| *n <= 1_000_000_000_000);
    let factor = millionths.and_then(|n| Factor::new(n, 1_000_000));
    factor.ok_or_else(|| "not a number above 0 with at most six decimals".to_owned())
}

/// `NAME=VALUE`.
pub(super) fn assignment(text: &str) -> Result<(String, f64), String> {
    let refused = || "write NAME=NUMBER".to_owned();
    let (name, value) = text.split_once('=').ok_or_else(refused)?;
    let value: f64 = value.trim().parse().map_err(|_| refused())?;
    Ok((name.trim().to_owned(), value))
}

/// `A..B`, both included, or `A` alone: whole numbers.
pub(super) fn range(text: &str) -> Result<(u32, u32), String> {
    both(text, |part| part.parse().ok()).ok_or_else(|| "not a range `A..B` of whole numbers".into())
}

/// The same with at most three decimals, in thousandths.
pub(super) fn thousandths(text: &str) -> Result<(u32, u32), String> {
    let parse = |part: &str| decimal::parse(part, 3).ok().and_then(|n| u32::try_from(n).ok());
    both(text, parse).ok_or_else(|| "not a range `A..B` with at most three decimals".into())
}

/// The same of lengths of time.
pub(super) fn spans(text: &str) -> Result<(Span, Span), String> {
    let parse = |part: &str| duration::parse_span(part).ok();
    both(text, parse).ok_or_else(|| format!("not a range `A..B` of times: {}", duration::FORMS))
}

fn both<T: PartialOrd + Copy>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<(T, T)> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (parse(low.trim())?, parse(high.trim())?);
    (low <= high).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_two_ends_or_one() {
        assert_eq!(range("1..5"), Ok((1, 5)));
        assert_eq!(range("7"), Ok((7, 7)));
        assert_eq!(thousandths("0.1..0.5"), Ok((100, 500)));
        assert_eq!(spans("40..2m"), Ok((Span(40), Span(120))));
        for text in ["", "5..1", "a..b", "-1..1", "1...2", ".."] {
            assert!(range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn factors_are_exact_and_above_zero() {
        assert_eq!(factor("1.25").ok(), Factor::new(5, 4));
        for text in ["0", "-1", "1e99", "x", "0.0000001"] {
            assert!(factor(text).is_err(), "{text}");
        }
        assert_eq!(assignment("gap = 2.5"), Ok(("gap".to_owned(), 2.5)));
        assert!(assignment("gap").is_err() && assignment("gap=").is_err());
    }
}
