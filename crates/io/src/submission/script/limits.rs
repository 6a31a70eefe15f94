//! Time limits, and counts.

use std::collections::BTreeMap;

use tradewind_model::{Span, Times};

use super::{Wrong, wrong};
use crate::diagnostics::excerpt;
use crate::duration;
use crate::submission::{Gather, Submission, TIMES, TimeLimit};

/// What [`limit`] takes, for hints.
pub(super) const FORMS: &str = "write minutes, `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM`, `D-HH:MM:SS`, or `90s`, `15m`, `2h`, `2d`";

/// One limit, or limits by class: `fast:10m,slow:30m`.
pub(super) fn limit(text: &str) -> Result<TimeLimit, Wrong> {
    if !text.contains(|c: char| c.is_alphabetic()) || !text.contains(':') {
        return span(text).map(TimeLimit::one);
    }
    let mut classes = BTreeMap::new();
    for part in text.split(',') {
        let (class, limit) = part.split_once(':').unwrap_or((part, ""));
        let class = class.trim();
        if class.is_empty() || limit.is_empty() {
            let message = format!("`{}` is no class with its limit", excerpt(part));
            return Err(wrong(message, "write `fast:10m,slow:30m`"));
        }
        if classes.insert(class.to_owned(), span(limit)?).is_some() {
            let message = format!("the class `{}` has two limits", excerpt(class));
            return Err(wrong(message, "give each class once"));
        }
    }
    Ok(TimeLimit::Classes(classes))
}

/// A limit as `sbatch` takes it (a bare number is minutes), or with a unit. At least a second.
fn span(text: &str) -> Result<Span, Wrong> {
    let text = text.trim();
    if ["unlimited", "infinite", "-1"].contains(&text.to_lowercase().as_str()) {
        let message = format!("`{}` is no limit", excerpt(text));
        return Err(wrong(
            message,
            "a market sells time: say how much of it, such as `2-00:00:00`",
        ));
    }
    let seconds = slurm(text).or_else(|| {
        let unit = text.ends_with(['s', 'm', 'h', 'd']);
        duration::parse_span(text).ok().filter(|_| unit).map(|span| span.0)
    });
    match seconds {
        Some(0) => Err(wrong("a limit of 0 s", "a market sells time: say how much of it")),
        Some(seconds) if seconds <= Span::MAX.0 => Ok(Span(seconds)),
        Some(_) => Err(wrong(format!("`{}` is too long", excerpt(text)), FORMS)),
        None => Err(wrong(format!("`{}` is not a time limit", excerpt(text)), FORMS)),
    }
}

/// What a limit counts: `wall` or `work`.
pub(super) fn times(text: &str) -> Result<Times, Wrong> {
    let found = TIMES.iter().find(|(name, _)| *name == text.trim());
    found.map(|(_, times)| *times).ok_or_else(|| {
        let message = format!("`{}` is no way to count times", excerpt(text));
        wrong(message, "write `wall` (wall-clock time) or `work` (on a node of performance 1)")
    })
}

/// How long parts wait for each other: with a unit, or `no`.
pub(super) fn gather(text: &str) -> Result<Gather, Wrong> {
    if text.trim() == "no" {
        return Ok(Gather::Apart);
    }
    let within = duration::parse_span(text.trim()).ok();
    let within = within.filter(|it| (Span(1)..=Submission::MAX_GATHER).contains(it));
    within.map(Gather::Within).ok_or_else(|| {
        let message = format!("`{}` is no time to wait for each other", excerpt(text));
        wrong(message, "write `90s`, `5m`, up to `24h`, or `no`")
    })
}

