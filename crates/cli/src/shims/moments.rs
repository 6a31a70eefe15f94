//! Moments as Slurm's commands take them.

use jiff::Zoned;
use jiff::civil::DateTime;

use super::refused;
use crate::exit::Failure;

/// A moment as Slurm's commands take it: `now-2days`, `2026-11-23T12:00`, `today`, `11/23`; seconds since
/// 1970.
///
/// # Errors
/// If it is none.
pub(super) fn moment(text: &str, now: &Zoned) -> Result<i64, Failure> {
    let unknown = || refused(format!("Invalid time specification: {text}"));
    let seconds = now.timestamp().as_second();
    if let Some(rest) = text.strip_prefix("now") {
        let (sign, length) = match rest.chars().next() {
            None => return Ok(seconds),
            Some('-') => (-1, &rest[1..]),
            Some('+') => (1, &rest[1..]),
            Some(_) => return Err(unknown()),
        };
        let unit = length.trim_start_matches(|it: char| it.is_ascii_digit());
        let count: i64 = length[..length.len() - unit.len()].parse().map_err(|_| unknown())?;
        let each = match unit {
            "" | "second" | "seconds" => 1,
            "minute" | "minutes" => 60,
            "hour" | "hours" => 3_600,
            "day" | "days" => 86_400,
            "week" | "weeks" => 604_800,
            _ => return Err(unknown()),
        };
        let at = count.checked_mul(sign * each).and_then(|it| seconds.checked_add(it));
        return at.ok_or_else(unknown);
    }
    let midnight =
        || now.start_of_day().map(|it| it.timestamp().as_second()).map_err(|_| unknown());
    match text {
        "today" | "midnight" => return midnight(),
        "yesterday" => return midnight().map(|it| it - 86_400),
        _ => {}
    }
    let text = text.strip_suffix('Z').unwrap_or(text);
    let civil = text.parse::<DateTime>().or_else(|_| {
        let formats = ["%Y-%m-%dT%H:%M", "%m/%d/%y-%H:%M:%S", "%m/%d/%y-%H:%M"];
        let parsed = formats.iter().find_map(|it| DateTime::strptime(it, text).ok());
        parsed
            .or_else(|| {
                let days = ["%m/%d/%y", "%Y-%m-%d"];
                let day = days.iter().find_map(|it| jiff::civil::Date::strptime(it, text).ok());
                day.map(|day| day.at(0, 0, 0, 0))
            })
            .ok_or_else(unknown)
    })?;
    let at = civil.to_zoned(now.time_zone().clone()).map_err(|_| unknown())?;
    Ok(at.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_for_slurm() {
        let now: Zoned = "2026-11-23T12:00:00+00:00[UTC]".parse().unwrap();
        let at = |text: &str| moment(text, &now).ok();
        let noon = now.timestamp().as_second();
        assert_eq!((at("now"), at("now-2days")), (Some(noon), Some(noon - 172_800)));
        assert_eq!(
            (at("today"), at("2026-11-23T11:00")),
            (Some(noon - 43_200), Some(noon - 3_600))
        );
        assert_eq!(at("11/23/26"), Some(noon - 43_200));
        assert_eq!((at("sometime"), at("now-"), at("now-1fortnight")), (None, None, None));
        assert_eq!((at("now+9223372036854775807"), at("now-99999999999999999weeks")), (None, None));
    }
}
