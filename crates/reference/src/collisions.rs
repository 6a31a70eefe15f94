//! Drawn instances of the choice among offers that may collide.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{Limit, Objective};
use tradewind_sched::combine::disjoint::{Busy, DisjointOffer};
use tradewind_sched::combine::{Choice, SumLimits, limits};

/// How large an instance is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Number of jobs.
    pub jobs: usize,
    /// Offers of each.
    pub offers: usize,
    /// Nodes; jobs take up to four of them.
    pub nodes: u32,
    /// Offers start before this; they last up to 80.
    pub horizon: i64,
}

/// Offers as on a market: faster nodes are more expensive, nodes of an offer are neighbours.
pub fn drawn(size: Size, seed: u64) -> Vec<Vec<DisjointOffer>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut job = || {
        let tasks = random.random_range(1..=4u32).min(size.nodes);
        let work = random.random_range(20..=80i64);
        let mut offer = || {
            let start = random.random_range(0..size.horizon);
            let first = random.random_range(0..=size.nodes - tasks);
            let speed = random.random_range(10..=20i64);
            let length = work * 10 / speed;
            let cost = length * (speed - 5) * i64::from(tasks) * 1_000;
            let on = |resource| Busy { resource, start, end: start + length };
            let busy = (first..first + tasks).map(on).collect();
            DisjointOffer { choice: Choice { time: length, cost }, busy }
        };
        (0..size.offers).map(|_| offer()).collect()
    };
    (0..size.jobs).map(|_| job()).collect()
}

/// T* and B* of the offers, as for alternatives that never collide.
pub fn bounds(jobs: &[Vec<DisjointOffer>], objective: Objective) -> SumLimits {
    let numbers: Vec<Vec<Choice>> =
        jobs.iter().map(|job| job.iter().map(|offer| offer.choice).collect()).collect();
    limits(&numbers, objective, Limit::Auto, Limit::Auto).unwrap_or_default()
}
