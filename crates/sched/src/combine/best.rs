//! The four objectives as knapsack problems.

use tradewind_model::Objective;

use super::knapsack::{self, Goal, KnapsackItem, Sums};
use super::{Choice, Combination, Infeasible, SumLimits};

/// One of the two numbers of an alternative, or its negative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity {
    axis: Axis,
    sign: i64,
}

#[derive(Debug, Clone, Copy)]
enum Axis {
    Time,
    Cost,
}

pub(super) const TIME: Quantity = Quantity { axis: Axis::Time, sign: 1 };
pub(super) const COST: Quantity = Quantity { axis: Axis::Cost, sign: 1 };

impl Quantity {
    pub(super) fn negative(self) -> Quantity {
        Quantity { sign: -self.sign, ..self }
    }

    pub(super) fn of(self, choice: &Choice) -> i64 {
        match self.axis {
            Axis::Time => self.sign * choice.time,
            Axis::Cost => self.sign * choice.cost,
        }
    }

    pub(super) fn total(self, combination: &Combination) -> i64 {
        self.of(&Choice { time: combination.time, cost: combination.cost })
    }

    fn sum(self, jobs: &[Vec<Choice>], chosen: &[usize]) -> i64 {
        jobs.iter().zip(chosen).map(|(job, &index)| self.of(&job[index])).sum()
    }
}

/// The best combination for `objective` among those that keep to `bounds` (paper 000, problems
/// (6)–(9)): most income, least time, least cost, or most used time, which is least idleness.
///
/// Among combinations of the same objective value it has the minimum of the other sum: least time
/// for income and cost, least cost for time and idleness. Which of several with both sums equal
/// is not promised, only that it is always the same one for the same input; it does not
/// depend on alternatives that repeat a time and cost of their job, of which the first is taken.
///
/// Ties are exact too, with one exception: for an objective whose optimum uses up its own limit
/// to the last unit (idleness, and income with a budget limit), the minimum of the other sum is
/// only searched for as long as that takes lists of at most a million states. Numbers with more
/// than some ten digits get there.
///
/// A limit that is given is kept, whatever the objective. Exact. Milliseconds for thousands of
/// jobs with tens of alternatives, some tenths of a second where both limits bind and the sums
/// have ten digits and more; exponential time in the worst case, as the problem is NP-hard, but
/// bounded memory: half a GiB at the very most beside the input, and commonly a few MiB.
///
/// # Errors
/// [`Infeasible`]: a job without alternatives; else the time limit, if no combination keeps to it;
/// else the budget limit; else both.
pub fn best(
    jobs: &[Vec<Choice>],
    objective: Objective,
    bounds: SumLimits,
) -> Result<Combination, Infeasible> {
    feasible_alone(jobs, bounds)?;
    let SumLimits { time, budget } = bounds;
    let chosen = match objective {
        Objective::MinTime => Some(min(jobs, TIME, Other { quantity: COST, max: budget })),
        Objective::MinCost => Some(min(jobs, COST, Other { quantity: TIME, max: time })),
        Objective::MaxIncome => max(jobs, COST, budget, Other { quantity: TIME, max: time }),
        Objective::MinIdle => max(jobs, TIME, time, Other { quantity: COST, max: budget }),
    };
    let combination = chosen.map(|chosen| Combination::of(jobs, chosen));
    match (combination, time, budget) {
        (Some(combination), ..) if bounds.admit(&combination) => Ok(combination),
        (_, time, budget) => Err(Infeasible::Both {
            time: time.unwrap_or(i64::MAX),
            budget: budget.unwrap_or(i64::MAX),
        }),
    }
}

/// Whether there are combinations, and each limit alone can be kept.
fn feasible_alone(jobs: &[Vec<Choice>], bounds: SumLimits) -> Result<(), Infeasible> {
    if let Some(job) = jobs.iter().position(Vec::is_empty) {
        return Err(Infeasible::NoAlternative { job });
    }
    let min = |of: Quantity| {
        jobs.iter().filter_map(|job| job.iter().map(|choice| of.of(choice)).min()).sum()
    };
    let (time, cost): (i64, i64) = (min(TIME), min(COST));
    match bounds {
        SumLimits { time: Some(limit), .. } if time > limit => {
            Err(Infeasible::Time { limit, min: time })
        }
        SumLimits { budget: Some(limit), .. } if cost > limit => {
            Err(Infeasible::Budget { limit, min: cost })
        }
        _ => Ok(()),
    }
}

/// The sum that is not optimised: limited, perhaps, and least among equals.
#[derive(Clone, Copy)]
pub(super) struct Other {
    pub(super) quantity: Quantity,
    pub(super) max: Option<i64>,
}

/// The minimum sum of `wanted`, then the minimum of the other, within the other's limit, which some
/// combination keeps.
fn min(jobs: &[Vec<Choice>], wanted: Quantity, other: Other) -> Vec<usize> {
    let Some(max) = other.max else {
        return each(jobs, wanted, other.quantity);
    };
    let classes = classes(jobs, other.quantity, wanted);
    // Without a known selection there always is a better one; the fallback is never taken.
    knapsack::solve(&classes, max, Goal::Cheapest, None)
        .unwrap_or_else(|| each(jobs, other.quantity, wanted))
}

/// The most of `wanted` that is at most `limit`, then the minimum of the other, within the other's
/// limit, which some combination keeps; `None` if no combination keeps to both limits.
pub(super) fn max(
    jobs: &[Vec<Choice>],
    wanted: Quantity,
    limit: Option<i64>,
    other: Other,
) -> Option<Vec<usize>> {
    let unlimited = min(jobs, wanted.negative(), other);
    let Some(limit) = limit.filter(|&limit| wanted.sum(jobs, &unlimited) > limit) else {
        return Some(unlimited);
    };
    let items = classes(jobs, wanted, other.quantity);
    let Some(max) = other.max else {
        return knapsack::solve(&items, limit, Goal::Fullest, None);
    };
    let smallest = min(jobs, wanted, other);
    let known =
        Sums { weight: wanted.sum(jobs, &smallest), value: other.quantity.sum(jobs, &smallest) };
    if known.weight > limit {
        return None;
    }
    let fuller = knapsack::solve(&items, limit, Goal::FullestWithin(max), Some(known));
    Some(fuller.unwrap_or(smallest))
}

/// For each job alone, the alternative with the minimum of `first`, then of `second`.
fn each(jobs: &[Vec<Choice>], first: Quantity, second: Quantity) -> Vec<usize> {
    let key = |choice: &Choice| (first.of(choice), second.of(choice));
    let min = |job: &Vec<Choice>| (0..job.len()).min_by_key(|&index| key(&job[index]));
    jobs.iter().filter_map(min).collect()
}

fn classes(jobs: &[Vec<Choice>], weight: Quantity, value: Quantity) -> Vec<Vec<KnapsackItem>> {
    let item =
        |choice: &Choice| KnapsackItem { weight: weight.of(choice), value: value.of(choice) };
    jobs.iter().map(|job| job.iter().map(item).collect()).collect()
}
