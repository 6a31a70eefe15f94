//! Hours of the week, on a civil clock.

use std::fmt;

use jiff::civil::DateTime;

/// What [`Hours::parse`] takes, for hints.
pub(super) const FORMS: &str =
    "write `Mon-Fri 08:00-18:00`, `Sat,Sun`, `22:00-06:00` or `always`, several with `;`";

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const DAY: u16 = 24 * 60;

/// Hours of the week. Each part ends before its last minute; one that ends at or before its
/// beginning goes on into the next day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hours {
    parts: Vec<Part>,
}

/// From minute `from` of some days until minute `until` of the same or of the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    /// Whether each day of the week counts, from Monday on.
    days: [bool; 7],
    from: u16,
    until: u16,
}

impl Hours {
    /// All hours of the week.
    pub fn always() -> Hours {
        Hours { parts: vec![Part { days: [true; 7], from: 0, until: DAY }] }
    }

    /// The hours that `text` names: `Mon-Fri 08:00-18:00`, `Sat,Sun`, `22:00-06:00`, `always`;
    /// several parts are separated by `;`. `None` if it is something else.
    pub fn parse(text: &str) -> Option<Hours> {
        if text.trim().eq_ignore_ascii_case("always") {
            return Some(Hours::always());
        }
        let parts: Option<Vec<Part>> = text.split(';').map(part).collect();
        Some(Hours { parts: parts? })
    }

    /// Whether the minute of `at` is among them.
    pub fn hold(&self, at: DateTime) -> bool {
        let day = at.weekday().to_monday_zero_offset() as usize;
        let before = (day + 6) % 7;
        let minute = at.hour() as u16 * 60 + at.minute() as u16;
        self.parts.iter().any(|part| match part.from < part.until {
            true => part.days[day] && (part.from..part.until).contains(&minute),
            false => {
                (part.days[day] && minute >= part.from)
                    || (part.days[before] && minute < part.until)
            }
        })
    }

    /// Minutes of a day at which some part begins or ends.
    pub(super) fn edges(&self) -> impl Iterator<Item = u16> + '_ {
        self.parts.iter().flat_map(|part| [part.from % DAY, part.until % DAY, 0])
    }
}

/// As [`Hours::parse`] reads it.
impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts.iter().map(|part| {
            let all_days = part.days == [true; 7];
            match (all_days, (part.from, part.until) == (0, DAY)) {
                (true, true) => "always".to_owned(),
                (true, false) => part.span(),
                (false, true) => part.days_text(),
                (false, false) => format!("{} {}", part.days_text(), part.span()),
            }
        });
        let parts: Vec<String> = parts.collect();
        // `always` stands alone: with it, the others say nothing.
        match parts.iter().any(|part| part == "always") {
            true => f.write_str("always"),
            false => f.write_str(&parts.join("; ")),
        }
    }
}

impl Part {
    /// `08:00-18:00`.
    fn span(&self) -> String {
        let clock = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        format!("{}-{}", clock(self.from), clock(self.until))
    }

    /// `Mon-Fri` or `Tue,Sat-Sun`: runs of days.
    fn days_text(&self) -> String {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for day in (0..7).filter(|day| self.days[*day]) {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == day => *last = day,
                _ => runs.push((day, day)),
            }
        }
        let name = |day: usize| {
            let mut letters = DAYS[day].chars();
            let first = letters.next().map(|it| it.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        };
        let runs = runs.into_iter().map(|(first, last)| match first == last {
            true => name(first),
            false => format!("{}-{}", name(first), name(last)),
        });
        runs.collect::<Vec<_>>().join(",")
    }
}

/// `[DAYS] [HH:MM-HH:MM]`, at least one of them.
fn part(text: &str) -> Option<Part> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (days, (from, until)) = match words[..] {
        [one] => match span(one) {
            Some(span) => ([true; 7], span),
            None => (days(one)?, (0, DAY)),
        },
        [one, two] => (days(one)?, span(two)?),
        _ => return None,
    };
    Some(Part { days, from, until })
}

/// `Mon`, `Mon-Fri`, `Fri-Mon`, with commas between.
fn days(text: &str) -> Option<[bool; 7]> {
    let day = |name: &str| {
        let name = name.to_lowercase();
        let found = DAYS.iter().position(|day| *day == name || long(day) == name)?;
        Some(found)
    };
    let mut all = [false; 7];
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (mut at, last) = (day(first)?, day(last)?);
        loop {
            all[at] = true;
            if at == last {
                break;
            }
            at = (at + 1) % 7;
        }
    }
    Some(all)
}

/// The whole name of a day.
fn long(short: &str) -> &'static str {
    match short {
        "mon" => "monday",
        "tue" => "tuesday",
        "wed" => "wednesday",
        "thu" => "thursday",
        "fri" => "friday",
        "sat" => "saturday",
        _ => "sunday",
    }
}

/// `HH:MM-HH:MM`; the end may be `24:00`.
fn span(text: &str) -> Option<(u16, u16)> {
    let (from, until) = text.split_once('-')?;
    let (from, until) = (minute(from)?, minute(until)?);
    (from < DAY && from != until).then_some((from, until))
}

fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let two = |text: &str| {
        let plain = text.len() == 2 && text.bytes().all(|c| c.is_ascii_digit());
        plain.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hour, minute) = (two(hour)?, two(minute)?);
    let all = hour * 60 + minute;
    (minute < 60 && all <= DAY).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_written_as_they_are_read() {
        let texts = [
            "always",
            "Mon-Fri 08:00-18:00",
            "22:00-06:00",
            "Tue,Sat-Sun",
            "Mon 00:00-07:30; Mon 20:00-24:00",
        ];
        for text in texts {
            let hours = Hours::parse(text).unwrap();
            assert_eq!(hours.to_string(), text);
        }
        for text in ["fri-mon 08:00-09:00", "Sat;Sun", "always; Mon"] {
            let Some(hours) = Hours::parse(text) else { continue };
            assert_eq!(Hours::parse(&hours.to_string()), Some(hours), "{text}");
        }
    }
}
