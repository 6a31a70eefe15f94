//! Slurm's commands: `squeue`, `sacct`, and what they write as JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::stage::Stage;
use crate::{Status, micro};

type All = BTreeMap<u64, (Value, Status)>;

/// What a command shows as a start: that of a job that has started, or the expected one.
fn shown(job: &Value, status: &Status) -> Option<i64> {
    job.get("started").and_then(Value::as_i64).or(status.expected)
}

fn moment(text: &str) -> Option<i64> {
    let at = || format!("{text}Z").parse::<jiff::Timestamp>().unwrap();
    (text != "N/A").then(|| at().as_second())
}

/// The accounting knows fewer states.
fn accounted(state: &str) -> &str {
    match state {
        "CONFIGURING" => "PENDING",
        "COMPLETING" | "UNKNOWN" => "RUNNING",
        other => other,
    }
}

pub(crate) fn compare(stage: &Stage, all: &All) {
    let words = ["-h", "-r", "--states=all", "-O", "JobIDRaw:|,State:|,StartTime:|,Cost:|"];
    let listed = rows(&stage.shim("squeue", &words), |state| state);
    assert_eq!(listed, wanted(all, |state| state), "squeue");
    let words = ["-aXnP", "-S", "1970-01-01", "-o", "JobIDRaw,State,Start,Cost"];
    let listed = rows(&stage.shim("sacct", &words), |state| state);
    assert_eq!(listed, wanted(all, accounted), "sacct");
    let json = stage.shim("squeue", &["--states=all", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let jobs = json["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), all.len());
    for it in jobs {
        let (job, status) = &all[&it["job_id"].as_u64().unwrap()];
        assert_eq!(it["job_state"][0], status.state.as_str(), "{it}");
        let start = Some(&it["start_time"]).filter(|it| it["set"] == true);
        assert_eq!(start.and_then(|it| it["number"].as_i64()), shown(job, status), "{it}");
    }
}

/// By job: state, start, and what it has cost so far.
type Rows = BTreeMap<u64, (String, Option<i64>, i64)>;

fn rows(text: &str, name: fn(&str) -> &str) -> Rows {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let cost = micro(cells[3]);
        (cells[0].parse().unwrap(), (name(cells[1]).to_owned(), moment(cells[2]), cost))
    };
    text.lines().map(row).collect()
}

fn wanted(all: &All, name: fn(&str) -> &str) -> Rows {
    let row = |(number, (job, status)): (&u64, &(Value, Status))| {
        (*number, (name(&status.state).to_owned(), shown(job, status), status.so_far))
    };
    all.iter().map(row).collect()
}
