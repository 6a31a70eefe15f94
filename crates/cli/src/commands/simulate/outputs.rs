//! The files of a finished run.

use std::path::Path;

use tradewind_io::batsim::{self, FinalState, Life, Row};
use tradewind_io::campaign::Output;
use tradewind_sim::placement;

use super::plan::Run;
use super::replay::Finished;
use super::tables;
use crate::exit::Failure;
use crate::output;

/// Writes what was asked for into `folder`, and returns the names of the files.
pub(super) fn write(
    folder: &Path,
    outputs: &[Output],
    finished: &Finished<'_>,
    run: &Run,
) -> Result<Vec<&'static str>, Failure> {
    let mut names = vec!["summary.json"];
    output::write_file(&folder.join("summary.json"), finished.summary.to_json().as_bytes())?;
    if outputs.contains(&Output::Jobs) {
        output::write_file(&folder.join("jobs.csv"), &jobs_csv(finished))?;
        names.push("jobs.csv");
    }
    if outputs.contains(&Output::Schedule) {
        let (tally, machines) = tables::tally(finished);
        output::write_file(&folder.join("schedule.csv"), tally.csv(machines).as_bytes())?;
        output::write_file(&folder.join("schedule.json"), tally.json(machines).as_bytes())?;
        names.extend(["schedule.csv", "schedule.json"]);
    }
    if outputs.contains(&Output::Parquet) {
        output::write_file(&folder.join("jobs.parquet"), &tables::parquet(finished, run)?)?;
        names.push("jobs.parquet");
    }
    Ok(names)
}

/// One row per job of the log, in the log's order.
fn jobs_csv(finished: &Finished<'_>) -> Vec<u8> {
    let Finished { logs, prepared, run, .. } = finished;
    let mut rows: Vec<Row> = prepared
        .jobs
        .iter()
        .zip(&logs.log_of)
        .map(|(job, log)| Row {
            log: *log,
            number: job.number,
            submit: job.submit,
            processors: job.processors,
            requested: job.requested,
            life: None,
        })
        .collect();
    let places = placement::place(&prepared.workload, run);
    for ((job, ran), ranges) in prepared.workload.jobs.iter().zip(&run.jobs).zip(places.jobs) {
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
    let names: Vec<&str> = logs.names.iter().map(String::as_str).collect();
    batsim::jobs_csv(&names, &rows)
}
