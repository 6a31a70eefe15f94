//! The last scores of a class.

use std::collections::VecDeque;

/// So many are kept.
pub(super) const MOST: usize = 1_000;

/// Scores in the order of time and of size.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Window {
    last: VecDeque<i64>,
    sorted: Vec<i64>,
}

impl Window {
    /// Adds a score; the oldest one goes if there are too many. O(n) moves of memory.
    pub(super) fn add(&mut self, score: i64) {
        if self.last.len() >= MOST
            && let Some(oldest) = self.last.pop_front()
        {
            self.sorted.remove(self.sorted.partition_point(|other| *other < oldest));
        }
        self.last.push_back(score);
        self.sorted.insert(self.sorted.partition_point(|other| *other < score), score);
    }

    /// Drops all but the last `count`.
    pub(super) fn keep(&mut self, count: usize) {
        let from = self.last.len().saturating_sub(count);
        self.last.drain(..from);
        self.sorted = self.last.iter().copied().collect();
        self.sorted.sort_unstable();
    }

    /// Scores in the order of time.
    pub(super) fn last(&self) -> impl Iterator<Item = i64> {
        self.last.iter().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.last.len()
    }

    /// The places of a score, in the order of size: more than one where scores are equal.
    pub(super) fn equal(&self, score: i64) -> std::ops::Range<usize> {
        let from = self.sorted.partition_point(|other| *other < score);
        from..self.sorted.partition_point(|other| *other <= score)
    }

    /// The score of this place in the order of size.
    pub(super) fn nth(&self, place: usize) -> Option<i64> {
        self.sorted.get(place).copied()
    }
}
