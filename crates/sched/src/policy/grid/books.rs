//! What is taken, by pool: running jobs until their expected ends, closures, and bookings.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Event, JobId, Market, Pool, PoolId, Profile, Running, Share, Time};

use super::booking::{Booking, Part};
use super::free::{Free, Opening};
use crate::policy::outages::{Outages, Taken};
use crate::policy::backfill::expected_span;

/// A running job's nodes in one pool.
#[derive(Debug, Clone, Copy)]
struct Hold {
    pool: PoolId,
    nodes: u32,
    /// When they are expected back.
    end: Time,
}

/// A profile of each pool, and what it consists of. Who makes a booking takes it here and gives it
/// back.
#[derive(Debug)]
pub(crate) struct Books {
    free: Free,
    running: BTreeMap<JobId, Vec<Hold>>,
    /// When nodes of running jobs are expected back.
    due: BTreeSet<(Time, JobId, PoolId)>,
    absences: Outages,
}

/// What a call of [`Books::follow`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::policy) struct News {
    /// Nodes came back sooner than expected.
    pub(in crate::policy) early: bool,
    /// Expectations failed: all bookings have been struck out of the books, and may not fit any
    /// more.
    pub(in crate::policy) upset: bool,
}

impl Books {
    /// Of pools of which nothing is taken.
    pub(in crate::policy) fn new(market: &Market) -> Books {
        Books {
            free: Free::new(market.pools(), market.now()),
            running: BTreeMap::new(),
            due: BTreeSet::new(),
            absences: Outages::default(),
        }
    }

    /// Of a market as it stands, for whoever does not follow it. O((r + c)·log n) for r running jobs
    /// and c closures.
    pub(crate) fn of(market: &Market) -> Books {
        let mut books = Books { absences: absences(market), ..Books::new(market) };
        books.rebuild(market);
        books
    }

    /// The moment up to which the books are kept.
    pub(in crate::policy) fn now(&self) -> Time {
        self.profiles()[0].origin()
    }

    /// What is free.
    pub(in crate::policy) fn free(&mut self) -> &mut Free {
        &mut self.free
    }

