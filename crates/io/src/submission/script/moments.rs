//! Points in time as `sbatch` takes them, on the clock of a zone.

use jiff::civil::{Date, DateTime, Time as Clock};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use tradewind_model::Time;

use super::limits::digits;
use super::{Wrong, wrong};
use crate::diagnostics::excerpt;

/// What [`moment`] takes, for hints.
pub(super) const FORMS: &str =
    "write `now+2hours`, `16:00`, `noon`, `tomorrow`, `MM/DD/YY-HH:MM` or `YYYY-MM-DDTHH:MM:SS`";

/// When it is, and where.
pub(super) struct Now<'a> {
    pub(super) at: Time,
    pub(super) zone: &'a TimeZone,
}

/// The moment that `text` names. A time of day that has passed is tomorrow's; a day without a
/// year that has passed is next year's; a day alone begins at midnight. A time that a change of
/// clocks skips or repeats is read as before the change.
pub(super) fn moment(text: &str, now: &Now<'_>) -> Result<Time, Wrong> {
    let refused = || wrong(format!("`{}` is not a point in time", excerpt(text)), FORMS);
    let text = text.trim();
    let at = seconds(text, now).ok_or_else(refused)?;
    match (Time::MIN..=Time::MAX).contains(&at) {
        true => Ok(at),
        false => Err(refused()),
    }
}

fn seconds(text: &str, now: &Now<'_>) -> Option<Time> {
    let lower = text.to_lowercase();
    if let Some(rest) = lower.strip_prefix("now") {
        return later(rest.trim(), now.at);
    }
    if let Some(rest) = lower.strip_prefix("uts") {
        return digits(rest).map(Time);
    }
    if let Ok(exact) = text.parse::<Timestamp>() {
        return Some(Time(exact.as_second()));
    }
    let today = Timestamp::from_second(now.at.0).ok()?.to_zoned(now.zone.clone()).datetime();
    let (day, clock) = parts(&lower, today)?;
    let civil = match (day, clock) {
        (Some(day), clock) => day.to_datetime(clock.unwrap_or(Clock::midnight())),
        (None, Some(clock)) => {
            let at = today.date().to_datetime(clock);
            if at < today { at.checked_add(1.day()).ok()? } else { at }
        }
        (None, None) => return None,
    };
    let zoned = now.zone.to_ambiguous_zoned(civil).compatible().ok()?;
    Some(Time(zoned.timestamp().as_second()))
}

/// `now` itself, `+60`, `+2hours`.
fn later(rest: &str, now: Time) -> Option<Time> {
    if rest.is_empty() {
        return Some(now);
    }
    let rest = rest.strip_prefix('+')?.trim();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, unit) = (digits(&rest[..end])?, rest[end..].trim());
    const UNITS: [(&str, i64); 5] =
        [("seconds", 1), ("minutes", 60), ("hours", 3_600), ("days", 86_400), ("weeks", 604_800)];
    let unit = UNITS.iter().find(|(name, _)| name.starts_with(unit))?.1;
    Some(Time(now.0.saturating_add(number.saturating_mul(unit))))
}

/// The day and the time of day that a text of both, or of one of them, names.
fn parts(text: &str, today: DateTime) -> Option<(Option<Date>, Option<Clock>)> {
    if let Some((date, rest)) = iso(text) {
        let clock = match rest {
            "" => None,
            rest => Some(clock(rest.strip_prefix(['t', ' ', '-'])?.trim())?),
        };
        return Some((Some(date), clock));
    }
    if let Some(clock) = clock(text) {
        return Some((None, Some(clock)));
    }
    if let Some(day) = day(text, today) {
        return Some((Some(day), None));
    }
    // Both: `12/24-16:00`, `4pm tomorrow`, `tomorrow 16:00`.
    let mut cuts = text.match_indices(['-', ' ']).map(|(at, _)| (&text[..at], &text[at + 1..]));
    cuts.find_map(|(one, two)| {
        let (one, two) = (one.trim(), two.trim());
        let this = |date: &str, time: &str| Some((Some(day(date, today)?), Some(clock(time)?)));
        this(one, two).or_else(|| this(two, one))
    })
}

/// A text that begins with `YYYY-MM-DD`, and what follows.
fn iso(text: &str) -> Option<(Date, &str)> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let year = Some(year).filter(|year| year.len() == 4)?;
    Some((date_of(digits(year)?, digits(month)?, digits(day)?)?, rest))
}

fn date_of(year: i64, month: i64, day: i64) -> Option<Date> {
    let (year, month) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?);
    Date::new(year, month, i8::try_from(day).ok()?).ok()
}

