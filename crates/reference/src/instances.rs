//! Drawn instances of the combination problem, in the classes that the knapsack literature uses.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::Objective;
use tradewind_sched::combine::{Choice, SumLimits, limits};

/// How time and cost of an alternative hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Not at all.
    Uncorrelated,
    /// Cost is proportional to time, give or take a tenth of its range.
    Weak,
    /// Cost is a fixed price times time plus a small constant of the job and the alternative.
    Strong,
    /// Faster is more expensive, as on real nodes: price grows with speed; few distinct speeds,
    /// prices that differ by node, and so many near-duplicates.
    Market,
    /// Cost is a fixed price times time: every time that can be used up is an optimum.
    SubsetSum,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 5] =
        [Class::Uncorrelated, Class::Weak, Class::Strong, Class::Market, Class::SubsetSum];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Class::Uncorrelated => "uncorrelated",
            Class::Weak => "weakly correlated",
            Class::Strong => "strongly correlated",
            Class::Market => "market",
            Class::SubsetSum => "subset sum",
        }
    }
}

/// The greatest numbers of an instance.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Longest time, seconds.
    pub time: i64,
    /// Greatest cost; at least ten times the time.
    pub cost: i64,
}

/// Jobs drawn from `seed`, each with `alternatives` alternatives.
pub fn drawn(
    class: Class,
    jobs: usize,
    alternatives: usize,
    scale: Scale,
    seed: u64,
) -> Vec<Vec<Choice>> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    (0..jobs).map(|_| job(class, alternatives, scale, &mut rng)).collect()
}

fn job(class: Class, alternatives: usize, scale: Scale, rng: &mut Pcg64Mcg) -> Vec<Choice> {
    let price = scale.cost / scale.time;
    let spread = scale.cost / 10;
    let work = rng.random_range(scale.time / 10..=scale.time);
    let constant = rng.random_range(0..=spread / 10);
    let mut choice = || {
        let time = rng.random_range(1..=scale.time);
        let cost = match class {
            Class::Uncorrelated => rng.random_range(1..=scale.cost),
            Class::Weak => price * time + rng.random_range(-spread..=spread),
            Class::Strong => price * time + constant + rng.random_range(0..=price / 2),
            Class::SubsetSum => price * time,
            Class::Market => {
                let speed = rng.random_range(10..=20i64);
                let time = (work * 10 / speed).max(1);
                // Twice the speed costs three times as much a second, give or take a fifth.
                let premium = (speed - 5) * rng.random_range(80..=120i64);
                return Choice { time, cost: time * price * premium / 2_000 };
            }
        };
        Choice { time, cost: cost.max(0) }
    };
    (0..alternatives).map(|_| choice()).collect()
}

/// The objectives that are hard for a class: with cost rising in time the minimum of one is the
/// least of the other, so only the objectives that want much are.
pub fn objectives(class: Class) -> &'static [Objective] {
    use Objective::{MaxIncome, MinCost, MinIdle, MinTime};
    match class {
        Class::Uncorrelated | Class::Market => &[MaxIncome, MinTime, MinCost, MinIdle],
        Class::Weak | Class::Strong => &[MaxIncome, MinIdle],
        Class::SubsetSum => &[MaxIncome],
    }
}

/// Bounds between the trivial and the impossible: T* where time binds; where the budget does, the
/// middle between the minimum cost and that of the cheapest among the fastest.
pub fn bounds(jobs: &[Vec<Choice>], objective: Objective) -> SumLimits {
    if objective.bound_by_time() {
        let auto = tradewind_model::Limit::Auto;
        return limits(jobs, objective, auto, auto).unwrap_or_default();
    }
    let min: i64 = jobs.iter().filter_map(|job| job.iter().map(|it| it.cost).min()).sum();
    let fastest = |job: &Vec<Choice>| job.iter().map(|it| (it.time, it.cost)).min();
    let max: i64 = jobs.iter().filter_map(fastest).map(|(_, cost)| cost).sum();
    SumLimits { time: None, budget: Some(min + (max - min) / 2) }
}
