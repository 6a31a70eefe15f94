//! Fall-back windows: where a job goes at once if it loses its window or its nodes (the "set of
//! versions of scheduling, or a strategy" of paper 001, section 7).
//!
//! They are candidates and not reservations, so they cost no capacity, and several jobs may have
//! the same one; the first job that needs it takes it. They are found again in every cycle. When
//! something else changed what is free (a failure, an announced outage, a job that runs longer than
//! expected, a booking), those that do not fit any more are replaced. In between nothing can take
//! their nodes; one whose start has passed is taken from the present on, if it fits then.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Event, JobId, Market, PoolId, SiteId, Time};

use super::{PlanKey, Planner};
use crate::policy::grid::{Booking, GridAvailability, PlacementRequest, RequestOutline, Spread};

#[cfg(test)]
mod tests;

/// Which fall-back windows are looked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) enum Renewal {
    /// All of them.
    All,
    /// Those that do not fit any more, if anything changed since the last renewal.
    Invalid,
}

/// The fall-back windows of all jobs, and who needs one.
#[derive(Debug)]
pub(super) struct Fallbacks {
    /// Windows per job, at most.
    count: usize,
    /// By job that is booked or runs, and maybe of jobs that ended since the last renewal.
    windows: BTreeMap<JobId, Vec<Booking>>,
    /// Jobs that lost their window in this pass.
    lost: BTreeSet<JobId>,
    /// Whether what is booked or free has changed since the last renewal.
    stale: bool,
    /// How often a job went to a fall-back window.
    taken: u64,
    /// How often a job lost its window or its nodes and no fall-back window was free.
    missed: u64,
}

impl Fallbacks {
    /// So many windows per job.
    pub(super) fn new(count: u32) -> Fallbacks {
        Fallbacks {
            count: count as usize,
            windows: BTreeMap::new(),
            lost: BTreeSet::new(),
            stale: false,
            taken: 0,
            missed: 0,
        }
    }

    /// The job lost its window.
    pub(super) fn lost(&mut self, job: JobId) {
        if self.count > 0 {
            self.lost.insert(job);
        }
    }

    /// What is booked or free has changed.
    pub(super) fn changed(&mut self) {
        self.stale = true;
    }
}

/// What a search for fall-back windows needs to know of its job.
struct FallbackRequest<'a> {
    request: PlacementRequest,
    /// By pool.
    sites: &'a [SiteId],
    /// Where the job is booked or runs.
    home: BTreeSet<SiteId>,
    /// By when a window must be over, beside the job's own deadline.
    end: Time,
    /// How many windows.
    count: usize,
}

impl Planner {
    /// Jobs that lost their window or their nodes in this pass, and that no cycle has planned
    /// since, take a fall-back window: in the order of planning, each the one that ends first of
    /// those that are free. The others wait for the next cycle. Then windows are renewed.
    ///
    /// A renewal costs O(k) searches for each job that is booked or runs, where something has to be
    /// looked for.
    pub(in crate::policy) fn fall_back(
        &mut self,
        market: &Market,
        books: &mut GridAvailability,
        events: &[Event],
        renewal: Renewal,
    ) {
        if self.fallbacks.count == 0 {
            return;
        }
        let mut lost = std::mem::take(&mut self.fallbacks.lost);
        lost.extend(events.iter().filter_map(|event| match event {
            Event::Interrupted { job } => Some(*job),
            _ => None,
        }));
        let waits = |key: &PlanKey| self.waiting.contains_key(key);
        let mut lost: Vec<PlanKey> =
            lost.into_iter().map(|job| self.key(market, job)).filter(waits).collect();
        lost.sort_unstable();
        for key in lost {
            self.take_fallback(market, books, key);
        }
        if renewal == Renewal::All || self.fallbacks.stale {
            self.renew(market, books, renewal);
        }
    }

    fn take_fallback(&mut self, market: &Market, books: &mut GridAvailability, key: PlanKey) {
        let Some(windows) = self.fallbacks.windows.remove(&key.1) else { return };
        let Some(request) = limited(market, key.1) else { return };
        let free = windows.into_iter().filter_map(|window| still_free(&request, books, window));
        match free.min_by_key(Booking::end) {
            Some(window) => {
                self.fallbacks.taken += 1;
                self.book(books, key, window);
            }
            None => self.fallbacks.missed += 1,
        }
    }

