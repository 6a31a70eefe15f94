//! Jobs with alternatives → the best combination: exactly one alternative per job.
//!
//! Four objectives over sums of time and cost (paper 000, problems (6)–(9); paper 001,
//! eq. (1)–(3)), each with an optional limit on either sum; the Pareto [`front()`] of cost and
//! time; and a lexicographic choice over the [`vector`] criterion; [`additive`] has the same for any number of
//! quantities. All are exact, by a search
//! whose memory does not depend on the size of the limits. The papers' own backward
//! [`recursion`], whose table does, is kept for studies.
//!
//! Sums over any combination must fit `i64`; [`tradewind_model::Snapshot::check`] sees to it for
//! plans, and readers of other input must.

pub mod additive;
mod best;
pub mod disjoint;
mod front;
mod knapsack;
mod limits;
pub mod recursion;
pub mod vector;

#[cfg(test)]
mod tests;

use tradewind_model::Money;

pub use best::best;
pub use front::{Front, front};
pub use limits::{limits, mean_time};

/// One alternative of one job; both numbers are at least zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Choice {
    /// Seconds, by the policy's measure.
    pub time: i64,
    /// Cost in micro-credits.
    pub cost: i64,
}

/// Limits over the whole combination, inclusive; `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SumLimits {
    /// T*: the most Σ time, seconds.
    pub time: Option<i64>,
    /// B*: the most Σ cost, micro-credits.
    pub budget: Option<i64>,
}

/// One alternative per job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Combination {
    /// The index of each job's alternative, in job order.
    pub chosen: Vec<usize>,
    /// Σ time, seconds.
    pub time: i64,
    /// Σ cost, micro-credits.
    pub cost: i64,
}

impl Combination {
    /// The combination of these alternatives of `jobs`, with its sums.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn of(jobs: &[Vec<Choice>], chosen: Vec<usize>) -> Combination {
        let picked = || jobs.iter().zip(&chosen).map(|(job, &index)| job[index]);
        let (time, cost) =
            (picked().map(|choice| choice.time).sum(), picked().map(|choice| choice.cost).sum());
        Combination { chosen, time, cost }
    }
}

impl SumLimits {
    /// Whether `combination` keeps to both limits.
    pub fn admit(&self, combination: &Combination) -> bool {
        self.time.is_none_or(|max| combination.time <= max)
            && self.budget.is_none_or(|max| combination.cost <= max)
    }
}

/// Why there is no combination, with the numbers that decide it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Infeasible {
    /// A job without alternatives.
    #[error("job {job} (counted from 0) has no alternative")]
    NoAlternative {
        /// Its index; the first such job.
        job: usize,
    },
    /// The minimum time of all combinations breaks the time limit.
    #[error("every combination takes at least {min} s and the time limit is {limit} s")]
    Time {
        /// The limit, seconds.
        limit: i64,
        /// The minimum Σ time, seconds.
        min: i64,
    },
    /// The minimum cost of all combinations breaks the budget limit.
    #[error(
        "every combination costs at least {} and the budget limit is {}",
        Money(*min),
        Money(*limit)
    )]
    Budget {
        /// The limit, micro-credits.
        limit: i64,
        /// The minimum Σ cost, micro-credits.
        min: i64,
    },
    /// Each limit can be kept alone, but not both together.
    #[error("no combination keeps to both {time} s and {} credits", Money(*budget))]
    Both {
        /// The time limit, seconds.
        time: i64,
        /// The budget limit, micro-credits.
        budget: i64,
    },
}
