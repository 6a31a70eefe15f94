//! A job in the queue.

use tradewind_model::Time;

use crate::policy::backfill::Rank;
use crate::policy::grid::{Availability, Booking, PlacementRequest};

/// A job that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) rank: Rank,
    pub(super) joined: Time,
    pub(super) wish: PlacementRequest,
    /// Where and when it is to start, if that is set down: taken in the books.
    pub(super) reserved: Option<Booking>,
    /// Whether that was the best there was when the job was looked at last.
    pub(super) settled: bool,
}

impl Waiting {
    pub(super) fn new(rank: Rank, joined: Time, wish: PlacementRequest) -> Waiting {
        Waiting { rank, joined, wish, reserved: None, settled: false }
    }

    /// Gives its reservation back, if it has one.
    pub(super) fn cancel(&mut self, books: &mut Availability) {
        if let Some(booking) = self.reserved.take() {
            books.cancel(&booking);
        }
        self.settled = false;
    }

    /// Its reservation is not in the books any more.
    pub(super) fn forget(&mut self) {
        (self.reserved, self.settled) = (None, false);
    }

    /// When its reservation begins.
    pub(super) fn reserved_start(&self) -> Option<Time> {
        self.reserved.as_ref().map(|booking| booking.start)
    }
}
