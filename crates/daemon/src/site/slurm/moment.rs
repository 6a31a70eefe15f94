//! Times as `scontrol` writes and reads them; commands run with `TZ=UTC`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use tradewind_model::Time;

/// `2026-11-21T23:59:00`; `None` for `Unknown` and the like.
pub(super) fn parse(text: &str) -> Option<Time> {
    let civil: DateTime = text.parse().ok()?;
    let moment = TimeZone::UTC.to_timestamp(civil).ok()?;
    Some(Time(moment.as_second()))
}

/// As [`parse`] reads it.
pub(super) fn show(time: Time) -> String {
    let moment = Timestamp::from_second(time.0).unwrap_or(Timestamp::UNIX_EPOCH);
    TimeZone::UTC.to_datetime(moment).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_back() {
        for time in [0, 1_795_254_421, 4_102_444_800] {
            assert_eq!(parse(&show(Time(time))), Some(Time(time)));
        }
        assert_eq!(show(Time(1_795_254_421)), "2026-11-21T09:47:01");
        assert_eq!(parse("Unknown"), None);
    }
}
