//! Backfilling on one cluster of like processors: FCFS, EASY, conservative and what lies between.
//!
//! One rule with two knobs. The queue is walked in its [`Order`]; the first jobs that cannot
//! start now get a reservation each, as many as [`Depth`] says; every other job starts now if
//! it fits beside the running jobs and all reservations. Exact with respect to this rule.
//!
//! - Depth 0 is FCFS: the walk stops at the first job that cannot start.
//! - Depth 1 is EASY: a later job must end before the head's reservation or use processors that
//!   the head leaves over. Finite depths make their reservations anew at every pass.
//! - [`Depth::All`] is conservative: each job gets a reservation at its submission and keeps it.
//!   When a job ends, waiting jobs move in queue order, each to the earliest place beside the
//!   others: never later than before.
//!
//! A job that outlives its estimate is expected to run twice as long as believed so far;
//! reservations are then made anew in queue order, so that promises hold only while estimates do.

mod bounds;
mod line;
mod moves;
mod openings;
mod queue;
mod shelves;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{
    OutageId, Command, Demand, Event, JobId, Market, Place, PoolId, Profile, Running, Span, Time,
};

use super::outages::{Outages, Taken};
use super::order::Ranking;
use super::{Policy, Promise, Standing, inbox};
pub(super) use line::Line;
pub(super) use queue::Queue;
pub(super) use shelves::Reservations;
pub(super) use waiting::{Rank, Waiting};

pub use super::Order;

/// How many waiting jobs hold a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The first so many: 0 is FCFS, 1 is EASY.
    First(u32),
    /// Every one: conservative backfilling.
    All,
}

/// The knobs of [`Backfill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How many reservations.
    pub depth: Depth,
    /// Who comes first.
    pub order: Order,
}

/// How long a job is expected to run in all, if it has been running for `elapsed`: its estimate,
/// doubled until it exceeds that.
pub fn expected_span(estimate: Span, elapsed: Span) -> Span {
    let mut span = estimate.0.max(1);
    while span <= elapsed.0 {
        span *= 2;
    }
    Span(span)
}

/// What [`Backfill::follow`] found.
#[derive(Debug, Clone, Copy, Default)]
struct News {
    /// Expectations failed: the profile and all reservations have to be made anew.
    anew: bool,
    /// More than submissions happened.
    freed: bool,
}

/// The policy; see the module's text.
///
/// With w waiting jobs of d different widths that are not wider than what is free, and b jobs that
/// start, a pass costs O(log w) at depth 0 and O((k + b + 1)(d + log w)) at depth k. With a
/// reservation for every job, a pass costs O(log w) per submission and due reservation, with
/// searches of the [`Profile`]; after early ends it costs in proportion to the jobs that move (see
/// `moves.rs`); when a job outlives its estimate, to all. A pass after submissions only, in arrival
/// order or with a reservation for all, looks at the new jobs alone: nothing that could not start
/// before can start now.
#[derive(Debug)]
pub struct Backfill {
    settings: Settings,
    ranking: Ranking,
    /// Running jobs and reservations; `None` until the first call.
    profile: Option<Profile>,
    line: Line,
    /// By job: when it is expected to end, once it runs.
    ends: Vec<Time>,
    /// The same of running jobs, by time.
    due: BTreeSet<(Time, JobId)>,
    absences: Outages,
    /// When jobs that have not ended were submitted, if the order of the queue moves.
    joined: BTreeMap<JobId, Time>,
    /// A buffer.
    started: Vec<Waiting>,
}

impl Backfill {
    /// A policy that has seen nothing so far.
    pub fn new(settings: Settings) -> Backfill {
        Backfill {
            settings,
            ranking: Ranking::new(settings.order),
            profile: None,
            line: Line::new(settings.depth),
            ends: Vec::new(),
            due: BTreeSet::new(),
            absences: Outages::default(),
            joined: BTreeMap::new(),
            started: Vec::new(),
        }
    }

    /// Until when a running job is expected to run, if the books have it.
    fn end_of(&self, job: JobId) -> Option<Time> {
        let end = *self.ends.get(job.index())?;
        self.due.contains(&(end, job)).then_some(end)
    }

    /// A job is expected to run until then.
    fn hold(&mut self, job: JobId, end: Time) {
        if self.ends.len() <= job.index() {
            self.ends.resize(job.index() + 1, end);
        }
        self.ends[job.index()] = end;
        self.due.insert((end, job));
    }

    /// Takes a job that ended out of the books.
    fn release(&mut self, profile: &mut Profile, job: JobId, demand: &Demand) {
        let Some(end) = self.end_of(job) else { return };
        let now = profile.origin();
        profile.give(demand.processors, now, end);
        self.due.remove(&(end, job));
        if now < end {
            self.line.opened(now, end);
        }
    }

    /// A job leaves the queue, as somebody else decided about it.
    fn leave(&mut self, profile: &mut Profile, job: JobId) {
        if let Some(rank) = self.line.find(job).map(|waiting| waiting.rank) {
            self.line.remove(profile, rank);
        }
    }

    /// A job runs that somebody else started. Whether that leaves all reservations as they are; if
    /// not, nothing is written down.
    fn adopt(&mut self, profile: &mut Profile, market: &Market, job: JobId) -> bool {
        let run = market.run_of(job).filter(|_| self.end_of(job).is_none());
        let Some(Running { start, demand, .. }) = run else { return true };
        let now = profile.origin();
        let end = start + expected_span(demand.estimate, now - start);
        let fits = profile.fits(demand.processors, now, end - now);
        if fits {
            profile.take(demand.processors, now, end);
            self.hold(job, end);
        }
        fits
    }

