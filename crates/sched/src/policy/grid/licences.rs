//! What a job takes along from its start until its last task is over, and what that costs.

use std::sync::Arc;

use tradewind_model::{Demand, Pools, Profile, Share, Span, Time, licences_per_second};

use super::booking::Booking;
use crate::policy::availability;

/// Licences of one job; none of most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::policy) struct Along {
    /// As the books know them.
    pub(super) shares: Vec<Share>,
    /// What they cost together, in micro-credits per second.
    pub(super) per_second: i128,
    /// Pools of nodes: licences come behind them.
    pools: usize,
}

impl Along {
    /// Nothing is taken along.
    pub(super) const NOTHING: Along = Along { shares: Vec::new(), per_second: 0, pools: 0 };

    /// What the demand takes along, if anything.
    pub(super) fn of_any(pools: &Pools, demand: &Demand) -> Option<Arc<Along>> {
        demand.terms().licences.is_some().then(|| Arc::new(Along::of(pools, demand)))
    }

    pub(in crate::policy) fn of(pools: &Pools, demand: &Demand) -> Along {
        let Some(licences) = demand.terms().licences.as_deref() else { return Along::default() };
        Along {
            shares: availability::licence_shares(pools, demand).collect(),
            per_second: licences_per_second(pools.licences(), licences),
            pools: pools.as_slice().len(),
        }
    }

    /// What they cost for so long.
    pub(in crate::policy) fn cost(&self, runtime: Span) -> i128 {
        self.per_second.saturating_mul(i128::from(runtime.0))
    }

    /// What they cost for as long as the booking's longest task takes.
    pub(super) fn cost_of(&self, booking: &Booking) -> i128 {
        match self.per_second {
            0 => 0,
            _ => self.cost(booking.runtime()),
        }
    }

    /// Where they are looked for.
    pub(in crate::policy) fn rooms<'f>(&self, free: &'f [Profile]) -> Vec<LicenceRoom<'f>> {
        let room = |share: &Share| LicenceRoom {
            free: &free[share.pool.index() - self.pools],
            count: share.nodes,
        };
        self.shares.iter().map(room).collect()
    }

    /// Where there is nothing to choose from by price: of all lengths the longest, else each length
    /// that a task can have. The cheapest nodes may be slow, and licences cost more the longer the
    /// longest task takes; so the cheapest place is the cheapest of those with no longer tasks than
    /// one of these.
    pub(super) fn caps(&self, lengths: impl Iterator<Item = Span>) -> Vec<Span> {
        if self.per_second == 0 {
            return vec![Span::MAX];
        }
        let mut lengths: Vec<Span> = lengths.collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }
}

/// Free licences, and how many of them a job takes.
#[derive(Debug, Clone, Copy)]
pub(in crate::policy) struct LicenceRoom<'f> {
    pub(super) free: &'f Profile,
    count: u32,
}

impl LicenceRoom<'_> {
    /// Whether they are free from then on for so long.
    pub(super) fn fits(&self, at: Time, length: Span) -> bool {
        self.free.fits(self.count, at, length)
    }

    /// The earliest start in `[from, until)` at which they are free for so long.
    pub(super) fn earliest_before(&self, length: Span, from: Time, until: Time) -> Option<Time> {
        self.free.earliest_before(self.count, length, from, until)
    }
}
