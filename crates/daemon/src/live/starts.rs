//! When jobs are expected to start: what the state says of it, and what records change in it.

use tradewind_model::{SiteId, Span, Time};
use tradewind_sched::predict::waits::WaitForecaster;

use crate::live::state::State;
use crate::live::waits::{RangeScore, StartRanges, Waits, question};

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
}
