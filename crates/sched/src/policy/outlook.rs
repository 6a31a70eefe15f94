//! A forecast of a market's queue, as far as it can be promised: for a market that is asked
//! whether it would take another's job, and when its own would start.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_model::{
    Demand, JobId, Longest, Market, Money, Performance, Place, PoolId, Price, Span, Terms, Time,
};

use super::backfill::{QueuedJob, Rank, look_ahead};
use super::grid::{Booking, GridAvailability, Part, PlacementRequest, Spread};
use super::gridfill::PoolsJob;
use super::inbox::Comes;

/// The waiting jobs of a market, each at the earliest place that it can afford and that delays
/// no job before it: conservative backfilling in the order of the queue.
#[derive(Debug)]
pub struct Outlook {
    at: Time,
    /// What is free beside all of them: searches remember where they found nothing.
    books: RefCell<GridAvailability>,
    openings: BTreeMap<JobId, StartEstimate>,
    /// Jobs that wait.
    load: u32,
    /// Whether there were no more of them than were looked at.
    complete: bool,
}

/// Where a job can be, and what it costs there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartEstimate {
    /// When it starts.
    pub start: Time,
    /// Pools and numbers of nodes.
    pub place: Place,
    /// By share of the place: the price of a node and second, and how long tasks take.
    pub terms: Vec<(Price, Span)>,
    /// All of it.
    pub cost: Money,
}

impl StartEstimate {
    /// The most expensive of its nodes, per second.
    pub fn price(&self) -> Price {
        self.terms.iter().map(|(price, _)| *price).max().unwrap_or_default()
    }
}

/// Nodes that were promised and not taken yet: as if it were one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Promised {
    /// Of all of them together.
    pub processors: u32,
    /// Their longest estimates.
    pub longest: Longest,
}

impl Outlook {
    /// The outlook at `at`, if nothing has happened since the market's own last moment. Places the
    /// first `max` waiting jobs; a search through time for each of them. Exact for the order of
    /// submission; a market whose policy prefers others may do better or worse for single jobs.
    pub fn new(market: &Market, at: Time, max: usize) -> Outlook {
        let at = at.max(market.now());
        let mut books = GridAvailability::of_market(market);
        books.advance(at);
        let mut openings = BTreeMap::new();
        let jobs: Vec<PoolsJob> =
            market.queue().take(max).filter_map(|job| waiting(market, job)).collect();
        look_ahead(books.free_mut(), jobs.iter(), |waiting, booking| {
            let job = waiting.rank().job;
            openings.extend(booking.map(|booking| (job, opening(market, &booking))));
        });
        let load = market.queue().len();
        let complete = load <= max;
        Outlook {
            at,
            books: RefCell::new(books),
            openings,
            load: u32::try_from(load).unwrap_or(u32::MAX),
            complete,
        }
    }

    /// The moment that it is of.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Jobs that wait.
    pub fn load(&self) -> u32 {
        self.load
    }

    /// What a waiting job has to expect here, if it is one of the first and can be placed.
    pub fn of(&self, job: JobId) -> Option<&StartEstimate> {
        self.openings.get(&job)
    }

    /// Waiting jobs with a place in one pool of these, later than now: where and from when on, in the
    /// order of submission.
    pub fn later_in(
        &self,
        pools: impl Fn(PoolId) -> bool,
    ) -> impl Iterator<Item = (JobId, PoolId, Time)> {
        self.openings.iter().filter_map(move |(job, it)| match it.place {
            Place::Pool(pool) if it.start > self.at && pools(pool) => Some((*job, pool, it.start)),
            _ => None,
        })
    }

    /// Whether one more job could start now, elsewhere than in `pool`, without a delay for the jobs
    /// that wait.
    pub fn starts_elsewhere(&self, market: &Market, demand: &Demand, pool: PoolId) -> bool {
        let place = self.open(market, demand, self.at, Promised::default());
        place.is_some_and(|it| it.start <= self.at && it.place != Place::Pool(pool))
    }

    /// The earliest place for one more job, not before `from`, which delays none of those that
    /// wait: beside what is promised to others, which counts from now on as one more job. `None`
    /// also if more jobs wait than were looked at, and if what is promised has no place.
    pub fn open(
        &self,
        market: &Market,
        demand: &Demand,
        from: Time,
        promised: Promised,
    ) -> Option<StartEstimate> {
        // No job of the market has this number: so many do not fit.
        let job = JobId(u32::MAX);
        if !self.complete {
            return None;
        }
        let mut books = self.books.borrow_mut();
        let block = block(market, promised);
        let block = match promised.processors {
            0 => None,
            _ => Some(earliest(market, &mut books, (job, &block), self.at)?),
        };
        block.iter().for_each(|block| books.book(block));
        let booking = earliest(market, &mut books, (job, demand), from);
        block.iter().for_each(|block| books.cancel(block));
        booking.map(|booking| opening(market, &booking))
    }
}

/// The job in the order of submission, if it can ever run.
fn waiting(market: &Market, job: JobId) -> Option<PoolsJob> {
    let demand = market.demand(job)?;
    let wish = PlacementRequest::of(market, (job, Comes::Again), demand, Spread::Grid).ok()?;
    let now = market.now();
    Some(PoolsJob::new(Rank { key: 0, job }, now, wish))
}

/// What is promised, as one job.
fn block(market: &Market, promised: Promised) -> Demand {
    let speeds = market.pools().as_slice().iter().map(|pool| pool.performance);
    let fastest = speeds.max().unwrap_or(Performance::REFERENCE);
    let (estimate, times) = promised.longest.estimate(fastest);
    let block = Demand::new(promised.processors, estimate);
    match times == block.mode() {
        true => block,
        false => Demand { terms: Some(Arc::new(Terms { times, ..Terms::default() })), ..block },
    }
}

fn earliest(
    market: &Market,
    books: &mut GridAvailability,
    (job, demand): (JobId, &Demand),
    from: Time,
) -> Option<Booking> {
    let wish = PlacementRequest::of(market, (job, Comes::Again), demand, Spread::Grid).ok()?;
    wish.earliest(books.free_mut(), from)
}

fn opening(market: &Market, booking: &Booking) -> StartEstimate {
    // A place names its pools in their order.
    let mut parts = booking.parts.clone();
    parts.sort_by_key(|part| part.pool);
    let price = |part: &Part| market.pools().asked(part.pool, booking.start, part.length);
    let nodes: Money = parts.iter().map(|part| price(part).of(part.nodes, part.length)).sum();
    let cost = nodes.plus(booking.licences_cost(market.pools()));
    StartEstimate {
        start: booking.start,
        place: booking.place(),
        terms: parts.iter().map(|part| (price(part), part.length)).collect(),
        cost,
    }
}

#[cfg(test)]
pub(super) mod tests;