    fn renew(&mut self, market: &Market, books: &mut GridAvailability, renewal: Renewal) {
        let mut before = std::mem::take(&mut self.fallbacks.windows);
        let kept = |job: &JobId, before: &mut BTreeMap<JobId, Vec<Booking>>| match renewal {
            Renewal::All => Vec::new(),
            Renewal::Invalid => before.remove(job).unwrap_or_default(),
        };
        let sites: Vec<SiteId> = market.pools().as_slice().iter().map(|pool| pool.site).collect();
        let (horizon, count) = (self.horizon(books.now()), self.fallbacks.count);
        let mut windows = BTreeMap::new();
        for (job, pools) in self.homes(market) {
            let Some(request) = limited(market, job) else { continue };
            let home = pools.iter().map(|pool| sites[pool.index()]).collect();
            let end = self.end_for(&RequestOutline::of(&request), horizon);
            let wanted = FallbackRequest { request, sites: &sites, home, end, count };
            windows.insert(job, find(&wanted, books, kept(&job, &mut before)));
        }
        self.fallbacks.windows = windows;
        self.fallbacks.stale = false;
    }

    /// Jobs that are booked or run, and in which pools.
    fn homes(&self, market: &Market) -> Vec<(JobId, Vec<PoolId>)> {
        let parts = |booking: &Booking| booking.parts.iter().map(|part| part.pool).collect();
        let booked = self.booked.iter().map(|(job, booked)| (*job, parts(&booked.booking)));
        let running = market.running();
        let running = running.map(|run| (run.job, run.shares().map(|it| it.pool).collect()));
        booked.chain(running).collect()
    }

    /// The window of a booked job.
    pub(in crate::policy) fn booked(&self, job: JobId) -> Option<&Booking> {
        self.booked.get(&job).map(|booked| &booked.booking)
    }

    /// The fall-back windows of a job.
    pub(in crate::policy) fn fallbacks(&self, job: JobId) -> &[Booking] {
        self.fallbacks.windows.get(&job).map_or(&[], Vec::as_slice)
    }

    /// How often fall-back windows were taken, and were not there; nothing without the setting.
    pub(in crate::policy) fn counts(&self) -> Vec<(&'static str, u64)> {
        let Fallbacks { taken, missed, .. } = self.fallbacks;
        match self.fallbacks.count {
            0 => Vec::new(),
            _ => vec![("fallbacks_taken", taken), ("fallbacks_missed", missed)],
        }
    }
}

/// The job's request with every limit that it states, whatever the search of a cycle applies.
/// `None`: the job has agreed with a queue, and goes nowhere else.
fn limited(market: &Market, job: JobId) -> Option<PlacementRequest> {
    let demand = market.demand(job).filter(|_| market.trade(job).is_none())?;
    Some(PlacementRequest::of_waiting(market, job, demand, Spread::Grid))
}

/// The window, at the present if its start has passed, if it is free and the job may have it.
fn still_free(
    request: &PlacementRequest,
    books: &GridAvailability,
    window: Booking,
) -> Option<Booking> {
    let start = window.start.max(books.now());
    Some(Booking { start, ..window }).filter(|it| request.allows(it) && books.fits(it))
}

/// Those of `kept` that are still free, and as many more as are wanted and found.
fn find(
    wanted: &FallbackRequest<'_>,
    books: &mut GridAvailability,
    kept: Vec<Booking>,
) -> Vec<Booking> {
    let is_home = |pool: PoolId| wanted.home.contains(&wanted.sites[pool.index()]);
    let elsewhere = wanted.request.without(&is_home);
    if elsewhere.is_priced_out() {
        return Vec::new();
    }
    // Each is booked while others are looked for, so that windows of one job do not overlap.
    let mut found: Vec<Booking> = Vec::new();
    for window in kept {
        if let Some(window) = still_free(&elsewhere, books, window) {
            books.book(&window);
            found.push(window);
        }
    }
    while found.len() < wanted.count
        && let Some(window) = next(wanted, &elsewhere, &found, books)
    {
        books.book(&window);
        found.push(window);
    }
    found.iter().for_each(|window| books.cancel(window));
    found
}

/// The earliest window on sites that no other window of the job has, or else on any.
fn next(
    wanted: &FallbackRequest<'_>,
    elsewhere: &PlacementRequest,
    found: &[Booking],
    books: &mut GridAvailability,
) -> Option<Booking> {
    let site = |pool: PoolId| wanted.sites[pool.index()];
    let used: BTreeSet<SiteId> =
        found.iter().flat_map(|window| &window.parts).map(|part| site(part.pool)).collect();
    let apart = elsewhere.without(&|pool| used.contains(&site(pool)));
    let (now, end) = (books.now(), wanted.end);
    let first = apart.earliest_by(books.free_mut(), now, end);
    match first {
        None if !found.is_empty() => elsewhere.earliest_by(books.free_mut(), now, end),
        first => first,
    }
}