    /// Nodes are back.
    fn reopen(&mut self, profile: &mut Profile, closure: OutageId) {
        let now = profile.origin();
        let left = self.absences.reopened(closure, now).and_then(|(_, left)| left);
        if let Some(Taken { nodes, from, until, .. }) = left {
            profile.give(nodes, from, until);
            self.line.opened(from, until);
        }
    }

    /// Writes down what happened, but for jobs that join.
    fn follow(&mut self, profile: &mut Profile, market: &Market, events: &[Event]) -> News {
        let (mut news, mut foreign) = (News::default(), false);
        for event in events {
            match event {
                Event::Submitted { .. } => continue,
                Event::Ended { job } | Event::Interrupted { job } => {
                    match event {
                        Event::Interrupted { .. } => news.anew = true,
                        _ => drop(self.joined.remove(job)),
                    }
                    if let Some(demand) = market.demand(*job) {
                        self.release(profile, *job, demand);
                    }
                }
                Event::Started { job, .. } | Event::Cancelled { job } | Event::Refused { job } => {
                    self.leave(profile, *job);
                    match event {
                        Event::Started { .. } => foreign = true,
                        _ => drop(self.joined.remove(job)),
                    }
                }
                Event::Announced { closure, what } => {
                    self.absences.announced(*closure, *what, profile.origin());
                    news.anew = true;
                }
                Event::Closed { closure } => {
                    let early = self.absences.closed(*closure, profile.origin());
                    news.anew |= early.is_some();
                    continue;
                }
                Event::Reopened { closure } => self.reopen(profile, *closure),
                Event::Traded { .. } | Event::Released { .. } | Event::Priced { .. } => continue,
            }
            news.freed = true;
        }
        for event in events.iter().filter(|_| foreign) {
            if let Event::Started { job, .. } = event {
                news.anew |= !news.anew && !self.adopt(profile, market, *job);
            }
        }
        news
    }

    /// The profile is made anew: jobs and closures that should have ended are expected to last on,
    /// and all reservations are dropped.
    fn rebuild(&mut self, profile: &mut Profile, market: &Market) {
        *profile = Profile::new(market.processors(), market.now());
        self.due.clear();
        for running in market.running() {
            let elapsed = market.now() - running.start;
            let end = running.start + expected_span(running.demand.estimate, elapsed);
            self.hold(running.job, end);
            profile.take(running.demand.processors, market.now(), end);
        }
        for Taken { nodes, from, until, .. } in self.absences.anew(market.now()) {
            profile.take(nodes, from, until);
        }
        self.line.forget();
    }

    /// Writes down who started.
    fn start(&mut self, now: Time, commands: &mut Vec<Command>) {
        let mut started = std::mem::take(&mut self.started);
        for waiting in started.drain(..) {
            let job = waiting.rank.job;
            self.hold(job, now + waiting.estimate);
            commands.push(Command::Start { job, place: Place::Pool(PoolId(0)) });
        }
        self.started = started;
    }

    /// Whether submissions alone leave every job that waited where it was.
    fn looks_at_new_jobs_alone(&self, now: Time) -> bool {
        let settled = self.settings.order == Order::Arrival || self.settings.depth == Depth::All;
        settled && self.line.first_reservation().is_none_or(|start| start > now)
    }
}

impl Policy for Backfill {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let now = market.now();
        self.ranking.follow(market);
        let fresh = || Profile::new(market.processors(), now);
        let mut profile = self.profile.take().unwrap_or_else(fresh);
        profile.advance(now);
        let mut whole = events.is_empty() || !self.looks_at_new_jobs_alone(now);
        let News { mut anew, freed } = self.follow(&mut profile, market, events);
        whole |= freed;
        anew |= self.due.first().is_some_and(|(end, _)| *end <= now) || self.absences.overdue(now);
        if self.settings.order.moves() {
            let Backfill { line, joined, ranking, .. } = self;
            line.reorder(|waiting| {
                let job = waiting.rank.job;
                let joined = joined.get(&job).copied().unwrap_or(now);
                let key = market.demand(job).map(|demand| ranking.key(demand, joined, now));
                waiting.moved(key.unwrap_or(waiting.rank.key))
            });
            anew = true;
        }
        if anew {
            self.rebuild(&mut profile, market);
            whole = true;
        }
        for (job, _) in inbox::arrivals(market, events) {
            let Some(demand) = market.demand(job) else { continue };
            let joined = match self.settings.order.moves() {
                true => *self.joined.entry(job).or_insert(now),
                false => now,
            };
            let key = match self.settings.order {
                Order::Arrival => 0, // jobs that wait again keep their old place
                _ => self.ranking.key(demand, joined, now),
            };
            let waiting = Waiting::keyed(key, job, demand.processors, demand.estimate);
            match whole {
                true => self.line.insert(waiting),
                false => self.line.try_one(&mut profile, waiting, &mut self.started),
            }
        }
        if whole {
            self.line.pass(&mut profile, &mut self.started);
        }
        self.start(now, commands);
        self.ranking.started(market, commands);
        self.profile = Some(profile);
        let unsaid = self.absences.next_unsaid_end(now).filter(|_| self.line.len() > 0);
        let wake = self.line.first_reservation().into_iter().chain(unsaid).min();
        commands.extend(wake.map(|at| Command::Wake { at }));
    }

    fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        self.ranking.resume(usage);
    }

    fn standing(&self, now: Time) -> Vec<Standing> {
        self.ranking.standing(now)
    }

    fn promise(&self) -> Promise {
        match (self.settings.order, self.settings.depth) {
            (Order::Arrival, Depth::First(0)) => Promise::Order,
            (Order::Arrival, Depth::First(_)) => Promise::Head,
            (order, Depth::All) if !order.moves() => Promise::Reservations,
            _ => Promise::Nothing,
        }
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.line.find(job)?.reserved
    }
}

#[cfg(test)]
mod tests;
