//! The criteria that one forward pass decides exactly.

use std::ops::ControlFlow;

use super::cheapest::CheapestNodes;
use super::ranking::NodeRanking;
use super::sweep::{ANY_LENGTH, SweepVisitor};

/// The earliest start at which the m cheapest keep to the budget.
#[derive(Debug)]
pub(super) struct Earliest {
    pub(super) budget: i128,
    /// The answer; `cheapest` holds its nodes when the pass ends.
    pub(super) found: Option<i64>,
}

impl SweepVisitor for Earliest {
    fn close(&mut self, now: i64, cheapest: &mut CheapestNodes<'_>) -> ControlFlow<()> {
        if cheapest.sum().is_some_and(|sum| sum <= self.budget) {
            self.found = Some(now);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The minimum sum of weights over all starts, and the first start that has it.
#[derive(Debug)]
pub(super) struct Least {
    /// Only a sum of at most this much counts.
    pub(super) ceiling: i128,
    /// Start and sum of the best window so far.
    pub(super) found: Option<(i64, i128)>,
}

impl SweepVisitor for Least {
    fn close(&mut self, now: i64, cheapest: &mut CheapestNodes<'_>) -> ControlFlow<()> {
        if let Some(sum) = cheapest.sum()
            && sum <= self.ceiling
        {
            self.found = Some((now, sum));
            // The next must be less: earlier starts win among equals.
            self.ceiling = sum - 1;
        }
        ControlFlow::Continue(())
    }
}

/// Which right edge is to be least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RightEdge {
    /// Measured from the window's start.
    Runtime,
    /// On the clock.
    Finish,
}

/// The minimum runtime or finish under a budget, by a length limit that only falls: nodes on
/// which a task would not be strictly better than the best window so far are dropped for good,
/// and while the m cheapest of the rest keep to the budget, the longest of them becomes the new
/// limit. For the finish F the limit at time T is F − T; F falls and T grows, so dropping for
/// good is safe there too. Every node is dropped once.
#[derive(Debug)]
pub(super) struct Shrinking<'a> {
    edge: RightEdge,
    budget: i128,
    wanted: usize,
    /// Sorted by length when the first window is found and not before: many searches find none.
    ranking: &'a NodeRanking,
    /// So many of the longest are dropped.
    dropped: usize,
    /// The best right edge so far: a length or a time.
    best: i64,
    /// (start, greatest length) of the best window so far.
    pub(super) found: Option<(i64, i64)>,
}

impl<'a> Shrinking<'a> {
    pub(super) fn new(
        edge: RightEdge,
        budget: i128,
        wanted: usize,
        ranking: &'a NodeRanking,
    ) -> Self {
        Shrinking { edge, budget, wanted, ranking, dropped: 0, best: ANY_LENGTH, found: None }
    }

    fn limit(&self, now: i64) -> i64 {
        match self.edge {
            RightEdge::Finish if self.best != ANY_LENGTH => self.best - now,
            _ => self.best,
        }
    }

    /// Drops the node with the longest task; whether it was a member, and its length.
    fn drop_longest(&mut self, cheapest: &mut CheapestNodes<'_>) -> Option<(bool, i64)> {
        let (length, rank) = *self.ranking.longest_first().get(self.dropped)?;
        self.dropped += 1;
        Some((cheapest.remove(rank), length))
    }

    /// Drops all nodes with tasks of at least `limit` and lets the next cheapest in.
    fn drop_from(&mut self, limit: i64, cheapest: &mut CheapestNodes<'_>) {
        for &(length, rank) in &self.ranking.longest_first()[self.dropped..] {
            if length < limit {
                break;
            }
            cheapest.remove(rank);
            self.dropped += 1;
        }
        cheapest.refill();
    }
}

impl SweepVisitor for Shrinking<'_> {
    fn open(&mut self, now: i64, cheapest: &mut CheapestNodes<'_>) -> i64 {
        let limit = self.limit(now);
        if self.edge == RightEdge::Finish && self.found.is_some() {
            self.drop_from(limit, cheapest);
        }
        limit
    }

    fn close(&mut self, now: i64, cheapest: &mut CheapestNodes<'_>) -> ControlFlow<()> {
        while cheapest.sum().is_some_and(|sum| sum <= self.budget) {
            // The longest member: all longer ones that are dropped on the way are no members.
            let length = loop {
                match self.drop_longest(cheapest) {
                    Some((true, length)) => break length,
                    Some((false, _)) => {}
                    None => return ControlFlow::Break(()),
                }
            };
            self.found = Some((now, length));
            self.best = if self.edge == RightEdge::Finish { now + length } else { length };
            self.drop_from(length, cheapest);
        }
        let left = self.ranking.nodes.len() - self.dropped;
        if left < self.wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
