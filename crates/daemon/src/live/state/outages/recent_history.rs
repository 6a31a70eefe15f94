//! The last days: the prices that owners asked, and outages. They are kept for people who look back
//! and for nothing else, and within bounds.

use std::collections::{BTreeMap, VecDeque};

use tradewind_model::{Outage, PoolId, Price, Span, Time};

use super::Why;

/// Prices and outages of the last days. It follows from the records alone, so that a replay tells the
/// same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecentHistory {
    /// By pool.
    pub prices: BTreeMap<PoolId, PriceSince>,
    /// Outages that had begun and are over, by their ends, the oldest first: those of the last
    /// [`RecentHistory::SPAN`], but [`RecentHistory::OUTAGES`] at most.
    pub outages: VecDeque<PastOutage>,
    /// Outages that ended up to this moment were too many, and are forgotten.
    pub forgotten: Option<Time>,
}

/// What a pool's nodes cost from when on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceSince {
    /// Changes, the oldest first: those of the last [`RecentHistory::SPAN`] and the one before them, but
    /// [`PriceSince::POINTS`] at most. No two of one moment, and each to another price than before.
    pub points: VecDeque<(Time, Price)>,
    /// There were too many: before this moment only some of the changes are there.
    pub thinned: Option<Time>,
}

/// Nodes that were missing for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastOutage {
    /// On whose account.
    pub why: Why,
    /// How many.
    pub nodes: u32,
    /// From when on.
    pub from: Time,
    /// Until when, later than `from`.
    pub until: Time,
}

impl RecentHistory {
    /// So far back: as long as jobs are kept after their ends, unless the settings say otherwise.
    pub const SPAN: Span = Span(7 * 24 * 3_600);
    /// Outages that are kept.
    pub const OUTAGES: usize = 8_192;

    /// What a node of the pool cost at `at`, as far as is known. Logarithmic.
    pub fn price(&self, pool: PoolId, at: Time) -> Option<Price> {
        let points = &self.prices.get(&pool)?.points;
        let behind = points.partition_point(|(from, _)| *from <= at);
        points.get(behind.checked_sub(1)?).map(|(_, price)| *price)
    }

    /// The pool costs so much from `at` on.
    pub(in crate::live::state) fn priced(&mut self, at: Time, pool: PoolId, price: Price) {
        self.prices.entry(pool).or_default().push(at, price);
    }

    /// An outage that had begun is over. One that was announced again, because its end had changed,
    /// goes on where it stopped. Linear in what ended since it began.
    pub(in crate::live::state) fn reopened(&mut self, at: Time, why: &Why, what: &Outage) {
        let since = self.outages.iter().rev().take_while(|it| it.until > what.from);
        let last = since.enumerate().find(|(_, it)| it.why == *why).map(|(behind, _)| behind);
        let last = last.map(|behind| self.outages.len() - 1 - behind);
        let mut gone =
            PastOutage { why: why.clone(), nodes: what.nodes, from: what.from, until: at };
        if let Some(before) = last.and_then(|place| self.outages.get(place)) {
            gone.from = before.until;
            if before.nodes == gone.nodes {
                gone.from = before.from;
                last.and_then(|place| self.outages.remove(place));
            }
        }
        if gone.from < gone.until {
            self.outages.push_back(gone);
        }
        let old = |it: &PastOutage| it.until <= at - RecentHistory::SPAN;
        while self.outages.front().is_some_and(old) {
            self.outages.pop_front();
        }
        while self.outages.len() > RecentHistory::OUTAGES {
            self.forgotten = self.outages.pop_front().map(|it| it.until);
        }
    }
}

impl PriceSince {
    /// Changes that are kept. Beyond that every other one of the older half is forgotten: what is
    /// long ago has fewer steps.
    pub const POINTS: usize = 1_024;

    fn push(&mut self, at: Time, price: Price) {
        match self.points.back_mut() {
            Some((_, last)) if *last == price => return,
            Some((then, last)) if *then == at => *last = price,
            _ => self.points.push_back((at, price)),
        }
        // It may be back at what it was before this moment.
        let same = |one: usize, other: usize| {
            self.points.get(one).map(|it| it.1) == self.points.get(other).map(|it| it.1)
        };
        let count = self.points.len();
        if count > 1 && same(count - 1, count - 2) {
            self.points.pop_back();
        }
        while self.points.get(1).is_some_and(|(next, _)| *next <= at - RecentHistory::SPAN) {
            self.points.pop_front();
        }
        if self.points.len() > PriceSince::POINTS {
            self.thin();
        }
    }

    fn thin(&mut self) {
        let half = PriceSince::POINTS / 2;
        self.thinned = self.points.get(half).map(|(at, _)| *at);
        let mut kept: VecDeque<(Time, Price)> = VecDeque::with_capacity(PriceSince::POINTS);
        for (place, point) in self.points.iter().enumerate() {
            let again = kept.back().is_some_and(|(_, last)| *last == point.1);
            if (place >= half || place % 2 == 0) && !again {
                kept.push_back(*point);
            }
        }
        self.points = kept;
    }
}

#[cfg(test)]
mod tests;
