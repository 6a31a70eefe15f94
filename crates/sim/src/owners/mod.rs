//! Sites whose owners have jobs of their own: a log, and a queue with a scheduler of its own.
//!
//! The site's scheduler ([`SiteQueue`]) starts its owners' jobs where nodes are free beside all that
//! runs there, jobs of the market included. It knows time limits; run times are known here only. For
//! the market, owners' jobs are outages: those that run have taken their nodes until their expected
//! end, and the look-ahead of the queue announces nodes for those that wait, at most
//! [`MAX_STEPS`](tradewind_sched::policy::owners::MAX_STEPS) steps for each pool. As the queue
//! changes, announcements are withdrawn and made again, always before the policy decides. So jobs of
//! the market take what the look-ahead leaves, and stand behind the owners' queue.
//!
//! **What the owners lose.** A job of the market never delays an owner's job that waits when it
//! starts, as long as running jobs end when expected. It may delay jobs that are submitted later, and
//! jobs that could have started sooner because others ended early: nodes come back when it ends, and
//! nothing interrupts it. `tests/owners` measures this on drawn sites.

mod replayed;
mod site;

use std::sync::Arc;

use tradewind_model::{PoolId, Pools, Time};
use tradewind_sched::policy::backfill::{self, Backfill, Depth};
use tradewind_sched::policy::owners::Rule;
use tradewind_sched::policy::{Order, owners::SiteQueue};

use crate::replay::{Semantics, Settings, run};
use crate::workload::{self, Job, LogJob, Overrun, Rejected, Workload};
use crate::{Estimate, SimError};
pub(crate) use replayed::Owners;

/// The jobs of a site's owners, and the scheduler that they wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnersLoad {
    /// The pools that they may use, each job one of them. Loads of one grid share no pool.
    pub pools: Vec<PoolId>,
    /// How the site's scheduler works.
    pub rule: Rule,
    /// By submit time, then by number, then as in the log. Their times are wall-clock times,
    /// whatever the performance of the pools.
    pub jobs: Vec<Job>,
    /// Jobs that can never run, in the order of the log.
    pub rejected: Vec<Rejected>,
}

impl OwnersLoad {
    /// Takes the jobs of a log. A job that is wider than the widest of the pools is rejected.
    pub fn new(
        log: &[LogJob],
        grid: &Pools,
        pools: Vec<PoolId>,
        rule: Rule,
        overrun: Overrun,
    ) -> OwnersLoad {
        let widest = pools.iter().map(|pool| grid.pool(*pool).nodes).max().unwrap_or(0);
        let cluster = Arc::new(Pools::cluster(widest));
        let Workload { jobs, rejected, .. } =
            workload::prepare(log, cluster, Semantics::Textbook, overrun);
        OwnersLoad { pools, rule, jobs, rejected }
    }
}

/// What became of an owner's job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerRan {
    /// When it started.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Where it ran.
    pub pool: PoolId,
}

/// What became of the jobs of an [`OwnersLoad`]: by index in its jobs; `None` for one that never
/// started, as its nodes were missing until the end of the replay.
pub type OwnersRun = Vec<Option<OwnerRan>>;

/// What would become of the owners' jobs of a workload without the market's jobs.
///
/// # Errors
/// Never, unless there is a fault in the simulator.
pub fn alone(workload: &Workload) -> Result<Vec<OwnersRun>, SimError> {
    let without = Workload { jobs: Vec::new(), rejected: Vec::new(), ..workload.clone() };
    let settings = Settings { semantics: Semantics::Textbook, estimate: Estimate::default() };
    let fcfs = backfill::Settings { depth: Depth::First(0), order: Order::Arrival };
    Ok(run(&without, settings, &mut Backfill::new(fcfs), &mut [])?.owners)
}
