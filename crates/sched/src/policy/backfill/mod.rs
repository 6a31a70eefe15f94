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

use tradewind_model::{Command, Demand, Event, JobId, Market, Place, PoolId, Profile, Span, Time};

use super::{Policy, Promise};
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
    /// Running jobs and reservations; `None` until the first call.
    profile: Option<Profile>,
    line: Line,
    /// By job: when it is expected to end, once it runs.
    ends: Vec<Time>,
    /// The same of running jobs, by time.
    due: BTreeSet<(Time, JobId)>,
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
            profile: None,
            line: Line::new(settings.depth),
            ends: Vec::new(),
            due: BTreeSet::new(),
            joined: BTreeMap::new(),
            started: Vec::new(),
        }
    }

    /// Takes a job that ended out of the books.
    fn release(&mut self, profile: &mut Profile, job: JobId, demand: &Demand) {
        let (now, end) = (profile.origin(), self.ends[job.index()]);
        profile.give(demand.processors, now, end);
        self.due.remove(&(end, job));
        if now < end {
            self.line.opened(now, end);
        }
    }

    /// The profile is made anew: jobs that should have ended are expected to run on, closures take
    /// their nodes, all reservations are dropped.
    fn rebuild(&mut self, profile: &mut Profile, market: &Market) {
        *profile = Profile::new(market.processors(), market.now());
        self.due.clear();
        for running in market.running() {
            let elapsed = market.now() - running.start;
            let end = running.start + expected_span(running.demand.estimate, elapsed);
            self.ends[running.job.index()] = end;
            self.due.insert((end, running.job));
            profile.take(running.demand.processors, market.now(), end);
        }
        for (_, closure) in market.closures() {
            profile.take(closure.nodes, closure.from.max(market.now()), closure.until);
        }
        self.line.forget();
    }

    /// Writes down who started.
    fn start(&mut self, now: Time, commands: &mut Vec<Command>) {
        for waiting in self.started.drain(..) {
            let (job, end) = (waiting.rank.job, now + waiting.estimate);
            if self.ends.len() <= job.index() {
                self.ends.resize(job.index() + 1, now);
            }
            self.ends[job.index()] = end;
            self.due.insert((end, job));
            commands.push(Command::Start { job, place: Place::Pool(PoolId(0)) });
        }
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
        let fresh = || Profile::new(market.processors(), now);
        let mut profile = self.profile.take().unwrap_or_else(fresh);
        profile.advance(now);
        let mut whole = events.is_empty() || !self.looks_at_new_jobs_alone(now);
        let mut anew = false;
        for event in events {
            match event {
                Event::Ended { job } | Event::Interrupted { job } => {
                    whole = true;
                    match event {
                        Event::Interrupted { .. } => anew = true,
                        _ => drop(self.joined.remove(job)),
                    }
                    if let Some(demand) = market.demand(*job) {
                        self.release(&mut profile, *job, demand);
                    }
                }
                Event::Announced { .. } => anew = true,
                Event::Reopened { .. } => whole = true,
                _ => {}
            }
        }
        anew |= self.due.first().is_some_and(|(end, _)| *end <= now);
        if self.settings.order.moves() {
            self.line.reorder(|waiting| waiting.expanded(now));
            anew = true;
        }
        if anew {
            self.rebuild(&mut profile, market);
            whole = true;
        }
        for event in events {
            let joined = match event {
                Event::Submitted { job, demand } => Some((*job, demand)),
                Event::Interrupted { job } => market.demand(*job).map(|demand| (*job, demand)),
                _ => None,
            };
            let Some((job, demand)) = joined else { continue };
            let joined = match self.settings.order.moves() {
                true => *self.joined.entry(job).or_insert(now),
                false => now,
            };
            let waiting = Waiting::new(self.settings.order, job, demand, [joined, now]);
            match whole {
                true => self.line.insert(waiting),
                false => self.line.try_one(&mut profile, waiting, &mut self.started),
            }
        }
        if whole {
            self.line.pass(&mut profile, &mut self.started);
        }
        self.start(now, commands);
        self.profile = Some(profile);
        commands.extend(self.line.first_reservation().map(|at| Command::Wake { at }));
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