/// Seconds of one of `sbatch`'s six forms; saturates.
fn slurm(text: &str) -> Option<i64> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(digits(days)?), rest),
        None => (None, text),
    };
    let parts: Option<Vec<i64>> = rest.split(':').map(digits).collect();
    let (hours, minutes, seconds) = match (days, &parts?[..]) {
        (None, &[minutes]) => (0, minutes, 0),
        (None, &[minutes, seconds]) => (0, minutes, seconds),
        (Some(_), &[hours]) => (hours, 0, 0),
        (Some(_), &[hours, minutes]) => (hours, minutes, 0),
        (_, &[hours, minutes, seconds]) => (hours, minutes, seconds),
        _ => return None,
    };
    let hours = days.unwrap_or(0).saturating_mul(24).saturating_add(hours);
    let minutes = hours.saturating_mul(60).saturating_add(minutes);
    Some(minutes.saturating_mul(60).saturating_add(seconds))
}

/// Digits only; saturates.
pub(in crate::submission) fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    plain.then(|| text.parse().unwrap_or(i64::MAX))
}

/// A count from 1, with `k` or `m` for 1,024 and 1,048,576 as `sbatch` takes them.
pub(super) fn count(text: &str, max: u32) -> Result<u32, Wrong> {
    let (number, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    match digits(number).map(|number| number.saturating_mul(unit)) {
        Some(count) if (1..=i64::from(max)).contains(&count) => Ok(count as u32),
        _ => {
            let message = format!("`{}` is not a number of them", excerpt(text));
            Err(wrong(message, format!("write a whole number from 1 to {max}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn how_long_parts_wait_is_read() {
        assert_eq!(gather("90s"), Ok(Gather::Within(Span(90))));
        assert_eq!(gather("24h"), Ok(Gather::Within(Span(86_400))));
        assert_eq!(gather("no"), Ok(Gather::Apart));
        for text in ["", "0s", "25h", "yes", "-1s"] {
            assert!(gather(text).unwrap_err().message.contains("no time to wait"), "{text}");
        }
    }

    #[test]
    fn what_limits_count_is_read() {
        assert_eq!((times("wall"), times("work")), (Ok(Times::Wall), Ok(Times::Work)));
        for text in ["", "Wall", "cpu", "wall,work"] {
            assert!(times(text).unwrap_err().message.contains("no way to count"), "{text}");
        }
    }

    #[test]
    fn every_form_of_a_limit_is_read() {
        for (text, seconds) in [
            ("10", 600),
            ("1:30", 90),
            ("02:00:05", 7_205),
            ("1-12", 129_600),
            ("1-12:30", 131_400),
            ("1-12:30:01", 131_401),
            ("0:90", 90),
            ("90s", 90),
            ("15m", 900),
            ("24h", 86_400),
            ("2d", 172_800),
        ] {
            assert_eq!(limit(text), Ok(TimeLimit::one(Span(seconds))), "{text}");
        }
        let classes = [("fast", 600), ("slow", 1_800), ("old", 90)];
        let classes = classes.map(|(name, s)| (name.to_owned(), Span(s))).into();
        assert_eq!(limit("fast:10m,slow:30,old:1:30"), Ok(TimeLimit::Classes(classes)));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "0",
            "0:00",
            "-1",
            "UNLIMITED",
            "infinite",
            "1-",
            "-",
            "1:2:3:4",
            "1-1:2:3:4",
            "x",
            "1.5h",
            "a:",
            ":10",
            "a:1,a:2",
            "a:10,b",
            "9999999999d",
            "s",
            "é",
            "a:0",
            "1w",
        ] {
            assert!(limit(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn days_and_the_rest_add_up(d in 0i64..500, h in 0i64..24, m in 0i64..60, s in 1i64..60) {
            let seconds = ((d * 24 + h) * 60 + m) * 60 + s;
            let text = format!("{d}-{h:02}:{m:02}:{s:02}");
            prop_assert_eq!(limit(&text), Ok(TimeLimit::one(Span(seconds))));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,20}|[-0-9:,a-f]{0,20}") {
            let _ = (limit(&text), count(&text, 100));
        }
    }
}
