//! Moments as `sacct` prints them: local time without or with an offset (`%FT%T%z`), or seconds since
//! 1970.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// What a column of times says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeCell {
    /// Seconds since 1970.
    At(u32),
    /// Local time that occurs twice, because clocks were set back: the earlier and the later one.
    Either(u32, u32),
    /// There is no such moment, or none yet.
    None,
}

impl TimeCell {
    /// The earliest possible moment that is not before `other`, or else the latest one.
    pub(super) fn not_before(self, other: u32) -> Option<u32> {
        match self {
            TimeCell::None => None,
            TimeCell::At(at) => Some(at),
            TimeCell::Either(early, late) => Some(if early < other { late } else { early }),
        }
    }

    pub(super) fn earliest(self) -> Option<u32> {
        self.not_before(0)
    }
}

/// Reads a moment in `zone`. Local time that clocks skipped when they were set forward is read with
/// the offset before.
pub(super) fn moment(text: &str, zone: &TimeZone) -> Option<TimeCell> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("Unknown") || is("None") || is("N/A") || is("NULL") || text == "0" {
        return Some(TimeCell::None);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(TimeCell::At);
    }
    let (local, offset) = text.split_at_checked(SHAPE.len())?;
    let local = civil(local)?;
    let seconds = |at: jiff::Timestamp| u32::try_from(at.as_second()).ok();
    if !offset.is_empty() {
        let at = offset_from_utc(offset)?.to_timestamp(local).ok()?;
        return seconds(at).map(TimeCell::At);
    }
    let either = zone.to_ambiguous_timestamp(local);
    if let AmbiguousOffset::Fold { .. } = either.offset() {
        let early = seconds(either.earlier().ok()?)?;
        return Some(TimeCell::Either(early, seconds(either.later().ok()?)?));
    }
    seconds(either.compatible().ok()?).map(TimeCell::At)
}

/// `+0100`, `-03:30` or `Z`.
fn offset_from_utc(text: &str) -> Option<Offset> {
    let sign = match text.as_bytes().first()? {
        b'Z' if text.len() == 1 => return Some(Offset::UTC),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = text.get(1..)?;
    let (hours, minutes) = digits.split_once(':').or_else(|| digits.split_at_checked(2))?;
    let two = |text: &str, most: i32| {
        let is_two = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i32>().ok().filter(|it| is_two && *it <= most)
    };
    Offset::from_seconds(sign * (two(hours, 25)? * 3_600 + two(minutes, 59)? * 60)).ok()
}

const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:dd";

/// `2026-03-05T10:11:12`.
fn civil(text: &str) -> Option<DateTime> {
    let bytes = text.as_bytes();
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'd' => byte.is_ascii_digit(),
        form => byte == form,
    };
    if bytes.len() != SHAPE.len() || !bytes.iter().zip(SHAPE).all(fits) {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i16>().ok();
    let small = |from: usize| i8::try_from(number(from, from + 2)?).ok();
    let (month, day) = (small(5)?, small(8)?);
    let (hour, minute, second) = (small(11)?, small(14)?, small(17)?);
    // A leap second is the last second of its minute.
    DateTime::new(number(0, 4)?, month, day, hour, minute, second.min(59), 0).ok()
}
