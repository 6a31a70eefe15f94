//! `owners.csv`: the jobs of owners that have queues of their own.

use std::fmt::Write as _;

use tradewind_campaign::replay::Finished;
use tradewind_sim::owners::OwnerRan;
use tradewind_sim::workload::Job;

use crate::exit::Failure;

const HEADER: &str = "log,job_id,pool,submission_time,requested_number_of_resources,requested_time,\
     foreseen_starting_time,starting_time,finish_time,waiting_time,final_state";

/// One row per owner's job, by log, then by submission; `None` if no site has such jobs. Times are
/// whole seconds; a job that never started has none.
pub(super) fn jobs(finished: &Finished<'_>) -> Result<Option<String>, Failure> {
    let (prepared, run) = (&finished.prepared, &finished.run);
    if prepared.workload.owners.is_empty() {
        return Ok(None);
    }
    let mut text = format!("{HEADER}\n");
    let loads = prepared.workload.owners.iter().zip(&run.owners).zip(&prepared.owners);
    for ((load, ran), log) in loads {
        for (job, ran) in load.jobs.iter().zip(ran) {
            let pool = ran.map(|ran| prepared.workload.pools.pool(ran.pool).name.as_str());
            row(&mut text, log, pool.unwrap_or_default(), job, *ran);
        }
    }
    Ok(Some(text))
}

fn row(text: &mut String, log: &str, pool: &str, job: &Job, ran: Option<OwnerRan>) {
    let quoted = |name: &str| match name.contains([',', '"', '\n']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    };
    let cell = |value: Option<i64>| value.map_or(String::new(), |value| value.to_string());
    let state = match (ran, job.killed) {
        (None, _) => "NOT_STARTED",
        (Some(_), true) => "COMPLETED_WALLTIME_REACHED",
        (Some(_), false) => "COMPLETED_SUCCESSFULLY",
    };
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "{},{},{},{},{},{},{},{},{},{},{state}",
        quoted(log),
        job.number,
        quoted(pool),
        job.submit.0,
        job.processors,
        job.requested.0,
        cell(ran.and_then(|ran| ran.foreseen).map(|at| at.0)),
        cell(ran.map(|ran| ran.start.0)),
        cell(ran.map(|ran| ran.end.0)),
        cell(ran.map(|ran| (ran.start - job.submit).0)),
    );
}
