//! Alternatives with any number of additive quantities → the best combination of them.
//!
//! The general case of [`super::best()`] and [`super::vector`]: f and g of paper 000, section 2.3,
//! may be any sums over the chosen alternatives (cost, time, finish, energy, carbon, …), as many
//! as are wanted. Quantities are columns of a table. [`lexicographic`] minimises or maximises one
//! after the other within limits on any of them; [`front()`] lists what no other combination
//! beats in all of them.
//!
//! One limit is a knapsack, which `knapsack` solves. Several are solved by labels
//! (`labels`): the sums that the first jobs can reach, without those that another one dominates
//! or that a bound excludes. The bounds are Lagrangian (`cut`): a sum of the objective and of
//! limits at prices, which no combination of the remaining jobs can undercut.

mod cut;
mod dominance;
mod front;
mod labels;
#[cfg(test)]
mod tests;

use tradewind_model::Goal;

use super::knapsack::{self, KnapsackItem};

pub use front::{AdditiveFront, front};

/// One component of the vector that is optimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectiveColumn {
    /// Index of the quantity.
    pub column: usize,
    /// The wanted direction.
    pub goal: Goal,
}

/// The numbers of one alternative, by column.
pub type Numbers = Vec<i64>;

/// What is wanted of a combination.
#[derive(Debug, Clone, Copy)]
pub struct CombinationProblem<'a> {
    /// The components, most important first.
    pub order: &'a [ObjectiveColumn],
    /// By column, the largest sum that is allowed (inclusive); `None` where there is no limit.
    pub limits: &'a [Option<i64>],
    /// Partial combinations that may be examined; see [`lexicographic`].
    pub work_limit: u64,
}

impl CombinationProblem<'_> {
    /// Partial combinations that may be examined unless stated otherwise: a second or so.
    pub const DEFAULT_WORK_LIMIT: u64 = 5_000_000;
}

/// One alternative per job, and what is known of the choice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AdditiveChoice {
    /// The index of each job's alternative, in job order.
    pub chosen: Vec<usize>,
    /// The sums, by column.
    pub totals: Vec<i64>,
    /// `None`: the choice is proven best.
    pub gap: Option<ComponentGap>,
}

/// The first component that is not proven best, and what no combination can exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ComponentGap {
    /// Index of the component in the order.
    pub component: usize,
    /// With all earlier components as chosen, no sum of this one is better.
    pub bound: i64,
}

/// Why there is no combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refused {
    /// A job without alternatives.
    #[error("job {job} (counted from 0) has no alternative")]
    NoAlternative {
        /// Its index; the first such job.
        job: usize,
    },
    /// The minimum of this sum over all combinations is above its limit.
    #[error("column {column} sums up to at least {min} and its limit is {limit}")]
    Limit {
        /// The quantity; the first such column.
        column: usize,
        /// Its limit.
        limit: i64,
        /// The minimum sum.
        min: i64,
    },
    /// Each limit can be kept alone, but not all together.
    #[error("no combination keeps to all limits together")]
    Together,
    /// No combination within the limits was found before the work limit was reached; there may
    /// be one.
    #[error("no combination within the limits was found before the work limit was reached")]
    Unknown,
    /// Sums do not fit the range of integers.
    #[error("the sums are out of range")]
    OutOfRange,
}

/// The largest absolute sum of a column over all jobs.
const MOST: i128 = (i64::MAX / 4) as i128;

/// The combination within all limits that is best in the first component of the order, among
/// those best in the second, and so on. An empty order is any combination within the limits.
///
/// Exact. With at most one limit in force it always ends soon; with more, the problem is NP-hard
/// in the strong sense, and at most about `work_limit` partial combinations are examined for each
/// component: then the choice is the best that was found, and its [`ComponentGap`] says how much better
/// another one could be at most. Which of several combinations that are equal in all components
/// is chosen is not promised, only that it is the same one for the same input.
///
/// # Errors
/// [`Refused`].
pub fn lexicographic(
    jobs: &[Vec<Numbers>],
    wanted: &CombinationProblem<'_>,
) -> Result<AdditiveChoice, Refused> {
    feasible_alone(jobs, wanted.limits)?;
    let mut table = Table::new(jobs, wanted);
    let mut best: Option<Vec<usize>> = None;
    let mut gap = None;
    for at in 0..wanted.order.len().max(1) {
        let found = table.minimise(at, best.as_deref(), wanted.work_limit);
        let chosen = match (found.chosen, found.complete) {
            (Some(chosen), _) => chosen,
            (None, true) => return Err(Refused::Together),
            (None, false) => return Err(Refused::Unknown),
        };
        let least = table.value(at, &chosen);
        if found.bound < i128::from(least) && gap.is_none() {
            let sign = wanted.order.get(at).map_or(1, |component| sign(component.goal));
            gap = Some(ComponentGap { component: at, bound: sign * found.bound as i64 });
        }
        if at < table.ordered {
            table.fix(at, least, found.cut);
        }
        best = Some(chosen);
    }
    let chosen = best.unwrap_or_default();
    Ok(AdditiveChoice { totals: totals(jobs, &chosen, wanted.limits.len()), chosen, gap })
}

fn sign(goal: Goal) -> i64 {
    match goal {
        Goal::Least => 1,
        Goal::Most => -1,
    }
}

/// The sums of these alternatives of `jobs`, by column.
fn totals(jobs: &[Vec<Numbers>], chosen: &[usize], columns: usize) -> Vec<i64> {
    let sum = |column: usize| jobs.iter().zip(chosen).map(|(job, &at)| job[at][column]).sum();
    (0..columns).map(sum).collect()
}

