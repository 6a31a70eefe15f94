//! Jobs with offers that may get in each other's way → at most one offer per job.
//!
//! An offer keeps resources busy for spans of time, and no two chosen offers keep one resource
//! busy at the same moment. That is a set packing problem with multiple choice and two knapsacks,
//! NP-hard even without the knapsacks. It is solved in two rounds: first for the most jobs, then,
//! with that many, for the objective. Each round:
//!
//! 1. `cells`: spans of one resource that overlap share a moment (intervals have Helly's
//!    property), so one row per largest set of overlapping spans says all of a resource.
//! 2. `prices`: the Lagrangian relaxation of all rows. Every set of prices that are not negative
//!    gives a proven bound; subgradients with Polyak's steps look for good ones, and a greedy
//!    repair at these prices (`greedy`) gives solutions, which jobs that move aside for others make
//!    better (`swap`).
//! 3. `search`: branch and bound at the best prices found, which is exact unless it takes more
//!    steps than allowed.
//!
//! Prices are integers in units of 2⁻²⁰ of the value, so bounds hold to the last unit.

mod cells;
mod core;
mod greedy;
mod prices;
mod search;
mod swap;
#[cfg(test)]
mod tests;

use tradewind_model::Objective;

use super::{Choice, SumLimits};
use core::{Core, SearchRound};

/// A span of one resource, half-open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Busy {
    /// Number of the resource, for example of a node.
    pub resource: u32,
    /// The first moment.
    pub start: i64,
    /// The first moment after; later than the start.
    pub end: i64,
}

/// One alternative of one job, with what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DisjointOffer {
    /// Cost and time.
    pub choice: Choice,
    /// Spans of distinct resources.
    pub busy: Vec<Busy>,
}

/// At most one offer per job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selection {
    /// By job; `None` for a job that is left out.
    pub chosen: Vec<Option<usize>>,
    /// Σ time, seconds.
    pub time: i64,
    /// Σ cost, micro-credits.
    pub cost: i64,
}

/// What a better selection could reach at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gap {
    /// No selection has more jobs.
    pub placed: usize,
    /// No selection of at least as many jobs as the one that was found has a better sum of what
    /// the objective is about: seconds or micro-credits.
    pub objective: i64,
}

/// A selection and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The best that was found.
    pub selection: Selection,
    /// `None`: it is proven best.
    pub gap: Option<Gap>,
    /// Looks at an offer that it took.
    pub steps: u64,
}

impl Selection {
    /// The selection of these offers of `jobs`, with its sums.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn of(jobs: &[Vec<DisjointOffer>], chosen: Vec<Option<usize>>) -> Selection {
        let picked =
            || jobs.iter().zip(&chosen).filter_map(|(job, at)| at.map(|at| job[at].choice));
        let (time, cost) =
            (picked().map(|choice| choice.time).sum(), picked().map(|choice| choice.cost).sum());
        Selection { chosen, time, cost }
    }

    /// How many jobs have an offer.
    pub fn placed(&self) -> usize {
        self.chosen.iter().flatten().count()
    }

    /// The sum that `objective` is about.
    pub fn objective(&self, objective: Objective) -> i64 {
        match objective {
            Objective::MinTime | Objective::MinIdle => self.time,
            Objective::MinCost | Objective::MaxIncome => self.cost,
        }
    }
}

/// The selection with most jobs; among those the one that is best for `objective`; among those
/// the one with the minimum of the other sum (where sums have more than some twenty digits
/// together, that last criterion is left out). Limits are kept and no two offers collide.
///
/// `known` is a selection that keeps the limits and does not collide, if there is one at hand: the
/// result is never worse. Exact, unless it takes more than about `work_limit` looks at an offer:
/// then the result says how much better another selection could be at most. Which of several
/// equal selections it is, is not promised, only that it is the same for the same input.
///
/// A look costs O(1 + rows of the offer); memory is linear in rows × offers in them.
pub fn select(
    jobs: &[Vec<DisjointOffer>],
    objective: Objective,
    bounds: SumLimits,
    known: Option<&[Option<usize>]>,
    work_limit: u64,
) -> Selected {
    let cells = cells::Cells::new(jobs);
    let mut steps = 0;
    let max = Core::new(jobs, &cells, bounds, SearchRound::MostJobs);
    let known = known.and_then(|known| max.items_of(known));
    let first = solve(&max, known, work_limit / 2, &mut steps);
    let chosen = max.offers_of(&first.items);
    let left_out = chosen.iter().filter(|offer| offer.is_none()).count();
    let could_place = jobs.len() - first.bound.clamp(0, left_out as i128) as usize;

    let best = Core::new(jobs, &cells, bounds, SearchRound::Objective { objective, left_out });
    let known = best.items_of(&chosen);
    let second = solve(&best, known, work_limit.max(steps), &mut steps);
    let selection = Selection::of(jobs, best.offers_of(&second.items));
    let attained = selection.objective(objective);
    let possible = best.sum_of(second.bound);
    let gap = Gap { placed: could_place.max(selection.placed()), objective: possible };
    let proven = gap.placed == selection.placed() && gap.objective == attained;
    Selected { gap: (!proven).then_some(gap), selection, steps }
}

/// What one round gives.
struct Solved {
    /// By job, an index into the core's items.
    items: Vec<usize>,
    /// No solution has a smaller value.
    bound: i128,
}

/// Prices, then branch and bound. Without a known solution there is always that of leaving out
/// all jobs.
fn solve(core: &Core, known: Option<Vec<usize>>, work_limit: u64, steps: &mut u64) -> Solved {
    let known = known.unwrap_or_else(|| core.nothing());
    let budget = *steps + (work_limit - work_limit.min(*steps)) / 4 * 3;
    let priced = prices::improve(core, known, budget, steps);
    if priced.bound >= core.value(&priced.items) {
        return Solved { bound: core.value(&priced.items), items: priced.items };
    }
    let budget = *steps + (work_limit - work_limit.min(*steps)) / 2;
    let mut priced = priced;
    swap::improve(core, &mut priced.items, budget, steps);
    let found = search::search(core, &priced, work_limit, steps);
    let bound = if found.complete { core.value(&found.items) } else { priced.bound };
    Solved { items: found.items, bound }
}
