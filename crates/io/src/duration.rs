//! Times and lengths of time as users write them.

use tradewind_model::{Span, Time};

/// What [`parse_span`] and [`parse_time`] take, for hints.
pub const FORMS: &str = "write seconds (`5400`), `90s`, `15m`, `24h`, `2d` or `D-HH:MM:SS`";

/// A length of time: whole seconds (`5400`), `90s`, `15m`, `24h`, `2d`, `D-HH:MM:SS` or
/// `HH:MM:SS`. At most [`Span::MAX`], not negative.
///
/// # Errors
/// A message in lower case that names the text.
pub fn parse_span(text: &str) -> Result<Span, String> {
    match seconds(text.trim()) {
        Some(s) if s > Span::MAX.0 => Err(format!("`{text}` is longer than {} s", Span::MAX)),
        Some(s) => Ok(Span(s)),
        None => Err(format!("`{text}` is not a length of time: {FORMS}")),
    }
}

/// A point in time on the file's own clock, in the forms of [`parse_span`]; may be negative.
///
/// # Errors
/// A message in lower case that names the text.
pub fn parse_time(text: &str) -> Result<Time, String> {
    let (sign, unsigned) = match text.trim().strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.trim()),
    };
    match seconds(unsigned) {
        Some(s) if s > Time::MAX.0 => Err(format!("`{text}` is beyond {} s", Time::MAX)),
        Some(s) => Ok(Time(sign * s)),
        None => Err(format!("`{text}` is not a time: {FORMS}")),
    }
}

/// Seconds in any of the forms; saturates; `None` if it is none of them.
fn seconds(text: &str) -> Option<i64> {
    if text.contains(':') {
        return clock(text);
    }
    let (digits, unit) = match text.as_bytes().last()? {
        b's' => (&text[..text.len() - 1], 1),
        b'm' => (&text[..text.len() - 1], 60),
        b'h' => (&text[..text.len() - 1], 3_600),
        b'd' => (&text[..text.len() - 1], 86_400),
        _ => (text, 1),
    };
    Some(whole(digits)?.saturating_mul(unit))
}

/// `D-HH:MM:SS` or `HH:MM:SS`.
fn clock(text: &str) -> Option<i64> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (whole(days)?, rest),
        None => (0, text),
    };
    let mut parts = rest.split(':').map(whole);
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || minutes > 59 || seconds > 59 {
        return None;
    }
    let whole_hours = days.saturating_mul(24).saturating_add(hours);
    Some(whole_hours.saturating_mul(3_600).saturating_add(minutes * 60 + seconds))
}

/// Digits only; saturates.
fn whole(digits: &str) -> Option<i64> {
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_form_is_read() {
        for (text, expected) in [
            ("600", 600),
            ("90s", 90),
            ("15m", 900),
            ("24h", 86_400),
            ("2d", 172_800),
            ("1-02:03:04", 93_784),
            ("02:00:00", 7_200),
        ] {
            assert_eq!(parse_span(text), Ok(Span(expected)), "{text}");
        }
        assert_eq!(parse_time("-90s"), Ok(Time(-90)));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "s", "ten", "1.5h", "-1", "NaN", "1-2", "1:2", "0:60:00", "1w", "١s", "é"]
        {
            assert!(parse_span(text).is_err(), "{text}");
        }
        assert!(parse_span("99999999999999999999d").is_err());
        assert!(parse_time("9999999999999").is_err());
    }
}
