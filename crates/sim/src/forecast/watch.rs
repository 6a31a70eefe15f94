//! Watches a replay: makes forecasts at submissions, and learns from starts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tradewind_model::{Event, JobId, Market, Span, Time};
use tradewind_sched::policy::Policy;
use tradewind_sched::predict::waits::{BinomialBounds, Question, WaitForecaster};
use tradewind_sched::predict::{JobTraits, Submission};

use super::queue::{self, Known, Lengths, Reach};
use super::{ForecastOptions, Forecasted, Said};
use crate::check::{Checker, Violation};
use crate::workload::Workload;

/// What the log says of a job. Its run time is looked at when it has ended.
struct Logged {
    user: i64,
    requested: Span,
    run: Span,
}

pub(super) struct Watcher {
    options: ForecastOptions,
    logged: Vec<Logged>,
    /// Jobs that have not ended.
    known: BTreeMap<JobId, Known>,
    /// Submitted since the last pass.
    fresh: Vec<JobId>,
    /// Waiting jobs: when they were submitted, and what was said.
    waiting: BTreeMap<JobId, (Time, Option<Said>)>,
    forecaster: WaitForecaster,
    binomial: BinomialBounds,
    made: Rc<RefCell<Vec<Forecasted>>>,
}

impl Watcher {
    pub(super) fn new(
        workload: &Workload,
        options: ForecastOptions,
        made: Rc<RefCell<Vec<Forecasted>>>,
    ) -> Watcher {
        let logged = workload.jobs.iter().map(|job| Logged {
            user: job.user,
            requested: job.requested.max(Span(1)),
            run: job.run,
        });
        Watcher {
            options,
            logged: logged.collect(),
            known: BTreeMap::new(),
            fresh: Vec::new(),
            waiting: BTreeMap::new(),
            forecaster: WaitForecaster::default(),
            binomial: BinomialBounds::default(),
            made,
        }
    }

    fn submitted(&mut self, job: JobId, processors: u32, now: Time) {
        let Logged { user, requested, .. } = self.logged[job.index()];
        let what =
            Submission { user, processors, requested, at: now, traits: JobTraits::default() };
        let predicted = self.options.learner.submitted(job, what);
        self.known.insert(job, Known { predicted, requested });
        self.waiting.insert(job, (now, None));
        self.fresh.push(job);
    }

    fn started(&mut self, market: &Market, job: JobId) {
        let now = market.now();
        self.options.learner.started(job, now);
        // A job that starts again after a failure was scored before.
        let Some((at, said)) = self.waiting.remove(&job) else { return };
        let wait = now - at;
        if let Some(said) = said {
            self.forecaster.started(job, now);
            let processors = market.demand(job).map_or(1, |demand| demand.processors);
            self.binomial.waited(processors, said.binomial, wait);
        }
        if said.is_some() || wait == Span::ZERO {
            self.made.borrow_mut().push(Forecasted { job: job.index(), at, wait, said });
        }
    }

    fn left(&mut self, job: JobId) {
        self.options.learner.left(job);
        self.forecaster.left(job);
        self.waiting.remove(&job);
        self.known.remove(&job);
    }

    /// Says when these jobs start, which wait since now.
    fn say(&mut self, market: &Market, jobs: &[JobId]) {
        let now = market.now();
        let ForecastOptions { scheduler, moments, waiting, .. } = self.options;
        let reach = Reach { scheduler, moments, waiting };
        let starts = |lengths| queue::starts(market, &self.known, (lengths, reach), jobs);
        let (learned, requested) = (starts(Lengths::Predicted), starts(Lengths::Requested));
        for ((job, learned), requested) in jobs.iter().zip(learned).zip(requested) {
            let processors = market.demand(*job).map_or(1, |demand| demand.processors);
            let (learned, requested) = (learned - now, requested - now);
            let request = self.logged[job.index()].requested;
            let question = Question { at: now, learned, requested, processors, request };
            let forecast = self.forecaster.submitted(*job, question);
            let binomial = self.binomial.range(processors);
            let said = Said { forecast, learned, requested, binomial };
            self.waiting.insert(*job, (now, Some(said)));
        }
    }
}

impl Checker for Watcher {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        let now = market.now();
        self.forecaster.pass_to(now);
        match event {
            Event::Submitted { job, demand } => self.submitted(*job, demand.processors, now),
            Event::Started { job, .. } => self.started(market, *job),
            Event::Interrupted { job } => self.options.learner.interrupted(*job),
            Event::Refused { job } | Event::Cancelled { job } => self.left(*job),
            Event::Ended { job } => {
                self.known.remove(job);
                self.options.learner.ended(*job, self.logged[job.index()].run, now);
            }
            _ => {}
        }
        Ok(())
    }

    fn pass(&mut self, market: &Market, _policy: &dyn Policy) -> Result<(), Violation> {
        let mut jobs = std::mem::take(&mut self.fresh);
        jobs.retain(|job| market.waits(*job));
        if !jobs.is_empty() {
            self.say(market, &jobs);
        }
        Ok(())
    }
}
