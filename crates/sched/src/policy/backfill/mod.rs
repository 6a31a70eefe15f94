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

mod waiting;

use std::collections::BTreeSet;

use tradewind_model::{Command, Demand, Event, JobId, Market, Place, PoolId, Profile, Span, Time};

use super::{Policy, Promise};
use waiting::Waiting;

pub use waiting::Order;

/// How many waiting jobs hold a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The first so many: 0 is FCFS, 1 is EASY.
    First(u32),
    /// Every one: conservative backfilling.
    All,
}

impl Depth {
    /// Whether a waiting job with `before` waiting jobs ahead holds a reservation.
    fn covers(self, before: usize) -> bool {
        match self {
            Depth::First(count) => before < count as usize,
            Depth::All => true,
        }
    }
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
/// A pass costs O(w·s) for w waiting jobs and s steps of the profile (at most two per running
/// job and reservation). A pass after submissions only, in arrival order or with a reservation
/// for all, looks at the new jobs alone: nothing that could not start before can start now.
#[derive(Debug)]
pub struct Backfill {
    settings: Settings,
    /// Running jobs and reservations; `None` until the first call.
    profile: Option<Profile>,
    /// In queue order.
    queue: Vec<Waiting>,
    /// By job: when it is expected to end, once it runs.
    ends: Vec<Time>,
    /// The same of running jobs, by time.
    due: BTreeSet<(Time, JobId)>,
}

impl Backfill {
    /// A policy that has seen nothing so far.
    pub fn new(settings: Settings) -> Backfill {
        let (queue, ends, due) = (Vec::new(), Vec::new(), BTreeSet::new());
        Backfill { settings, profile: None, queue, ends, due }
    }

    fn enqueue(&mut self, job: JobId, demand: &Demand) -> usize {
        let waiting = Waiting::new(job, demand, self.settings.order);
        let place = self.queue.partition_point(|other| other.rank() < waiting.rank());
        self.queue.insert(place, waiting);
        place
    }

    /// Takes a job that ended out of the books.
    fn release(&mut self, profile: &mut Profile, job: JobId, demand: &Demand) {
        let end = self.ends[job.index()];
        profile.give(demand.processors, profile.origin(), end);
        self.due.remove(&(end, job));
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
        self.queue.iter_mut().for_each(|waiting| waiting.reserved = None);
    }

    fn start(&mut self, profile: &mut Profile, waiting: Waiting, commands: &mut Vec<Command>) {
        let now = profile.origin();
        let end = now + waiting.estimate;
        profile.take(waiting.processors, now, end);
        if self.ends.len() <= waiting.job.index() {
            self.ends.resize(waiting.job.index() + 1, now);
        }
        self.ends[waiting.job.index()] = end;
        self.due.insert((end, waiting.job));
        commands.push(Command::Start { job: waiting.job, place: Place::Pool(PoolId(0)) });
    }

    /// Where the job goes, with `before` waiting jobs ahead of it: `Some(now)` starts it.
    fn place(&self, profile: &Profile, waiting: &Waiting, before: usize) -> Option<Time> {
        let now = profile.origin();
        if self.settings.depth.covers(before) {
            return profile.earliest(waiting.processors, waiting.estimate, now);
        }
        let wanted = waiting.processors;
        let fits = || profile.fits(wanted, now, waiting.estimate);
        (profile.free_now() >= i64::from(wanted) && fits()).then_some(now)
    }

    /// Whether no job with `before` waiting jobs ahead of it can start.
    fn hopeless(&self, profile: &Profile, before: usize) -> bool {
        let Depth::First(depth) = self.settings.depth else { return false };
        before >= depth as usize && (profile.free_now() <= 0 || depth == 0 && before > 0)
    }

    /// Walks the whole queue.
    fn walk(&mut self, profile: &mut Profile, commands: &mut Vec<Command>) {
        let mut queue = std::mem::take(&mut self.queue);
        if let Depth::First(count) = self.settings.depth {
            let reserved = queue.iter_mut().filter(|waiting| waiting.reserved.is_some());
            reserved.take(count as usize).for_each(|waiting| waiting.cancel(profile));
        }
        let (mut kept, mut seen) = (0, 0);
        while seen < queue.len() && !self.hopeless(profile, kept) {
            let mut waiting = queue[seen];
            seen += 1;
            if waiting.stays(profile) {
                queue[kept] = waiting;
                kept += 1;
                continue;
            }
            waiting.cancel(profile);
            let start = self.place(profile, &waiting, kept);
            if start == Some(profile.origin()) {
                self.start(profile, waiting, commands);
                continue;
            }
            waiting.reserve(profile, start);
            queue[kept] = waiting;
            kept += 1;
        }
        queue.drain(kept..seen);
        self.queue = queue;
    }

    /// Looks at the job at `place` in the queue alone.
    fn try_one(&mut self, profile: &mut Profile, place: usize, commands: &mut Vec<Command>) {
        if self.hopeless(profile, place) {
            return;
        }
        let mut waiting = self.queue[place];
        let start = self.place(profile, &waiting, place);
        if start == Some(profile.origin()) {
            self.queue.remove(place);
            self.start(profile, waiting, commands);
            return;
        }
        waiting.reserve(profile, start);
        self.queue[place] = waiting;
    }

    /// The first moment that a reservation begins.
    fn next_reservation(&self) -> Option<Time> {
        match self.settings.depth {
            Depth::All => self.queue.iter().filter_map(|waiting| waiting.reserved).min(),
            Depth::First(count) => {
                let reserved = self.queue.iter().take(count as usize);
                reserved.filter_map(|waiting| waiting.reserved).min()
            }
        }
    }

    /// Whether submissions alone leave every job that waited where it was.
    fn looks_at_new_jobs_alone(&self, now: Time) -> bool {
        let settled = self.settings.order == Order::Arrival || self.settings.depth == Depth::All;
        settled && self.next_reservation().is_none_or(|start| start > now)
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
                    anew |= matches!(event, Event::Interrupted { .. });
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
            let place = self.enqueue(job, demand);
            if !whole {
                self.try_one(&mut profile, place, commands);
            }
        }
        if whole {
            self.walk(&mut profile, commands);
        }
        self.profile = Some(profile);
        commands.extend(self.next_reservation().map(|at| Command::Wake { at }));
    }

    fn promise(&self) -> Promise {
        match (self.settings.order, self.settings.depth) {
            (Order::Arrival, Depth::First(0)) => Promise::Order,
            (Order::Arrival, Depth::First(_)) => Promise::Head,
            (_, Depth::All) => Promise::Reservations,
            _ => Promise::Nothing,
        }
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.queue.iter().find(|waiting| waiting.job == job)?.reserved
    }
}

#[cfg(test)]
mod tests;
