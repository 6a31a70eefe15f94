//! What a replay leaves behind: `jobs.csv`, `summary.json`, a table.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;
use tradewind_io::batsim::{self, FinalState, Life, Row};
use tradewind_sim::metrics::{Metrics, Value};
use tradewind_sim::workload::{LogJob, Workload};
use tradewind_sim::{Run, placement};

use super::Context;
use super::policy::Choice;
use crate::cli::Format;
use crate::exit::Failure;
use crate::output;
use crate::tables::{self, Side};

/// `summary.json`; `docs/metrics.md` says what each number is.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    policy: String,
    log: String,
    processors: u32,
    semantics: String,
    overrun: String,
    estimate: String,
    rejected: BTreeMap<&'static str, usize>,
    refusals: BTreeMap<&'static str, usize>,
    /// Every measure that is one number, by name; `null` where there is nothing to measure.
    #[serde(flatten)]
    metrics: serde_json::Map<String, serde_json::Value>,
}

fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default()
}

/// How many jobs can never run, by reason.
pub(super) fn refusals(workload: &Workload) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for (_, refusal) in &workload.rejected {
        *counts.entry(refusal.text()).or_default() += 1;
    }
    counts
}

impl Summary {
    pub(super) fn new(context: &Context<'_>, choice: &Choice, of: &Metrics) -> Summary {
        Summary {
            policy: choice.name.clone(),
            log: log_name(&context.args.log),
            processors: context.workload.processors(),
            semantics: word(&context.args.semantics),
            overrun: word(&context.args.overrun.unwrap_or_default()),
            estimate: word(&context.args.estimate.unwrap_or_default()),
            rejected: of.rejected.clone(),
            refusals: of.refused.clone(),
            metrics: of.entries().iter().map(|it| (it.name.clone(), json(it.value))).collect(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let number = |name: &str| self.metrics.get(name).and_then(serde_json::Value::as_f64);
        let cell = |name: &str, factor: f64, decimals: usize| {
            number(name).map(|it| format!("{:.decimals$}", it * factor)).unwrap_or_default()
        };
        vec![
            self.policy.clone(),
            cell("jobs", 1.0, 0),
            cell("mean_wait_s", 1.0, 1),
            cell("mean_turnaround_s", 1.0, 1),
            cell("mean_bounded_slowdown", 1.0, 2),
            cell("utilisation", 100.0, 2),
            cell("makespan_s", 1.0, 0),
            cell("backfill_ratio", 100.0, 2),
            cell("killed", 1.0, 0),
            self.rejected.values().sum::<usize>().to_string(),
        ]
    }
}

/// A measure as an exact JSON number.
fn json(value: Option<Value>) -> serde_json::Value {
    let number = value.and_then(|it| it.to_string().parse::<serde_json::Number>().ok());
    number.map_or(serde_json::Value::Null, serde_json::Value::Number)
}

/// Prints the policies beside each other.
pub(super) fn print(summaries: &[Summary], format: Format) -> Result<(), Failure> {
    let columns = [
        ("POLICY", Side::Left),
        ("JOBS", Side::Right),
        ("WAIT s", Side::Right),
        ("TURN s", Side::Right),
        ("BSLD", Side::Right),
        ("UTIL %", Side::Right),
        ("SPAN s", Side::Right),
        ("BACK %", Side::Right),
        ("KILLED", Side::Right),
        ("REFUSED", Side::Right),
    ];
    let rows: Vec<Vec<String>> = summaries.iter().map(Summary::cells).collect();
    match format {
        Format::Table => output::print(&tables::table(&columns, rows)),
        Format::Json => output::json(&summaries),
        Format::Csv => {
            const HEAD: &str = "policy,jobs,mean_wait_s,mean_turnaround_s,mean_bounded_slowdown,\
                                utilisation_percent,makespan_s,backfill_percent,killed,rejected";
            let head = HEAD.split(',').map(str::to_owned).collect();
            output::print(&output::csv(&[vec![head], rows].concat())?)
        }
    }
}

/// The name of the log without its folders and endings.
fn log_name(path: &str) -> String {
    let name = Path::new(path).file_name().map(|it| it.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| path.to_owned());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".swf").unwrap_or(name).to_owned()
}

/// One row per job of the log, in the log's order.
pub(super) fn jobs_csv(log: &str, jobs: &[LogJob], workload: &Workload, run: &Run) -> Vec<u8> {
    let mut rows: Vec<Row> = jobs
        .iter()
        .map(|job| Row {
            log: 0,
            number: job.number,
            submit: job.submit,
            processors: job.processors,
            requested: job.requested,
            life: None,
        })
        .collect();
    let places = placement::place(workload, run);
    for ((job, ran), ranges) in workload.jobs.iter().zip(&run.jobs).zip(places.jobs) {
        let row = &mut rows[job.source];
        row.processors = Some(job.processors);
        row.requested = Some(job.requested);
        row.life = ran.refused.is_none().then(|| Life {
            start: ran.start,
            end: ran.end,
            state: if job.killed { FinalState::WalltimeReached } else { FinalState::Completed },
            processors: ranges.iter().map(|range| (range.first, range.last)).collect(),
        });
    }
    batsim::jobs_csv(&[&log_name(log)], &rows)
}
