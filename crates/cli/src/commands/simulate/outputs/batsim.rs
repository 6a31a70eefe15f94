//! The files that Batsim writes, too.

use std::io;

use tradewind_campaign::fates::{Fate, Fates};
use tradewind_campaign::replay::Finished;
use tradewind_campaign::rows::JobRows;
use tradewind_io::batsim;
use tradewind_io::schedule::{Machines, Stay, Tally};

/// `jobs.csv`: one row per job of the logs, in their order.
pub(super) fn jobs(
    finished: &Finished<'_>,
    fates: &Fates<'_>,
    to: &mut impl io::Write,
) -> io::Result<()> {
    let rows = JobRows::of(finished, fates);
    let names: Vec<&str> = finished.prepared.logs.iter().map(|log| log.name.as_str()).collect();
    batsim::write_jobs_csv(to, &names, rows.count(), |at| rows.row(at))
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
