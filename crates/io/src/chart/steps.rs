//! Step functions of time, and their exact means over columns.

use tradewind_model::{Horizon, Time};

/// A level that rises or falls at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Change {
    pub(super) at: Time,
    pub(super) by: i64,
}

/// A horizon cut into columns of whole seconds, as equal as they can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeColumns {
    horizon: Horizon,
    count: usize,
}

impl TimeColumns {
    /// At most `max` columns of at least a second each.
    pub(super) fn new(horizon: Horizon, max: usize) -> TimeColumns {
        let seconds = usize::try_from(horizon.span().0.max(1)).unwrap_or(usize::MAX);
        TimeColumns { horizon, count: max.clamp(1, seconds) }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Where column `index` begins; for the number of columns, where the last one ends.
    pub(super) fn edge(&self, index: usize) -> Time {
        let offset = i128::from(self.horizon.span().0) * index as i128 / self.count as i128;
        Time(self.horizon.start.0 + offset as i64)
    }

    /// The length of column `index` in seconds.
    pub(super) fn seconds(&self, index: usize) -> i64 {
        (self.edge(index + 1) - self.edge(index)).0
    }

    /// The column that `at`, a moment of the horizon, is in.
    pub(super) fn index(&self, at: Time) -> usize {
        let offset = i128::from((at - self.horizon.start).0.max(0));
        let span = i128::from(self.horizon.span().0.max(1));
        let mut index = ((offset * self.count as i128 / span) as usize).min(self.count - 1);
        // Edges are rounded down, so the column may be the next one.
        while index + 1 < self.count && self.edge(index + 1) <= at {
            index += 1;
        }
        index
    }

    /// Adds `level` over `[from, until)` to the columns that it covers. O(columns covered).
    pub(super) fn add(&self, areas: &mut [i128], level: i64, from: Time, until: Time) {
        let (mut from, until) = (from.max(self.horizon.start), until.min(self.horizon.end));
        if from >= until || level == 0 {
            return;
        }
        let mut index = self.index(from);
        while from < until {
            let end = self.edge(index + 1).min(until);
            areas[index] += i128::from(level) * i128::from((end - from).0);
            (from, index) = (end, index + 1);
        }
    }

    /// The integral over each column of the level that begins at 0 and changes as said. Exact.
    /// O(changes log changes + columns).
    pub(super) fn areas(&self, changes: &[Change]) -> Vec<i128> {
        let mut areas = vec![0; self.count];
        let levels = levels(changes);
        for (at, level) in levels.iter().enumerate() {
            let until = levels.get(at + 1).map_or(self.horizon.end, |next| next.0);
            self.add(&mut areas, level.1, level.0, until);
        }
        areas
    }

    /// The time-weighted mean of each column.
    pub(super) fn means(&self, changes: &[Change]) -> Vec<f64> {
        let mean = |(index, area): (usize, i128)| area as f64 / self.seconds(index).max(1) as f64;
        self.areas(changes).into_iter().enumerate().map(mean).collect()
    }
}

/// The level from each moment of change on, in order of time.
pub(super) fn levels(changes: &[Change]) -> Vec<(Time, i64)> {
    let mut sorted = changes.to_vec();
    sorted.sort_unstable();
    let mut levels: Vec<(Time, i64)> = Vec::with_capacity(sorted.len());
    let mut level = 0;
    for change in sorted {
        level += change.by;
        match levels.last_mut() {
            Some(last) if last.0 == change.at => last.1 = level,
            _ => levels.push((change.at, level)),
        }
    }
    levels
}

/// The highest level and the first moment of it.
pub(super) fn peak(changes: &[Change]) -> Option<(Time, i64)> {
    levels(changes).into_iter().max_by_key(|&(at, level)| (level, std::cmp::Reverse(at)))
}
