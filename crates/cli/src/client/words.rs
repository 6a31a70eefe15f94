//! Times and states as users of Slurm know them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A moment in the zone of this machine: `2026-11-21T14:03:02`.
pub(crate) fn moment(at: i64) -> String {
    in_zone(at, TimeZone::system())
}

/// The same with its distance from UTC, for readers elsewhere: `2026-11-21T14:03:02+01:00`.
pub(crate) fn moment_of_all(at: i64) -> String {
    formatted(at, TimeZone::system(), "%Y-%m-%dT%H:%M:%S%:z")
}

/// `1 node`, `2 nodes`.
pub(crate) fn nodes(count: u32) -> String {
    let many = if count == 1 { "node" } else { "nodes" };
    format!("{count} {many}")
}

fn in_zone(at: i64, zone: TimeZone) -> String {
    formatted(at, zone, "%Y-%m-%dT%H:%M:%S")
}

fn formatted(at: i64, zone: TimeZone, form: &str) -> String {
    match Timestamp::from_second(at) {
        Ok(moment) => moment.to_zoned(zone).strftime(form).to_string(),
        Err(_) => "Unknown".to_owned(),
    }
}

/// A moment beside another: without its day if that is the other's, without seconds.
pub(crate) fn clock(at: i64, beside: i64) -> String {
    clock_in_zone(at, beside, &TimeZone::system())
}

fn clock_in_zone(at: i64, beside: i64, zone: &TimeZone) -> String {
    let zoned = |at| Timestamp::from_second(at).map(|at| at.to_zoned(zone.clone()));
    match (zoned(at), zoned(beside)) {
        (Ok(at), Ok(beside)) if at.date() == beside.date() => at.strftime("%H:%M").to_string(),
        (Ok(at), _) => at.strftime("%Y-%m-%dT%H:%M").to_string(),
        (Err(_), _) => "Unknown".to_owned(),
    }
}

/// The same, or `N/A`.
pub(crate) fn moment_or_none(at: Option<i64>) -> String {
    at.map_or_else(|| "N/A".to_owned(), moment)
}

/// A length of time: `3:07`, `1:03:07`, `2-01:03:07`.
pub(crate) fn length(seconds: i64) -> String {
    let (sign, seconds) = (if seconds < 0 { "-" } else { "" }, seconds.unsigned_abs());
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => format!("{sign}{minutes}:{seconds:02}"),
        (0, _) => format!("{sign}{hours}:{minutes:02}:{seconds:02}"),
        _ => format!("{sign}{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    Timestamp::now().as_second()
}

/// States of jobs that have not ended, and their short forms.
const OPEN: [(&str, &str); 5] = [
    ("PENDING", "PD"),
    ("CONFIGURING", "CF"),
    ("RUNNING", "R"),
    ("COMPLETING", "CG"),
    ("UNKNOWN", "UN"),
];
/// States of jobs that have.
const OVER: [(&str, &str); 7] = [
    ("COMPLETED", "CD"),
    ("FAILED", "F"),
    ("TIMEOUT", "TO"),
    ("CANCELLED", "CA"),
    ("NODE_FAIL", "NF"),
    ("OUT_OF_MEMORY", "OOM"),
    ("DEADLINE", "DL"),
];

/// The states of jobs that have not ended, as the API takes them.
pub(crate) fn open_states() -> String {
    OPEN.map(|(long, _)| long).join(",")
}

/// As `squeue` abbreviates it.
pub(crate) fn short(state: &str) -> &str {
    let all = OPEN.iter().chain(&OVER);
    all.into_iter().find(|(long, _)| *long == state).map_or(state, |(_, short)| short)
}

/// States that the caller asked for, long or short, in any case.
///
/// # Errors
/// The first that is none.
pub(crate) fn states(text: &str) -> Result<String, String> {
    let one = |word: &str| {
        let word = word.trim().to_uppercase();
        let found =
            OPEN.iter().chain(&OVER).find(|(long, short)| [*long, *short].contains(&&*word));
        found.map(|(long, _)| *long).ok_or_else(|| {
            let all: Vec<&str> = OPEN.iter().chain(&OVER).map(|(long, _)| *long).collect();
            format!("there is no state `{word}`; there are {}", all.join(", "))
        })
    };
    let all: Result<Vec<&str>, String> = text.split(',').map(one).collect();
    Ok(all?.join(","))
}

/// Whether a job in this state has ended.
pub(crate) fn is_over(state: Option<&str>) -> bool {
    OVER.iter().any(|(long, _)| Some(*long) == state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_slurm() {
        let all = [(7, "0:07"), (187, "3:07"), (3_787, "1:03:07"), (176_587, "2-01:03:07")];
        for (seconds, text) in all {
            assert_eq!(length(seconds), text);
        }
        assert_eq!(length(-61), "-1:01");
    }

    #[test]
    fn moments_are_those_of_the_zone() {
        assert_eq!(in_zone(0, TimeZone::UTC), "1970-01-01T00:00:00");
        assert_eq!(in_zone(i64::MAX, TimeZone::UTC), "Unknown");
    }

    #[test]
    fn states_are_long_or_short() {
        assert_eq!(states("pd,Running").unwrap(), "PENDING,RUNNING");
        assert!(states("PD,").is_err());
        assert_eq!((short("TIMEOUT"), short("ODD")), ("TO", "ODD"));
        assert!(is_over(Some("DEADLINE")) && !is_over(Some("COMPLETING")) && !is_over(None));
    }
}
