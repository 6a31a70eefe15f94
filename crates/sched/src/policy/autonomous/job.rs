//! What is known of jobs that have not ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_model::{JobId, Market, PoolId, Span, Time};

use crate::negotiation::{Parcel, Peer, Ticket};
use crate::policy::local::Origin;

/// Where a job is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobPhase {
    /// It waits for its earliest start.
    Early,
    /// It waits at a site that can run it.
    Waiting,
    /// It waits, and its site cannot run it.
    Unplaced,
    /// It was sent to another site.
    InTransit,
    /// It runs.
    Running,
}

/// A job that has not ended.
#[derive(Debug, Clone)]
pub(super) struct GridJob {
    pub(super) parcel: Arc<Parcel>,
    /// Where it is, whatever its phase.
    pub(super) site: PoolId,
    pub(super) phase: JobPhase,
}

impl GridJob {
    pub(super) fn ticket(&self) -> Ticket {
        self.parcel.ticket
    }

    pub(super) fn origin(&self) -> Origin {
        match self.parcel.ticket.home == peer(self.site) {
            true => Origin::Local,
            false => Origin::Remote,
        }
    }

    pub(super) fn submitted(&self) -> Time {
        self.parcel.submitted
    }
}

/// The home of jobs that another grid has passed on; no pool has this number.
pub(super) const ELSEWHERE: Peer = Peer(u32::MAX);

/// A pool's negotiator.
pub(super) fn peer(site: PoolId) -> Peer {
    Peer(site.0)
}

/// All jobs that have not ended.
#[derive(Debug, Default)]
pub(super) struct GridJobs {
    all: BTreeMap<JobId, GridJob>,
    /// How many of them do not run.
    waiting: usize,
}

impl GridJobs {
    pub(super) fn get(&self, job: JobId) -> Option<&GridJob> {
        self.all.get(&job)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (JobId, &GridJob)> {
        self.all.iter().map(|(id, job)| (*id, job))
    }

    /// Whether some job waits.
    pub(super) fn any_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Replaces what is known of the job.
    pub(super) fn insert(&mut self, job: GridJob) {
        let id = job.parcel.ticket.job;
        self.remove(id);
        self.waiting += usize::from(job.phase != JobPhase::Running);
        self.all.insert(id, job);
    }

    pub(super) fn remove(&mut self, job: JobId) -> Option<GridJob> {
        let gone = self.all.remove(&job)?;
        self.waiting -= usize::from(gone.phase != JobPhase::Running);
        Some(gone)
    }

    /// The job is in this phase from now on, at this site. Nothing happens if it is not known.
    pub(super) fn set(&mut self, job: JobId, site: PoolId, phase: JobPhase) {
        let Some(known) = self.all.get_mut(&job) else { return };
        self.waiting -= usize::from(known.phase != JobPhase::Running);
        self.waiting += usize::from(phase != JobPhase::Running);
        (known.site, known.phase) = (site, phase);
    }
}

/// How long the job, or its part in this pool, is expected to run there.
pub(super) fn length_at(market: &Market, job: JobId, pool: PoolId) -> Span {
    let length = market.demand(job).map(|demand| market.pools().pool(pool).length_of(demand));
    length.unwrap_or(Span(1))
}