/// `today`, `tomorrow`, `MM/DD[/YY]`, `MM.DD[.YY]`, `MMDD[YY]`.
fn day(text: &str, today: DateTime) -> Option<Date> {
    let today = today.date();
    let parts: Vec<&str> = match text {
        "today" => return Some(today),
        "tomorrow" => return today.tomorrow().ok(),
        _ if text.contains('/') => text.split('/').collect(),
        _ if text.contains('.') => text.split('.').collect(),
        _ if text.is_ascii() && text.len() == 4 => vec![&text[..2], &text[2..]],
        _ if text.is_ascii() && text.len() == 6 => vec![&text[..2], &text[2..4], &text[4..]],
        _ => return None,
    };
    let numbers: Option<Vec<i64>> = parts.into_iter().map(digits).collect();
    match numbers?[..] {
        [month, day] => {
            let year = i64::from(today.year());
            let this = date_of(year, month, day);
            this.filter(|date| *date >= today).or_else(|| date_of(year + 1, month, day))
        }
        [month, day, year] if year < 100 => date_of(2_000 + year, month, day),
        [month, day, year] => date_of(year, month, day),
        _ => None,
    }
}

/// `HH:MM[:SS] [AM|PM]`, or a word.
fn clock(text: &str) -> Option<Clock> {
    let word = match text {
        "midnight" => Some(0),
        "elevenses" => Some(11),
        "noon" => Some(12),
        "fika" => Some(15),
        "teatime" => Some(16),
        _ => None,
    };
    if let Some(hour) = word {
        return Clock::new(hour, 0, 0, 0).ok();
    }
    let (digital, half) = match text.strip_suffix('m').map(|it| (it, it.chars().last())) {
        Some((rest, Some(half @ ('a' | 'p')))) => (rest[..rest.len() - 1].trim_end(), Some(half)),
        _ => (text, None),
    };
    let parts: Option<Vec<i64>> = digital.split(':').map(digits).collect();
    let (hour, minute, second) = match (&parts?[..], half) {
        (&[hour, minute], _) => (hour, minute, 0),
        (&[hour, minute, second], _) => (hour, minute, second),
        (&[hour], Some(_)) => (hour, 0, 0),
        _ => return None,
    };
    let hour = match half {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some('a') => hour % 12,
        Some(_) => hour % 12 + 12,
    };
    let small = |n: i64| i8::try_from(n).ok();
    Clock::new(small(hour)?, small(minute)?, small(second)?, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-03-28 14:00 in central Europe, the day before clocks go forward.
    fn at(text: &str) -> Option<String> {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let now = Now { at: Time(1_774_702_800), zone: &zone };
        let time = moment(text, &now).ok()?;
        let civil = Timestamp::from_second(time.0).unwrap().to_zoned(zone).datetime();
        Some(civil.to_string())
    }

    #[test]
    fn every_form_of_sbatch_is_read() {
        for (text, expected) in [
            ("now", "2026-03-28T14:00:00"),
            ("now+60", "2026-03-28T14:01:00"),
            ("now+1hour", "2026-03-28T15:00:00"),
            ("now + 2 minutes", "2026-03-28T14:02:00"),
            ("now+1day", "2026-03-29T15:00:00"),
            ("now+1w", "2026-04-04T15:00:00"),
            ("16:00", "2026-03-28T16:00:00"),
            ("13:59:59", "2026-03-29T13:59:59"),
            ("4:30 PM", "2026-03-28T16:30:00"),
            ("12am", "2026-03-29T00:00:00"),
            ("midnight", "2026-03-29T00:00:00"),
            ("noon", "2026-03-29T12:00:00"),
            ("elevenses", "2026-03-29T11:00:00"),
            ("fika", "2026-03-28T15:00:00"),
            ("teatime", "2026-03-28T16:00:00"),
            ("today", "2026-03-28T00:00:00"),
            ("tomorrow", "2026-03-29T00:00:00"),
            ("tomorrow 16:00", "2026-03-29T16:00:00"),
            ("noon tomorrow", "2026-03-29T12:00:00"),
            ("2026-04-01", "2026-04-01T00:00:00"),
            ("2026-04-01T12:34", "2026-04-01T12:34:00"),
            ("2026-04-01T12:34:56", "2026-04-01T12:34:56"),
            ("2026-04-01T12:34:56Z", "2026-04-01T14:34:56"),
            ("0401", "2026-04-01T00:00:00"),
            ("040127", "2027-04-01T00:00:00"),
            ("03/27", "2027-03-27T00:00:00"),
            ("04/01/26", "2026-04-01T00:00:00"),
            ("04/01/26-16:00", "2026-04-01T16:00:00"),
            ("04.01.26", "2026-04-01T00:00:00"),
            ("uts1774702801", "2026-03-28T14:00:01"),
            // Skipped and shifted by the change of clocks.
            ("2026-03-29T02:30", "2026-03-29T03:30:00"),
        ] {
            assert_eq!(at(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "soon",
            "now-60",
            "now+",
            "now+1fortnight",
            "25:00",
            "12:60",
            "13pm",
            "0pm",
            "4",
            "1332",
            "02/30/26",
            "2026-02-30",
            "2026-4-1",
            "2026-04-01T",
            "2026-04-01X12:00",
            "uts",
            "now+99999999999999999999",
            "é:00",
            "éé",
            "2026-04-0é",
            "m",
            "am",
            "-",
            " ",
        ] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,20}|[-0-9:/.+tTamp now]{0,20}") {
            let _ = at(&text);
        }
    }
}
