//! When jobs are expected to start: what the state says of it, and what records change in it.

use tradewind_model::{SiteId, Span, Time};
use tradewind_sched::predict::waits::WaitForecaster;

use super::ApplyError;
use super::state::{Job, State};
use super::waits::{RangeScore, StartRanges, Waits, question};

impl State {
    /// How the ranges of the last jobs held that started at the site.
    pub fn range_score_at(&self, site: SiteId) -> RangeScore {
        Waits::score_of(self.waits.held.get(&site).into_iter())
    }

    /// The same of all sites.
    pub fn range_score(&self) -> RangeScore {
        Waits::score_of(self.waits.held.values())
    }

    /// Starts that ranges are made from, and how many are needed before there are ranges.
    pub fn known_starts(&self) -> (usize, usize) {
        (self.waits.forecaster.results(), WaitForecaster::<u64>::needed())
    }

    /// The ranges of a start that a look-ahead at the moment `at` expects at `expected`, for a job
    /// of so many nodes and this time limit. `None`: too few forecasts have ended since the pools or
    /// the policy changed, or the job is expected to start at once.
    pub fn start_ranges(
        &self,
        (at, expected): (Time, Time),
        (nodes, limit): (u32, Span),
    ) -> Option<StartRanges> {
        let forecaster = &self.waits.forecaster;
        let wait = expected - at;
        if wait <= Span::ZERO || !forecaster.is_informed() {
            return None;
        }
        let said = forecaster.forecast(&question(at, wait, (nodes, limit)));
        Some(StartRanges {
            median: at + said.median,
            ranges: said.ranges.map(|range| (at + range.low, at + range.high)),
            results: forecaster.results(),
        })
    }

    /// The time limit that is asked for in the market's queue. `None`: the job is not there.
    pub fn asked_limit(&self, job: &Job) -> Option<Span> {
        Some(self.market.demand(job.id()?)?.estimate)
    }

    /// Forecasts for jobs that wait: from now on their errors count.
    pub(in crate::live) fn forecast(&mut self, starts: &[(u64, Time)]) -> Result<(), ApplyError> {
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
