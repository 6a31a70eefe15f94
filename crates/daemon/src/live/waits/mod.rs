//! When jobs will start, as ranges that are corrected by what came of earlier forecasts, and how
//! such ranges have held.
//!
//! When the plan of the queue first says when a waiting job is expected to start, that is written
//! down ([`JobRecord::Forecast`](super::record::JobRecord::Forecast)), and the job's start is
//! compared with it later. All of this follows from records, so that a restart changes nothing. The
//! corrector is the one of replays: [`tradewind_sched::predict::waits`].

mod apply;

use std::collections::{BTreeMap, VecDeque};

use tradewind_model::{Pool, Pools, SiteId, Span, Time};
pub use tradewind_sched::predict::waits::LEVELS;
use tradewind_sched::predict::waits::{Question, WaitForecaster, WaitResult};

use super::state::{Job, State};

/// Forecasts of starts, and what came of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Learns, by the numbers of jobs.
    pub(crate) forecaster: WaitForecaster<u64>,
    /// By site at which jobs started: of its last jobs with a range, the narrowest range that had the
    /// start, as an index of [`LEVELS`]; beyond them if none had it. Oldest first.
    pub(crate) held: BTreeMap<SiteId, VecDeque<u32>>,
}

/// When a job is expected to start, by moments of the market's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartRanges {
    /// Half of such jobs start no later.
    pub median: Time,
    /// By [`LEVELS`]: the first and the last moment. Each contains the one before.
    pub ranges: [(Time, Time); LEVELS.len()],
    /// The last starts that they were made from.
    pub results: usize,
}

/// How the ranges of past forecasts held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RangeScore {
    /// Starts that were compared with their ranges, at most [`Waits::SCORED`] of a site.
    pub starts: u32,
    /// By [`LEVELS`]: starts that were within the range.
    pub within: [u32; LEVELS.len()],
}

impl Waits {
    /// As many starts of a site are scored.
    pub const SCORED: usize = 1_000;

    /// What came of the forecast for a job that started at the site.
    fn score(&mut self, site: SiteId, result: &WaitResult) {
        let ranges = result.forecast.ranges.iter();
        let outside = ranges.filter(|range| !range.has(result.wait)).count();
        let held = self.held.entry(site).or_default();
        held.push_back(outside as u32);
        if held.len() > Waits::SCORED {
            held.pop_front();
        }
    }

    fn score_of<'a>(held: impl Iterator<Item = &'a VecDeque<u32>>) -> RangeScore {
        let mut score = RangeScore::default();
        for narrowest in held.flatten() {
            score.starts += 1;
            for (level, within) in score.within.iter_mut().enumerate() {
                *within += u32::from(*narrowest as usize <= level);
            }
        }
        score
    }
}

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
}

/// Whether the pools have the same nodes, whatever they cost.
pub(super) fn same_nodes(one: &Pools, other: &Pools) -> bool {
    let nodes = |pool: &Pool| (pool.name.clone(), pool.nodes, pool.performance);
    one.as_slice().iter().map(nodes).eq(other.as_slice().iter().map(nodes))
}

/// Live there is one look-ahead, by time limits.
fn question(at: Time, wait: Span, (nodes, limit): (u32, Span)) -> Question {
    Question { at, learned: wait, requested: wait, processors: nodes, request: limit }
}
