//! The files that Batsim writes, too.

use std::io;

use tradewind_io::batsim::{self, BatsimRow, FinalState};
use tradewind_io::schedule::{Machines, Stay, Tally};
use tradewind_sim::metrics;

use super::super::replay::Finished;
use super::fates::{Fate, Fates};

/// `jobs.csv`: one row per job of the logs, in their order.
pub(super) fn jobs(
    finished: &Finished<'_>,
    fates: &Fates<'_>,
    to: &mut impl io::Write,
) -> io::Result<()> {
    let prepared = &finished.prepared;
    let places = &finished.places().jobs;
    let logs: Vec<usize> = prepared.log_of().collect();
    let workload = &prepared.workload;
    let used = workload.pools.power().map(|_| metrics::consumption(workload, &finished.run));
    let row = |at: usize| {
        let job = &prepared.jobs[at];
        let row = BatsimRow {
            log: logs[at],
            number: job.number,
            submit: job.submit,
            processors: job.processors,
            requested: job.requested,
            life: None,
        };
        let Fate::Ran(life) = fates.of_job(at) else { return row };
        let ranges = places.of(life.index).iter();
        BatsimRow {
            processors: Some(life.job.processors),
            requested: Some(life.job.requested),
            life: Some(batsim::Life {
                start: life.ran.start,
                end: life.ran.end,
                state: match life.job.killed {
                    true => FinalState::WalltimeReached,
                    false => FinalState::Completed,
                },
                processors: ranges.map(|range| (range.first, range.last)).collect(),
                energy: used.as_ref().map(|used| used[life.index].energy),
            }),
            ..row
        }
    };
    let names: Vec<&str> = prepared.logs.iter().map(|log| log.name.as_str()).collect();
    batsim::write_jobs_csv(to, &names, logs.len(), row)
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
    let within = |outage: &tradewind_sim::outage::AnnouncedOutage| {
        let what = &outage.what;
        let length = (what.until.min(last) - what.from.max(first)).0.max(0);
        i128::from(length) * i128::from(what.nodes)
    };
    workload.outages.iter().map(within).sum()
}