/// Whether there are combinations, their sums have room, and each limit alone can be kept.
fn feasible_alone(jobs: &[Vec<Numbers>], limits: &[Option<i64>]) -> Result<(), Refused> {
    if let Some(job) = jobs.iter().position(Vec::is_empty) {
        return Err(Refused::NoAlternative { job });
    }
    for (column, limit) in limits.iter().enumerate() {
        let each = |of: fn(i64, i64) -> i64| -> i128 {
            let numbers = |job: &Vec<Numbers>| job.iter().map(|it| it[column]).reduce(of);
            jobs.iter().filter_map(numbers).map(i128::from).sum()
        };
        let (min, max) = (each(i64::min), each(i64::max));
        if min < -MOST || max > MOST {
            return Err(Refused::OutOfRange);
        }
        if let Some(limit) = limit.filter(|&limit| min > i128::from(limit)) {
            return Err(Refused::Limit { column, limit, min: min as i64 });
        }
    }
    Ok(())
}

/// The columns that matter, all to be small: first those of the order, then those with a limit.
pub(super) struct Table {
    jobs: Vec<Vec<Vec<i64>>>,
    /// Columns of the order.
    ordered: usize,
    /// What the sums of columns must keep to.
    limits: Vec<Option<i64>>,
    /// Combinations of columns that are bounded, too.
    cuts: Vec<cut::Cut>,
}

/// What one search found.
pub(super) struct FoundChoice {
    /// The best selection known; `None` if there is none, or none was found.
    chosen: Option<Vec<usize>>,
    /// Whether nothing was left out: without a selection, there is none.
    complete: bool,
    /// No selection has a smaller sum.
    bound: i128,
    /// The bound's prices, which hold for the components that follow.
    cut: Option<cut::Cut>,
}

impl Table {
    fn new(jobs: &[Vec<Numbers>], wanted: &CombinationProblem<'_>) -> Table {
        let limited: Vec<(usize, i64)> = wanted
            .limits
            .iter()
            .enumerate()
            .filter_map(|(column, limit)| limit.map(|limit| (column, limit)))
            .collect();
        let row = |numbers: &Numbers| -> Vec<i64> {
            let ordered = wanted.order.iter().map(|it| sign(it.goal) * numbers[it.column]);
            ordered.chain(limited.iter().map(|&(column, _)| numbers[column])).collect()
        };
        let jobs = jobs.iter().map(|job| job.iter().map(row).collect()).collect();
        let none = wanted.order.iter().map(|_| None);
        let limits = none.chain(limited.iter().map(|&(_, limit)| Some(limit))).collect();
        Table { jobs, ordered: wanted.order.len(), limits, cuts: Vec::new() }
    }

    fn sum(&self, column: usize, chosen: &[usize]) -> i64 {
        let number = |numbers: &Vec<i64>| numbers.get(column).copied().unwrap_or_default();
        self.jobs.iter().zip(chosen).map(|(job, &at)| number(&job[at])).sum()
    }

    /// From now on the column sums up to at most this.
    fn fix(&mut self, column: usize, most: i64, cut: Option<cut::Cut>) {
        if let Some(limit) = self.limits.get_mut(column) {
            *limit = Some(most);
        }
        self.cuts.extend(cut);
    }

    /// The columns whose limit can be broken at all.
    fn binding(&self) -> Vec<usize> {
        let breaks = |column: &usize| {
            let max = |job: &Vec<Vec<i64>>| job.iter().map(|numbers| numbers[*column]).max();
            let max: i128 = self.jobs.iter().filter_map(max).map(i128::from).sum();
            self.limits[*column].is_some_and(|limit| max > i128::from(limit))
        };
        (0..self.limits.len()).filter(breaks).collect()
    }

    /// The minimum sum of column `at` within all limits; `known` is a selection within them.
    fn minimise(&self, at: usize, known: Option<&[usize]>, work_limit: u64) -> FoundChoice {
        let value = |numbers: &Vec<i64>| match at < self.ordered {
            true => numbers[at],
            false => 0,
        };
        let proven = |chosen: Option<Vec<usize>>| {
            let bound = chosen.as_ref().map_or(0, |it| i128::from(self.value(at, it)));
            FoundChoice { chosen, complete: true, bound, cut: None }
        };
        match self.binding().as_slice() {
            [] => {
                let least = |job: &Vec<Vec<i64>>| (0..job.len()).min_by_key(|&i| value(&job[i]));
                proven(Some(self.jobs.iter().filter_map(least).collect()))
            }
            [row] => {
                let item = |numbers: &Vec<i64>| KnapsackItem {
                    weight: numbers[*row],
                    value: value(numbers),
                };
                let classes: Vec<Vec<KnapsackItem>> =
                    self.jobs.iter().map(|job| job.iter().map(item).collect()).collect();
                proven(one_limit(classes, self.limits[*row].unwrap_or(i64::MAX)))
            }
            rows => {
                labels::minimise(self, (at < self.ordered).then_some(at), rows, known, work_limit)
            }
        }
    }

    fn value(&self, at: usize, chosen: &[usize]) -> i64 {
        if at < self.ordered { self.sum(at, chosen) } else { 0 }
    }
}

/// The minimum value within the capacity, which the minimum weights keep to.
fn one_limit(mut classes: Vec<Vec<KnapsackItem>>, capacity: i64) -> Option<Vec<usize>> {
    let mut goal = knapsack::Goal::Cheapest;
    if classes.iter().flatten().all(|item| item.value == -item.weight) {
        // As much as possible of what is limited: a goal of its own, as items differ in nothing.
        classes.iter_mut().flatten().for_each(|item| item.value = 0);
        goal = knapsack::Goal::Fullest;
    }
    knapsack::solve(&classes, capacity, goal, None)
}
