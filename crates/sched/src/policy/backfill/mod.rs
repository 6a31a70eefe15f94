//! Backfilling on one pool of like nodes, for jobs that ask for nodes and time only: FCFS, EASY,
//! conservative and what lies between.
//!
//! One rule with three knobs. The queue is walked in its [`Order`]; the first jobs that cannot
//! start now get a reservation each, as many as [`Depth`] says; every other job starts now if
//! it fits beside the running jobs and all reservations. These candidates are tried in the order of
//! the queue, or in one of their own (shortest first: SJBF, Tsafrir, Etsion and Feitelson, 2007).
//! Exact with respect to this rule.
//!
//! - Depth 0 is FCFS: the walk stops at the first job that cannot start.
//! - Depth 1 is EASY: a later job must end before the head's reservation or use processors that
//!   the head leaves over. Finite depths make their reservations again at every pass.
//! - [`Depth::All`] is conservative: each job gets a reservation at its submission and keeps it.
//!   When a job ends, waiting jobs move in queue order, each to the earliest place beside the
//!   others: never later than before.
//!
//! A job that exceeds its estimate is expected to run twice as long as believed so far;
//! reservations are then made again in queue order, so that promises hold only while estimates do.

mod bounds;
mod line;
mod moves;
mod no_room;
mod openings;
mod pool;
mod queue;
mod shelves;
mod space;
mod waiting;

use std::collections::BTreeMap;

use tradewind_model::{Command, Demand, Event, JobId, Market, Place, PoolId, Profile, Time};

use super::availability::{Availability, News, Taken};
use super::order::Ranking;
use super::{Policy, Promise, UserShare, inbox};
pub(super) use line::Line;
pub(super) use pool::PoolLine;
pub(super) use queue::Queue;
pub(super) use space::{QueuedJob, Space, look_ahead};
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
pub struct BackfillSettings {
    /// How many reservations.
    pub depth: Depth,
    /// Who comes first.
    pub order: Order,
    /// Which candidate comes first; `None`: who comes first in the queue. One that does not change
    /// while jobs wait, and only for depths from 1 on: otherwise there are no candidates, and this
    /// is ignored.
    pub candidates: Option<Order>,
}

impl Default for BackfillSettings {
    /// EASY, by arrival.
    fn default() -> BackfillSettings {
        BackfillSettings { depth: Depth::First(1), order: Order::Arrival, candidates: None }
    }
}

impl BackfillSettings {
    /// The order of candidates, if it is one of their own.
    pub(super) fn turns(self) -> Option<Order> {
        let fills = matches!(self.depth, Depth::First(1..));
        self.candidates.filter(|order| fills && *order != self.order && !order.moves())
    }

    /// A queue that works by these settings.
    pub(super) fn line<S: Space>(self) -> Line<S> {
        match self.turns() {
            Some(_) => Line::with_turns(self.depth),
            None => Line::new(self.depth),
        }
    }
}

/// The policy; see the module's text.
///
/// With w waiting jobs of d different widths that are not wider than what is free, and b jobs that
/// start, a pass costs O(log w) at depth 0 and O((k + b + 1)(d + log w)) at depth k. With a
/// reservation for every job, a pass costs O(log w) per submission and due reservation, with
/// searches of the [`Profile`]; after early ends it costs in proportion to the jobs that move (see
/// `moves.rs`); when a job exceeds its estimate, to all. A pass after submissions only, in arrival
/// order or with a reservation for all, looks at the new jobs alone: nothing that could not start
/// before can start now.
#[derive(Debug)]
pub struct Backfill {
    settings: BackfillSettings,
    ranking: Ranking,
    /// Running jobs, outages and reservations; `None` until the first call. In a box, as every pass
    /// takes it out and puts it back.
    nodes: Option<Box<Availability<Profile>>>,
    line: PoolLine,
    /// When jobs that have not ended were submitted, if the order of the queue moves.
    joined: BTreeMap<JobId, Time>,
    /// Buffer that is kept to avoid allocations.
    started: Vec<Waiting>,
}

impl Backfill {
    /// A policy that has seen nothing so far.
    pub fn new(settings: BackfillSettings) -> Backfill {
        Backfill {
            settings,
            ranking: Ranking::new(settings.order),
            nodes: None,
            line: settings.line(),
            joined: BTreeMap::new(),
            started: Vec::new(),
        }
    }

    /// Removes the jobs about which others decided from the queue.
    fn dismiss(&mut self, nodes: &mut Availability<Profile>, events: &[Event]) {
        let now = nodes.now();
        for job in inbox::departures(events) {
            if let Some(rank) = self.line.find(job).map(|waiting| waiting.rank) {
                self.line.remove(nodes.free_mut(), rank);
            }
        }
        for event in events.iter().filter(|_| self.settings.order.moves()) {
            match event {
                Event::Ended { job } | Event::Cancelled { job } | Event::Refused { job } => {
                    self.joined.remove(job);
                }
                // If it loses its nodes, it has its old place.
                Event::Started { job, .. } => _ = self.joined.entry(*job).or_insert(now),
                _ => {}
            }
        }
    }

