//! Jobs whose tasks may share nodes.
//!
//! A node on which k tasks of a request fit is k *places*, and the places of all nodes are a grid
//! of whole nodes: place j of a node is free while more than j tasks fit. A node has room for c tasks
//! throughout a span exactly if c of its places are free throughout it, since the smallest number
//! of tasks that fit in any second of the span is how many places are free in all of its seconds.
//! So a window on places is a window on shared nodes and the other way round, at the same start, with
//! the same lengths and costs: every search for whole nodes answers with its own proof, exact or with
//! a gap. What is free on a node may be a vector of any number of resources; only how many tasks fit
//! counts.
//!
//! Among nodes on which a task takes as long and costs as much, the packing rule says in the end
//! which of them have the tasks (`packing`). A list of places costs O(s + p log p) for s steps of what
//! is free and p spans of places.

mod packing;
mod short;

use std::sync::Arc;

use tradewind_model::{
    Grid, Money, Node, NodeId, Packing, Rates, Reason, Request, Resources, Slot, SlotList, Task,
    TaskNeeds, Time, Window,
};

use super::nodes::NodeSearcher;
use super::ranking::NodeRanking;
use super::search::{Found, Scratch, Search};

/// A request whose tasks may share nodes, prepared for one grid.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// On the grid of places.
    inner: NodeSearcher,
    of_nodes: NodePlaces,
    /// By node, the first of the nodes among which tasks may be exchanged.
    alike: Vec<u32>,
    packing: Packing,
}

/// Which places belong to which node.
#[derive(Debug, Clone)]
struct NodePlaces {
    each: Arc<Resources>,
    /// By place, its node.
    node_of: Vec<NodeId>,
    /// By node, its first place; one more at the end.
    first: Vec<u32>,
}

impl Places {
    /// `None` if each task of the request has a whole node.
    pub(super) fn of(grid: &Grid, request: &Request, search: &Search) -> Option<Box<Places>> {
        let needs = request.needs.as_deref().filter(|_| request.others.is_empty())?;
        let of_nodes = NodePlaces::new(grid, request, needs);
        let grid_of_places = of_nodes.grid(grid, request)?;
        let on_places = Request { needs: None, ..request.clone() };
        Some(Box::new(Places {
            inner: NodeSearcher::new(&grid_of_places, &on_places, search),
            alike: alike(grid),
            packing: needs.packing,
            of_nodes,
        }))
    }

    /// The best window, with tasks on nodes by the packing rule.
    pub(super) fn find(
        &self,
        slots: &SlotList,
        from: Time,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let places = self.of_nodes.free(slots);
        let found = self.inner.find(&places, from, scratch)?;
        let window = self.on_nodes(&found.window, &places)?;
        Some(Found { window, ..found })
    }

    /// The same where no task is longer than `longest` seconds, with another budget.
    pub(super) fn capped(&self, longest: i64, budget: Option<Money>) -> Box<Places> {
        Box::new(Places { inner: self.inner.capped(longest, budget), ..self.clone() })
    }

    /// The places that suit.
    pub(super) fn ranking(&self) -> &NodeRanking {
        &self.inner.prepared.ranking
    }

    /// Why there is no window on these slots, as far as it is not one resource alone.
    pub(super) fn reason(&self, slots: &SlotList, scratch: &mut Scratch) -> Reason {
        let places = self.of_nodes.free(slots);
        match self.inner.reason(&places, scratch) {
            Reason::WiderThanGrid { needed, nodes } => {
                Reason::TooFewPlaces { needed, max: nodes, deadline: None }
            }
            Reason::TooFewNodes { needed, suitable, .. } => {
                Reason::TooFewPlaces { needed, max: suitable, deadline: None }
            }
            Reason::NoCommonTime { needed, max, deadline } => {
                Reason::TooFewPlaces { needed, max, deadline }
            }
            other => other,
        }
    }

    /// The window with the tasks of each class of like nodes shared out among them.
    fn on_nodes(&self, window: &Window, places: &SlotList) -> Option<Window> {
        let node_of = |place: NodeId| self.of_nodes.node_of[place.0 as usize];
        let class = |task: &Task| self.alike[node_of(task.node).0 as usize];
        let mut tasks = window.tasks().to_vec();
        tasks.sort_by_key(class);
        let mut packed: Vec<Task> = Vec::with_capacity(tasks.len());
        for equal in tasks.chunk_by(|one, other| class(one) == class(other)) {
            let span = (window.start(), window.start() + equal[0].length);
            let free = self.free_places(places, class(&equal[0]), span);
            for (node, count) in packing::share_out(self.packing, equal.len() as u32, &free) {
                let task = Task { node, ..equal[0] };
                packed.extend(std::iter::repeat_n(task, count as usize));
            }
        }
        Window::sharing(window.start(), packed, Arc::clone(&self.of_nodes.each)).ok()
    }

