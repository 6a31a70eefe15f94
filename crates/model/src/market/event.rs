//! What happens in a market, and what a policy may do.

use std::sync::Arc;

use super::Trade;
use crate::{Demand, LicenceId, Place, PoolId, Price, Reason, Series, Time};

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
    /// Id of the pool.
    pub pool: PoolId,
    /// Number of nodes.
    pub nodes: u32,
    /// First second.
    pub from: Time,
    /// First second after it.
    pub until: Time,
    /// Cause of the outage.
    pub cause: Cause,
}

/// An outage's place in the order of announcements, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutageId(pub u32);

/// One change in the market, as policies see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A job joined the queue. Jobs are submitted in the order of their ids, without gaps.
    Submitted {
        /// Id of the job in the market.
        job: JobId,
        /// What it asks for.
        demand: Demand,
    },
    /// A waiting job and a queue agreed. A later trade replaces an earlier one.
    Traded {
        /// Id of the job in the market.
        job: JobId,
        /// The trade on which both sides agreed.
        trade: Arc<Trade>,
    },
    /// A waiting job stands in the queue of a site's own scheduler from now on, which will start it.
    /// It leaves the market's queue; [`Event::Started`] follows, or [`Event::Interrupted`] if it waits
    /// in the market's queue again.
    Lined {
        /// Id of the job in the market.
        job: JobId,
    },
    /// A job took its nodes. A moldable job whose place has the width of another of its shapes
    /// ([`Terms::shapes`](crate::Terms::shapes)) asks for that shape from now on.
    Started {
        /// Id of the job in the market.
        job: JobId,
        /// Pools and numbers of nodes.
        place: Place,
    },
    /// A job's tasks in one of its pools are done, and others are not.
    Released {
        /// Id of the job in the market.
        job: JobId,
        /// Id of the pool.
        pool: PoolId,
    },
    /// A job gave its (last) nodes back.
    Ended {
        /// Id of the job in the market.
        job: JobId,
    },
    /// A running job was told that its nodes will be taken: [`Event::Interrupted`] follows then, if
    /// the job has not ended before. Only a preemptible one can be told; a later notice may only
    /// bring the moment forward.
    Noticed {
        /// Id of the job in the market.
        job: JobId,
        /// When it leaves its nodes at the latest.
        leaves: Time,
    },
    /// A running job lost its nodes and what it had done, but for what it keeps
    /// ([`Demand::cut`]); it waits again, in its old place, and asks for what is left. It pays
    /// nothing for what was lost.
    Interrupted {
        /// Id of the job in the market.
        job: JobId,
    },
    /// A waiting job was refused.
    Refused {
        /// Id of the job in the market.
        job: JobId,
    },
    /// A waiting job was cancelled by its user, or one in the queue of a site.
    Cancelled {
        /// Id of the job in the market.
        job: JobId,
    },
    /// An owner asks another price. Jobs that run go on paying the price of their start. Pools with
    /// prices over time ([`Pools::rate`](crate::Pools::rate)) have no such events, unless these are
    /// [agreed at start](crate::Rates::agreed_at_start): then it says that the price of now is another.
    Priced {
        /// For whose nodes.
        pool: PoolId,
        /// Per node and second, at least 0.
        price: Price,
    },
    /// An owner asks prices that change with time from now on, or one price at all times, at first the
    /// lowest of those before. Jobs [agree at their start](crate::Rates::agreed_at_start) on what they
    /// pay; those that run go on as agreed.
    Rated {
        /// For whose nodes.
        pool: PoolId,
        /// Per node and second.
        rate: Option<Arc<Series>>,
    },
    /// It became known that nodes will be missing. Outages are announced in the order of their
    /// ids, without gaps.
    Announced {
        /// Id of the outage.
        closure: OutageId,
        /// Pool, nodes, time and cause.
        what: Outage,
    },
    /// The announced nodes are gone.
    Closed {
        /// Id of the outage.
        closure: OutageId,
    },
    /// They are back, sooner or later than announced; or the outage is called off before it has
    /// begun.
    Reopened {
        /// Id of the outage.
        closure: OutageId,
    },
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Start the job now.
    Start {
        /// Id of the job in the market.
        job: JobId,
        /// Pools and numbers of nodes.
        place: Place,
    },
    /// Take the nodes of a preemptible job, after the notice of its sites
    /// ([`Pools::notice`](crate::Pools::notice)). It goes on when it is started again.
    Preempt {
        /// Id of the job in the market.
        job: JobId,
    },
    /// Let the job wait for this queue, at this price.
    Trade {
        /// Id of the job in the market.
        job: JobId,
        /// Where, and why there.
        trade: Arc<Trade>,
    },
    /// Never run the job.
    Refuse {
        /// Id of the job in the market.
        job: JobId,
        /// The reason.
        reason: Reason,
    },
    /// Ask again at this moment, even if nothing happens. The latest request replaces earlier ones.
    Wake {
        /// The moment of the call that is asked for.
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
        /// Id of the job in the market.
        job: JobId,
    },
    /// The event does not follow from the outage's state.
    #[error("outage {} cannot do this in its state", closure.0)]
    Outage {
        /// Id of the outage.
        closure: OutageId,
    },
    /// Not enough free nodes.
    #[error("job {} takes {wanted} nodes, and {free} are free", job.0)]
    Full {
        /// Id of the job in the market.
        job: JobId,
        /// What it takes.
        wanted: u32,
        /// What there is.
        free: u32,
    },
    /// Not enough free memory in a pool.
    #[error("job {} takes {wanted} KiB of memory in pool {}, and {free} are free", job.0, pool.0)]
    Memory {
        /// Id of the job in the market.
        job: JobId,
        /// Where.
        pool: PoolId,
        /// What it takes.
        wanted: u32,
        /// What there is.
        free: u32,
    },
    /// Not enough free licences.
    #[error("job {} takes {wanted} of licence {}, and {free} are free", job.0, licence.0)]
    Licence {
        /// Id of the job in the market.
        job: JobId,
        /// Of which licence.
        licence: LicenceId,
        /// What it takes.
        wanted: u32,
        /// What there is.
        free: u32,
    },
    /// Shares that do not add up to the job's width, name a pool twice or one that is not there, or
    /// leave the pool that the job agreed on.
    #[error("job {} cannot be placed like this", job.0)]
    Place {
        /// Id of the job in the market.
        job: JobId,
    },
    /// A price for a pool that is not there or has prices over time, or below zero.
    #[error("pool {} cannot have this price", pool.0)]
    Price {
        /// Id of the pool.
        pool: PoolId,
    },
    /// Pools that do not follow from those before.
    #[error("the pools do not go on from those before: {0}")]
    Pools(&'static str),
    /// The books do not add up.
    #[error("the market's books do not add up: {0}")]
    Books(&'static str),
}
