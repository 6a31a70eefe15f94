//! Who held how many nodes of which pool, from when until when.

use tradewind_model::{Place, PoolId, Span, Time};

use crate::result::{Lost, Ran, Run};
use crate::workload::Workload;

/// A job's nodes in one pool for one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stay {
    pub(super) pool: PoolId,
    pub(super) nodes: u32,
    pub(super) start: Time,
    /// When the tasks in this pool were done, or the job was interrupted.
    pub(super) end: Time,
}

impl Stay {
    /// Processors × length, in node-seconds.
    pub(super) fn work(&self) -> i128 {
        i128::from(self.nodes) * i128::from((self.end - self.start).0)
    }
}

/// Nodes of a job that started at `start`; no task lasts longer than until `end`.
fn shares<'a>(
    workload: &'a Workload,
    job: usize,
    (place, kept): (&'a Place, Span),
    (start, end): (Time, Time),
) -> impl Iterator<Item = Stay> + 'a {
    let of = &workload.jobs[job];
    let done = move |pool: PoolId| start + of.length_after(kept, workload.pools.pool(pool));
    let stay = move |nodes, pool| Stay { pool, nodes, start, end: done(pool).min(end) };
    place.shares(of.processors).map(move |share| stay(share.nodes, share.pool))
}

/// The nodes of a job that ran, in its last attempt.
pub(super) fn of_job<'a>(
    workload: &'a Workload,
    run: &'a Run,
    job: usize,
) -> impl Iterator<Item = Stay> + 'a {
    let Ran { start, end, place, refused, .. } = &run.jobs[job];
    let kept = run.kept.get(&job).copied().unwrap_or_default();
    shares(workload, job, (place, kept), (*start, *end)).filter(move |_| refused.is_none())
}

/// The nodes of an attempt that was interrupted.
pub(super) fn of_lost<'a>(
    workload: &'a Workload,
    lost: &'a Lost,
) -> impl Iterator<Item = Stay> + 'a {
    shares(workload, lost.job, (&lost.place, lost.before), (lost.start, lost.end))
}

/// The same without what is kept of it: from the last checkpoint on.
pub(super) fn in_vain<'a>(
    workload: &'a Workload,
    lost: &'a Lost,
) -> impl Iterator<Item = Stay> + 'a {
    let from = lost.start + lost.cut.paid();
    of_lost(workload, lost).map(move |stay| Stay { start: from.min(stay.end), ..stay })
}

/// All of them.
pub(super) fn all<'a>(workload: &'a Workload, run: &'a Run) -> impl Iterator<Item = Stay> + 'a {
    let jobs = (0..run.jobs.len()).flat_map(move |job| of_job(workload, run, job));
    jobs.chain(run.lost.iter().flat_map(move |lost| of_lost(workload, lost)))
}