    /// By pool, what has become free since the last call, or since all was made anew.
    pub(in crate::policy) fn opened(&mut self) -> impl Iterator<Item = Opening> + '_ {
        self.free.opened()
    }

    /// What is free in each pool.
    pub(in crate::policy) fn profiles(&self) -> &[Profile] {
        self.free.profiles()
    }

    /// Whether any node is free now.
    pub(in crate::policy) fn any_free(&self) -> bool {
        self.profiles().iter().any(|profile| profile.free_now() > 0)
    }

    /// Whether nothing runs and no node is missing, now or later.
    pub(in crate::policy) fn idle(&self) -> bool {
        self.running.is_empty() && self.absences.is_empty()
    }

    /// When nodes are there again for which a closure was announced that never began.
    pub(in crate::policy) fn next_unsaid_end(&self) -> Option<Time> {
        self.absences.next_unsaid_end(self.now())
    }

    /// Brings the books up to date with what happened.
    pub(in crate::policy) fn follow(&mut self, market: &Market, events: &[Event]) -> News {
        let now = market.now();
        self.free.advance(now);
        let mut news = News::default();
        for event in events {
            match event {
                Event::Ended { job } => news.early |= self.release(*job, None),
                Event::Released { job, pool } => news.early |= self.release(*job, Some(*pool)),
                Event::Interrupted { job } => {
                    self.release(*job, None);
                    news.upset = true;
                }
                Event::Announced { closure, what } => {
                    self.absences.announced(*closure, *what, now);
                    news.upset = true;
                }
                Event::Closed { closure } => {
                    news.upset |= self.absences.closed(*closure, now).is_some();
                }
                Event::Reopened { closure } => {
                    let left = self.absences.reopened(*closure, now).and_then(|(_, left)| left);
                    left.into_iter().for_each(|left| self.free.give(left));
                    news.early |= left.is_some();
                }
                _ => {}
            }
        }
        let overdue = self.due.first().is_some_and(|(end, ..)| *end <= now);
        news.upset |= overdue || self.absences.overdue(now);
        for event in events {
            if let Event::Started { job, .. } = event {
                news.upset |= !news.upset && !self.adopt(market, *job);
            }
        }
        if news.upset {
            self.rebuild(market);
        }
        news
    }

    /// Takes a job, or what it had in one pool, out of the books; whether that was early.
    fn release(&mut self, job: JobId, only: Option<PoolId>) -> bool {
        let now = self.now();
        let Some(holds) = self.running.get_mut(&job) else { return false };
        let gone = |hold: &Hold| only.is_none_or(|pool| hold.pool == pool);
        let mut early = false;
        for Hold { pool, nodes, end } in holds.iter().copied().filter(gone) {
            early |= end > now;
            self.free.give(Taken { pool, nodes, from: now, until: end });
            self.due.remove(&(end, job, pool));
        }
        holds.retain(|hold| !gone(hold));
        if holds.is_empty() {
            self.running.remove(&job);
        }
        early
    }

    /// A job runs that was started by somebody else. Whether that leaves all bookings as they are;
    /// if not, nothing is written down.
    fn adopt(&mut self, market: &Market, job: JobId) -> bool {
        let now = self.now();
        let known = self.running.contains_key(&job);
        let Some(run) = market.run_of(job).filter(|_| !known) else { return true };
        let holds = holds(market, &run);
        let fits =
            |hold: &Hold| self.profiles()[hold.pool.index()].fits(hold.nodes, now, hold.end - now);
        let fit = holds.iter().all(fits);
        if fit {
            self.write(job, holds);
        }
        fit
    }

    /// A running job's nodes are taken from now on.
    fn write(&mut self, job: JobId, holds: Vec<Hold>) {
        let now = self.now();
        for Hold { pool, nodes, end } in holds {
            self.free.take(Taken { pool, nodes, from: now, until: end });
            self.hold(job, pool, nodes, end);
        }
    }

    /// Makes everything anew but bookings: whoever should have given nodes back is expected to
    /// need twice as long as believed so far.
    fn rebuild(&mut self, market: &Market) {
        let now = market.now();
        let absences = std::mem::take(&mut self.absences);
        *self = Books { absences, ..Books::new(market) };
        for job in market.running() {
            self.write(job.job, holds(market, &job));
        }
        let Books { absences, free, .. } = self;
        absences.anew(now).for_each(|taken| free.take(taken));
    }

    fn hold(&mut self, job: JobId, pool: PoolId, nodes: u32, end: Time) {
        self.running.entry(job).or_default().push(Hold { pool, nodes, end });
        self.due.insert((end, job, pool));
    }

    /// A job starts where it was booked; the booking has been taken.
    pub(in crate::policy) fn start(&mut self, job: JobId, booking: &Booking) {
        for &Part { pool, nodes, length } in &booking.parts {
            self.hold(job, pool, nodes, booking.start + length);
        }
    }

    /// Whether the booking can be taken.
    pub(in crate::policy) fn fits(&self, booking: &Booking) -> bool {
        let start = booking.start;
        let fits =
            |part: &Part| self.profiles()[part.pool.index()].fits(part.nodes, start, part.length);
        booking.parts.iter().all(fits)
    }

    /// Sets nodes aside.
    pub(in crate::policy) fn take(&mut self, booking: &Booking) {
        booking.parts.iter().for_each(|part| self.free.take(part.taken(booking.start)));
    }

    /// Forgets what was before `now`, if nothing else happened since.
    pub(in crate::policy) fn pass_to(&mut self, now: Time) {
        self.free.advance(now);
    }

    /// Nodes that somebody has whom the books do not know otherwise.
    pub(in crate::policy) fn set_aside(&mut self, share: Share, from: Time, until: Time) {
        let Share { pool, nodes } = share;
        self.free.take(Taken { pool, nodes, from, until });
    }

    /// Gives them back without a word, as they may be taken again.
    pub(in crate::policy) fn lift(&mut self, booking: &Booking) {
        booking.parts.iter().for_each(|part| self.free.lift(part.taken(booking.start)));
    }

    /// What was lifted will not be taken again.
    pub(in crate::policy) fn open(&mut self, booking: &Booking) {
        booking.parts.iter().for_each(|part| self.free.open(part.taken(booking.start)));
    }

    /// The opposite.
    pub(in crate::policy) fn give(&mut self, booking: &Booking) {
        booking.parts.iter().for_each(|part| self.free.give(part.taken(booking.start)));
    }
}

/// What is free in each pool of a market as it stands, for whoever needs nothing else.
/// O((r + c)·log r) for r running jobs and c closures; quicker than [`Books::of`].
pub(crate) fn free_in_each(market: &Market) -> Vec<Profile> {
    let now = market.now();
    let fresh = |pool: &Pool| Profile::new(pool.nodes, now);
    let mut profiles: Vec<Profile> = market.pools().as_slice().iter().map(fresh).collect();
    let mut all: Vec<Hold> = market.running().flat_map(|job| holds(market, &job)).collect();
    // In the order of time each change comes behind those of before, where it is put soonest.
    all.sort_unstable_by_key(|hold| (hold.pool, hold.end));
    for Hold { pool, nodes, end } in all {
        profiles[pool.index()].take(nodes, now, end);
    }
    for Taken { pool, nodes, from, until } in absences(market).anew(now) {
        profiles[pool.index()].take(nodes, from, until);
    }
    profiles
}

/// Closures that are announced or have begun.
fn absences(market: &Market) -> Outages {
    let (mut absences, now) = (Outages::default(), market.now());
    for (id, what) in market.outages() {
        absences.announced(id, what, now);
        if market.closure_state(id).is_some_and(|(_, begun)| begun) {
            absences.closed(id, now);
        }
    }
    absences
}

/// What the job has of each pool, and until when it is expected to have it.
fn holds(market: &Market, job: &Running<'_>) -> Vec<Hold> {
    let hold = |Share { pool, nodes }| {
        let length = market.pools().pool(pool).length_of(job.demand);
        Hold { pool, nodes, end: job.start + expected_span(length, market.now() - job.start) }
    };
    job.shares().map(hold).collect()
}
