//! Backfilling on one pool that learns run times and bounds waits: the one recommended setting,
//! without parameters.
//!
//! It learns how long jobs run ([`Learned`]), and is EASY with three changes:
//!
//! - **Order.** Jobs are put in the order of a due time, fixed at submission ([`LearnedSettings`]): jobs that
//!   are expected to be short are due soon, and no job is due later than a day and a half after its
//!   submission. The first job has the reservation, and candidates behind it start
//!   shortest-predicted-first.
//! - **Plans** are made with predicted lengths: the median, then the length that one job in a
//!   hundred exceeds, then the request.
//! - **Bound.** A job that has waited for long is *protected*: it comes before all others, in the
//!   order of submission (wide jobs, for which the machine must be emptied, earlier), and as long
//!   as any protected job waits, all plans are made by requests, so that no candidate delays its
//!   reservation, however wrong predictions are. The bound is an order and a reservation, and not
//!   a number of seconds.
//!
//! It sees the requests of jobs and what the market tells, never a run time before its end. Exact with
//! respect to this rule; heuristic in its aim, a small mean of bounded slowdowns.

mod weigh;

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Command, Demand, Event, JobId, Market, Place, PoolId, Profile, Span, Time};

use super::availability::{Availability, News, expected_span};
use super::backfill::{Depth, PoolLine, Rank, Waiting};
use super::{Policy, inbox};
use crate::predict::{JobTraits, Learned, Prediction, Submission};
pub use weigh::LearnedSettings;
use weigh::WeighedJob;

/// By what plans are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Predicted run times, and requests of jobs that exceed them.
    Predictions,
    /// Requests.
    Requests,
}

/// What is known of a job that has not ended.
#[derive(Debug, Clone, Copy)]
struct KnownJob {
    user: i64,
    processors: u32,
    requested: Span,
    /// What is expected of it: at first, and once it has exceeded that.
    expected: [Span; 2],
    turn: Span,
    /// The median of the prediction, trusted or not.
    median: Span,
    /// From when on it is protected.
    protected: Time,
    rank: Rank,
    start: Option<Time>,
}

impl KnownJob {
    /// It as the learner gets it.
    fn what(&self, at: Time) -> Submission {
        let KnownJob { user, processors, requested, .. } = *self;
        Submission { user, processors, requested, at, traits: JobTraits::default() }
    }

    /// How long the job is expected to run in all, if it has been running for `elapsed`; longer
    /// than that.
    fn length(&self, basis: Basis, elapsed: Span) -> Span {
        let predicted = match basis {
            Basis::Predictions => &self.expected[..],
            Basis::Requests => &[],
        };
        let holds =
            predicted.iter().copied().find(|span| *span > elapsed && *span < self.requested);
        holds.unwrap_or_else(|| expected_span(self.requested, elapsed))
    }
}

/// The policy; see the module's text.
///
/// With w waiting and r running jobs a pass costs what a pass of EASY costs with candidates in an
/// order of their own; each time that protected jobs begin or cease to wait, the queue and the
/// running jobs are planned again, in O((w + r) log (w + r)).
#[derive(Debug)]
pub struct LearnedFill {
    settings: LearnedSettings,
    learner: Learned,
    /// Running jobs, outages and the reservation; `None` until the first call.
    nodes: Option<Box<Availability<Profile>>>,
    line: PoolLine,
    known: BTreeMap<JobId, KnownJob>,
    /// Waiting jobs that are not protected, by when they come to be.
    young: BTreeSet<(Time, JobId)>,
    basis: Basis,
    /// Buffer that is kept to avoid allocations.
    started: Vec<Waiting>,
}

impl Default for LearnedFill {
    fn default() -> LearnedFill {
        LearnedFill::new(LearnedSettings::default())
    }
}

