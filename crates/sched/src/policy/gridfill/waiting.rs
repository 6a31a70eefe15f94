//! A job in the queue, and who comes first.

use tradewind_model::{Demand, JobId, Time};

use super::Order;
use crate::policy::grid::{Booking, Wish};

/// Lower comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    key: i64,
    pub(super) job: JobId,
}

impl Rank {
    /// Of a job that joined the queue at `joined`. Ties go to the job that was submitted first.
    pub(super) fn new(order: Order, job: JobId, demand: &Demand, joined: Time) -> Rank {
        let processors = i64::from(demand.processors);
        let key = match order {
            Order::Arrival => joined.0,
            Order::Shortest => demand.estimate.0,
            Order::Longest => -demand.estimate.0,
            Order::Widest => -processors,
            Order::Narrowest => processors,
            Order::Smallest => demand.estimate.0.saturating_mul(processors),
        };
        Rank { key, job }
    }
}

/// A job that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) rank: Rank,
    pub(super) wish: Wish,
    /// Where and when it is to start, if that is set down: taken in the books.
    pub(super) reserved: Option<Booking>,
}

impl Waiting {
    /// When its reservation begins.
    pub(super) fn reserved_start(&self) -> Option<Time> {
        self.reserved.as_ref().map(|booking| booking.start)
    }
}
