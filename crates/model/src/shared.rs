//! What is free on shared nodes over time: vectors where whole nodes have spans.

use std::collections::BTreeMap;

use crate::{Grid, Horizon, NodeId, Resources, Slot, Time, Window};

/// What is free on a node from one moment until the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeStep {
    /// The first second.
    pub from: Time,
    /// What no task has.
    pub free: Resources,
}

/// The free resources of every shared node of a grid, as steps over time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SharedFree {
    nodes: BTreeMap<NodeId, SharedNode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SharedNode {
    all: Resources,
    /// In order of time, no two neighbours equal. Before the first one nothing is free, and the
    /// last one has nothing free.
    steps: Vec<FreeStep>,
}

impl SharedFree {
    /// All of every shared node within `horizon`, without what is taken by others. Parts may
    /// overlap and reach beyond the horizon; on nodes that are not shared they are of no account.
    /// What is taken twice is free for neither. O(parts × steps of a node).
    pub fn from_busy(
        grid: &Grid,
        horizon: Horizon,
        busy: &[(Slot, Option<Resources>)],
    ) -> SharedFree {
        let mut free = SharedFree::closed(grid);
        for (id, node) in &mut free.nodes {
            let Horizon { start, end } = horizon;
            let all = node.all.clone();
            node.change(Slot { start, end, node: *id }, |free| free.clone_from(&all));
        }
        for (span, part) in busy {
            let Some(node) = free.nodes.get_mut(&span.node) else { continue };
            let part = part.clone().unwrap_or_else(|| node.all.clone());
            let (start, end) = (span.start.max(horizon.start), span.end.min(horizon.end));
            node.change(Slot { start, end, ..*span }, |free| free.take(&part, 1));
        }
        free
    }

    /// What `slots` say is free, at most what the node has; nothing else is free. Slots of one node
    /// do not overlap; those on nodes that are not shared are of no account.
    pub fn from_slots(grid: &Grid, slots: &[(Slot, Option<Resources>)]) -> SharedFree {
        let mut free = SharedFree::closed(grid);
        for (span, part) in slots {
            let Some(node) = free.nodes.get_mut(&span.node) else { continue };
            let part = part.as_ref().map_or_else(|| node.all.clone(), |it| node.all.lesser(it));
            node.change(*span, |free| free.clone_from(&part));
        }
        free
    }

    /// Every shared node of the grid, with nothing free.
    fn closed(grid: &Grid) -> SharedFree {
        let shared = grid.iter().filter(|(id, _)| grid.is_shared(*id));
        let nodes = shared.filter_map(|(id, _)| {
            let all = grid.resources(id)?.all.clone();
            Some((id, SharedNode { all, steps: Vec::new() }))
        });
        SharedFree { nodes: nodes.collect() }
    }

    /// What is free on the node over time: nothing before the first step, and nothing from the
    /// last one on. `None` for nodes that are not shared.
    pub fn steps(&self, node: NodeId) -> Option<&[FreeStep]> {
        self.nodes.get(&node).map(|node| node.steps.as_slice())
    }

    /// Whether tasks may share the node.
    pub fn has(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    /// The first and the last moment between which anything is free.
    pub(crate) fn bounds(&self) -> (Option<Time>, Option<Time>) {
        let steps = || self.nodes.values().map(|node| &node.steps);
        let first = steps().filter_map(|steps| steps.first()).map(|step| step.from).min();
        let last = steps().filter_map(|steps| steps.last()).map(|step| step.from).max();
        (first, last)
    }

    /// The spans in which the whole node is free, for every shared node in turn.
    pub(crate) fn whole(&self) -> impl Iterator<Item = Slot> + '_ {
        self.nodes.iter().flat_map(|(id, node)| node.whole(*id))
    }

    /// What is free within these intervals `[start, end)`, which are in order and apart; nothing is
    /// elsewhere. O(steps × log intervals + intervals) for each node.
    pub(crate) fn within(&self, intervals: &[(Time, Time)]) -> SharedFree {
        let node = |(id, node): (&NodeId, &SharedNode)| {
            let mut within = SharedNode { all: node.all.clone(), steps: Vec::new() };
            for pair in node.steps.windows(2) {
                let span = Slot { start: pair[0].from, end: pair[1].from, node: *id };
                for part in span.within(intervals) {
                    within.change(part, |free| free.clone_from(&pair[0].free));
                }
            }
            (*id, within)
        };
        SharedFree { nodes: self.nodes.iter().map(node).collect() }
    }

    /// The most tasks that take `each` (all of the node if `None`) and fit throughout the span.
    pub fn places(&self, span: Slot, each: Option<&Resources>) -> u32 {
        let Some(node) = self.nodes.get(&span.node) else { return 0 };
        let each = each.unwrap_or(&node.all);
        let from = node.steps.partition_point(|step| step.from <= span.start);
        let Some(first) = from.checked_sub(1) else { return 0 };
        let during = node.steps[first..].iter().take_while(|step| step.from < span.end);
        during.map(|step| step.free.places(each)).min().unwrap_or(0)
    }

    /// Takes `count` times `each` (all of the node if `None`) out of the span.
    pub(crate) fn take(&mut self, span: Slot, each: Option<&Resources>, count: u32) {
        let Some(node) = self.nodes.get_mut(&span.node) else { return };
        let each = each.unwrap_or(&node.all).clone();
        node.change(span, |free| free.take(&each, count));
    }
}

impl SharedNode {
    /// Changes what is free within the span.
    fn change(&mut self, span: Slot, mut change: impl FnMut(&mut Resources)) {
        if span.start >= span.end {
            return;
        }
        let first = self.split(span.start);
        let last = self.split(span.end);
        for step in &mut self.steps[first..last] {
            change(&mut step.free);
        }
        self.steps.dedup_by(|later, earlier| later.free == earlier.free);
        let nothing = self.all.emptied();
        if self.steps.first().is_some_and(|step| step.free == nothing) {
            self.steps.remove(0);
        }
    }

    /// The index of the step that begins at `at`, which is made if there is none.
    fn split(&mut self, at: Time) -> usize {
        let after = self.steps.partition_point(|step| step.from < at);
        if self.steps.get(after).is_some_and(|step| step.from == at) {
            return after;
        }
        let before = after.checked_sub(1).and_then(|before| self.steps.get(before));
        let free = before.map_or_else(|| self.all.emptied(), |step| step.free.clone());
        self.steps.insert(after, FreeStep { from: at, free });
        after
    }

    fn whole(&self, node: NodeId) -> impl Iterator<Item = Slot> + '_ {
        self.steps.windows(2).filter(|pair| pair[0].free.holds(&self.all)).map(move |pair| Slot {
            start: pair[0].from,
            end: pair[1].from,
            node,
        })
    }
}

/// The tasks of a window on one node: how many, and the span that each of them takes.
pub(crate) fn by_node(window: &Window) -> impl Iterator<Item = (Slot, u32)> + '_ {
    let start = window.start();
    window.tasks().chunk_by(|one, other| one.node == other.node).map(move |tasks| {
        let (node, length) = (tasks[0].node, tasks[0].length);
        (Slot { start, end: start + length, node }, tasks.len() as u32)
    })
}

#[cfg(test)]
mod tests;