    /// The nodes of a class in order, with how many of their places are free throughout the span.
    fn free_places(
        &self,
        places: &SlotList,
        class: u32,
        (start, end): (Time, Time),
    ) -> Vec<(NodeId, u32)> {
        let all = places.as_slice();
        let reach = all.partition_point(|slot| slot.start <= start);
        let free = all[..reach].iter().filter(|slot| slot.end >= end);
        let nodes = free.map(|slot| self.of_nodes.node_of[slot.node.0 as usize]);
        let mut nodes: Vec<NodeId> =
            nodes.filter(|node| self.alike[node.0 as usize] == class).collect();
        nodes.sort_unstable();
        nodes.chunk_by(|one, other| one == other).map(|run| (run[0], run.len() as u32)).collect()
    }
}

impl NodePlaces {
    /// No node has more places than the request has tasks.
    fn new(grid: &Grid, request: &Request, needs: &TaskNeeds) -> NodePlaces {
        let mut node_of = Vec::new();
        let mut first = vec![0];
        for (id, node) in grid.iter() {
            let places = match request.suits(node) {
                true => grid.places(id, request).min(request.tasks),
                false => 0,
            };
            node_of.extend(std::iter::repeat_n(id, places as usize));
            first.push(node_of.len() as u32);
        }
        NodePlaces { each: Arc::new(needs.each.clone()), node_of, first }
    }

    /// The places as nodes, each at the price of a task. `None` if there are more than a grid may
    /// have, which [`tradewind_model::Snapshot::check`] excludes.
    fn grid(&self, grid: &Grid, request: &Request) -> Option<Grid> {
        let place = |(number, id): (usize, &NodeId)| Node {
            name: number.to_string(),
            price: grid.price_for(*id, request),
            ..grid.node(*id).clone()
        };
        let nodes = self.node_of.iter().enumerate().map(place).collect();
        let places = Grid::new(grid.sites().to_vec(), nodes).ok()?;
        let rate = |id: &NodeId| grid.rate(*id).filter(|_| !grid.is_shared(*id)).cloned();
        Some(places.with_rates(Rates::new(self.node_of.iter().map(rate).collect())))
    }

    /// When each place is free.
    fn free(&self, slots: &SlotList) -> SlotList {
        let mut spans = Vec::new();
        let shared = slots.shared();
        for slot in slots.as_slice() {
            let node = slot.node.0 as usize;
            let is_shared = shared.is_some_and(|shared| shared.has(slot.node));
            if !is_shared && self.first[node] < self.first[node + 1] {
                spans.push(Slot { node: NodeId(self.first[node]), ..*slot });
            }
        }
        for (node, pair) in self.first.windows(2).enumerate().filter(|(_, it)| it[0] < it[1]) {
            let steps = shared.and_then(|shared| shared.steps(NodeId(node as u32)));
            self.stack(steps.unwrap_or_default(), (pair[0], pair[1] - pair[0]), &mut spans);
        }
        SlotList::new(spans).unwrap_or_default()
    }

    /// The spans of the `count` places from `first` on: the lowest places are free the longest.
    fn stack(
        &self,
        steps: &[tradewind_model::FreeStep],
        (first, count): (u32, u32),
        spans: &mut Vec<Slot>,
    ) {
        let mut since: Vec<Time> = Vec::new();
        for step in steps {
            let now = step.free.places(&self.each).min(count) as usize;
            while since.len() > now
                && let Some(start) = since.pop()
            {
                let node = NodeId(first + since.len() as u32);
                spans.push(Slot { start, end: step.from, node });
            }
            since.resize(now, step.from);
        }
    }
}

/// The spans in which at least one task of the request has a place, by node.
pub(crate) fn spans_for_one(grid: &Grid, slots: &SlotList, request: &Request) -> Vec<Slot> {
    let Some(needs) = &request.needs else { return slots.as_slice().to_vec() };
    let of_nodes = NodePlaces::new(grid, &Request { tasks: 1, ..request.clone() }, needs);
    let node = |slot: &Slot| Slot { node: of_nodes.node_of[slot.node.0 as usize], ..*slot };
    of_nodes.free(slots).as_slice().iter().map(node).collect()
}

/// Kinds of nodes of a grid that are remembered, the last ones, so that a grid without two equal
/// nodes costs no square of its size.
const MOST_KINDS: usize = 64;

/// By node, the first node that is like it in all that a search looks at: a task takes as long,
/// costs as much and counts as much there, at the same site.
fn alike(grid: &Grid) -> Vec<u32> {
    let mut first_of: Vec<u32> = Vec::new();
    let mut alike = Vec::with_capacity(grid.len());
    for (id, node) in grid.iter() {
        let like = |other: &&u32| {
            let (other, known) = (NodeId(**other), grid.node(NodeId(**other)));
            known.site == node.site
                && known.performance == node.performance
                && known.times == node.times
                && known.price == node.price
                && known.attributes == node.attributes
                && grid.resources(other) == grid.resources(id)
                && grid.rate(other).is_none()
                && grid.rate(id).is_none()
        };
        let found = first_of.iter().rev().take(MOST_KINDS).find(like).copied();
        if found.is_none() {
            first_of.push(id.0);
        }
        alike.push(found.unwrap_or(id.0));
    }
    alike
}

pub(crate) use short::least_demand;
pub(super) use short::reason;

#[cfg(test)]
mod tests;
