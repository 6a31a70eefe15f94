//! One start: the assignment of least Σ objective with Σ constraint within a limit.
//!
//! A Lagrangian relaxation gives bounds: for any multiplier b/a ≥ 0 the lightest assignment by
//! a·objective + b·constraint proves Σ objective ≥ (weight − b·limit) / a. What is left is branch and
//! bound over pairs of node and group, as far as the work limit reaches.

use super::assign::{self, Pair, Pairs, Weight};
use crate::window::work::Work;

/// Rounds of tightening the multiplier; each adds to the bound, and a handful is usual.
const MOST_ROUNDS: usize = 40;
/// Multipliers are scaled down below 2 to this power, so that weights fit 128 bits.
const MULTIPLIER_BITS: u32 = 40;

/// An assignment with its sums.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub(super) objective: i128,
    constraint: i128,
    pub(super) pairs: Vec<Pair>,
}

/// What was found.
#[derive(Debug)]
pub(super) struct GroupsAnswer {
    /// The best below the cutoff that was found.
    pub(super) best: Option<Assignment>,
    /// Whether no better one exists; else the work limit was hit.
    pub(super) complete: bool,
    /// The lowest objective without the constraint: a bound in any case.
    pub(super) free: i128,
}

/// Decisions of a branch.
#[derive(Debug, Clone, Default)]
struct Branch {
    fixed: Vec<Pair>,
    banned: Vec<Pair>,
    bound: Option<i128>,
}

/// Weights of `pairs` are (objective, constraint). Of assignments of `wanted` tasks by group the one
/// of least objective below `cutoff`, then of least constraint as far as the search meets it.
/// The one of least constraint is looked at without work, so that there is an answer if there is any.
pub(super) fn solve(
    pairs: &Pairs,
    wanted: &[usize],
    limit: i128,
    cutoff: i128,
    work: &mut Work,
) -> GroupsAnswer {
    let mut solver = Solver { pairs, wanted, limit, cutoff, best: None, work };
    let free = solver.lightest(pairs, wanted, |it| it).map_or(i128::MAX, |it| it.objective);
    let complete = solver.run();
    GroupsAnswer { best: solver.best, complete, free }
}

struct Solver<'a> {
    pairs: &'a Pairs,
    wanted: &'a [usize],
    limit: i128,
    cutoff: i128,
    best: Option<Assignment>,
    work: &'a mut Work,
}

/// What the relaxation of a branch says.
enum BranchBound {
    /// Nothing better is in it.
    Done,
    /// There may be something not below the bound; the pair is one to decide.
    Open(i128, Pair),
}

