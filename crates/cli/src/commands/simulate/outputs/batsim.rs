//! The files that Batsim writes, too.

use tradewind_io::batsim::{self, FinalState, Row};
use tradewind_io::schedule::{Machines, Stay, Tally};
use tradewind_sim::placement;

use super::super::replay::Finished;
use super::fates::{Fate, Fates};

/// `jobs.csv`: one row per job of the logs, in their order.
pub(super) fn jobs(finished: &Finished<'_>, fates: &Fates<'_>) -> Vec<u8> {
    let prepared = &finished.prepared;
    let mut places = placement::place(&prepared.workload, &finished.run).jobs;
    let logs = prepared.log_of();
    let row = |((job, log), fate): ((&_, usize), &Fate<'_>)| {
        let job: &tradewind_sim::workload::LogJob = job;
        let row = Row {
            log,
            number: job.number,
            submit: job.submit,
            processors: job.processors,
            requested: job.requested,
            life: None,
        };
        let Fate::Ran(life) = fate else { return row };
        let ranges = std::mem::take(&mut places[life.index]);
        Row {
            processors: Some(life.job.processors),
            requested: Some(life.job.requested),
            life: Some(batsim::Life {
                start: life.ran.start,
                end: life.ran.end,
                state: match life.job.killed {
                    true => FinalState::WalltimeReached,
                    false => FinalState::Completed,
                },
                processors: ranges.iter().map(|range| (range.first, range.last)).collect(),
            }),
            ..row
        }
    };
    let rows: Vec<Row> = prepared.jobs.iter().zip(logs).zip(fates.iter()).map(row).collect();
    let names: Vec<&str> = prepared.logs.iter().map(|log| log.name.as_str()).collect();
    batsim::jobs_csv(&names, &rows)
}

/// `schedule.csv` and `schedule.json`.
pub(super) fn schedule(finished: &Finished<'_>, fates: &Fates<'_>) -> (String, String) {
    let mut tally = Tally::default();
    for fate in fates.iter() {
        match fate {
            Fate::Rejected(_) => tally.rejected(),
            Fate::Ran(life) => tally.finished(&Stay {
                submit: life.job.submit,
                start: life.ran.start,
                end: life.ran.end,
                processor_time: life.busy + life.lost,
                killed: life.job.killed,
            }),
        }
    }
    let processors = finished.prepared.workload.processors();
    let machines = Machines { processors, unavailable: unavailable(finished, &tally) };
    (tally.csv(machines), tally.json(machines))
}

/// Processor-seconds of outages between the first submission and the last end of jobs that ran.
fn unavailable(finished: &Finished<'_>, tally: &Tally) -> i128 {
    let workload = &finished.prepared.workload;
    let Some((first, last)) = tally.ends() else { return 0 };
    let within = |outage: &tradewind_sim::outage::Outage| {
        let what = &outage.what;
        let length = (what.until.min(last) - what.from.max(first)).0.max(0);
        i128::from(length) * i128::from(what.nodes)
    };
    workload.outages.iter().map(within).sum()
}
