//! A job in the queue.

use tradewind_model::Time;

use crate::policy::backfill::{QueuedJob, Rank};
use crate::policy::grid::{Booking, LazyRequest};

/// A job that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::policy) struct PoolsJob {
    pub(super) rank: Rank,
    /// Its key in the order of candidates, if that is not the order of the queue.
    pub(super) turn: Option<i64>,
    pub(super) joined: Time,
    pub(super) wish: LazyRequest,
    /// Where and when it is to start, if that is known: taken in the availability.
    pub(super) reserved: Option<Booking>,
    /// Whether that was the best there was when the job was looked at last.
    pub(super) settled: bool,
}

impl PoolsJob {
    pub(in crate::policy) fn new(
        rank: Rank,
        joined: Time,
        wish: impl Into<LazyRequest>,
    ) -> PoolsJob {
        let wish = wish.into();
        PoolsJob { rank, turn: None, joined, wish, reserved: None, settled: false }
    }
}

impl QueuedJob for PoolsJob {
    type Place = Booking;
    type Index = ();

    fn rank(&self) -> Rank {
        self.rank
    }

    fn turn(&self) -> Rank {
        Rank { key: self.turn.unwrap_or(self.rank.key), ..self.rank }
    }

    fn reserved_start(&self) -> Option<Time> {
        self.reserved.as_ref().map(|booking| booking.start)
    }

    fn set_reservation(&mut self, place: Option<Booking>) {
        (self.reserved, self.settled) = (place, true);
    }

    fn waits_for_nodes(&self) -> bool {
        !self.wish.is_priced_out()
    }
}
