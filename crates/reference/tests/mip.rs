//! Our optimum equals the MIP solver's.
#![cfg(feature = "mip")]

use tradewind_model::Objective;
use tradewind_reference::collisions;
use tradewind_reference::instances::{Class, Scale, bounds, drawn, objectives};
use tradewind_reference::mip::{self, Verdict};
use tradewind_sched::combine::disjoint::select;
use tradewind_sched::combine::{Choice, Combination, SumLimits, best};

const SCALE: Scale = Scale { time: 2_000, cost: 200_000 };

fn wanted(objective: Objective, it: &Combination) -> i64 {
    match objective {
        Objective::MinTime | Objective::MinIdle => it.time,
        Objective::MaxIncome | Objective::MinCost => it.cost,
    }
}

#[track_caller]
fn check(jobs: &[Vec<Choice>], objective: Objective, bounds: SumLimits) {
    let ours = best(jobs, objective, bounds).ok();
    let theirs = mip::best(jobs, objective, bounds, 200.0);
    assert!(!matches!(theirs, Verdict::Unsolved(_)), "{theirs}");
    let theirs = match theirs {
        Verdict::Optimal(theirs) => Some(theirs),
        Verdict::Infeasible | Verdict::Unsolved(_) => None,
    };
    let sum = |it: Option<Combination>| it.map(|it| wanted(objective, &it));
    assert_eq!(sum(ours), sum(theirs), "{objective:?} {bounds:?}");
}

#[test]
fn optima_are_equal_with_one_bound() {
    for class in Class::ALL {
        for seed in 0..8 {
            let jobs = drawn(class, 20 + 3 * seed as usize, 12, SCALE, seed);
            for &objective in objectives(class) {
                check(&jobs, objective, bounds(&jobs, objective));
            }
        }
    }
}

#[test]
fn verdicts_are_equal_with_both_bounds() {
    for seed in 0..12 {
        let jobs = drawn(Class::Market, 20, 10, SCALE, seed);
        let time = bounds(&jobs, Objective::MaxIncome).time;
        // From comfortable to impossible.
        let middle = bounds(&jobs, Objective::MinTime).budget.unwrap();
        let budget = Some(middle - middle / 40 * (seed as i64 - 4));
        for objective in [Objective::MaxIncome, Objective::MinIdle, Objective::MinTime] {
            check(&jobs, objective, SumLimits { time, budget });
        }
    }
}

/// Papers' sizes, from roomy to so narrow that not all jobs fit.
#[test]
fn choices_among_colliding_offers_are_equal() {
    for seed in 0..12 {
        let jobs = 3 + seed as usize % 5;
        let (nodes, horizon) = if seed % 3 == 0 { (4, 30) } else { (6, 150) };
        let size = collisions::Size { jobs, offers: 8 + seed as usize, nodes, horizon };
        let jobs = collisions::drawn(size, seed);
        for objective in
            [Objective::MinTime, Objective::MinCost, Objective::MaxIncome, Objective::MinIdle]
        {
            let bounds = collisions::bounds(&jobs, objective);
            let ours = select(&jobs, objective, bounds, None, 10_000_000);
            assert_eq!(ours.gap, None, "{seed} {objective:?}");
            let mine = (ours.selection.placed(), ours.selection.objective(objective));
            let theirs = mip::select(&jobs, objective, bounds, 20.0);
            assert_eq!(Some(mine), theirs, "{seed} {objective:?}");
        }
    }
}

/// Those for which our search has too few looks to prove all: the solver's optimum lies between ours
/// and our bound.
#[test]
fn gaps_hold() {
    let mut gaps = 0;
    for seed in 0..6 {
        let size = collisions::Size { jobs: 10, offers: 10, nodes: 7, horizon: 100 };
        let jobs = collisions::drawn(size, seed);
        for objective in [Objective::MinTime, Objective::MinCost] {
            let bounds = collisions::bounds(&jobs, objective);
            let (placed, sum) = mip::select(&jobs, objective, bounds, 60.0).expect("solved");
            let ours = select(&jobs, objective, bounds, None, 500);
            let mine = (ours.selection.placed(), ours.selection.objective(objective));
            let Some(gap) = ours.gap else {
                assert_eq!(mine, (placed, sum));
                continue;
            };
            gaps += 1;
            assert!(mine.0 <= placed && placed <= gap.placed, "{seed} {objective:?}");
            if mine.0 == placed {
                assert!(gap.objective <= sum && sum <= mine.1, "{seed} {objective:?} {gap:?}");
            }
        }
    }
    assert!(gaps >= 3, "{gaps} gaps of 12");
}