impl LearnedFill {
    /// A policy that has seen nothing so far.
    pub fn new(settings: LearnedSettings) -> LearnedFill {
        LearnedFill {
            settings,
            learner: Learned::default(),
            nodes: None,
            line: PoolLine::with_turns(Depth::First(1)),
            known: BTreeMap::new(),
            young: BTreeSet::new(),
            basis: settings.plans,
            started: Vec::new(),
        }
    }

    /// Learns from what happened, and takes jobs out of the queue about which others decided.
    fn learn(&mut self, nodes: &mut Availability<Profile>, events: &[Event], now: Time) {
        for job in inbox::departures(events) {
            self.leave(nodes, job);
        }
        for event in events {
            match event {
                Event::Started { job, .. } => self.begin(*job, now),
                Event::Interrupted { job } => {
                    self.known.entry(*job).and_modify(|known| known.start = None);
                }
                Event::Cancelled { job } | Event::Refused { job } => _ = self.known.remove(job),
                Event::Ended { job } => {
                    let Some(known) = self.known.remove(job) else { continue };
                    if let Some(start) = known.start {
                        self.learner.learn(&known.what(start), known.median, now - start);
                    }
                }
                _ => {}
            }
        }
    }

    fn leave(&mut self, nodes: &mut Availability<Profile>, job: JobId) {
        let Some(known) = self.known.get(&job) else { return };
        self.young.remove(&(known.protected, job));
        self.line.remove(nodes.free_mut(), known.rank);
    }

    fn begin(&mut self, job: JobId, now: Time) {
        if let Some(known) = self.known.get_mut(&job) {
            known.start = Some(now);
        }
    }

    /// A job as it waits.
    fn waiting(&mut self, job: JobId, demand: &Demand, market: &Market) -> Waiting {
        let (now, pool) = (market.now(), market.pools().pool(PoolId(0)));
        let (learner, settings) = (&self.learner, &self.settings);
        let known = *self.known.entry(job).or_insert_with(|| {
            let asked = demand.correction.requested();
            let asked = asked.map(|asked| pool.length_in(demand.mode(), asked));
            let requested = asked.unwrap_or_else(|| pool.length_of(demand)).max(Span(1));
            let (user, processors) = (demand.terms().user, demand.processors);
            let traits = JobTraits::default();
            let what = Submission { user, processors, requested, at: now, traits };
            let Prediction { forecast, median } = learner.predict(&what);
            let WeighedJob { due, protected } = settings.weigh(&what, &forecast, pool.nodes);
            let (rank, expected) = (Rank { key: due.0, job }, [forecast.median, forecast.late]);
            let turn = forecast.turn;
            let start = None;
            KnownJob { user, processors, requested, expected, turn, median, protected, rank, start }
        });
        self.placed(&known, demand.processors)
    }

    /// The job at its place in the queue.
    fn placed(&self, known: &KnownJob, processors: u32) -> Waiting {
        let Rank { key, job } = known.rank;
        let length = known.length(self.basis, Span::ZERO);
        let turn = if weigh::is_protected(key) { key } else { known.turn.0 };
        Waiting { turn: Some(turn), ..Waiting::keyed(key, job, processors, length) }
    }

    /// Protects the jobs that have waited for long. Whether there are new ones.
    fn protect(&mut self, nodes: &mut Availability<Profile>, now: Time) -> bool {
        let mut any = false;
        while let Some((at, job)) = self.young.first().copied().filter(|(at, _)| *at <= now) {
            self.young.remove(&(at, job));
            let Some(known) = self.known.get_mut(&job) else { continue };
            let Some(waiting) = self.line.remove(nodes.free_mut(), known.rank) else { continue };
            known.rank.key = weigh::protected_key(known.protected);
            let known = *known;
            self.line.insert(self.placed(&known, waiting.processors));
            any = true;
        }
        any
    }

