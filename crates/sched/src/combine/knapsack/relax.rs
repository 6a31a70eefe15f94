//! The linear relaxation: mixtures of items of one class are allowed.
//!
//! Its optimum walks, from the lightest item of every class, along the edges of the lower convex
//! hulls of (weight, value) in order of slope, until the capacity is used up in the middle of one
//! edge: the break edge. Found by selection rather than sorting (Dyer; Zemel), in O(items).

use std::cmp::Ordering;

use super::reduce::{ReducedItem, common_divisor};

/// What a unit of weight is worth, as a fraction in lowest terms: `rise` / `run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slope {
    pub(super) rise: i64,
    /// At least 1.
    pub(super) run: i64,
}

impl Slope {
    /// What a change of weight and value gives away at this slope, times `run`.
    #[inline]
    pub(super) fn loss(self, weight: i64, value: i64) -> i128 {
        i128::from(self.run) * i128::from(value) - i128::from(self.rise) * i128::from(weight)
    }
}

/// The relaxation's optimum, rounded down at the break edge.
#[derive(Debug)]
pub(super) struct RelaxedOptimum {
    /// The member taken of each class: all lie on their hulls where the slope touches, so that no
    /// other member has a negative loss against them.
    pub(super) base: Vec<u32>,
    /// Capacity left by the base.
    pub(super) slack: i64,
    /// The break edge's slope; `None` when every edge fits, and the base is the optimum.
    pub(super) slope: Option<Slope>,
}

/// A step along the hull of a class to the member `to`.
#[derive(Debug, Clone, Copy)]
struct HullStep {
    class: u32,
    to: u32,
    run: i64,
    rise: i64,
}

impl HullStep {
    /// By slope. Of equal slopes the first steps of all classes come before the second ones, so
    /// that the base has heavier and lighter members of no loss beside it in many classes.
    fn order(&self, other: &HullStep) -> Ordering {
        let left = i128::from(self.rise) * i128::from(other.run);
        let right = i128::from(other.rise) * i128::from(self.run);
        left.cmp(&right).then(self.to.cmp(&other.to)).then(self.class.cmp(&other.class))
    }
}

impl RelaxedOptimum {
    /// The relaxation of classes that are sorted by weight and fit the capacity at their
    /// lightest. O(items).
    pub(super) fn new(classes: &[Vec<ReducedItem>], capacity: i64) -> RelaxedOptimum {
        let mut edges = hull_edges(classes);
        let lightest: i64 = classes.iter().map(|class| class[0].weight).sum();
        let mut slack = capacity - lightest;
        let taken = prefix_that_fits(&mut edges, &mut slack);
        let mut base = vec![0; classes.len()];
        for edge in &edges[..taken] {
            let at = &mut base[edge.class as usize];
            *at = edge.to.max(*at);
        }
        let slope = edges.get(taken).map(|edge| {
            let unit = common_divisor(edge.run, edge.rise);
            Slope { rise: edge.rise / unit, run: edge.run / unit }
        });
        RelaxedOptimum { base, slack, slope }
    }
}

/// Partitions `edges` so that the first so many, in order of slope, fit in `room` and the next
/// does not; takes them off `room`.
fn prefix_that_fits(edges: &mut [HullStep], room: &mut i64) -> usize {
    let (mut low, mut high) = (0, edges.len());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        edges[low..high].select_nth_unstable_by(middle - low, HullStep::order);
        let total: i64 = edges[low..middle].iter().map(|edge| edge.run).sum();
        if total > *room {
            high = middle;
        } else {
            *room -= total;
            low = middle;
        }
    }
    if low < high && edges[low].run <= *room {
        *room -= edges[low].run;
        low += 1;
    }
    low
}

/// The edges of all lower hulls (monotone chain; collinear members stay on it).
fn hull_edges(classes: &[Vec<ReducedItem>]) -> Vec<HullStep> {
    let mut edges = Vec::new();
    let mut hull: Vec<u32> = Vec::new();
    for (class, members) in (0u32..).zip(classes) {
        hull.clear();
        for (at, member) in (0u32..).zip(members) {
            while let [.., before, last] = hull[..] {
                if turns_left(&members[before as usize], &members[last as usize], member) {
                    break;
                }
                hull.pop();
            }
            hull.push(at);
        }
        edges.extend(hull.windows(2).map(|pair| {
            let (from, to) = (members[pair[0] as usize], members[pair[1] as usize]);
            HullStep {
                class,
                to: pair[1],
                run: to.weight - from.weight,
                rise: to.value - from.value,
            }
        }));
    }
    edges
}

/// Or goes straight on.
fn turns_left(a: &ReducedItem, b: &ReducedItem, c: &ReducedItem) -> bool {
    let first = i128::from(b.weight - a.weight) * i128::from(c.value - b.value);
    let second = i128::from(b.value - a.value) * i128::from(c.weight - b.weight);
    first >= second
}
