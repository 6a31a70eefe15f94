//! A job in the queue.

use tradewind_model::{Demand, JobId, Profile, Span, Time};

use super::Order;
use crate::policy::order;

/// A place in the order of the queue: lower comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::policy) struct Rank {
    pub(in crate::policy) key: i64,
    pub(in crate::policy) job: JobId,
}

/// A job that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) struct Waiting {
    pub(in crate::policy) rank: Rank,
    joined: Time,
    pub(in crate::policy) processors: u32,
    pub(in crate::policy) estimate: Span,
    /// When its reservation begins.
    pub(in crate::policy) reserved: Option<Time>,
}

impl Waiting {
    /// A job that joined the queue at `joined` and is looked at now.
    pub(in crate::policy) fn new(
        order: Order,
        job: JobId,
        demand: &Demand,
        [joined, now]: [Time; 2],
    ) -> Waiting {
        let Demand { processors, estimate, .. } = *demand;
        // In the order of arrival, jobs that wait again keep their old place.
        let key = if order == Order::Arrival { 0 } else { order.key(demand, joined, now) };
        Waiting { rank: Rank { key, job }, joined, processors, estimate, reserved: None }
    }

    /// A job whose place the owner of the queue has worked out.
    pub(in crate::policy) fn keyed(key: i64, job: JobId, processors: u32, length: Span) -> Waiting {
        let (rank, estimate) = (Rank { key, job }, length.max(Span(1)));
        Waiting { rank, joined: Time(0), processors, estimate, reserved: None }
    }

    /// Processors × seconds that it expects to need.
    pub(in crate::policy) fn work(&self) -> i128 {
        i128::from(self.processors) * i128::from(self.estimate.0)
    }

    /// The same, without a reservation, in the order of expansion factors now.
    pub(in crate::policy) fn expanded(self, now: Time) -> Waiting {
        let key = order::expansion(now - self.joined, self.estimate);
        Waiting { rank: Rank { key, ..self.rank }, reserved: None, ..self }
    }

    /// Where it goes: the earliest start from `from` on at which it fits for its whole estimate.
    pub(in crate::policy) fn earliest(&self, profile: &Profile, from: Time) -> Option<Time> {
        profile.earliest(self.processors, self.estimate, from)
    }

    /// Whether it fits now for its whole estimate.
    pub(in crate::policy) fn fits(&self, profile: &Profile) -> bool {
        profile.fits(self.processors, profile.origin(), self.estimate)
    }

    /// Where it can move from its reservation at `held`: the earliest start before that.
    pub(in crate::policy) fn earlier(&self, profile: &Profile, held: Time) -> Option<Time> {
        profile.earlier(self.processors, self.estimate, profile.origin(), held)
    }

    /// Takes its processors from `start` on.
    pub(in crate::policy) fn take(&self, profile: &mut Profile, start: Time) {
        profile.take(self.processors, start, start + self.estimate);
    }

    /// Gives its reservation, which began at `start`, back.
    pub(in crate::policy) fn give(&self, profile: &mut Profile, start: Time) {
        profile.give(self.processors, start, start + self.estimate);
    }
}
