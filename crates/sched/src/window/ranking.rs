//! The nodes that suit a request, from the most to the minimum wanted.

use std::sync::OnceLock;

use tradewind_model::{Attribute, Criterion, Grid, Money, Node, NodeId, Request, Span, Task};

use super::limits::MoneyLimits;
use super::search::{Algorithm, Search, Variant};

/// A length that fits no slot: what a node that does not suit shows.
const NEVER: i64 = i64::MAX / 4;

/// What a scan must know of a slot's node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    /// Of a task on it, in seconds.
    pub(super) length: i64,
    /// Its place in the ranking.
    pub(super) rank: u32,
}

/// One suitable node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ranked {
    pub(super) node: NodeId,
    /// Of a task on it, in seconds.
    pub(super) length: i64,
    /// Of a task on it, in micro-credits.
    pub(super) cost: i64,
    /// Of a task on it, in the criterion's own unit, where the criterion is a sum; else the cost.
    pub(super) value: i64,
    /// What the ranking goes by.
    pub(super) weight: i64,
}

/// The suitable nodes in order of (weight, cost, length, node).
///
/// Length and cost belong to the node, not to the slot, so that this order is known before the
/// scan. With the cost as weight the first nodes of a set are also the best by the second stage:
/// least cost, then the shortest among equals, then node order.
#[derive(Debug, Clone)]
pub(super) struct NodeRanking {
    /// Fit of each node to the request.
    pub(super) fits: Vec<Fit>,
    /// Suitable nodes, in the order of their ranks.
    pub(super) nodes: Vec<Ranked>,
    /// (length, rank) from the longest task to the shortest, once they were needed.
    by_length: OnceLock<Vec<(i64, u32)>>,
}

/// What a ranking goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RankBy {
    Cost,
    Value,
}

impl NodeRanking {
    /// Ranks the nodes of `grid` that suit `request` under the price cap of `limits` and that
    /// have the number that a [`Criterion::Sum`] adds up. O(n log n) for n nodes.
    pub(super) fn new(
        grid: &Grid,
        request: &Request,
        limits: MoneyLimits,
        criterion: &Criterion,
        by: RankBy,
    ) -> NodeRanking {
        let mut nodes = Vec::with_capacity(grid.len());
        for (id, node) in grid.iter() {
            let affordable = limits.max_price.is_none_or(|max| grid.lowest_price(id) <= max);
            if !affordable || !request.suits(node) {
                continue;
            }
            nodes.extend(Ranked::new((id, node), request, criterion, by));
        }
        NodeRanking::sorted(&nodes, grid.len())
    }

    /// The same nodes ranked by another weight.
    pub(super) fn reweighted(&self, weight: impl Fn(&Ranked) -> i64) -> NodeRanking {
        let with = |it: &Ranked| Ranked { weight: weight(it), ..*it };
        let nodes: Vec<Ranked> = self.nodes.iter().map(with).collect();
        NodeRanking::sorted(&nodes, self.fits.len())
    }

    /// Only the nodes that `keep` says, in the same order.
    pub(super) fn keeping(&self, keep: impl Fn(&Ranked) -> bool) -> NodeRanking {
        let nodes: Vec<Ranked> = self.nodes.iter().copied().filter(|it| keep(it)).collect();
        NodeRanking::sorted(&nodes, self.fits.len())
    }

    /// Of a task on this node, in seconds; longer than any slot if the node is not ranked.
    pub(super) fn length_on(&self, node: NodeId) -> i64 {
        self.fits[node.0 as usize].length
    }

    /// `nodes` (in any order) ranked; `all` is the size of their grid.
    fn sorted(nodes: &[Ranked], all: usize) -> NodeRanking {
        let order = order_of(nodes);
        let nodes: Vec<Ranked> = order.iter().map(|&(_, i)| nodes[i as usize]).collect();
        let mut fits = vec![Fit { length: NEVER, rank: 0 }; all];
        for (it, rank) in nodes.iter().zip(0..) {
            fits[it.node.0 as usize] = Fit { length: it.length.min(NEVER), rank };
        }
        NodeRanking { fits, nodes, by_length: OnceLock::new() }
    }

