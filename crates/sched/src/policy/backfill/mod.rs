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
mod moves;
mod openings;
mod queue;
mod shelves;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{
    Command, Demand, Event, JobId, Level, Market, Place, PoolId, Profile, Span, Time,
};

use super::{Policy, Promise};
use bounds::Bounds;
use moves::Moves;
use queue::Queue;
use shelves::{Limits, Reservations};
use waiting::{Rank, Waiting};

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
    queue: Queue,
    /// With a reservation for every job: who may move.
    moves: Moves,
    /// The same: where new jobs may go.
    bounds: Bounds,
    /// By job: when it is expected to end, once it runs.
    ends: Vec<Time>,
    /// The same of running jobs, by time.
    due: BTreeSet<(Time, JobId)>,
    /// When jobs that have not ended were submitted, if the order of the queue moves.
    joined: BTreeMap<JobId, Time>,
    /// A buffer.
    lows: Vec<Level>,
}

impl Backfill {
    /// A policy that has seen nothing so far.
    pub fn new(settings: Settings) -> Backfill {
        let mut queue = Queue::default();
        if matches!(settings.depth, Depth::First(1..)) {
            queue.shelve(Reservations::Ignored);
        }
        Backfill {
            settings,
            profile: None,
            queue,
            moves: Moves::default(),
            bounds: Bounds::default(),
            ends: Vec::new(),
            due: BTreeSet::new(),
            joined: BTreeMap::new(),
            lows: Vec::new(),
        }
    }

    /// Takes a job that ended out of the books.
    fn release(&mut self, profile: &mut Profile, job: JobId, demand: &Demand) {
        let (now, end) = (profile.origin(), self.ends[job.index()]);
        profile.give(demand.processors, now, end);
        self.due.remove(&(end, job));
        if self.settings.depth == Depth::All && now < end {
            self.moves.open(now, end);
            self.bounds.clear();
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
        while self.queue.pop_reservation().is_some() {}
        if self.settings.depth == Depth::All {
            self.moves.place_all(&self.queue);
            self.bounds.clear();
        }
    }

    fn start(&mut self, profile: &mut Profile, waiting: &Waiting, commands: &mut Vec<Command>) {
        let now = profile.origin();
        let job = waiting.rank.job;
        waiting.take(profile, now);
        let end = now + waiting.estimate;
        if self.ends.len() <= job.index() {
            self.ends.resize(job.index() + 1, now);
        }
        self.ends[job.index()] = end;
        self.due.insert((end, job));
        self.queue.remove(waiting.rank);
        commands.push(Command::Start { job, place: Place::Pool(PoolId(0)) });
    }

    /// Starts the job now or else gives it a reservation; returns when it starts.
    fn place(
        &mut self,
        profile: &mut Profile,
        waiting: &Waiting,
        commands: &mut Vec<Command>,
    ) -> Option<Time> {
        let known = match waiting.reserved {
            None => self.bounds.of(waiting),
            Some(_) => profile.origin(), // the job itself has just given its place back
        };
        let start = waiting.earliest(profile, known);
        self.settle(profile, waiting, start, commands);
        start
    }

    /// Starts the job, if that is now, or else writes its reservation down.
    fn settle(
        &mut self,
        profile: &mut Profile,
        waiting: &Waiting,
        start: Option<Time>,
        commands: &mut Vec<Command>,
    ) {
        match start {
            Some(at) if at == profile.origin() => self.start(profile, waiting, commands),
            Some(at) => {
                waiting.take(profile, at);
                self.queue.reserve(waiting.rank, start);
                if self.settings.depth == Depth::All {
                    self.bounds.learn(waiting, at, self.queue.len());
                }
            }
            None => self.queue.reserve(waiting.rank, None),
        }
    }

    /// Looks at the whole queue, with reservations for the first `count` waiting jobs.
    fn walk(&mut self, profile: &mut Profile, count: usize, commands: &mut Vec<Command>) {
        let mut after = if count == 1 { self.settled_head(profile) } else { None };
        let mut kept = usize::from(after.is_some());
        if after.is_none() {
            while let Some(waiting) = self.queue.pop_reservation() {
                waiting.reserved.into_iter().for_each(|start| waiting.give(profile, start));
            }
        }
        while kept < count {
            let Some(waiting) = self.queue.after(after) else { return };
            after = Some(waiting.rank);
            let start = self.place(profile, &waiting, commands);
            kept += usize::from(start != Some(profile.origin()));
        }
        while let Some(waiting) = self.next_to_start(profile, after, count) {
            after = Some(waiting.rank);
            self.start(profile, &waiting, commands);
        }
    }

    /// The head of the queue, if it has the only reservation and would get the same one anew.
    fn settled_head(&self, profile: &Profile) -> Option<Rank> {
        let head = self.queue.after(None)?;
        let held = head.reserved.filter(|start| *start > profile.origin())?;
        head.earlier(profile, held).is_none().then_some(head.rank)
    }

    /// The first job after `after` that can start now, all reservations made.
    fn next_to_start(
        &mut self,
        profile: &Profile,
        after: Option<Rank>,
        count: usize,
    ) -> Option<Waiting> {
        if profile.free_now() <= 0 {
            return None;
        }
        if count == 0 {
            return self.queue.after(after).filter(|head| head.fits(profile));
        }
        let now = profile.origin();
        self.lows.clear();
        profile.lows(now, &mut self.lows);
        let limits = |processors: u32| limits(&self.lows, processors);
        let rank = self.queue.next(after, None, limits)?;
        self.queue.get(rank)
    }

    /// Looks at a new job alone: it starts, or else joins the queue.
    fn try_one(&mut self, profile: &mut Profile, waiting: Waiting, commands: &mut Vec<Command>) {
        let before = self.queue.len();
        let reserves = match self.settings.depth {
            Depth::All => true,
            Depth::First(depth) => {
                let may_start = depth > 0 || before == 0;
                let room = profile.free_now() >= i64::from(waiting.processors);
                if may_start && room && waiting.fits(profile) {
                    return self.start(profile, &waiting, commands);
                }
                before < depth as usize
            }
        };
        self.queue.insert(waiting);
        if reserves {
            self.place(profile, &waiting, commands);
        }
    }

    /// Whether submissions alone leave every job that waited where it was.
    fn looks_at_new_jobs_alone(&self, now: Time) -> bool {
        let settled = self.settings.order == Order::Arrival || self.settings.depth == Depth::All;
        settled && self.queue.first_reservation().is_none_or(|start| start > now)
    }
}

/// How long a job of this width may take to fit now; `None` if it cannot fit. `lows` is how the
/// least level from now on sinks.
fn limits(lows: &[Level], processors: u32) -> Option<Limits> {
    let wanted = i64::from(processors);
    let now = lows.first().filter(|low| low.free >= wanted)?.at;
    let short = lows.iter().find(|low| low.free < wanted);
    Some(Limits::within(short.map_or(Span(i64::MAX), |low| low.at - now)))
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
            self.queue.reorder(|waiting| waiting.expanded(now));
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
            if !whole {
                self.try_one(&mut profile, waiting, commands);
                continue;
            }
            self.queue.insert(waiting);
            if self.settings.depth == Depth::All {
                self.moves.place(waiting.rank);
            }
        }
        match self.settings.depth {
            _ if !whole => {}
            Depth::First(count) => self.walk(&mut profile, count as usize, commands),
            Depth::All => self.move_all(&mut profile, commands),
        }
        self.profile = Some(profile);
        commands.extend(self.queue.first_reservation().map(|at| Command::Wake { at }));
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
        self.queue.find(job)?.reserved
    }
}

#[cfg(test)]
mod tests;
