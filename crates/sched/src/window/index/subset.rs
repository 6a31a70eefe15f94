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
