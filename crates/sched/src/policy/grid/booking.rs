//! Nodes of pools that are set aside for a job.

use tradewind_model::{
    Demand, JobId, Market, Money, Place, PoolId, Pools, Profile, Share, Span, Time,
};

use super::GridAvailability;
use super::free::Free;
use super::search::Starts;
use crate::policy::availability::{self, Capacity, Taken};

/// Nodes of one pool, for as long as a task takes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) pool: PoolId,
    pub(crate) nodes: u32,
    pub(crate) length: Span,
    /// Memory of the pool in KiB that its tasks take, where it is counted.
    pub(crate) memory: u32,
}

impl Part {
    /// What it takes, from its start on.
    fn taken(&self, start: Time) -> Taken {
        let Part { pool, nodes, length, memory } = *self;
        Taken { memory, ..Taken::new(pool, nodes, start, start + length) }
    }
}

/// Where and when a job is to run: all its tasks start together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Booking {
    pub(crate) start: Time,
    /// Each pool once.
    pub(crate) parts: Vec<Part>,
    /// Licences, for as long as the longest task takes, as the books know them.
    pub(crate) licences: Box<[Part]>,
}

impl Booking {
    /// Of these nodes alone.
    pub(crate) fn new(start: Time, parts: Vec<Part>) -> Booking {
        Booking { start, parts, licences: Box::default() }
    }

    /// With what the job takes along, if anything.
    pub(super) fn along(mut self, shares: &[Share]) -> Booking {
        if shares.is_empty() {
            return self;
        }
        let length = self.runtime();
        let part = |share: &Share| Part { pool: share.pool, nodes: share.nodes, length, memory: 0 };
        self.licences = shares.iter().map(part).collect();
        self
    }

    /// What it takes, pool by pool, then licence by licence.
    pub(crate) fn taken(&self) -> impl Iterator<Item = Taken> + '_ {
        self.parts.iter().chain(self.licences.iter()).map(|part| part.taken(self.start))
    }

    /// How long the longest task takes.
    pub(super) fn runtime(&self) -> Span {
        self.parts.iter().map(|part| part.length).max().unwrap_or_default()
    }

    /// What the licences cost that it takes.
    pub(in crate::policy) fn licences_cost(&self, pools: &Pools) -> Money {
        let licence = |part: &Part| &pools.licences()[part.pool.index() - pools.as_slice().len()];
        let cost = |part: &Part| licence(part).price.of(part.nodes, part.length);
        self.licences.iter().map(cost).sum()
    }

    /// From its start until all its tasks are over.
    pub(super) fn extent(&self) -> Starts {
        Starts { from: self.start, until: self.end() }
    }

    /// When all its tasks are over.
    pub(crate) fn end(&self) -> Time {
        self.start + self.runtime()
    }

    /// As the market wants to know it.
    pub(crate) fn place(&self) -> Place {
        Place::of(self.shares())
    }

    /// The same of a job that may be moldable: then with its width.
    pub(crate) fn place_of(&self, market: &Market, job: JobId) -> Place {
        match market.demand(job).is_some_and(Demand::is_moldable) {
            true => Place::counted(self.shares()),
            false => self.place(),
        }
    }

    fn shares(&self) -> Vec<Share> {
        let share = |part: &Part| Share { pool: part.pool, nodes: part.nodes };
        self.parts.iter().map(share).collect()
    }
}

/// Bookings of several pools. Who makes one takes it here, and gives it back.
impl GridAvailability {
    /// Of pools of which nothing is taken.
    pub(in crate::policy) fn of_pools(market: &Market) -> GridAvailability {
        availability::Availability::new(Free::new(market.pools(), market.now()))
    }

    /// Of one pool that was looked at alone until now.
    pub(in crate::policy) fn of_one(
        nodes: availability::Availability<Profile>,
        market: &Market,
    ) -> GridAvailability {
        nodes.map(|nodes| Free::of_pool(nodes, market.pools()))
    }

    /// Of a market as it stands, for one that does not follow it.
    pub(in crate::policy) fn of_market(market: &Market) -> GridAvailability {
        availability::Availability::of(Free::new(market.pools(), market.now()), market)
    }

    /// What is free in each pool.
    pub(in crate::policy) fn profiles(&self) -> &[Profile] {
        self.free().profiles()
    }

    /// Whether the booking can be taken.
    pub(in crate::policy) fn fits(&self, booking: &Booking) -> bool {
        booking.taken().all(|taken| self.free().fits(&taken))
    }

    /// A job starts now where it was booked; the booking has been taken.
    pub(in crate::policy) fn begin(&mut self, job: JobId, booking: &Booking) {
        for part in booking.parts.iter().chain(booking.licences.iter()) {
            self.start(job, part.taken(booking.start), part.length);
        }
    }

    /// Sets nodes aside.
    pub(in crate::policy) fn book(&mut self, booking: &Booking) {
        booking.taken().for_each(|taken| self.free_mut().take(taken));
    }

    /// Gives them back.
    pub(in crate::policy) fn cancel(&mut self, booking: &Booking) {
        booking.taken().for_each(|taken| self.free_mut().give(taken));
    }
}
