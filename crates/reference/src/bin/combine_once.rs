//! One combination of 200 jobs × 30 alternatives, for instruction counts:
//! `scripts/instructions.sh`.

use std::io::Write;

use tradewind_model::Objective;
use tradewind_reference::instances::{Class, Scale, bounds, drawn};
use tradewind_sched::combine::{Choice, Combination, Infeasible, SumLimits, best};

/// What `scripts/instructions.sh` counts.
#[inline(never)]
fn measured(jobs: &[Vec<Choice>], bounds: SumLimits) -> Result<Combination, Infeasible> {
    best(jobs, Objective::MaxIncome, bounds)
}

fn main() -> std::io::Result<()> {
    let scale = Scale { time: 100_000, cost: 1_000_000_000 };
    let jobs = drawn(Class::Uncorrelated, 200, 30, scale, 1);
    let bounds = bounds(&jobs, Objective::MaxIncome);
    match measured(&jobs, bounds) {
        Ok(found) => writeln!(std::io::stdout(), "time {} cost {}", found.time, found.cost),
        Err(why) => Err(std::io::Error::other(why.to_string())),
    }
}