impl Solver<'_> {
    fn run(&mut self) -> bool {
        let mut open = vec![Branch::default()];
        self.offer_cheapest(self.pairs, self.wanted, &[]);
        while let Some(branch) = open.pop() {
            if branch.bound.is_some_and(|bound| bound >= self.cutoff) {
                continue;
            }
            let Some(relaxed) = self.relax(&branch) else { return false };
            let BranchBound::Open(bound, pair) = relaxed else { continue };
            let (mut with, mut without) = (branch.clone(), branch);
            (with.bound, without.bound) = (Some(bound), Some(bound));
            with.fixed.push(pair);
            without.banned.push(pair);
            open.extend([with, without]);
        }
        true
    }

    /// Takes a set within the limit, if it is better.
    fn offer(&mut self, set: &Assignment, fixed: &[Pair]) {
        if set.constraint <= self.limit && set.objective < self.cutoff {
            self.cutoff = set.objective;
            let pairs = fixed.iter().chain(&set.pairs).copied().collect();
            self.best = Some(Assignment { pairs, ..set.clone() });
        }
    }

    fn offer_cheapest(
        &mut self,
        pairs: &Pairs,
        wanted: &[usize],
        fixed: &[Pair],
    ) -> Option<Assignment> {
        let set = self.lightest(pairs, wanted, |it| Weight(it.1, it.0))?;
        self.offer(&set, fixed);
        (set.constraint <= self.limit).then_some(set)
    }

    /// The lightest assignment with these weights; sums are those of the pairs.
    fn lightest(
        &self,
        pairs: &Pairs,
        wanted: &[usize],
        by: impl Fn(Weight) -> Weight,
    ) -> Option<Assignment> {
        let (_, chosen) = assign::lightest(&pairs.weighed(by), wanted)?;
        let of = |pair: &Pair| pairs.weight(*pair).unwrap_or(Weight::NONE);
        let sum = chosen.iter().map(of).fold(Weight::NONE, |sum, it| sum + it);
        Some(Assignment { objective: sum.0, constraint: sum.1, pairs: chosen })
    }

    /// Bounds a branch; `None` if the work limit was hit.
    fn relax(&mut self, branch: &Branch) -> Option<BranchBound> {
        let (mut pairs, mut wanted) = (self.pairs.clone(), self.wanted.to_vec());
        let mut base = Weight::NONE;
        for pair in &branch.banned {
            pairs.remove(*pair);
        }
        for pair in &branch.fixed {
            base = base + self.pairs.weight(*pair).unwrap_or(Weight::NONE);
            pairs.remove_node(pair.0);
            wanted[pair.1] -= 1;
        }
        let with_base = |set: Assignment| Assignment {
            objective: set.objective + base.0,
            constraint: set.constraint + base.1,
            ..set
        };
        let steps = pairs.len().max(1);
        if !self.work.spend(2 * steps) {
            return None;
        }
        let cheapest = self.lightest(&pairs, &wanted, |it| Weight(it.1, it.0)).map(with_base);
        let Some(mut inside) = cheapest.filter(|set| set.constraint <= self.limit) else {
            return Some(BranchBound::Done);
        };
        self.offer(&inside, &branch.fixed);
        let Some(mut outside) = self.lightest(&pairs, &wanted, |it| it).map(with_base) else {
            return Some(BranchBound::Done);
        };
        self.offer(&outside, &branch.fixed);
        let mut bound = outside.objective;
        for _ in 0..MOST_ROUNDS {
            if outside.constraint <= self.limit || bound >= self.cutoff {
                return Some(BranchBound::Done);
            }
            let (a, b) = multiplier(&inside, &outside);
            if !self.work.spend(steps) {
                return None;
            }
            let weigh = |it: Weight| Weight(a * it.0 + b * it.1, it.1);
            let Some(set) = self.lightest(&pairs, &wanted, weigh).map(with_base) else { break };
            let weight = a * set.objective + b * set.constraint;
            bound = bound.max(-(-(weight - b * self.limit)).div_euclid(a));
            self.offer(&set, &branch.fixed);
            let sums = |set: &Assignment| (set.objective, set.constraint);
            if sums(&set) == sums(&inside) || sums(&set) == sums(&outside) {
                break;
            }
            match set.constraint <= self.limit {
                true => inside = set,
                false => outside = set,
            }
        }
        if bound >= self.cutoff {
            return Some(BranchBound::Done);
        }
        // One that costs much decides much.
        let heavy = |pair: &&Pair| self.pairs.weight(**pair).map(|it| it.1);
        let pair = outside.pairs.iter().max_by_key(heavy).copied();
        Some(pair.map_or(BranchBound::Done, |pair| BranchBound::Open(bound, pair)))
    }
}

/// The multiplier at which both sets weigh the same.
fn multiplier(inside: &Assignment, outside: &Assignment) -> (i128, i128) {
    let mut a = (outside.constraint - inside.constraint).max(1);
    let mut b = (inside.objective - outside.objective).max(0);
    while a >> MULTIPLIER_BITS > 0 || b >> MULTIPLIER_BITS > 0 {
        (a, b) = (a / 2, b / 2);
    }
    (a.max(1), b)
}
