//! What records change in the forecasts of starts, and in what is known of the lengths of jobs.

use tradewind_model::{Span, Time};
use tradewind_sched::predict::JobTraits;

use crate::live::state::ApplyError;
use crate::live::state::jobs::mode_of;
use crate::live::state::lengths::{PastRun, traits_of, work_of};
use crate::live::state::waits::question;
use crate::live::state::{Job, State};

impl State {
    /// The time limit that is asked for in the market's queue. `None`: the job is not there.
    pub fn asked_limit(&self, job: &Job) -> Option<Span> {
        Some(self.market.demand(job.id()?)?.estimate)
    }

    /// Forecasts for jobs that wait: from now on their errors count.
    pub(super) fn forecast(&mut self, starts: &[(u64, Time)]) -> Result<(), ApplyError> {
        // By earlier rules ranges were made in another way.
        if !self.has_rules(4) {
            return Ok(());
        }
        let at = self.now();
        self.waits.forecaster.pass_to(at);
        for (number, expected) in starts {
            let job = self.jobs.get(number).ok_or(ApplyError::Job(*number))?;
            let limit = self.asked_limit(job).ok_or(ApplyError::Job(*number))?;
            let wait = (*expected - at).max(Span(1));
            let question = question(at, wait, (job.nodes(), limit));
            self.waits.forecaster.submitted(*number, question);
        }
        Ok(())
    }

    /// The nodes are others, or the policy is: what was learned counts no more.
    pub(super) fn forget_waits(&mut self) {
        self.waits.forecaster.reset();
    }

    /// Something has happened to a job. If its work has begun, its forecast is compared with that.
    pub(super) fn mind_wait(&mut self, number: u64) {
        if !self.waits.forecaster.is_open(number) {
            return;
        }
        let job = self.jobs.get(&number);
        let Some((job, began)) = job.and_then(|job| Some((job, job.began()?))) else { return };
        let site = job.parts().first().map(|part| self.site_of(part.pool));
        self.waits.forecaster.pass_to(self.market.now());
        let result = self.waits.forecaster.started(number, began);
        if let Some((site, result)) = site.zip(result) {
            self.waits.score(site, &result);
        }
    }

    /// A job leaves the queue: if it has not begun, its forecast is compared with nothing.
    pub(super) fn end_wait(&mut self, number: u64) {
        self.mind_wait(number);
        self.waits.forecaster.left(number);
    }

    /// A job that was predicted is over: what it used is kept.
    pub(super) fn keep_run(&mut self, number: u64) -> Result<(), ApplyError> {
        let job = self.jobs.get(&number).ok_or(ApplyError::Job(number))?;
        let run = job.foreseen.zip(job.ran()).and_then(|(median, (part, run, requested))| {
            let user = self.jobs.users.iter().position(|user| *user == job.user)? as i64;
            let processors = job.nodes();
            if !self.has_rules(3) {
                let (longest, traits) = (requested, JobTraits::default());
                return Some(PastRun { user, processors, requested, longest, median, run, traits });
            }
            let pool = self.market.pools().as_slice().get(part.pool.index())?;
            let work = |span| work_of(pool, mode_of(&job.submission), span).max(Span(1));
            let (longest, run, traits) = (work(requested), work(run), traits_of(&job.submission));
            Some(PastRun { user, processors, requested, longest, median, run, traits })
        });
        run.into_iter().for_each(|run| self.lengths.add(run));
        Ok(())
    }
}
