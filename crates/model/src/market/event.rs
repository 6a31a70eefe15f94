//! What happens in a market, and what a policy may do.

use std::sync::Arc;

use super::Trade;
use crate::{Demand, Place, PoolId, Price, Reason, Time};

/// A job's place in the order of submission, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u32);

impl JobId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why nodes are not there for the market's jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The owner's own jobs.
    Local,
    /// The owner does not offer them at these hours.
    Withheld,
    /// They are set aside for a job whose window was promised to its user.
    Booked,
    /// Planned work on the nodes.
    Maintenance,
    /// They broke. The number says which of the pool's nodes break, from 0: counted through
    /// those of running jobs in the order of submission, then through idle ones.
    Failure(u32),
}

/// Nodes of one pool that the market's jobs cannot have during `[from, until)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Whose.
    pub pool: PoolId,
    /// How many.
    pub nodes: u32,
    /// First second.
    pub from: Time,
    /// First second after it.
    pub until: Time,
    /// Why.
    pub cause: Cause,
}

/// A closure's place in the order of announcements, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutageId(pub u32);

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A job joined the queue. Jobs are submitted in the order of their ids, without gaps.
    Submitted {
        /// Which.
        job: JobId,
        /// What it asks for.
        demand: Demand,
    },
    /// A waiting job and a queue agreed. A later trade replaces an earlier one.
    Traded {
        /// Which.
        job: JobId,
        /// On what.
        trade: Arc<Trade>,
    },
    /// A job took its nodes.
    Started {
        /// Which.
        job: JobId,
        /// Where.
        place: Place,
    },
    /// A job's tasks in one of its pools are done, and others are not.
    Released {
        /// Which.
        job: JobId,
        /// Where.
        pool: PoolId,
    },
    /// A job gave its (last) nodes back.
    Ended {
        /// Which.
        job: JobId,
    },
    /// A running job lost its nodes and what it had done; it waits again, in its old place. It
    /// pays nothing for what was lost.
    Interrupted {
        /// Which.
        job: JobId,
    },
    /// A waiting job was told that it will not run.
    Refused {
        /// Which.
        job: JobId,
    },
    /// A waiting job was taken back by whoever submitted it.
    Cancelled {
        /// Which.
        job: JobId,
    },
    /// An owner asks another price. Jobs that run go on paying the price of their start.
    Priced {
        /// For whose nodes.
        pool: PoolId,
        /// Per node and second, at least 0.
        price: Price,
    },
    /// It became known that nodes will be missing. Closures are announced in the order of their
    /// ids, without gaps.
    Announced {
        /// Which.
        closure: OutageId,
        /// What.
        what: Outage,
    },
    /// The announced nodes are gone.
    Closed {
        /// Which.
        closure: OutageId,
    },
    /// They are back, sooner or later than announced; or the closure is called off before it has
    /// begun.
    Reopened {
        /// Which.
        closure: OutageId,
    },
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Start the job now.
    Start {
        /// Which.
        job: JobId,
        /// Where.
        place: Place,
    },
    /// Let the job wait for this queue, at this price.
    Trade {
        /// Which.
        job: JobId,
        /// Where, and why there.
        trade: Arc<Trade>,
    },
    /// Never run the job.
    Refuse {
        /// Which.
        job: JobId,
        /// Why.
        reason: Reason,
    },
    /// Ask again at this moment, even if nothing happens. The latest wish replaces earlier ones.
    Wake {
        /// When.
        at: Time,
    },
}

/// Why an event cannot have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MarketError {
    /// Time runs forwards only.
    #[error("an event at {at} after one at {now}")]
    Past {
        /// Of the event.
        at: Time,
        /// Of the market.
        now: Time,
    },
    /// The event does not follow from the job's state.
    #[error("job {} cannot do this in its state", job.0)]
    State {
        /// Which.
        job: JobId,
    },
    /// The event does not follow from the closure's state.
    #[error("closure {} cannot do this in its state", closure.0)]
    Outage {
        /// Which.
        closure: OutageId,
    },
    /// Not enough free nodes.
    #[error("job {} takes {wanted} nodes, and {free} are free", job.0)]
    Full {
        /// Which.
        job: JobId,
        /// What it takes.
        wanted: u32,
        /// What there is.
        free: u32,
    },
    /// Shares that do not add up to the job's width, name a pool twice or one that is not there, or
    /// leave the pool that the job agreed on.
    #[error("job {} cannot be placed like this", job.0)]
    Place {
        /// Which.
        job: JobId,
    },
    /// A price for a pool that is not there, or below zero.
    #[error("pool {} cannot have this price", pool.0)]
    Price {
        /// Which.
        pool: PoolId,
    },
    /// Pools that do not follow from those before.
    #[error("the pools do not go on from those before: {0}")]
    Pools(&'static str),
    /// The books do not add up.
    #[error("the market's books do not add up: {0}")]
    Books(&'static str),
}
