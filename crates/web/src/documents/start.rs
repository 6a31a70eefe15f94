//! When jobs are expected to start, and how such words have held.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// When a job is expected to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "at": 1_800_000_100, "early": 1_800_000_090, "late": 1_800_000_400, "samples": 57, "needed": 40,
    "ranges": {"median": 1_800_000_110, "within": [
        {"percent": 50, "from": 1_800_000_100, "to": 1_800_000_160},
        {"percent": 80, "from": 1_800_000_090, "to": 1_800_000_400},
        {"percent": 95, "from": 1_800_000_080, "to": 1_800_000_900}]}
}))]
pub struct Expectation {
    /// By the look-ahead, in Unix seconds.
    pub at: i64,
    /// One job in ten starts before this; the same as `at` if there are no `ranges`.
    pub early: i64,
    /// One job in ten starts after this; the same as `at` if there are no `ranges`.
    pub late: i64,
    /// Past forecasts that are known to compare with, at most a thousand.
    pub samples: u32,
    /// How many are needed before there are ranges.
    #[serde(default)]
    pub needed: u32,
    /// The look-ahead, corrected by what came of past ones. Left out if there are too few of these,
    /// and if the job is expected to start at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranges: Option<StartRanges>,
}

/// The ranges of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StartRanges {
    /// Half of such jobs start no later, in Unix seconds.
    pub median: i64,
    /// For 50, 80 and 95 of 100 jobs; each contains the one before.
    #[schema(value_type = Vec<StartRange>)]
    pub within: [StartRange; 3],
}

/// A range of moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StartRange {
    /// So many jobs of 100 start in it.
    pub percent: u32,
    /// The first moment, in Unix seconds.
    pub from: i64,
    /// The last moment.
    pub to: i64,
}

impl Expectation {
    /// The range for 80 of 100 jobs.
    pub fn most(&self) -> Option<StartRange> {
        self.ranges.map(|ranges| ranges.within[1])
    }

    /// Whether there is no range since too little is known.
    pub fn lacks_starts(&self) -> bool {
        self.ranges.is_none() && self.samples < self.needed
    }
}

/// How the ranges of past forecasts held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"starts": 200, "within": [
    {"percent": 50, "starts": 99}, {"percent": 80, "starts": 162}, {"percent": 95, "starts": 189}]}))]
pub struct RangeScore {
    /// Starts that were compared with the ranges that were given first: at most the last thousand of
    /// each site.
    pub starts: u32,
    /// How many of them were within the ranges for 50, 80 and 95 of 100.
    pub within: Vec<StartsWithin>,
}

/// Starts within a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StartsWithin {
    /// So many of 100 were to be.
    pub percent: u32,
    /// So many were.
    pub starts: u32,
}

impl RangeScore {
    /// By range: the share that was within, in whole percent.
    pub fn shares(&self) -> impl Iterator<Item = (u32, u32)> {
        let share = |starts: u32| u64::from(starts) * 100 + u64::from(self.starts) / 2;
        let all = u64::from(self.starts.max(1));
        self.within.iter().map(move |it| (it.percent, (share(it.starts) / all) as u32))
    }
}
