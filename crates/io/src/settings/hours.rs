//! Hours of the week, on a civil clock.

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
