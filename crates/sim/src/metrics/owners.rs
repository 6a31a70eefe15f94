//! How owners' jobs fared that have queues of their own.

use tradewind_model::Time;

use super::entry::{Better, Entry, Unit, Value};
use super::{entry, quotient};
use crate::owners::OwnerRan;
use crate::result::Run;
use crate::workload::{Job, Workload};

/// Every owner's job that ran.
fn all<'a>(workload: &'a Workload, run: &'a Run) -> impl Iterator<Item = (&'a Job, OwnerRan)> {
    let loads = workload.owners.iter().zip(&run.owners);
    let jobs = loads.flat_map(|(load, ran)| load.jobs.iter().zip(ran));
    jobs.filter_map(|(job, ran)| Some((job, (*ran)?)))
}

/// Nodes that owners' jobs had, from when until when.
pub(super) fn stays<'a>(
    workload: &'a Workload,
    run: &'a Run,
) -> impl Iterator<Item = (u32, Time, Time)> + 'a {
    all(workload, run).map(|(job, ran)| (job.processors, ran.start, ran.end))
}

/// Nothing if no site has a queue of owners' jobs. Over all of these jobs, not only those of the
/// window.
pub(super) fn entries(workload: &Workload, run: &Run) -> Vec<Entry> {
    use Better::{Lower, Neither};
    use Unit::{Count, NodeSeconds, Seconds};
    if workload.owners.is_empty() {
        return Vec::new();
    }
    let (mut jobs, mut sum, mut max, mut work) = (0i128, 0i128, 0i128, 0i128);
    for (job, ran) in all(workload, run) {
        let wait = i128::from((ran.start - job.submit).0);
        jobs += 1;
        sum += wait;
        max = max.max(wait);
        work += i128::from(job.processors) * i128::from((ran.end - ran.start).0);
    }
    let max = (jobs > 0).then_some(Value::Whole(max));
    vec![
        entry("owners_jobs", Count, Neither, Value::Whole(jobs)),
        entry("owners_work_node_s", NodeSeconds, Neither, Value::Whole(work)),
        entry("owners_mean_wait_s", Seconds, Lower, quotient(sum, jobs)),
        entry("owners_max_wait_s", Seconds, Lower, max),
    ]
}
