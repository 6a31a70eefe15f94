//! A number along a line of whole numbers, kept small: points that straight lines join.

use serde::{Deserialize, Serialize};
use tradewind_model::{Horizon, Time};

use super::steps::TimeColumns;

/// Points that straight lines join, from the first to the last.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "TraceInFile")]
pub struct Trace {
    /// Ascending, each place once.
    points: Vec<(i64, f64)>,
}

/// A trace as a file has it, in which points may be in any order.
#[derive(Deserialize)]
struct TraceInFile {
    points: Vec<(i64, f64)>,
}

impl From<TraceInFile> for Trace {
    fn from(file: TraceInFile) -> Trace {
        Trace::new(file.points)
    }
}

impl Trace {
    /// A mean is drawn through this many points.
    const MEAN_POINTS: i64 = 500;

    /// Through these points; of several at one place the last, and none that is not finite.
    /// O(n log n).
    pub fn new(mut points: Vec<(i64, f64)>) -> Trace {
        points.retain(|(_, value)| value.is_finite());
        points.sort_by_key(|(at, _)| *at);
        points.reverse();
        points.dedup_by_key(|(at, _)| *at);
        points.reverse();
        Trace { points }
    }

    /// Of a level that changes in steps: `levels` has each with the moment at which it begins, in
    /// the order of time, and the last one is where the trace ends. Means over at most `max`
    /// columns of equal length, each in the middle of its column. O(levels + columns).
    pub fn of_steps(levels: &[(Time, f64)], max: usize) -> Trace {
        let (Some(first), Some(last)) = (levels.first(), levels.last()) else {
            return Trace::default();
        };
        let columns = TimeColumns::new(Horizon { start: first.0, end: last.0 }, max);
        let mut points = Vec::with_capacity(columns.len() + 1);
        let mut level = 0;
        for index in 0..columns.len() {
            let (from, until) = (columns.edge(index), columns.edge(index + 1));
            let (mut at, mut area) = (from, 0.0);
            while at < until {
                while levels.get(level + 1).is_some_and(|next| next.0 <= at) {
                    level += 1;
                }
                let end = levels.get(level + 1).map_or(until, |next| next.0.min(until));
                area += levels[level].1 * (end - at).0 as f64;
                at = end;
            }
            let seconds = (until - from).0;
            if seconds > 0 {
                points.push((from.0 + seconds / 2, area / seconds as f64));
            }
        }
        points.push((last.0.0, last.1));
        Trace::new(points)
    }

    /// The mean of several, at equally distant places from the first to the last of all. Before it
    /// begins, a trace counts with its first value, and after it ended with its last. A single one
    /// is its own mean. O(traces · log points).
    pub fn mean(of: &[&Trace]) -> Trace {
        let ends = || of.iter().filter_map(|trace| trace.ends());
        let count = ends().count() as f64;
        let (first, last) = (ends().map(|it| it.0).min(), ends().map(|it| it.1).max());
        let (Some(first), Some(last)) = (first, last) else { return Trace::default() };
        if let [only] = of {
            return (*only).clone();
        }
        let steps = last.saturating_sub(first).clamp(1, Trace::MEAN_POINTS - 1);
        let place = |step| {
            first
                + (i128::from(last.saturating_sub(first)) * i128::from(step) / i128::from(steps))
                    as i64
        };
        let held = |trace: &Trace, at: i64| {
            let (from, until) = trace.ends()?;
            trace.at(at.clamp(from, until))
        };
        let mean = |at| (at, of.iter().filter_map(|trace| held(trace, at)).sum::<f64>() / count);
        Trace::new((0..=steps).map(place).map(mean).collect())
    }

    /// Whether it has no point.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The points of the curve.
    pub fn points(&self) -> &[(i64, f64)] {
        &self.points
    }

    /// Its value at `at`; `None` before its first point and after its last. O(log n).
    pub fn at(&self, at: i64) -> Option<f64> {
        let after = self.points.partition_point(|point| point.0 < at);
        let next = self.points.get(after)?;
        if next.0 == at {
            return Some(next.1);
        }
        let before = self.points.get(after.checked_sub(1)?)?;
        let share = (at as f64 - before.0 as f64) / (next.0 as f64 - before.0 as f64);
        Some(before.1 + (next.1 - before.1) * share)
    }

    /// Where it begins and ends.
    pub(super) fn ends(&self) -> Option<(i64, i64)> {
        Some((self.points.first()?.0, self.points.last()?.0))
    }
}
