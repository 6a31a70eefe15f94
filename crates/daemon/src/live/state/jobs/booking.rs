//! Windows that are set aside for jobs.

use std::collections::BTreeMap;

use tradewind_model::{Demand, Money, Place, PoolId, Pools, Price, Share, Span, Time};

/// Nodes that are set aside for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booking {
    /// From when on.
    pub start: Time,
    /// Until when, by share of the place.
    pub ends: Vec<Time>,
    /// Where.
    pub place: Place,
    /// What it pays per node and second, by share of the place.
    pub prices: Vec<Price>,
    /// Of a job whose tasks differ: its parts, a group may have several. Then the place has the nodes
    /// of all groups by pool, and each of its ends is that of the longest part there.
    pub groups: Option<Vec<BookedPart>>,
}

/// Nodes of one pool that a job gets in its window for tasks that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BookedPart {
    /// Which of the job's groups of tasks they are for, from 0 on; 0 where all tasks are equal.
    pub group: u32,
    /// Where, and how many.
    pub share: Share,
    /// Until when.
    pub end: Time,
    /// What it pays per node and second.
    pub price: Price,
}

impl Booking {
    /// The window of a job whose tasks differ, in these parts; `price` is what a pool asks of a task
    /// for so long.
    pub fn of_groups(
        start: Time,
        parts: impl IntoIterator<Item = (u32, Share, Span)>,
        price: impl Fn(PoolId, Span) -> Price,
    ) -> Booking {
        let (mut pools, mut groups) = (BTreeMap::new(), Vec::new());
        for (group, share, length) in parts {
            let end = start + length;
            let (nodes, last) = pools.entry(share.pool).or_insert((0, end));
            *nodes += share.nodes;
            *last = end.max(*last);
            groups.push(BookedPart { group, share, end, price: price(share.pool, length) });
        }
        let share =
            |(pool, (nodes, _)): (&PoolId, &(u32, Time))| Share { pool: *pool, nodes: *nodes };
        let place = Place::counted(pools.iter().map(share).collect());
        let prices = pools.iter().map(|(pool, (_, end))| price(*pool, *end - start)).collect();
        let ends = pools.values().map(|(_, end)| *end).collect();
        Booking { start, ends, place, prices, groups: Some(groups) }
    }

    /// The parts that a job of so many tasks gets: one for each share of the place, or those of its
    /// groups.
    pub fn parts(&self, tasks: u32) -> Vec<BookedPart> {
        if let Some(groups) = &self.groups {
            return groups.clone();
        }
        let shares = self.place.shares(tasks).zip(&self.ends).zip(&self.prices);
        let part = |((share, end), price): ((Share, &Time), &Price)| BookedPart {
            group: 0,
            share,
            end: *end,
            price: *price,
        };
        shares.map(part).collect()
    }

    /// Whether its nodes are kept for as long as the job may need them.
    pub(in crate::live) fn lasts(&self, demand: &Demand, pools: &Pools) -> bool {
        let is_enough = |part: BookedPart| {
            self.start + pools.pool(part.share.pool).length_of(demand) <= part.end
        };
        self.groups.is_some() || self.parts(demand.processors).into_iter().all(is_enough)
    }

    /// What it costs a job of so many tasks at most.
    pub fn max(&self, tasks: u32) -> Money {
        let cost = |part: &BookedPart| part.price.of(part.share.nodes, part.end - self.start);
        self.parts(tasks).iter().map(cost).sum()
    }

    /// What must be free for it, by part: all nodes of the part's pool that it needs until the part's
    /// end.
    pub(in crate::live) fn needs(&self, tasks: u32) -> Vec<BookedPart> {
        let parts = self.parts(tasks);
        let nodes = |part: &BookedPart| {
            let lasts = |it: &&BookedPart| it.share.pool == part.share.pool && it.end >= part.end;
            parts.iter().filter(lasts).map(|it| it.share.nodes).sum()
        };
        let with = |part: &BookedPart| {
            let share = Share { pool: part.share.pool, nodes: nodes(part) };
            BookedPart { share, ..*part }
        };
        parts.iter().map(with).collect()
    }

    /// How long ago its start is at `at`.
    pub(in crate::live) fn late_by(&self, at: Time) -> Span {
        Span((at - self.start).0.max(0))
    }

    /// The same window, so much later.
    pub(in crate::live::state) fn later_by(&self, late: Span) -> Booking {
        let ends = self.ends.iter().map(|end| *end + late).collect();
        let later = |part: &BookedPart| BookedPart { end: part.end + late, ..*part };
        let groups = self.groups.as_ref().map(|groups| groups.iter().map(later).collect());
        Booking { start: self.start + late, ends, groups, ..self.clone() }
    }
}
