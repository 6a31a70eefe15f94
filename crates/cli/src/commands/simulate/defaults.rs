//! What a replay takes for granted and results depend on: a line per workload.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradewind_campaign::streamed::LogFacts;
use tradewind_campaign::summary::Summary;
use tradewind_campaign::workload::WorkloadFiles;
use tradewind_io::campaign::{Campaign, Dependencies, Keyword, Overrun};
use tradewind_io::present::grouped;
use tradewind_io::swf::Log;

use super::overview::Overview;

/// A line per workload that was read.
pub(super) fn lines(
    campaign: &Campaign,
    sources: &[WorkloadFiles<'_>],
    overview: &Overview,
) -> Vec<String> {
    let line = |(spec, source): (&tradewind_io::campaign::Workload, &WorkloadFiles<'_>)| {
        let logs = source.facts()?;
        let runs = overview.runs.iter().filter(|run| run.cell("log") == spec.name);
        let runs: Vec<&Summary> = runs.collect();
        let mut parts = Vec::new();
        parts.extend(memory(spec, source));
        parts.extend(killed(campaign, &runs));
        parts.extend(spec.dependencies.map(|by| linked(by, &runs)));
        if spec.model.is_none() {
            parts.push(requests(&logs));
            parts.extend(logs.iter().map(|log| origin(log, logs.len() > 1)));
        }
        let whole = spec.users.zip(source.logs_and_processors());
        parts.extend(whole.map(|(users, (logs, nodes))| slices(users, logs, nodes, &runs)));
        Some(format!("{}: {}", spec.name, parts.join("; ")))
    };
    campaign.workloads.iter().zip(sources).filter_map(line).collect()
}

/// How many jobs were stopped at their requests; nothing where none can be.
fn killed(campaign: &Campaign, runs: &[&Summary]) -> Option<String> {
    if !campaign.overruns.contains(&Overrun::Kill) {
        return None;
    }
    let kills = runs.iter().filter(|run| run.cell("overrun") == "kill");
    let counts: Vec<f64> = kills.filter_map(|run| run.number("killed")).collect();
    let counts = range(&counts, |count| grouped(count as usize))?;
    Some(format!("jobs stopped at their requested time (`--overrun kill`): {counts}"))
}

/// The memory that is counted, and of how many jobs none is known.
fn memory(spec: &tradewind_io::campaign::Workload, source: &WorkloadFiles<'_>) -> Option<String> {
    let (field, node) = spec.memory.zip(spec.nodes)?;
    let (missing, all) = source.without_memory()?;
    Some(format!(
        "memory per processor (`--memory {}`) on nodes of {} processors and {}; {} of {} jobs have no \
         memory and count as none",
        field.name(),
        node.processors,
        node.memory,
        grouped(missing),
        grouped(all)
    ))
}

/// How many jobs were submitted when others were over.
fn linked(by: Dependencies, runs: &[&Summary]) -> String {
    let count = |key: &str| {
        let counts: Vec<f64> = runs.iter().filter_map(|run| run.number(key)).collect();
        range(&counts, |count| grouped(count as usize)).unwrap_or_else(|| "0".to_owned())
    };
    let (name, linked, unlinked) = (by.name(), count("linked"), count("unlinked"));
    let how = match by {
        Dependencies::Ignore => "as logged",
        Dependencies::Order => "not before the end of their preceding job (field 17)",
        Dependencies::Think => "their think time (field 18) after the end of their preceding job",
        Dependencies::Sessions => "as long after the end of their user's last job as in the log",
    };
    format!(
        "`--dependencies {name}`: submitted {how}: {linked} jobs; submitted as logged, because their \
         preceding job is not replayed before them: {unlinked}"
    )
}

/// Requests that logs lack.
fn requests(logs: &[LogFacts]) -> String {
    let missing: usize = logs.iter().map(|log| log.without_request).sum();
    let all: usize = logs.iter().map(|log| log.jobs).sum();
    match missing {
        0 => "all jobs have a requested time".to_owned(),
        _ => format!(
            "{} of {} jobs have no requested time and are taken to ask for their run time",
            grouped(missing),
            grouped(all)
        ),
    }
}

/// The date of time 0, from which times of day and week are counted.
fn origin(log: &LogFacts, named: bool) -> String {
    let date = log.header.unix_start().filter(|start| *start > 0);
    let date = date.and_then(|start| Timestamp::from_second(start).ok());
    let whose = if named { format!(" of {}", log.name) } else { String::new() };
    match date {
        Some(date) => format!("time 0{whose} is {date}"),
        None => format!("time 0{whose} has no date"),
    }
}

/// What `--users` makes of the logs: its load is not theirs.
fn slices(users: u32, logs: &[Log], processors: u32, runs: &[&Summary]) -> String {
    let known: usize = logs.iter().map(users_of).sum();
    let loads: Vec<f64> = runs.iter().filter_map(|run| run.number("offered_load")).collect();
    let loads = range(&loads, |load| format!("{load:.2}"));
    let own: Vec<String> =
        logs.iter().filter_map(|log| Some(format!("{:.2}", load(log, processors)?))).collect();
    format!(
        "`--users` draws {users} users from {known}, each with all of their jobs, moved by whole \
         weeks: offered load {} (as logged {})",
        loads.unwrap_or_else(|| "unknown".to_owned()),
        own.join(", ")
    )
}

fn users_of(log: &Log) -> usize {
    log.jobs.iter().map(|job| job.user).collect::<BTreeSet<i64>>().len()
}

/// Of the jobs as logged; `None` if all come at once.
fn load(log: &Log, processors: u32) -> Option<f64> {
    let area = |job: &tradewind_io::swf::Record| {
        let run = job.run.map_or(0.0, |run| run.0 as f64);
        run * f64::from(job.held().unwrap_or(0))
    };
    let used: f64 = log.jobs.iter().map(area).sum();
    let span = (log.jobs.last()?.submit - log.jobs.first()?.submit).0;
    (span > 0).then(|| used / (span as f64 * f64::from(processors)))
}

/// From the lowest to the highest value, in words; `None` if there are none.
fn range(values: &[f64], text: impl Fn(f64) -> String) -> Option<String> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    let (low, high) = (text(low), text(high));
    Some(if low == high { low } else { format!("{low} to {high}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_say_one_value_once() {
        let text = |value: f64| format!("{value:.1}");
        assert_eq!(range(&[0.31, 0.29], text), Some("0.3".to_owned()));
        assert_eq!(range(&[2.0, 1.0, 3.0], text), Some("1.0 to 3.0".to_owned()));
        assert_eq!(range(&[], text), None);
    }
}
