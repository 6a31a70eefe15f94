//! Times that are filled in: on the clock that the page shows.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The clock of that IANA name; UTC, if it is empty.
///
/// # Errors
/// If there is no such clock.
pub(crate) fn clock(name: &str) -> Result<TimeZone, String> {
    match name.trim() {
        "" => Ok(TimeZone::UTC),
        name => TimeZone::get(name).map_err(|_| format!("there is no zone `{name}`")),
    }
}

/// A day or a minute on a clock, seconds since 1970. Of a minute that the clock shows twice, the
/// first; one that it skips is as long after midnight as if it were there.
pub(crate) fn instant(text: &str, clock: &TimeZone) -> Option<i64> {
    let civil: DateTime = text.trim().parse().ok()?;
    clock.to_ambiguous_timestamp(civil).compatible().ok().map(jiff::Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_on_its_clock() {
        let utc = clock("").unwrap();
        let east = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(instant("1970-01-02", &utc), Some(86_400));
        assert_eq!(instant("1970-01-01 02:00", &east), Some(0));
        assert_eq!(instant(" 1970-01-01T09:00 ", &clock("Asia/Tokyo").unwrap()), Some(0));
        assert_eq!(instant("yesterday", &utc), None);
        assert!(clock("Mars/Olympus").is_err());
    }
}
