//! `scontrol update`: Slurm's names of what a job says, as options of a submission.

use tradewind_io::submission::options::OptionSpec;
use tradewind_io::submission::script::{Given, Origin};
use tradewind_web::documents::Job;

use super::fields::clock;
use super::refused;
use super::scontrol::to_each;
use super::selected::SelectedJob;
use crate::client::Market;
use crate::commands::live::control::changed;
use crate::exit::{Failure, Outcome};

/// Slurm's names, in lower case, and the options that say the same.
const NAMES: [(&str, &str); 21] = [
    ("clusters", "clusters"),
    ("comment", "comment"),
    ("deadline", "deadline"),
    ("dependency", "dependency"),
    ("eligibletime", "begin"),
    ("jobname", "job-name"),
    ("licenses", "licenses"),
    ("mailtype", "mail-type"),
    ("minnodes", "nodes"),
    ("name", "job-name"),
    ("nice", "nice"),
    ("numnodes", "nodes"),
    ("partition", "partition"),
    ("priority", "priority"),
    ("reqnodes", "nodes"),
    ("requeue", "requeue"),
    ("starttime", "begin"),
    ("stderr", "error"),
    ("stdin", "input"),
    ("stdout", "output"),
    ("timelimit", "time"),
];

/// `JobId=12 TimeLimit=20 …`.
pub(super) fn run(market: &Market, settings: &[&str]) -> Outcome {
    let mut jobs = Vec::new();
    let mut wanted = Vec::new();
    for setting in settings {
        let (name, value) = setting
            .split_once('=')
            .ok_or_else(|| refused(format!("Invalid update specification: {setting}")))?;
        // `TimeLimit+=10` is `TimeLimit=+10`.
        let (name, value) = match name.strip_suffix(['+', '-']) {
            Some(bare) => (bare, format!("{}{value}", &name[bare.len()..])),
            None => (name, value.to_owned()),
        };
        match name.to_lowercase().as_str() {
            "jobid" | "job" => jobs.push(value),
            name => wanted.push(option(name, value)?),
        }
    }
    match (jobs.is_empty(), wanted.is_empty()) {
        (true, _) => Err(refused("No valid entity in update command")
            .hint("only jobs can be updated: the input line must include \"JobId\"")),
        (false, true) => Err(refused("No changes specified")),
        (false, false) => to_each(market, &jobs, |job| {
            let given: Vec<Given> =
                wanted.iter().map(|it| for_job(job, it)).collect::<Result<_, Failure>>()?;
            market.post(&format!("/v1/jobs/{}/update", job.id), &changed(&given))
        }),
    }
}

/// The option that says the same.
fn option(name: &str, value: String) -> Result<Given, Failure> {
    let of = |name: &str, value: Option<String>| {
        let option = OptionSpec::find(name).map_err(|_| refused(format!("no option {name}")))?;
        Ok(Given { option, value, origin: Origin::CommandLine })
    };
    let known = NAMES.iter().find(|(known, _)| *known == name);
    match (known, value.as_str()) {
        (Some((_, "requeue")), "0") => of("no-requeue", None),
        (Some((_, "requeue")), "1") => of("requeue", None),
        (Some((_, "requeue")), _) => Err(refused(format!("Invalid requeue value: {value}"))),
        (Some((_, option)), _) => of(option, Some(value)),
        (None, _) => {
            Err(refused(format!("Update of this parameter is not supported: {name}={value}")))
        }
    }
}

/// `TimeLimit=+10` and `-10` count from the limit that the job has.
fn for_job(job: &Job, given: &Given) -> Result<Given, Failure> {
    let (sign, length) = match (given.option.name, given.value.as_deref()) {
        ("time", Some(text)) if text.starts_with('+') => (1, &text[1..]),
        ("time", Some(text)) if text.starts_with('-') => (-1, &text[1..]),
        _ => return Ok(given.clone()),
    };
    let invalid = || refused(format!("Invalid TimeLimit value: {length}"));
    let more = seconds(length).ok_or_else(invalid)?;
    let now = SelectedJob::new(job.clone()).limit().ok_or_else(invalid)?;
    let limit =
        more.checked_mul(sign).and_then(|more| now.checked_add(more)).ok_or_else(invalid)?;
    match limit {
        1.. => Ok(Given { value: Some(clock(limit)), ..given.clone() }),
        _ => Err(refused(format!("job {} would have no time left", job.id))),
    }
}

/// Minutes, or `HH:MM:SS`.
fn seconds(text: &str) -> Option<i64> {
    let parts: Vec<i64> = text.split(':').map(|it| it.parse().ok()).collect::<Option<_>>()?;
    match parts[..] {
        [minutes] => minutes.checked_mul(60),
        [minutes, seconds] => minutes.checked_mul(60)?.checked_add(seconds),
        [hours, minutes, seconds] => {
            hours.checked_mul(3_600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurms_names_are_options() {
        let read = |name: &str, value: &str| {
            option(name, value.to_owned()).map(|it| (it.option.name, it.value))
        };
        assert_eq!(read("timelimit", "20").unwrap(), ("time", Some("20".to_owned())));
        assert_eq!(read("requeue", "0").unwrap(), ("no-requeue", None));
        assert_eq!(read("dependency", "").unwrap(), ("dependency", Some(String::new())));
        let refusal = |name: &str| read(name, "1").unwrap_err().problems[0].message.clone();
        assert_eq!(refusal("features"), "Update of this parameter is not supported: features=1");
        assert!(NAMES.iter().all(|(_, it)| OptionSpec::find(it).is_ok()));
    }

    #[test]
    fn lengths_are_minutes_or_have_colons() {
        let read = ["10", "1:30", "1:00:05", "x", "1:2:3:4", "99999999999999999999"].map(seconds);
        assert_eq!(read, [Some(600), Some(90), Some(3_605), None, None, None]);
    }
}
