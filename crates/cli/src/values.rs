//! Values of options: times, amounts and choices, from text.

use tradewind_model::{Criterion, Limit, Money, Rho, Span, Time};

/// A length of time: bare seconds, `90s`, `15m`, `24h`, `2d`, `D-HH:MM:SS` or `HH:MM:SS`.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    let seconds = match text.contains(':') {
        true => clock(text),
        false => with_unit(text),
    };
    match seconds {
        Some(seconds) if seconds <= Span::MAX.0 => Ok(Span(seconds)),
        Some(_) => Err("longer than any log".to_owned()),
        None => Err("not a time: write seconds, or `90s`, `15m`, `24h`, `2d`, `1-12:30:00`".into()),
    }
}

/// A point in time: like [`span`], on the clock of the log or scenario; may be negative.
pub(crate) fn time(text: &str) -> Result<Time, String> {
    match text.strip_prefix('-') {
        Some(rest) => span(rest).map(|span| Time(-span.0)),
        None => span(text).map(|span| Time(span.0)),
    }
}

fn with_unit(text: &str) -> Option<i64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b's' => (&text[..text.len() - 1], 1),
        b'm' => (&text[..text.len() - 1], 60),
        b'h' => (&text[..text.len() - 1], 3_600),
        b'd' => (&text[..text.len() - 1], 86_400),
        _ => (text, 1),
    };
    number(digits)?.checked_mul(factor)
}

fn clock(text: &str) -> Option<i64> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (number(days)?, rest),
        None => (0, text),
    };
    let parts: Vec<&str> = rest.split(':').collect();
    let [hours, minutes, seconds] = parts.as_slice() else { return None };
    let (hours, minutes, seconds) = (number(hours)?, number(minutes)?, number(seconds)?);
    if minutes > 59 || seconds > 59 || (days > 0 && hours > 23) {
        return None;
    }
    let whole = days.checked_mul(24)?.checked_add(hours)?.checked_mul(3_600)?;
    whole.checked_add(minutes * 60 + seconds)
}

/// Digits only: no sign, no point, no blank.
fn number(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// A non-negative decimal with at most `places` decimals, in units of 10^-`places`.
fn decimal(text: &str, places: usize) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    if part.is_empty() || part.len() > places {
        return None;
    }
    let scale = 10i64.pow(places as u32);
    let part = number(part)? * 10i64.pow((places - part.len()) as u32);
    number(whole)?.checked_mul(scale)?.checked_add(part)
}

/// An amount in credits.
pub(crate) fn money(text: &str) -> Result<Money, String> {
    match decimal(text, 6).map(Money) {
        Some(money) if money <= Money::MAX => Ok(money),
        Some(_) => Err("beyond the range of amounts".to_owned()),
        None => Err("not an amount: write credits with up to six decimals".to_owned()),
    }
}

/// `auto` or a length of time.
pub(crate) fn time_limit(text: &str) -> Result<Limit<Span>, String> {
    match text {
        "auto" => Ok(Limit::Auto),
        text => span(text).map(Limit::At),
    }
}

/// `auto` or an amount in credits.
pub(crate) fn budget_limit(text: &str) -> Result<Limit<Money>, String> {
    match text {
        "auto" => Ok(Limit::Auto),
        text => money(text).map(Limit::At),
    }
}

/// A factor above 0 and up to 1, with at most three decimals.
pub(crate) fn rho(text: &str) -> Result<Rho, String> {
    let thousandths = decimal(text, 3).and_then(|value| u32::try_from(value).ok());
    thousandths
        .and_then(Rho::from_thousandths)
        .ok_or_else(|| "not a number above 0 and up to 1 with at most three decimals".to_owned())
}

/// A number from 1, or a word that stands for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// `auto` or `all`.
    Word,
    /// This many.
    Number(u32),
}

/// `all` or a number from 1.
pub(crate) fn count_or_all(text: &str) -> Result<Count, String> {
    count(text, "all")
}

/// `auto` or a number from 1.
pub(crate) fn count_or_auto(text: &str) -> Result<Count, String> {
    count(text, "auto")
}

fn count(text: &str, word: &str) -> Result<Count, String> {
    let at_least_one = |value: &i64| *value >= 1;
    match number(text).filter(at_least_one).and_then(|value| u32::try_from(value).ok()) {
        Some(value) => Ok(Count::Number(value)),
        None if text == word => Ok(Count::Word),
        None => Err(format!("not a whole number from 1, nor `{word}`")),
    }
}

/// The name of a criterion, as in scenarios.
pub(crate) fn criterion_name(criterion: &Criterion) -> String {
    match criterion {
        Criterion::Start => "start".to_owned(),
        Criterion::Finish => "finish".to_owned(),
        Criterion::Runtime => "runtime".to_owned(),
        Criterion::Cost => "cost".to_owned(),
        Criterion::ProcessorTime => "processor-time".to_owned(),
        Criterion::Sum(attribute) => format!("sum:{attribute}"),
    }
}

/// The criterion of this name.
pub(crate) fn criterion(name: &str) -> Option<Criterion> {
    Some(match name {
        "start" => Criterion::Start,
        "finish" => Criterion::Finish,
        "runtime" => Criterion::Runtime,
        "cost" => Criterion::Cost,
        "processor-time" => Criterion::ProcessorTime,
        other => Criterion::Sum(other.strip_prefix("sum:").filter(|a| !a.is_empty())?.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_units_or_clocks() {
        for (text, seconds) in [
            ("0", 0),
            ("600", 600),
            ("90s", 90),
            ("15m", 900),
            ("24h", 86_400),
            ("2d", 172_800),
            ("1-12:30:05", 131_405),
            ("36:00:00", 129_600),
        ] {
            assert_eq!(span(text), Ok(Span(seconds)), "{text}");
        }
        for text in
            ["", "ten", "1.5h", "-5", "h", "1-24:00:00", "1:60:00", "5:00", "9999999999999999d", "NaN"]
        {
            assert!(span(text).is_err(), "{text}");
        }
        assert_eq!(time("-90s"), Ok(Time(-90)));
    }

    #[test]
    fn amounts_are_exact_decimals() {
        assert_eq!(money("12.5"), Ok(Money(12_500_000)));
        assert_eq!(money("0.000001"), Ok(Money(1)));
        for text in ["", "1e3", "-1", "NaN", "0.0000001", "1.", ".5", "99999999999999999999"] {
            assert!(money(text).is_err(), "{text}");
        }
        assert_eq!(rho("0.8").ok().map(Rho::thousandths), Some(800));
        for text in ["0", "1.001", "0.0001", "2"] {
            assert!(rho(text).is_err(), "{text}");
        }
    }

    #[test]
    fn criteria_have_one_name_each() {
        for name in ["start", "finish", "runtime", "cost", "processor-time", "sum:watts"] {
            assert_eq!(criterion(name).map(|c| criterion_name(&c)).as_deref(), Some(name));
        }
        assert_eq!((criterion("sum:"), criterion("speed")), (None, None));
    }

    #[test]
    fn counts_start_at_one() {
        assert_eq!(count_or_all("all"), Ok(Count::Word));
        assert_eq!(count_or_auto("7"), Ok(Count::Number(7)));
        for text in ["0", "-1", "auto", "1.5", "99999999999"] {
            assert!(count_or_all(text).is_err(), "{text}");
        }
    }
}
