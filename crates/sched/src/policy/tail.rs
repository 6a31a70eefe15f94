//! Jobs behind others in a queue, each at the earliest place that it can afford and that delays
//! no job before it: conservative backfilling in the order in which they are placed.
//!
//! For plans of long queues: what a policy makes of the first jobs is simulated, and the others
//! are placed behind them. One more job costs one search, whatever stands before it.

use std::collections::BTreeMap;

use tradewind_model::{JobId, Market, Place, Span, Time};

use super::availability::{Capacity, Taken};
use super::grid::{Booking, GridAvailability, PlacementRequest, Spread};
use super::inbox::Comes;

/// So many different demands of one width and length are remembered.
const ALIKE: usize = 16;

/// Where a job is placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Id of the job in the market.
    pub job: JobId,
    /// When all its tasks start.
    pub start: Time,
    /// Pools and numbers of nodes.
    pub place: Place,
    /// Its nodes, pool by pool, then its licences as if each were one more pool.
    pub parts: Vec<Taken>,
}

impl Placed {
    /// When its last task ends.
    pub fn end(&self) -> Time {
        self.parts.iter().map(|part| part.until).max().unwrap_or(self.start)
    }
}

/// What is free beside all jobs that have been placed so far.
#[derive(Debug)]
pub struct Tail {
    books: GridAvailability,
    /// By width and length: demands, and where the last job of each was placed. Nothing becomes
    /// free here, so that the next one of them starts no earlier.
    floors: BTreeMap<(u32, Span), Vec<(PlacementRequest, Time)>>,
}

impl Tail {
    /// Behind running jobs, outages, and what others have `taken`. O(n log n).
    pub fn new(market: &Market, taken: impl IntoIterator<Item = Taken>) -> Tail {
        let mut books = GridAvailability::of_market(market);
        taken.into_iter().for_each(|taken| books.free_mut().take(taken));
        Tail { books, floors: BTreeMap::new() }
    }

    /// Lets time pass: no job is placed before `now`.
    pub fn pass_to(&mut self, now: Time) {
        self.books.advance(now);
    }

    /// Places a waiting job of the market, which has the same pools and prices as the one that the
    /// tail was made of. `None`: there is no place that the job can afford and that is over by its
    /// deadline.
    ///
    /// Exact with respect to the rule. A search of the time since the last job of the same demand
    /// was placed, or else from the beginning.
    pub fn place(&mut self, market: &Market, job: JobId) -> Option<Placed> {
        let demand = market.demand(job)?;
        let wish = PlacementRequest::of(market, (job, Comes::Again), demand, Spread::Grid).ok()?;
        let alike = self.floors.entry((demand.processors, demand.estimate)).or_default();
        // A wider shape may have begun later than a narrower one can.
        let known = alike.iter().position(|(other, _)| *other == wish && !wish.is_moldable());
        let from = known.map_or(self.books.now(), |at| alike[at].1.max(self.books.now()));
        let booking = wish.earliest(self.books.free_mut(), from)?;
        match known {
            Some(at) => alike[at].1 = booking.start,
            None if alike.len() < ALIKE && !wish.is_moldable() => alike.push((wish, booking.start)),
            None => {}
        }
        self.books.book(&booking);
        Some(placed(market, job, &booking))
    }
}

fn placed(market: &Market, job: JobId, booking: &Booking) -> Placed {
    let parts = booking.taken().collect();
    Placed { job, start: booking.start, place: booking.place_of(market, job), parts }
}

#[cfg(test)]
mod tests;
