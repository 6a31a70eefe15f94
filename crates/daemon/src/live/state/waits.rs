//! When jobs will start, as ranges that are corrected by what came of earlier forecasts, and how
//! such ranges have held.
//!
//! When the plan of the queue first says when a waiting job is expected to start, that is written
//! down ([`JobRecord::Forecast`](super::record::JobRecord::Forecast)), and the job's start is
//! compared with it later. All of this follows from records, so that a restart changes nothing. The
//! corrector is the one of replays: [`tradewind_sched::predict::waits`].

use std::collections::{BTreeMap, VecDeque};

use tradewind_model::{Pool, Pools, SiteId, Span, Time};
pub use tradewind_sched::predict::waits::LEVELS;
use tradewind_sched::predict::waits::{Question, WaitForecaster, WaitResult};

/// Forecasts of starts, and what came of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    pub(in crate::live::state) fn score(&mut self, site: SiteId, result: &WaitResult) {
        let ranges = result.forecast.ranges.iter();
        let outside = ranges.filter(|range| !range.has(result.wait)).count();
        let held = self.held.entry(site).or_default();
        held.push_back(outside as u32);
        if held.len() > Waits::SCORED {
            held.pop_front();
        }
    }

    pub(in crate::live) fn score_of<'a>(
        held: impl Iterator<Item = &'a VecDeque<u32>>,
    ) -> RangeScore {
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

/// Whether the pools have the same nodes, whatever they cost.
pub(in crate::live::state) fn same_nodes(one: &Pools, other: &Pools) -> bool {
    let nodes = |pool: &Pool| (pool.name.clone(), pool.nodes, pool.performance);
    one.as_slice().iter().map(nodes).eq(other.as_slice().iter().map(nodes))
}

/// Live there is one look-ahead, by time limits.
pub(in crate::live) fn question(at: Time, wait: Span, (nodes, limit): (u32, Span)) -> Question {
    Question { at, learned: wait, requested: wait, processors: nodes, request: limit }
}
