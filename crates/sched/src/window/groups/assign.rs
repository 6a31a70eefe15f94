//! Which node takes a task of which group: the assignment of least weight.
//!
//! Successive shortest augmenting paths (a minimum-cost flow). Tasks of one group are equal, so a
//! path visits each group at most once, and the graph has the groups alone as vertices: a group
//! takes a free node, or takes one of another group, which then looks for one itself. O(m · (a + g²) · g)
//! for m tasks in g groups and a nodes.

use std::ops::{Add, Sub};

use tradewind_model::NodeId;

/// What is minimised: the first number, then the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Weight(pub(super) i128, pub(super) i128);

impl Weight {
    pub(super) const NONE: Weight = Weight(0, 0);
}

impl Add for Weight {
    type Output = Weight;

    fn add(self, other: Weight) -> Weight {
        Weight(self.0 + other.0, self.1 + other.1)
    }
}

impl Sub for Weight {
    type Output = Weight;

    fn sub(self, other: Weight) -> Weight {
        Weight(self.0 - other.0, self.1 - other.1)
    }
}

/// What a task of each group weighs on each node that can take it.
#[derive(Debug, Clone)]
pub(super) struct Pairs {
    /// In ascending order.
    nodes: Vec<NodeId>,
    /// By node, then group; `None` where the node cannot take it.
    weights: Vec<Vec<Option<Weight>>>,
}

impl Pairs {
    /// By group, the nodes that can take its tasks.
    pub(super) fn new(by_group: Vec<Vec<(NodeId, Weight)>>) -> Pairs {
        let mut nodes: Vec<NodeId> = by_group.iter().flatten().map(|(node, _)| *node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut weights = vec![vec![None; by_group.len()]; nodes.len()];
        for (group, of_group) in by_group.into_iter().enumerate() {
            for (node, weight) in of_group {
                if let Ok(at) = nodes.binary_search(&node) {
                    weights[at][group] = Some(weight);
                }
            }
        }
        Pairs { nodes, weights }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.weights.iter().flatten().flatten().count()
    }

    /// The weight of a pair that there is.
    pub(super) fn weight(&self, (node, group): Pair) -> Option<Weight> {
        let at = self.nodes.binary_search(&node).ok()?;
        self.weights[at][group]
    }

    /// Without this pair.
    pub(super) fn remove(&mut self, (node, group): Pair) {
        if let Ok(at) = self.nodes.binary_search(&node) {
            self.weights[at][group] = None;
        }
    }

    /// Without this node.
    pub(super) fn remove_node(&mut self, node: NodeId) {
        if let Ok(at) = self.nodes.binary_search(&node) {
            self.weights[at].fill(None);
        }
    }

    /// The same pairs with other weights.
    pub(super) fn weighed(&self, by: impl Fn(Weight) -> Weight) -> Pairs {
        let row = |row: &Vec<Option<Weight>>| row.iter().map(|it| it.map(&by)).collect();
        Pairs { nodes: self.nodes.clone(), weights: self.weights.iter().map(row).collect() }
    }
}

/// A node, and the group of its task.
pub(super) type Pair = (NodeId, usize);

/// The lightest assignment of `wanted` tasks by group, in node order; `None` if not all can run.
pub(super) fn lightest(pairs: &Pairs, wanted: &[usize]) -> Option<(Weight, Vec<Pair>)> {
    let mut flow = Flow::new(pairs);
    let mut sum = Weight::NONE;
    for (group, &count) in wanted.iter().enumerate() {
        for _ in 0..count {
            sum = sum + flow.add(group)?;
        }
    }
    let taken = pairs.nodes.iter().zip(&flow.of);
    Some((sum, taken.filter_map(|(node, of)| Some((*node, (*of)?))).collect()))
}

/// The most of the `wanted` tasks that can run together.
pub(super) fn most(pairs: &Pairs, wanted: &[usize]) -> usize {
    let mut flow = Flow::new(pairs);
    let mut sum = 0;
    for (group, &count) in wanted.iter().enumerate() {
        // A group that gets no further node now gets none later, either.
        sum += (0..count).take_while(|_| flow.add(group).is_some()).count();
    }
    sum
}

/// How a group gets one more node.
#[derive(Debug, Clone, Copy)]
enum NodeStep {
    /// A free one, by its index.
    Free(usize),
    /// That of another group, which gets another one.
    From(usize, usize),
}

/// By group, how one more node is had, if it can be.
type Ways = Vec<Option<(Weight, NodeStep)>>;
/// By pair of groups, the index of the node that is moved.
type PairMoves = Vec<Option<(Weight, usize)>>;

/// A lightest assignment of so many tasks per group as were added.
struct Flow<'a> {
    pairs: &'a Pairs,
    /// By node.
    of: Vec<Option<usize>>,
}

impl<'a> Flow<'a> {
    fn new(pairs: &'a Pairs) -> Flow<'a> {
        Flow { pairs, of: vec![None; pairs.nodes.len()] }
    }

    /// One more task of the group, and what it adds; `None` if no node is left for it.
    fn add(&mut self, group: usize) -> Option<Weight> {
        let groups = self.pairs.weights.first()?.len();
        let (mut reach, moves) = self.edges(groups);
        for _ in 1..groups {
            for to in 0..groups {
                for from in 0..groups {
                    let Some((weight, node)) = moves[to * groups + from] else { continue };
                    let Some((rest, _)) = reach[from] else { continue };
                    let sum = weight + rest;
                    if reach[to].is_none_or(|(least, _)| sum < least) {
                        reach[to] = Some((sum, NodeStep::From(node, from)));
                    }
                }
            }
        }
        let (sum, _) = reach[group]?;
        let mut to = group;
        // There are no cycles of negative weight, so a path visits no group twice.
        for _ in 0..groups {
            match reach[to]?.1 {
                NodeStep::Free(node) => {
                    self.of[node] = Some(to);
                    break;
                }
                NodeStep::From(node, from) => {
                    self.of[node] = Some(to);
                    to = from;
                }
            }
        }
        Some(sum)
    }

    /// By group the lightest free node; by pair of groups the lightest move of a node to the
    /// first from the second.
    fn edges(&self, groups: usize) -> (Ways, PairMoves) {
        let mut free: Ways = vec![None; groups];
        let mut moves: PairMoves = vec![None; groups * groups];
        for (node, row) in self.pairs.weights.iter().enumerate() {
            let from = self.of[node];
            let now = from.and_then(|from| row[from]);
            for (to, weight) in row.iter().enumerate() {
                let Some(weight) = *weight else { continue };
                match (from, now) {
                    (Some(from), Some(now)) if from != to => {
                        let edge = &mut moves[to * groups + from];
                        if edge.is_none_or(|(least, _)| weight - now < least) {
                            *edge = Some((weight - now, node));
                        }
                    }
                    (None, _) if free[to].is_none_or(|(least, _)| weight < least) => {
                        free[to] = Some((weight, NodeStep::Free(node)));
                    }
                    _ => {}
                }
            }
        }
        (free, moves)
    }
}
