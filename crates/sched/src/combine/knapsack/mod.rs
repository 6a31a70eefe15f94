//! The multiple-choice knapsack problem, exact, over integers.
//!
//! Each class offers items with a weight and a value; one item of each class is taken, and the
//! weights together keep to a capacity. Values are wanted small and may be negative. Three ideas
//! make it fast without a table of the size of the capacity:
//!
//! 1. `reduce`: items that no optimum needs are dropped, and weights and values are counted in
//!    their common divisors.
//! 2. `relax`: the linear relaxation, solved on the lower convex hulls of the classes, prices a
//!    unit of weight. At that price every item has a *loss* ≥ 0, what choosing it gives away
//!    against its class's best. A solution better than one at hand has losses that sum to at most
//!    a small number, so nearly every item is out.
//! 3. `search`: what is left, the core, is split into two halves; the undominated states of each
//!    half are listed and the lists are swept against each other for the best pair.
//!
//! The idea of a core that grows until the optimum is proven is Pisinger's ("A minimal algorithm
//! for the multiple-choice knapsack problem", EJOR 83, 1995); the two halves are Horowitz and
//! Sahni's (JACM 21, 1974).

mod reduce;
mod relax;
mod search;
mod states;

use reduce::Reduced;
use relax::RelaxedOptimum;

/// One item of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnapsackItem {
    /// What the capacity limits.
    pub(super) weight: i64,
    /// What is wanted small.
    pub(super) value: i64,
}

/// What makes one selection within the capacity better than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// Least value, then least weight.
    Cheapest,
    /// Most weight, then least value.
    Fullest,
    /// The same among selections whose values sum to at most this.
    FullestWithin(i64),
}

/// Sums over a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sums {
    /// Sum of the weights.
    pub(super) weight: i64,
    /// Sum of the values.
    pub(super) value: i64,
}

/// The best selection, as one index per class, or `None` when nothing is better than `known`.
///
/// `known` are the sums of a selection that the caller has: `FullestWithin` needs one, because
/// its first solution is not for free. Exact, but for ties of a filled capacity: where the minimum
/// value among selections of that weight would take lists of more than a million states, the
/// least that was found is taken. Time is exponential in the worst case, as for any
/// exact method; memory is bounded: at most [`search::MOST_STATES`] states of 16 bytes per half,
/// and some six times that while a list is merged, beside the input.
///
/// The caller has made sure that the minimum weights together keep to the capacity, that no class
/// is empty, and that no sum leaves the range of `i64`.
pub(super) fn solve(
    classes: &[Vec<KnapsackItem>],
    capacity: i64,
    goal: Goal,
    known: Option<Sums>,
) -> Option<Vec<usize>> {
    let reduced = Reduced::new(classes, capacity, goal);
    let known = known.map(|sums| reduced.normalise(sums));
    let relaxed = RelaxedOptimum::new(&reduced.classes, reduced.capacity);
    let found = search::search(&reduced, &relaxed, known)?;
    Some(reduced.indices(&found))
}