    /// Writes down what happened, but for jobs that join. Whether jobs that waited may start now
    /// that could not before: all reservations were dropped, or nodes are there after all.
    fn follow(
        &mut self,
        nodes: &mut Availability<Profile>,
        market: &Market,
        events: &[Event],
    ) -> bool {
        let now = market.now();
        let News { upset, regained, .. } = nodes.follow(market, events);
        self.line.note(nodes.opened());
        if upset {
            self.line.forget();
        }
        self.dismiss(nodes, events);
        if !self.settings.order.moves() {
            return upset || regained;
        }
        let Backfill { line, joined, ranking, .. } = self;
        line.reorder(|waiting| {
            let job = waiting.rank.job;
            let joined = joined.get(&job).copied().unwrap_or(now);
            let key = market.demand(job).map(|demand| ranking.key(demand, joined, now));
            waiting.moved(key.unwrap_or(waiting.rank.key))
        });
        line.forget();
        nodes.rebuild_in(market);
        true
    }

    /// A job as it waits.
    fn waiting(&mut self, job: JobId, demand: &Demand, market: &Market) -> Waiting {
        let now = market.now();
        let joined = match self.settings.order.moves() {
            true => *self.joined.entry(job).or_insert(now),
            false => now,
        };
        let key = match self.settings.order {
            Order::Arrival => 0, // jobs that wait again keep their old place
            _ => self.ranking.key(demand, joined, now),
        };
        let length = market.pools().pool(PoolId(0)).length_of(demand);
        let turn = self.settings.turns().map(|order| order.key(demand));
        Waiting { turn, ..Waiting::keyed(key, job, demand.processors, length) }
    }

    /// Writes down who started.
    fn start(&mut self, nodes: &mut Availability<Profile>, commands: &mut Vec<Command>) {
        for waiting in self.started.drain(..) {
            let job = waiting.rank.job;
            nodes.start(job, waiting.taken(nodes.now()), waiting.estimate);
            commands.push(Command::Start { job, place: Place::Pool(PoolId(0)) });
        }
    }

    /// Whether these events leave every job that waited where it was, and new jobs are to be looked
    /// at one by one.
    fn looks_at_new_jobs_alone(&self, now: Time, events: &[Event]) -> bool {
        if events.is_empty() || self.settings.turns().is_some() && events.len() > 1 {
            return false;
        }
        let settled = self.settings.order == Order::Arrival || self.settings.depth == Depth::All;
        settled && self.line.first_reservation().is_none_or(|start| start > now)
    }
}

impl Policy for Backfill {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let now = market.now();
        self.ranking.follow(market);
        let fresh = || Box::new(Availability::of_pool(market.processors(), now));
        let mut nodes = self.nodes.take().unwrap_or_else(fresh);
        nodes.advance(now);
        let quiet = self.looks_at_new_jobs_alone(now, events);
        let freed = self.follow(&mut nodes, market, events);
        let whole = freed || !quiet || events.iter().any(may_free);
        for (job, _) in inbox::arrivals(market, events) {
            let Some(demand) = market.demand(job) else { continue };
            let waiting = self.waiting(job, demand, market);
            match whole {
                true => self.line.insert(waiting),
                false => self.line.try_one(nodes.free_mut(), waiting, &mut self.started),
            }
        }
        if whole {
            self.line.pass(nodes.free_mut(), &mut self.started);
        }
        self.start(&mut nodes, commands);
        self.ranking.started(market, commands);
        let unsaid = nodes.next_unsaid_end().filter(|_| self.line.len() > 0);
        let wake = self.line.first_reservation().into_iter().chain(unsaid).min();
        commands.extend(wake.map(|at| Command::Wake { at }));
        self.nodes = Some(nodes);
    }

    fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        self.ranking.resume(usage);
    }

    fn standing(&self, now: Time) -> Vec<UserShare> {
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

    fn reserved(&self) -> Vec<(JobId, Taken)> {
        let of = |it: &Waiting| Some((it.rank.job, it.taken(it.reserved?)));
        self.line.iter().filter_map(of).collect()
    }
}

/// What happens to [`Backfill`] where its rule does not do any more.
pub(super) struct BackfillFallback {
    pub(super) ranking: Ranking,
    /// In queue order.
    pub(super) waiting: Vec<Waiting>,
    /// When jobs were submitted, if the order of the queue moves.
    pub(super) joined: BTreeMap<JobId, Time>,
    pub(super) running: Vec<JobId>,
}

impl Backfill {
    /// The queue, and what is free beside it if there was a call before.
    pub(super) fn into_parts(self) -> (BackfillFallback, Option<Availability<Profile>>) {
        let Backfill { ranking, nodes, line, joined, .. } = self;
        let waiting = line.iter().copied().collect();
        let running = nodes.iter().flat_map(|nodes| nodes.jobs()).collect();
        (BackfillFallback { ranking, waiting, joined, running }, nodes.map(|nodes| *nodes))
    }

    /// Every reservation, in queue order.
    #[cfg(test)]
    pub(super) fn reservations(&self) -> impl Iterator<Item = &Waiting> {
        self.line.iter()
    }
}

/// Whether jobs that waited may start or move after this.
fn may_free(event: &Event) -> bool {
    match event {
        Event::Submitted { .. }
        | Event::Closed { .. }
        | Event::Traded { .. }
        | Event::Released { .. }
        | Event::Priced { .. }
        | Event::Rated { .. } => false,
        Event::Ended { .. }
        | Event::Interrupted { .. }
        | Event::Noticed { .. }
        | Event::Lined { .. }
        | Event::Started { .. }
        | Event::Cancelled { .. }
        | Event::Refused { .. }
        | Event::Announced { .. }
        | Event::Reopened { .. } => true,
    }
}

#[cfg(test)]
mod tests;
