//! A job in the queue, and who comes first.

use tradewind_model::{Demand, JobId, Span, Time};

use super::Order;
use crate::policy::grid::{Booking, Wish};
use crate::policy::order;

/// A place in the order of the queue: lower comes first, then the job submitted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    key: i64,
    pub(super) job: JobId,
}

impl Rank {
    /// Of a job that joined the queue at `joined` and is looked at now.
    pub(super) fn new(order: Order, job: JobId, demand: &Demand, [joined, now]: [Time; 2]) -> Rank {
        Rank { key: order.key(demand, joined, now), job }
    }
}

/// A job that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) rank: Rank,
    pub(super) joined: Time,
    /// On the reference node.
    pub(super) estimate: Span,
    pub(super) wish: Wish,
    /// Where and when it is to start, if that is set down: taken in the books.
    pub(super) reserved: Option<Booking>,
}

impl Waiting {
    /// Takes its place in the order of expansion factors now.
    pub(super) fn expand(&mut self, now: Time) {
        self.rank.key = order::expansion(now - self.joined, self.estimate);
    }

    /// When its reservation begins.
    pub(super) fn reserved_start(&self) -> Option<Time> {
        self.reserved.as_ref().map(|booking| booking.start)
    }
}
