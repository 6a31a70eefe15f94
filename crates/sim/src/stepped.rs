//! A replay from outside: it stops where something is to be decided, and goes on with the answer.
//!
//! The engine and the records are those of [`run`](fn@crate::run), in the textbook order; only the
//! loop is turned inside out. So many replays take turns on a thread, as learning needs it, and what
//! decides may be anything.

use std::sync::Arc;

use tradewind_model::{Command, Demand, Event, JobId, Market, Terms, Time};
use tradewind_sched::policy::Policy;

use crate::SimError;
use crate::check::Checker;
use crate::engine::Engine;
use crate::estimate::Estimate;
use crate::replay::{Replay, ReplaySettings, Semantics, beginning};
use crate::result::{Ran, Run};
use crate::workload::Workload;

/// Where a replay stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopBefore {
    /// Before each submission; the policy decides in passes.
    Submissions,
    /// In each pass; submissions are the log's.
    Passes,
}

/// Where a replay stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayPoint {
    /// This job is about to be submitted: [`Stepped::submit`] goes on.
    Submission(JobId),
    /// A pass, after [`Stepped::events`]: [`Stepped::decide`] goes on.
    Pass,
    /// All jobs have ended.
    Over,
}

/// What is left to do in the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecondStage {
    Between,
    Submissions,
    Pass,
}

/// No checkers.
struct Unwatched;

impl AsMut<[Box<dyn Checker>]> for Unwatched {
    fn as_mut(&mut self) -> &mut [Box<dyn Checker>] {
        &mut []
    }
}

/// A replay that stops wherever something is to be decided. Owners' jobs of the workload are left
/// out, and nothing is checked.
pub struct Stepped<P> {
    engine: Engine<Replay<'static, Arc<Workload>, Unwatched>, P>,
    stop: StopBefore,
    stage: SecondStage,
    coming: Option<(JobId, Demand)>,
}

impl<P: Policy> Stepped<P> {
    /// Before the first second. `policy` decides in passes, unless these are where it stops.
    pub fn new(
        workload: Arc<Workload>,
        estimate: Estimate,
        policy: P,
        stop: StopBefore,
    ) -> Stepped<P> {
        let from = beginning(&workload);
        let market = Market::new(Arc::clone(&workload.pools), from);
        let settings = ReplaySettings { semantics: Semantics::Textbook, estimate };
        let replay = Replay::new(workload, settings, Unwatched, from);
        let engine = Engine::new(market, policy, replay, Vec::new());
        Stepped { engine, stop, stage: SecondStage::Between, coming: None }
    }

    /// The market as it is now.
    pub fn market(&self) -> &Market {
        &self.engine.market
    }

    /// What happened since the last pass.
    pub fn events(&self) -> &[Event] {
        &self.engine.events
    }

    /// What happened to a job so far: start and end are known as soon as it has started.
    pub fn ran(&self, job: JobId) -> &Ran {
        &self.engine.world.jobs[job.index()]
    }

    /// What the job asks for that is about to be submitted.
    pub fn coming(&self) -> Option<&Demand> {
        self.coming.as_ref().map(|(_, demand)| demand)
    }

    /// When something happens next, if the replay stands between two seconds.
    pub fn next_instant(&self) -> Option<Time> {
        self.engine.next_instant()
    }

    /// Goes on to the next point. One that was not answered comes again.
    ///
    /// # Errors
    /// When the policy asks for what cannot be.
    pub fn advance(&mut self) -> Result<ReplayPoint, SimError> {
        loop {
            match self.stage {
                SecondStage::Between => match self.open()? {
                    true => self.stage = SecondStage::Submissions,
                    false => return Ok(ReplayPoint::Over),
                },
                SecondStage::Submissions => {
                    if let Some(job) = self.submissions()? {
                        return Ok(ReplayPoint::Submission(job));
                    }
                    self.engine.after_submissions()?;
                    self.stage = SecondStage::Pass;
                }
                SecondStage::Pass if self.stop == StopBefore::Passes => {
                    return Ok(ReplayPoint::Pass);
                }
                SecondStage::Pass => {
                    self.engine.pass()?;
                    self.close()?;
                }
            }
        }
    }

    /// Submits the job that is about to be, with these terms if they are others.
    ///
    /// # Errors
    /// Never, unless there is a fault in the simulator.
    pub fn submit(&mut self, terms: Option<Arc<Terms>>) -> Result<(), SimError> {
        let Some((job, demand)) = self.coming.take() else { return Ok(()) };
        let terms = terms.or(demand.terms);
        self.engine.submit(job, Demand { terms, ..demand })
    }

    /// Answers a pass; `commands` is empty afterwards.
    ///
    /// # Errors
    /// When what is asked for cannot be.
    pub fn decide(&mut self, commands: &mut Vec<Command>) -> Result<(), SimError> {
        self.engine.carry_out(commands)?;
        self.close()
    }

    /// What the replay gave, once it is over.
    ///
    /// # Errors
    /// If jobs still wait.
    pub fn finish(self) -> Result<Run, SimError> {
        self.engine.finish()
    }

    /// The next second in which something happens; whether there is one.
    fn open(&mut self) -> Result<bool, SimError> {
        let Some(at) = self.engine.next_instant() else { return Ok(false) };
        if at > self.engine.market.now() {
            self.engine.world.close_second(&self.engine.market);
        }
        self.engine.pass_to(at)?;
        self.engine.before_submissions()?;
        Ok(true)
    }

    /// Submits what is due, up to the job before which the replay stops.
    fn submissions(&mut self) -> Result<Option<JobId>, SimError> {
        if self.stop == StopBefore::Passes {
            while self.engine.submit_next()? {}
            return Ok(None);
        }
        if self.coming.is_none() {
            self.coming = self.engine.next_submission();
        }
        Ok(self.coming.as_ref().map(|(job, _)| *job))
    }

    fn close(&mut self) -> Result<(), SimError> {
        self.stage = SecondStage::Between;
        self.engine.after_pass()
    }
}