    /// Ranks `nodes`, where slots name them by their places in it instead of their ids.
    pub(super) fn of_places(nodes: &[Ranked]) -> NodeRanking {
        let order = order_of(nodes);
        let mut fits = vec![Fit { length: NEVER, rank: 0 }; nodes.len()];
        for (&(_, place), rank) in order.iter().zip(0..) {
            let length = nodes[place as usize].length.min(NEVER);
            fits[place as usize] = Fit { length, rank };
        }
        let nodes = order.iter().map(|&(_, place)| nodes[place as usize]).collect();
        NodeRanking { fits, nodes, by_length: OnceLock::new() }
    }

    /// (length, rank) from the longest task to the shortest. O(n log n) at the first call.
    pub(super) fn longest_first(&self) -> &[(i64, u32)] {
        self.by_length.get_or_init(|| self.sorted_by_length())
    }

    fn sorted_by_length(&self) -> Vec<(i64, u32)> {
        let mut all: Vec<(i64, u32)> = Vec::with_capacity(self.nodes.len());
        all.extend(self.nodes.iter().zip(0..).map(|(it, rank)| (-it.length, rank)));
        all.sort_unstable();
        all.iter_mut().for_each(|it| it.0 = -it.0);
        all
    }

    /// The task on the node of this rank.
    pub(super) fn task(&self, rank: u32) -> Task {
        self.nodes[rank as usize].task()
    }
}

/// The order of `nodes` as (weight, place).
fn order_of(nodes: &[Ranked]) -> Vec<(i64, u32)> {
    // Small keys sort fast; ties are put in order afterwards.
    let mut order: Vec<(i64, u32)> = Vec::with_capacity(nodes.len());
    order.extend(nodes.iter().zip(0..).map(|(it, i)| (it.weight, i)));
    order.sort_unstable();
    for tied in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|tied| tied.len() > 1) {
        tied.sort_unstable_by_key(|&(_, i)| {
            let it = &nodes[i as usize];
            (it.cost, it.length, it.node)
        });
    }
    order
}

impl RankBy {
    /// What the ranking for `search` goes by.
    pub(super) fn of(search: &Search) -> RankBy {
        match (search.variant, &search.algorithm) {
            (Variant::Exact, Algorithm::Best(Criterion::ProcessorTime | Criterion::Sum(_))) => {
                RankBy::Value
            }
            _ => RankBy::Cost,
        }
    }
}

impl Ranked {
    /// A task of `request` on the node; `None` if it lacks the number that the criterion adds up.
    pub(super) fn new(
        (id, node): (NodeId, &Node),
        request: &Request,
        criterion: &Criterion,
        by: RankBy,
    ) -> Option<Ranked> {
        // A task of no length could not be cut out of a slot; requests ask for some work.
        let length = request.length_on(node).max(Span(1));
        let cost = (node.price * length).0;
        let value = value_of(criterion, node, length.0, cost)?;
        let weight = if by == RankBy::Cost { cost } else { value };
        Some(Ranked { node: id, length: length.0, cost, value, weight })
    }

    /// The task on this node.
    pub(super) fn task(&self) -> Task {
        Task { node: self.node, length: Span(self.length), cost: Money(self.cost), group: 0 }
    }
}

/// What a task adds to a criterion that is a sum; the cost for the others. `None` if the node
/// lacks the number to add up.
fn value_of(criterion: &Criterion, node: &Node, length: i64, cost: i64) -> Option<i64> {
    match criterion {
        Criterion::ProcessorTime => Some(length),
        Criterion::Sum(name) => match node.attributes.get(name) {
            Some(Attribute::Number(rate)) => Some(rate.saturating_mul(length)),
            _ => None,
        },
        _ => Some(cost),
    }
}
