//! The limits T* and B* of a virtual organisation.

use tradewind_model::{Limit, Objective};

use super::{Choice, Infeasible, SumLimits, best};

/// T*: the sum over jobs of the ceiling of the mean time of the job's alternatives, in seconds
/// (paper 001, eq. (2), with the bracket round the mean). Jobs without alternatives add nothing.
/// Never below the minimum time of all combinations.
pub fn mean_time(jobs: &[Vec<Choice>]) -> i64 {
    let mean = |job: &Vec<Choice>| {
        let sum: i128 = job.iter().map(|choice| i128::from(choice.time)).sum();
        let count = (job.len() as i128).max(1);
        // Times are at least zero, so this is the ceiling; a mean of `i64`s fits one.
        ((sum + count - 1) / count) as i64
    };
    jobs.iter().map(mean).sum()
}

/// The limits that bind `objective`, `auto` resolved.
///
/// The time limit binds income, cost and idleness, where `auto` is T* ([`mean_time`]); the budget
/// limit binds time, where `auto` is B*, the most income within the time limit or else T* (paper
/// 001, eq. (3)). A limit that does not bind the objective applies only if given. O(alternatives),
/// and one combination for B*.
///
/// # Errors
/// For B* only: [`Infeasible`] as of [`best()`], when a given time limit cannot be kept.
pub fn limits(
    jobs: &[Vec<Choice>],
    objective: Objective,
    time: Limit<i64>,
    budget: Limit<i64>,
) -> Result<SumLimits, Infeasible> {
    let given = SumLimits { time: explicit(time), budget: explicit(budget) };
    if objective.bound_by_time() {
        return Ok(SumLimits { time: given.time.or_else(|| Some(mean_time(jobs))), ..given });
    }
    if given.budget.is_some() {
        return Ok(given);
    }
    let within = SumLimits { time: given.time.or_else(|| Some(mean_time(jobs))), budget: None };
    let income = best(jobs, Objective::MaxIncome, within)?.cost;
    Ok(SumLimits { budget: Some(income), ..given })
}

fn explicit(limit: Limit<i64>) -> Option<i64> {
    match limit {
        Limit::Auto => None,
        Limit::At(max) => Some(max),
    }
}
