//! The discrete-event kernel: virtual time in whole seconds, one market, one policy.
//!
//! Events are ordered by time, then class, then sequence. The classes and the passes of the
//! policy depend on the [`Semantics`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use tradewind_model::{
    OutageId, Command, Demand, Event, JobId, Market, MarketError, Place, PoolId, Reason, Span,
    Time, Trade,
};
use tradewind_sched::policy::Policy;

use crate::check::{Checker, Violation};
use crate::estimate::{Estimate, Estimator};
use crate::outage;
use crate::result::{Lost, Ran, Run, Struck};
use crate::workload::Workload;

/// What happens in which order within one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semantics {
    /// All ends, then outages, then all submissions, then one pass of the policy. Whatever a pass
    /// causes in the same second (jobs of no length) is a further round.
    #[default]
    Textbook,
    /// As the simulator pyss does it: each submission with a pass of its own, then each end with
    /// a pass of its own, ends in the order of starts. A job that ends exactly when expected has
    /// freed its processors before the second's first pass.
    Pyss,
}

/// How to replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// The order within a second.
    pub semantics: Semantics,
    /// What the policy is told about run times.
    pub estimate: Estimate,
}

/// Why a replay stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A policy asked for what cannot be.
    #[error("at {at}: {error}")]
    Market {
        /// When.
        at: Time,
        /// What.
        error: MarketError,
    },
    /// A checker found a broken promise.
    #[error("at {at}: {violation}")]
    Check {
        /// When.
        at: Time,
        /// What.
        violation: Violation,
    },
    /// Jobs wait, nothing runs, and the policy does nothing.
    #[error("at {at}: the policy leaves {waiting} jobs waiting for ever")]
    Stuck {
        /// When.
        at: Time,
        /// How many.
        waiting: usize,
    },
}

/// Replays the workload. Deterministic; O(log n) per event beside the policy's own work.
///
/// # Errors
/// When the policy misbehaves or a checker objects.
pub fn run(
    workload: &Workload,
    settings: Settings,
    policy: &mut dyn Policy,
    checkers: &mut [Box<dyn Checker>],
) -> Result<Run, SimError> {
    let mut kernel = Kernel::new(workload, settings, policy, checkers);
    while let Some(now) = kernel.next_instant() {
        if now > kernel.now {
            kernel.close_second();
        }
        kernel.now = now;
        kernel.market.pass_to(now).map_err(|error| SimError::Market { at: now, error })?;
        match settings.semantics {
            Semantics::Textbook => kernel.textbook_round()?,
            Semantics::Pyss => kernel.pyss_instant()?,
        }
    }
    kernel.finish()
}

/// How often a policy may be woken for nothing.
const PATIENCE: u32 = 10_000;

/// Tasks that end: in the order of time, then of starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    pub(crate) at: Time,
    pub(crate) sequence: u32,
    pub(crate) job: JobId,
    /// `None`: the job's last ones.
    pub(crate) only: Option<PoolId>,
    /// Which of the job's starts this belongs to.
    pub(crate) attempt: u32,
}

/// The turn of an outage, in the order within a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    Reopens,
    Closes,
}

/// The earlier of two moments, if there is any. Every pass asks for several: iterators are slow.
pub(crate) fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

struct Kernel<'a> {
    workload: &'a Workload,
    settings: Settings,
    policy: &'a mut dyn Policy,
    checkers: &'a mut [Box<dyn Checker>],
    market: Market,
    now: Time,
    /// Jobs submitted so far; they come in the workload's order.
    submitted: usize,
    started: u32,
    ends: BinaryHeap<Reverse<End>>,
    /// Outages announced so far; they come in the workload's order.
    announced: usize,
    outages: BinaryHeap<Reverse<(Time, Turn, OutageId)>>,
    wake: Option<Time>,
    estimator: Estimator,
    jobs: Vec<Ran>,
    /// Who started in this second.
    begun: Vec<JobId>,
    trades: Vec<Struck>,
    lost: Vec<Lost>,
    /// Of jobs that were interrupted: how often.
    attempts: BTreeMap<JobId, u32>,
    passes: u64,
    /// Passes in a row that the policy asked for and let go by.
    idle: u32,
    /// Events that the policy has not seen, and a buffer for its answer.
    events: Vec<Event>,
    commands: Vec<Command>,
}

