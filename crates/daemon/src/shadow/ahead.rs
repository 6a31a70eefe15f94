//! The look-ahead at the queue of an observed cluster.

use tradewind_model::{PoolId, Pools, Share, Span, Time};
use tradewind_sched::free::Taken;
use tradewind_sched::policy::availability::expected_end_by_limit;
use tradewind_sched::policy::owners::{self, Eligible, Expected, OwnersJob, SiteRule};

use crate::live::outages::owners::{jobs_of, look_ahead_rule};
use crate::site::queued::QueuedJob;
use crate::site::{PoolSetup, Survey};

/// Nodes that are down are expected back after this.
const REPAIR: Span = Span(24 * 3_600);

/// What is known of a cluster's queue at a moment.
#[derive(Debug, Clone)]
pub(super) struct QueueAhead {
    survey: owners::Survey,
    rule: SiteRule,
}

impl QueueAhead {
    /// The queue, and for each job of `survey.queue` when it is expected to start, if that is
    /// foreseen.
    pub(super) fn of(
        at: Time,
        pools: &[PoolSetup],
        survey: &Survey,
    ) -> (QueueAhead, Vec<Option<Time>>) {
        let ids: Vec<PoolId> = (0..).map(PoolId).take(pools.len()).collect();
        let rule = look_ahead_rule(survey.limits.as_ref().and_then(|limits| limits.queue));
        let (groups, waiting) = jobs_of(at, &ids, survey);
        let nodes = pools.iter().map(|pool| pool.nodes);
        let ahead = owners::Survey {
            now: at,
            pools: ids.iter().copied().zip(nodes).collect(),
            taken: taken(at, pools, survey),
            waiting,
        };
        let expected = match ahead.waiting.is_empty() {
            true => Vec::new(),
            false => owners::forecast(&ahead, rule).jobs,
        };
        let first = groups.first.iter().map(|&first| expected.get(first).and_then(start));
        let first = first.collect();
        (QueueAhead { survey: ahead, rule }, first)
    }

    /// When the job would start here if it were submitted now, behind all that wait; `None`: that is
    /// not foreseen, or no pool has so many nodes. Costs a look-ahead.
    pub(super) fn start_of(&self, job: &QueuedJob) -> Option<Time> {
        let job = OwnersJob {
            pools: self.survey.pools.iter().map(|(id, _)| *id).collect(),
            nodes: job.nodes.min(Pools::MAX_NODES),
            limit: job.limit.clamp(Span(1), owners::MAX_LIMIT),
            eligible: Eligible::From(self.survey.now),
            after: Vec::new(),
            count: 1,
            reserves: true,
        };
        start(&self.survey.expected_of(job, usize::MAX, self.rule))
    }

    /// When it was seen.
    pub(super) fn at(&self) -> Time {
        self.survey.now
    }
}

fn start(expected: &Expected) -> Option<Time> {
    match expected {
        Expected::Starts { start, .. } => Some(*start),
        Expected::No(_) => None,
    }
}

/// Nodes that waiting jobs cannot have: those of running jobs, and those that are down.
fn taken(at: Time, pools: &[PoolSetup], survey: &Survey) -> Vec<Taken> {
    let mut all = Vec::new();
    for ((pool, setup), seen) in (0..).map(PoolId).zip(pools).zip(&survey.pools) {
        let mut add = |nodes: u32, from: Time, until: Time| {
            let share = Share { pool, nodes: nodes.min(setup.nodes) };
            all.push(Taken { share, from, until: expected_end_by_limit(until, at), memory: 0 });
        };
        add(setup.nodes.saturating_sub(seen.up), at, at + REPAIR);
        seen.local.values().for_each(|task| add(task.nodes, task.from, task.until));
    }
    all.retain(|taken| taken.share.nodes > 0);
    all
}
