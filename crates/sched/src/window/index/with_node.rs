//! The best window with a given node that starts in a given span: few nodes can be part of it.

use tradewind_model::Slot;

use super::super::ranking::Ranked;
use super::super::search::{Found, Scratch};
use super::orders::{NodeOrders, OrderBy};
use super::query::Query;

/// Which windows may be worth while.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowBounds {
    /// The first and the last start.
    pub(super) starts: (i64, i64),
    /// What each node may take at most.
    pub(super) each: (OrderBy, i128),
    /// What all together may take at most, if anything limits it.
    pub(super) sum: Option<(OrderBy, i128)>,
}

impl Query<'_> {
    /// The best window within `bounds` on `node` and nodes of `orders`, as long as it contains `node`.
    /// What is found otherwise is a window, but maybe not the best.
    pub(super) fn with_node(
        mut self,
        (node, orders): (&Ranked, &NodeOrders),
        bounds: WindowBounds,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let others = self.wanted() - 1;
        let mut nodes = if others == 0 { Vec::new() } else { self.others_at(orders, node, bounds) };
        if let Some(sum) = bounds.sum {
            retain_affordable(&mut nodes, (node, others), sum);
        }
        if nodes.len() < others {
            return None;
        }
        nodes.push(*node);
        let (first, last) = bounds.starts;
        self.bounds.from = self.bounds.from.max(first);
        self.among(nodes, |_, slot| slot.start.0 <= last, scratch)
    }

    /// The other nodes of `orders` that are free at some of the starts.
    fn others_at(&self, orders: &NodeOrders, node: &Ranked, bounds: WindowBounds) -> Vec<Ranked> {
        let (by, limit) = bounds.each;
        let (first, last) = bounds.starts;
        let is_free = |it: &Ranked, slot: &Slot| {
            let starts = self.bounds.starts(slot, it.length);
            starts.is_some_and(|(from, until)| from <= last && first <= until)
        };
        let (order, sum) = bounds.sum.unwrap_or((by, i128::MAX));
        let mut left = sum - i128::from(taken(node, order));
        let mut nodes = Vec::new();
        for (bound, id) in orders.walk(self.request, order) {
            let bound = i128::from(bound);
            if bound > left || order == by && bound > limit {
                break;
            }
            let Some(it) = self.ranked(id).filter(|_| id != node.node) else { continue };
            if i128::from(taken(&it, by)) <= limit
                && self.slots_of(id).iter().any(|slot| is_free(&it, slot))
            {
                nodes.push(it);
                // Those that come now are beside as many that take no less than the first ones.
                if nodes.len() < self.wanted() - 1 {
                    left -= bound;
                }
            }
        }
        nodes
    }
}

fn taken(node: &Ranked, by: OrderBy) -> i64 {
    match by {
        OrderBy::Cost => node.cost,
        OrderBy::Length => node.length,
    }
}

/// Leaves the nodes that can be in a window with `node` and `others` of them within the sum.
fn retain_affordable(
    nodes: &mut Vec<Ranked>,
    (node, others): (&Ranked, usize),
    (by, sum): (OrderBy, i128),
) {
    if others == 0 || nodes.len() < others {
        return;
    }
    nodes.select_nth_unstable_by_key(others - 1, |it| taken(it, by));
    let least: i128 = nodes[..others - 1].iter().map(|it| i128::from(taken(it, by))).sum();
    let left = sum - i128::from(taken(node, by)) - least;
    nodes.retain(|it| i128::from(taken(it, by)) <= left);
}