impl<'a> Kernel<'a> {
    fn new(
        workload: &'a Workload,
        settings: Settings,
        policy: &'a mut dyn Policy,
        checkers: &'a mut [Box<dyn Checker>],
    ) -> Kernel<'a> {
        let submit = workload.jobs.first().map(|job| job.submit);
        let told = workload.outages.first().map(|outage| outage.announced);
        let now = submit.into_iter().chain(told).min().unwrap_or(Time(0));
        Kernel {
            workload,
            settings,
            policy,
            checkers,
            market: Market::new(workload.pools.clone(), now),
            now,
            submitted: 0,
            started: 0,
            ends: BinaryHeap::new(),
            announced: 0,
            outages: BinaryHeap::new(),
            wake: None,
            estimator: Estimator::default(),
            jobs: vec![Ran::nothing(now); workload.jobs.len()],
            begun: Vec::new(),
            trades: Vec::new(),
            lost: Vec::new(),
            attempts: BTreeMap::new(),
            passes: 0,
            idle: 0,
            events: Vec::new(),
            commands: Vec::new(),
        }
    }

    fn next_instant(&self) -> Option<Time> {
        let submit = self.workload.jobs.get(self.submitted).map(|job| job.submit);
        let end = self.ends.peek().map(|Reverse(end)| end.at);
        let work = earlier(earlier(submit, end), self.wake);
        if work.is_none() && self.market.queue().len() == 0 {
            return None; // outages alone are of no interest
        }
        let told = self.workload.outages.get(self.announced).map(|outage| outage.announced);
        let turn = self.outages.peek().map(|Reverse((at, ..))| *at);
        earlier(earlier(work, told), turn)
    }

    fn textbook_round(&mut self) -> Result<(), SimError> {
        while let Some(end) = self.pop_end() {
            self.end(end)?;
        }
        self.outages()?;
        while self.submit_next()? {}
        self.pass()
    }

    fn pyss_instant(&mut self) -> Result<(), SimError> {
        let ends: Vec<End> = std::iter::from_fn(|| self.pop_end()).collect();
        let on_time = |kernel: &Kernel<'_>, end: &End| {
            let start = kernel.jobs[end.job.index()].start;
            let estimate = kernel.market.demand(end.job).map_or(Span::ZERO, |d| d.estimate);
            start + estimate == end.at
        };
        for end in &ends {
            if on_time(self, end) {
                self.end(*end)?;
            }
        }
        if self.outages()? {
            self.pass()?;
        }
        while self.submit_next()? {
            self.pass()?;
        }
        for end in &ends {
            // An outage of this second may have come before.
            if !on_time(self, end) && self.attempt(end.job) == end.attempt {
                self.end(*end)?;
            }
            self.pass()?;
        }
        match self.wake.is_some_and(|at| at <= self.now) {
            true => self.pass(),
            false => Ok(()),
        }
    }

    fn pop_end(&mut self) -> Option<End> {
        loop {
            let Reverse(end) = *self.ends.peek()?;
            if end.at > self.now {
                return None;
            }
            self.ends.pop();
            if self.attempt(end.job) == end.attempt {
                return Some(end);
            }
        }
    }

    fn attempt(&self, job: JobId) -> u32 {
        self.attempts.get(&job).copied().unwrap_or_default()
    }

    fn end(&mut self, End { job, only, attempt, .. }: End) -> Result<(), SimError> {
        if self.attempt(job) != attempt {
            return Ok(()); // interrupted in this very second
        }
        self.happen(match only {
            Some(pool) => Event::Released { job, pool },
            None => Event::Ended { job },
        })
    }

    /// Everything that outages bring in this second. Whether there was anything.
    fn outages(&mut self) -> Result<bool, SimError> {
        let before = self.events.len();
        while let Some(next) = self.workload.outages.get(self.announced)
            && next.announced <= self.now
        {
            let closure = OutageId(u32::try_from(self.announced).unwrap_or(u32::MAX));
            self.announced += 1;
            self.outages.push(Reverse((next.what.from, Turn::Closes, closure)));
            self.outages.push(Reverse((next.what.until, Turn::Reopens, closure)));
            self.happen(Event::Announced { closure, what: next.what })?;
        }
        while let Some(Reverse((at, turn, closure))) = self.outages.peek().copied()
            && at <= self.now
        {
            self.outages.pop();
            match turn {
                Turn::Reopens => self.happen(Event::Reopened { closure })?,
                Turn::Closes => self.close(closure)?,
            }
        }
        Ok(self.events.len() > before)
    }

    fn close(&mut self, closure: OutageId) -> Result<(), SimError> {
        let what = self.workload.outages[closure.0 as usize].what;
        let hit = outage::hit(&self.market, &what);
        while let Some(job) = outage::victim(&self.market, &what, &hit) {
            let Ran { start, place, .. } = self.jobs[job.index()].clone();
            self.lost.push(Lost { job: job.index(), start, end: self.now, place });
            *self.attempts.entry(job).or_default() += 1;
            self.happen(Event::Interrupted { job })?;
        }
        self.happen(Event::Closed { closure })
    }

    /// Submits the next job, if it is time.
    fn submit_next(&mut self) -> Result<bool, SimError> {
        let next = self.workload.jobs.get(self.submitted);
        let Some(next) = next.filter(|job| job.submit <= self.now) else { return Ok(false) };
        let estimate = self.estimator.of(next, self.settings.estimate);
        let demand = Demand { processors: next.processors, estimate, terms: next.terms.clone() };
        let job = JobId(u32::try_from(self.submitted).unwrap_or(u32::MAX));
        self.submitted += 1;
        self.happen(Event::Submitted { job, demand })?;
        Ok(true)
    }

    /// Writes an event down and keeps it for the policy's next pass.
    fn happen(&mut self, event: Event) -> Result<(), SimError> {
        let at = self.now;
        self.market.apply(&event).map_err(|error| SimError::Market { at, error })?;
        for checker in &mut *self.checkers {
            checker
                .event(&self.market, &event)
                .map_err(|v| SimError::Check { at, violation: v })?;
        }
        match &event {
            Event::Ended { job } => {
                if self.settings.estimate == Estimate::Predicted {
                    self.estimator.ended(&self.workload.jobs[job.index()]);
                }
                self.jobs[job.index()].cost = self.market.paid(*job);
            }
            Event::Traded { .. } | Event::Started { .. } | Event::Refused { .. } => return Ok(()),
            _ => {}
        }
        self.events.push(event);
        Ok(())
    }

    /// Asks the policy and does what it says.
    fn pass(&mut self) -> Result<(), SimError> {
        self.passes += 1;
        let mut commands = std::mem::take(&mut self.commands);
        self.policy.decide(&self.market, &self.events, &mut commands);
        self.bear_with(&commands)?;
        self.events.clear();
        self.wake = None;
        for command in commands.drain(..) {
            match command {
                Command::Trade { job, trade } => self.trade(job, trade)?,
                Command::Start { job, place } => self.start(job, place)?,
                Command::Refuse { job, reason } => self.refuse(job, reason)?,
                Command::Wake { at } => self.wake = (at > self.now).then_some(at),
            }
        }
        self.commands = commands;
        let at = self.now;
        let (market, policy) = (&self.market, &*self.policy);
        for checker in &mut *self.checkers {
            checker.pass(market, policy).map_err(|v| SimError::Check { at, violation: v })?;
        }
        Ok(())
    }

    /// A policy that is woken again and again, with nothing left that could happen, is stuck.
    fn bear_with(&mut self, commands: &[Command]) -> Result<(), SimError> {
        let waits = self.events.is_empty()
            && self.ends.is_empty()
            && self.outages.is_empty()
            && self.announced == self.workload.outages.len()
            && self.submitted == self.workload.jobs.len()
            && commands.iter().all(|command| matches!(command, Command::Wake { .. }));
        self.idle = if waits { self.idle + 1 } else { 0 };
        match self.idle > PATIENCE {
            true => Err(SimError::Stuck { at: self.now, waiting: self.market.queue().len() }),
            false => Ok(()),
        }
    }

    fn trade(&mut self, job: JobId, trade: Arc<Trade>) -> Result<(), SimError> {
        self.trades.push(Struck { job: job.index(), at: self.now, trade: Arc::clone(&trade) });
        self.happen(Event::Traded { job, trade })
    }

    fn start(&mut self, job: JobId, place: Place) -> Result<(), SimError> {
        self.happen(Event::Started { job, place: place.clone() })?;
        let of = &self.workload.jobs[job.index()];
        let ends = |pool| self.now + of.length_in(self.workload.pools.pool(pool));
        let shares = || place.shares(of.processors).map(|share| (share.pool, ends(share.pool)));
        let last = shares().map(|(_, at)| at).max().unwrap_or(self.now);
        let (sequence, attempt) = (self.started, self.attempt(job));
        for (pool, at) in shares().filter(|(_, at)| *at < last) {
            self.ends.push(Reverse(End { at, sequence, job, only: Some(pool), attempt }));
        }
        self.ends.push(Reverse(End { at: last, sequence, job, only: None, attempt }));
        self.started += 1;
        let ran = &mut self.jobs[job.index()];
        (ran.start, ran.end, ran.place) = (self.now, last, place);
        self.begun.push(job);
        Ok(())
    }

    /// A job was backfilled if one that was submitted earlier waits when the second is over: the
    /// order of starts within it is the policy's own affair.
    fn close_second(&mut self) {
        let head = self.market.head();
        for job in self.begun.drain(..) {
            self.jobs[job.index()].backfilled = head.is_some_and(|head| head < job);
        }
    }

    fn refuse(&mut self, job: JobId, reason: Reason) -> Result<(), SimError> {
        self.happen(Event::Refused { job })?;
        let ran = &mut self.jobs[job.index()];
        (ran.start, ran.end, ran.refused) = (self.now, self.now, Some(Box::new(reason)));
        Ok(())
    }

    fn finish(mut self) -> Result<Run, SimError> {
        self.close_second();
        let at = self.now;
        match self.market.queue().len() {
            0 => {}
            waiting => return Err(SimError::Stuck { at, waiting }),
        }
        for checker in self.checkers {
            checker.finish(&self.market).map_err(|v| SimError::Check { at, violation: v })?;
        }
        let income = self.market.ledger().income().to_vec();
        let counts = self.policy.counts();
        let Kernel { jobs, trades, lost, passes, .. } = self;
        Ok(Run { jobs, trades, lost, income, passes, counts })
    }
}
