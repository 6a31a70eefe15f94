//! A search among some of the nodes.

use std::sync::Arc;

use tradewind_model::{Grid, NodeId, Request, Slot};

use super::super::limits::MoneyLimits;
use super::super::nodes::Method;
use super::super::prepared::PreparedRequest;
use super::super::ranking::{NodeRanking, Ranked};
use super::super::search::{Found, Scratch, Search};
use super::super::sweep::StartBounds;

/// Some nodes, and slots of theirs.
#[derive(Debug, Default)]
pub(super) struct Subset {
    pub(super) nodes: Vec<Ranked>,
    /// In any order. Nodes are places in `nodes`.
    pub(super) slots: Vec<Slot>,
}

impl Subset {
    /// Takes a slot of the node at `place`.
    pub(super) fn add(&mut self, place: usize, slot: &Slot) {
        self.slots.push(Slot { node: NodeId(place as u32), ..*slot });
    }

    /// Leaves out the nodes that are too dear beside the cheapest others; `false` if so many tasks
    /// cost more than the budget. O(n) for n nodes and their slots.
    pub(super) fn keep_affordable(&mut self, tasks: usize, budget: i128) -> bool {
        let mut costs: Vec<i64> = self.nodes.iter().map(|node| node.cost).collect();
        if costs.len() < tasks || tasks == 0 {
            return false;
        }
        costs.select_nth_unstable(tasks - 1);
        let others: i128 = costs[..tasks - 1].iter().map(|cost| i128::from(*cost)).sum();
        let dearest = budget - others;
        if i128::from(costs[tasks - 1]) > dearest {
            return false;
        }
        let mut left = 0;
        let places: Vec<Option<u32>> = (self.nodes.iter())
            .map(|node| {
                let place = (i128::from(node.cost) <= dearest).then_some(left);
                left += u32::from(place.is_some());
                place
            })
            .collect();
        if left as usize == self.nodes.len() {
            return true;
        }
        self.nodes.retain(|node| i128::from(node.cost) <= dearest);
        self.slots.retain_mut(|slot| match places[slot.node.0 as usize] {
            Some(place) => {
                slot.node = NodeId(place);
                true
            }
            None => false,
        });
        true
    }

    /// The best window of these nodes in these slots.
    pub(super) fn find(
        mut self,
        (grid, request, search): (&Grid, &Request, &Search),
        bounds: StartBounds,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        if self.nodes.len() < request.tasks as usize {
            return None;
        }
        self.slots.sort_unstable_by_key(|slot| slot.start);
        let ranking = Arc::new(NodeRanking::of_places(&self.nodes));
        let method = Method::choose(search, MoneyLimits::of(request, search), &ranking)?;
        let prepared = PreparedRequest::new(grid, request, search, ranking);
        prepared.find_by(&method, &self.slots, bounds, scratch)
    }
}
