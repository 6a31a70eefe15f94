//! A replay from outside: it stops before each submission, and goes on with the answer.
//!
//! The engine and the records are those of [`run`](fn@crate::run), in the textbook order; only the
//! loop is turned inside out. So many replays take turns on a thread, as learning needs it, and what
//! decides may be anything.

use std::sync::Arc;

use tradewind_model::{Demand, JobId, Market, Terms};
use tradewind_sched::policy::Policy;

use crate::SimError;
use crate::check::Checker;
use crate::engine::Engine;
use crate::estimate::Estimate;
use crate::replay::{Replay, ReplaySettings, beginning};
use crate::result::{Ran, Run};
use crate::semantics::Semantics;
use crate::workload::Workload;

/// No checkers.
struct Unwatched;

impl AsMut<[Box<dyn Checker>]> for Unwatched {
    fn as_mut(&mut self) -> &mut [Box<dyn Checker>] {
        &mut []
    }
}

/// A replay that stops before each submission. Owners' jobs of the workload are left out, and nothing
/// is checked.
pub struct Stepped<P> {
    engine: Engine<Replay<'static, Arc<Workload>, Unwatched>, P>,
    /// Whether what comes before submissions in this second is done.
    is_open: bool,
    coming: Option<(JobId, Demand)>,
}

impl<P: Policy> Stepped<P> {
    /// Before the first second. `policy` decides in passes.
    pub fn new(workload: Arc<Workload>, estimate: Estimate, policy: P) -> Stepped<P> {
        let from = beginning(&workload);
        let market = Market::new(Arc::clone(&workload.pools), from);
        let settings = ReplaySettings { semantics: Semantics::Textbook, estimate };
        let replay = Replay::new(workload, settings, Unwatched, from);
        let engine = Engine::new(market, policy, replay, Vec::new());
        Stepped { engine, is_open: false, coming: None }
    }

    /// The market as it is now.
    pub fn market(&self) -> &Market {
        &self.engine.market
    }

    /// What happened to a job so far: start and end are known as soon as it has started.
    pub fn ran(&self, job: JobId) -> &Ran {
        &self.engine.world.jobs[job.index()]
    }

    /// What the job asks for that is about to be submitted.
    pub fn coming(&self) -> Option<&Demand> {
        self.coming.as_ref().map(|(_, demand)| demand)
    }

    /// Goes on to the next submission; `None`: all jobs have ended. One that was not answered by
    /// [`Stepped::submit`] comes again.
    ///
    /// # Errors
    /// When the policy asks for what cannot be.
    pub fn advance(&mut self) -> Result<Option<JobId>, SimError> {
        loop {
            if !self.is_open && !self.open()? {
                return Ok(None);
            }
            if self.coming.is_none() {
                self.coming = self.engine.next_submission();
            }
            if let Some((job, _)) = &self.coming {
                return Ok(Some(*job));
            }
            self.engine.after_submissions()?;
            self.engine.pass()?;
            self.engine.after_pass()?;
            self.is_open = false;
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
        self.is_open = true;
        Ok(true)
    }
}
