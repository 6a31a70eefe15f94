//! What the federation knows of a job that is not over.

use std::sync::Arc;

use tradewind_model::{Demand, JobId, Pool, PoolId, Pools, Reason, Time};
use tradewind_sched::negotiation::{Parcel, Peer, Ticket};
use tradewind_sched::policy::local::{Origin, Wanted};

/// Where a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// It waits for its earliest start.
    Early,
    /// It waits at a site that can run it.
    Waits,
    /// It waits at a site that cannot.
    Homeless,
    /// It was sent.
    Travels,
    /// It runs since then.
    Runs(Time),
}

#[derive(Debug, Clone)]
pub(super) struct Card {
    pub(super) parcel: Arc<Parcel>,
    /// Of all its whereabouts.
    pub(super) site: PoolId,
    pub(super) whereabouts: Whereabouts,
}

impl Card {
    pub(super) fn ticket(&self) -> Ticket {
        self.parcel.ticket
    }

    pub(super) fn origin(&self) -> Origin {
        match self.parcel.ticket.home == peer(self.site) {
            true => Origin::Local,
            false => Origin::Remote,
        }
    }

    pub(super) fn wanted(&self, pool: &Pool) -> Wanted {
        let Parcel { ticket, demand, submitted, .. } = &*self.parcel;
        Wanted {
            job: ticket.job,
            processors: demand.processors,
            length: pool.length_of(demand),
            submitted: *submitted,
        }
    }
}

/// A pool's negotiator.
pub(super) fn peer(site: PoolId) -> Peer {
    Peer(site.0)
}

/// Where a job is submitted: at its home site the first pool that can run it, or else the first
/// pool; a job without a home at the pool whose turn it is by the job's number.
pub(super) fn home(pools: &Pools, job: JobId, demand: &Demand) -> PoolId {
    let can = |pool: &Pool| pool.nodes >= demand.processors && pool.suits(demand);
    let dealt = PoolId(job.0 % pools.as_slice().len() as u32);
    let Some(home) = demand.terms().home else { return dealt };
    let there = || pools.iter().filter(|(_, pool)| pool.site == home);
    let first = there().find(|(_, pool)| can(pool)).or_else(|| there().next());
    first.map_or(dealt, |(id, _)| id)
}

/// Why none of the pools that `counts` can run the job, if that is so. O(pools).
pub(super) fn nowhere(
    pools: &Pools,
    demand: &Demand,
    counts: impl Fn(PoolId) -> bool,
) -> Option<Reason> {
    let suitable = pools.iter().filter(|(id, pool)| counts(*id) && pool.suits(demand));
    let widest = suitable.map(|(_, pool)| pool.nodes).max();
    let (needed, min_performance) = (demand.processors, demand.terms().min_performance);
    match widest {
        Some(widest) if widest >= needed => None,
        Some(widest) => Some(Reason::WiderThanQueues { needed, widest }),
        None => Some(Reason::TooFewNodes { needed, suitable: 0, min_performance }),
    }
}
