//! The discrete-event kernel: virtual time in whole seconds, one cluster, one policy.
//!
//! Events are ordered by time, then class, then sequence. The classes and the passes of the
//! policy depend on the [`Semantics`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tradewind_model::{Command, Demand, Event, JobId, Market, MarketError, Span, Time};
use tradewind_sched::policy::Policy;

use crate::check::{Checker, Violation};
use crate::estimate::{Estimate, Estimator};
use crate::workload::Workload;

/// What happens in which order within one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semantics {
    /// All ends, then all submissions, then one pass of the policy. Whatever a pass causes in
    /// the same second (jobs of no length) is a further round.
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

/// What became of one job of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// When it started.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Whether a job that was submitted earlier was waiting when it started.
    pub backfilled: bool,
}

/// What a replay gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// By index in the workload's jobs.
    pub jobs: Vec<Ran>,
    /// Calls of the policy.
    pub passes: u64,
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
        kernel.now = now;
        kernel.market.pass_to(now).map_err(|error| SimError::Market { at: now, error })?;
        match settings.semantics {
            Semantics::Textbook => kernel.textbook_round()?,
            Semantics::Pyss => kernel.pyss_instant()?,
        }
    }
    kernel.finish()
}

/// An end to come: in the order of time, then of starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    at: Time,
    sequence: u32,
    job: JobId,
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
    wake: Option<Time>,
    estimator: Estimator,
    jobs: Vec<Ran>,
    passes: u64,
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
        let now = workload.jobs.first().map_or(Time(0), |job| job.submit);
        let nothing = Ran { start: now, end: now, backfilled: false };
        Kernel {
            workload,
            settings,
            policy,
            checkers,
            market: Market::new(workload.processors, now),
            now,
            submitted: 0,
            started: 0,
            ends: BinaryHeap::new(),
            wake: None,
            estimator: Estimator::default(),
            jobs: vec![nothing; workload.jobs.len()],
            passes: 0,
            events: Vec::new(),
            commands: Vec::new(),
        }
    }

    fn next_instant(&self) -> Option<Time> {
        let submit = self.workload.jobs.get(self.submitted).map(|job| job.submit);
        let end = self.ends.peek().map(|Reverse(end)| end.at);
        [submit, end, self.wake].into_iter().flatten().min()
    }

    fn textbook_round(&mut self) -> Result<(), SimError> {
        while let Some(end) = self.pop_end() {
            self.happen(Event::Ended { job: end.job })?;
        }
        while self.submit_next()? {}
        self.pass()
    }

    fn pyss_instant(&mut self) -> Result<(), SimError> {
        let ends: Vec<End> = std::iter::from_fn(|| self.pop_end()).collect();
        let on_time = |kernel: &Kernel<'_>, end: &End| {
            let Ran { start, .. } = kernel.jobs[end.job.index()];
            let estimate = kernel.market.demand(end.job).map_or(Span::ZERO, |d| d.estimate);
            start + estimate == end.at
        };
        for end in &ends {
            if on_time(self, end) {
                self.happen(Event::Ended { job: end.job })?;
            }
        }
        while self.submit_next()? {
            self.pass()?;
        }
        for end in &ends {
            if !on_time(self, end) {
                self.happen(Event::Ended { job: end.job })?;
            }
            self.pass()?;
        }
        match self.wake.is_some_and(|at| at <= self.now) {
            true => self.pass(),
            false => Ok(()),
        }
    }

    fn pop_end(&mut self) -> Option<End> {
        let Reverse(end) = *self.ends.peek()?;
        if end.at > self.now {
            return None;
        }
        self.ends.pop();
        Some(end)
    }

    /// Submits the next job, if it is time.
    fn submit_next(&mut self) -> Result<bool, SimError> {
        let next = self.workload.jobs.get(self.submitted);
        let Some(next) = next.filter(|job| job.submit <= self.now) else { return Ok(false) };
        let estimate = self.estimator.of(next, self.settings.estimate);
        let demand = Demand { processors: next.processors, estimate };
        let job = JobId(u32::try_from(self.submitted).unwrap_or(u32::MAX));
        self.submitted += 1;
        self.happen(Event::Submitted { job, demand })?;
        Ok(true)
    }

    /// Writes an event down and keeps it for the policy's next pass.
    fn happen(&mut self, event: Event) -> Result<(), SimError> {
        let at = self.now;
        self.market.apply(event).map_err(|error| SimError::Market { at, error })?;
        for checker in &mut *self.checkers {
            checker.event(&self.market, event).map_err(|v| SimError::Check { at, violation: v })?;
        }
        match event {
            Event::Ended { job } => self.estimator.ended(&self.workload.jobs[job.index()]),
            Event::Started { .. } => return Ok(()),
            Event::Submitted { .. } => {}
        }
        self.events.push(event);
        Ok(())
    }

    /// Asks the policy and does what it says.
    fn pass(&mut self) -> Result<(), SimError> {
        self.passes += 1;
        let mut commands = std::mem::take(&mut self.commands);
        self.policy.decide(&self.market, &self.events, &mut commands);
        self.events.clear();
        self.wake = None;
        for command in commands.drain(..) {
            match command {
                Command::Start { job } => self.start(job)?,
                Command::Wake { at } => self.wake = (at > self.now).then_some(at),
            }
        }
        self.commands = commands;
        let at = self.now;
        for checker in &mut *self.checkers {
            checker.pass(&self.market).map_err(|v| SimError::Check { at, violation: v })?;
        }
        Ok(())
    }

    fn start(&mut self, job: JobId) -> Result<(), SimError> {
        let backfilled = self.market.head().is_some_and(|head| head < job);
        self.happen(Event::Started { job })?;
        let end = self.now + self.workload.jobs[job.index()].run;
        self.jobs[job.index()] = Ran { start: self.now, end, backfilled };
        self.ends.push(Reverse(End { at: end, sequence: self.started, job }));
        self.started += 1;
        Ok(())
    }

    fn finish(self) -> Result<Run, SimError> {
        let at = self.now;
        match self.market.queue().len() {
            0 => {}
            waiting => return Err(SimError::Stuck { at, waiting }),
        }
        for checker in self.checkers {
            checker.finish(&self.market).map_err(|v| SimError::Check { at, violation: v })?;
        }
        Ok(Run { jobs: self.jobs, passes: self.passes })
    }
}
