//! What records change in forecasts of starts.

use tradewind_model::{Span, Time};

use super::question;
use crate::live::ApplyError;
use crate::live::state::State;

impl State {
    /// Forecasts for jobs that wait: from now on their errors count.
    pub(in crate::live) fn forecast(&mut self, starts: &[(u64, Time)]) -> Result<(), ApplyError> {
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
    pub(in crate::live) fn forget_waits(&mut self) {
        self.waits.forecaster.reset();
    }

    /// Something has happened to a job. If its work has begun, its forecast is compared with that.
    pub(in crate::live) fn mind_wait(&mut self, number: u64) {
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
    pub(in crate::live) fn end_wait(&mut self, number: u64) {
        self.mind_wait(number);
        self.waits.forecaster.left(number);
    }
}