    /// Plans by requests as long as protected jobs wait, and by predictions otherwise. Whether that
    /// changed.
    fn turn_over(&mut self, nodes: &mut Availability<Profile>, now: Time) -> bool {
        let basis = match self.line.first().is_some_and(|first| weigh::is_protected(first.key)) {
            true => Basis::Requests,
            false => self.settings.plans,
        };
        if basis == self.basis {
            return false;
        }
        self.basis = basis;
        let known = &self.known;
        self.line.reorder(|waiting| {
            let job = known.get(&waiting.rank.job);
            let length = job.map_or(waiting.estimate, |job| job.length(basis, Span::ZERO));
            Waiting { estimate: length, reserved: None, ..waiting }
        });
        nodes.expect(now, |job, _, elapsed| Some(known.get(&job)?.length(basis, elapsed)));
        true
    }

    /// Writes down who started.
    fn start(&mut self, nodes: &mut Availability<Profile>, commands: &mut Vec<Command>) {
        let now = nodes.now();
        for waiting in self.started.drain(..) {
            let job = waiting.rank.job;
            nodes.start(job, waiting.taken(now), waiting.estimate);
            if let Some(known) = self.known.get_mut(&job) {
                self.young.remove(&(known.protected, job));
                known.start = Some(now);
            }
            commands.push(Command::Start { job, place: Place::Pool(PoolId(0)) });
        }
    }

    /// Whether nothing but one submission happened, and no reservation is due: what waits cannot
    /// start.
    fn is_one_submission(&self, now: Time, events: &[Event]) -> bool {
        matches!(events, [Event::Submitted { .. }])
            && self.line.first_reservation().is_none_or(|start| start > now)
    }

    /// New jobs join the queue. If there is only one, and nothing else to be done, it is tried alone.
    /// Whether the whole queue is to be looked at.
    fn join(
        &mut self,
        nodes: &mut Availability<Profile>,
        market: &Market,
        events: &[Event],
        mut whole: bool,
    ) -> bool {
        for (job, _) in inbox::arrivals(market, events) {
            let Some(demand) = market.demand(job) else { continue };
            let waiting = self.waiting(job, demand, market);
            let behind = self.line.first().is_some_and(|first| first < waiting.rank);
            whole |= !behind && self.line.len() > 0;
            let started = self.started.len();
            match whole {
                true => self.line.insert(waiting),
                false => self.line.try_one(nodes.free_mut(), waiting, &mut self.started),
            }
            if self.started.len() == started
                && let Some(known) = self.known.get(&job)
            {
                self.young.insert((known.protected, job));
            }
        }
        whole
    }
}

impl Policy for LearnedFill {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let now = market.now();
        let fresh = || Box::new(Availability::of_pool(market.processors(), now));
        let mut nodes = self.nodes.take().unwrap_or_else(fresh);
        nodes.advance(now);
        let mut whole = !self.is_one_submission(now, events);
        let (known, basis) = (&self.known, self.basis);
        let belief = |job, _, elapsed| Some(known.get(&job)?.length(basis, elapsed));
        let line = &mut self.line;
        let strike = |free: &mut Profile| line.withdraw(free);
        let News { upset, regained, .. } = nodes.follow_and_extend(market, events, belief, strike);
        whole |= upset || regained;
        if upset {
            self.line.forget();
        }
        self.learn(&mut nodes, events, now);
        whole |= self.protect(&mut nodes, now);
        whole = self.join(&mut nodes, market, events, whole);
        // Starts of this pass may have left no protected job: that is for the next pass.
        if whole {
            self.protect(&mut nodes, now);
            self.turn_over(&mut nodes, now);
            self.line.pass(nodes.free_mut(), &mut self.started);
        }
        self.start(&mut nodes, commands);
        let unsaid = nodes.next_unsaid_end().filter(|_| self.line.len() > 0);
        let wake = self.line.first_reservation().into_iter().chain(unsaid).min();
        commands.extend(wake.map(|at| Command::Wake { at }));
        self.nodes = Some(nodes);
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.line.get(self.known.get(&job)?.rank)?.reserved
    }
}

#[cfg(test)]
mod tests;
