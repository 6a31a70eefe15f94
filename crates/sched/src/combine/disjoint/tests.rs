use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::combine::{best, limits};

const OBJECTIVES: [Objective; 4] =
    [Objective::MaxIncome, Objective::MinTime, Objective::MinCost, Objective::MinIdle];
const PLENTY: u64 = 10_000_000;

fn collide(a: &DisjointOffer, b: &DisjointOffer) -> bool {
    let meet = |a: &Busy, b: &Busy| a.resource == b.resource && a.start < b.end && b.start < a.end;
    a.busy.iter().any(|a| b.busy.iter().any(|b| meet(a, b)))
}

fn keeps_the_rules(jobs: &[Vec<DisjointOffer>], bounds: SumLimits, selection: &Selection) -> bool {
    let taken: Vec<&DisjointOffer> =
        jobs.iter().zip(&selection.chosen).filter_map(|(job, at)| at.map(|at| &job[at])).collect();
    let apart =
        taken.iter().enumerate().all(|(i, a)| taken[i + 1..].iter().all(|b| !collide(a, b)));
    let within = bounds.time.is_none_or(|max| selection.time <= max)
        && bounds.budget.is_none_or(|max| selection.cost <= max);
    apart && within && *selection == Selection::of(jobs, selection.chosen.clone())
}

/// What is wanted small, first things first.
fn key(objective: Objective, it: &Selection) -> (i64, i64, i64) {
    let left_out = -(it.placed() as i64);
    match objective {
        Objective::MaxIncome => (left_out, -it.cost, it.time),
        Objective::MinTime => (left_out, it.time, it.cost),
        Objective::MinCost => (left_out, it.cost, it.time),
        Objective::MinIdle => (left_out, -it.time, it.cost),
    }
}

/// The best of all selections, by counting through them.
fn enumerated(
    jobs: &[Vec<DisjointOffer>],
    objective: Objective,
    bounds: SumLimits,
) -> (i64, i64, i64) {
    let count: usize = jobs.iter().map(|job| job.len() + 1).product();
    let nth = |mut n: usize| {
        let digit = |job: &Vec<DisjointOffer>| {
            let index = n % (job.len() + 1);
            n /= job.len() + 1;
            index.checked_sub(1)
        };
        Selection::of(jobs, jobs.iter().map(digit).collect())
    };
    let sound = (0..count).map(nth).filter(|it| keeps_the_rules(jobs, bounds, it));
    sound.map(|it| key(objective, &it)).min().unwrap()
}

fn any_offer() -> impl Strategy<Value = DisjointOffer> {
    let span = (0u32..3, 0i64..12, 1i64..8);
    (0i64..20, 0i64..20, prop::collection::vec(span, 1..3)).prop_map(|(time, cost, spans)| {
        let mut busy: Vec<Busy> = spans
            .into_iter()
            .map(|(resource, start, length)| Busy { resource, start, end: start + length })
            .collect();
        busy.sort_by_key(|it| it.resource);
        busy.dedup_by_key(|it| it.resource);
        DisjointOffer { choice: Choice { time, cost }, busy }
    })
}

fn any_jobs() -> impl Strategy<Value = Vec<Vec<DisjointOffer>>> {
    prop::collection::vec(prop::collection::vec(any_offer(), 0..5), 1..6)
}

fn any_bounds() -> impl Strategy<Value = SumLimits> {
    (prop::option::of(0i64..60), prop::option::of(0i64..60))
        .prop_map(|(time, budget)| SumLimits { time, budget })
}

/// Offers as on a market: `tasks` nodes in a row of `nodes` for one span each, at a time.
fn market(
    jobs: usize,
    offers: usize,
    nodes: u32,
    horizon: i64,
    seed: u64,
) -> Vec<Vec<DisjointOffer>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut job = || {
        let tasks = random.random_range(1..=4u32).min(nodes);
        let work = random.random_range(20..=80i64);
        let mut offer = || {
            let start = random.random_range(0..horizon);
            let first = random.random_range(0..=nodes - tasks);
            let speed = random.random_range(10..=20i64);
            let length = work * 10 / speed;
            let cost = length * (speed - 5) * i64::from(tasks) * 1_000;
            let on = |resource| Busy { resource, start, end: start + length };
            let busy = (first..first + tasks).map(on).collect();
            DisjointOffer { choice: Choice { time: length, cost }, busy }
        };
        (0..offers).map(|_| offer()).collect()
    };
    (0..jobs).map(|_| job()).collect()
}

fn numbers(jobs: &[Vec<DisjointOffer>]) -> Vec<Vec<Choice>> {
    jobs.iter().map(|job| job.iter().map(|offer| offer.choice).collect()).collect()
}

proptest! {
    #[test]
    fn the_optimum_is_that_of_enumeration(
        jobs in any_jobs(),
        bounds in any_bounds(),
        objective in prop::sample::select(OBJECTIVES.to_vec()),
    ) {
        let found = select(&jobs, objective, bounds, None, PLENTY);
        prop_assert!(keeps_the_rules(&jobs, bounds, &found.selection));
        prop_assert_eq!(found.gap, None);
        prop_assert_eq!(key(objective, &found.selection), enumerated(&jobs, objective, bounds));
    }

    #[test]
    fn a_gap_holds_and_nothing_known_is_lost(
        jobs in any_jobs(),
        bounds in any_bounds(),
        objective in prop::sample::select(OBJECTIVES.to_vec()),
        work in 0u64..300,
    ) {
        let known = select(&jobs, objective, bounds, None, 0).selection;
        let found = select(&jobs, objective, bounds, Some(&known.chosen), work);
        prop_assert!(keeps_the_rules(&jobs, bounds, &found.selection));
        let mine = key(objective, &found.selection);
        let best = enumerated(&jobs, objective, bounds);
        prop_assert!(mine <= key(objective, &known) && mine >= best);
        match found.gap {
            None => prop_assert_eq!((mine.0, mine.1), (best.0, best.1)),
            Some(gap) => {
                prop_assert!(-(gap.placed as i64) <= best.0);
                if best.0 == mine.0 {
                    let sign = best.1.signum() * mine.1.signum();
                    prop_assert!(sign >= 0);
                    let max = matches!(objective, Objective::MaxIncome | Objective::MinIdle);
                    let possible = if max { -gap.objective } else { gap.objective };
                    prop_assert!(possible <= best.1, "{:?} {:?} {:?}", gap, mine, best);
                }
            }
        }
    }

    #[test]
    fn without_collisions_it_is_the_other_combination(
        choices in prop::collection::vec(prop::collection::vec((0i64..50, 0i64..50), 1..6), 1..6),
        objective in prop::sample::select(OBJECTIVES.to_vec()),
    ) {
        let offer = |&(time, cost): &(i64, i64)| DisjointOffer { choice: Choice { time, cost }, busy: Vec::new() };
        let jobs: Vec<Vec<DisjointOffer>> = choices.iter().map(|job| job.iter().map(offer).collect()).collect();
        let auto = tradewind_model::Limit::Auto;
        let bounds = limits(&numbers(&jobs), objective, auto, auto).unwrap();
        let other = best(&numbers(&jobs), objective, bounds).unwrap();
        let found = select(&jobs, objective, bounds, None, PLENTY);
        prop_assert_eq!(found.gap, None);
        prop_assert_eq!((found.selection.time, found.selection.cost), (other.time, other.cost));
    }
}

#[test]
fn papers_sizes_are_proven() {
    for seed in 0..20 {
        let jobs = market(3 + seed as usize % 5, 40, 6, 300, seed);
        for objective in OBJECTIVES {
            let auto = tradewind_model::Limit::Auto;
            let bounds = limits(&numbers(&jobs), objective, auto, auto).unwrap();
            let found = select(&jobs, objective, bounds, None, 4_000_000);
            assert!(keeps_the_rules(&jobs, bounds, &found.selection));
            assert_eq!(found.gap, None, "{seed} {objective:?} {}", found.steps);
        }
    }
}

#[test]
fn a_large_batch_ends_within_its_work_with_a_gap_that_is_small() {
    let jobs = market(200, 50, 40, 600, 1);
    // By how many thousandths of the sum the bound may lie below it.
    for (objective, max) in [(Objective::MinTime, 20), (Objective::MinCost, 150)] {
        let auto = tradewind_model::Limit::Auto;
        let bounds = limits(&numbers(&jobs), objective, auto, auto).unwrap();
        let found = select(&jobs, objective, bounds, None, 2_000_000);
        assert!(keeps_the_rules(&jobs, bounds, &found.selection));
        assert!(found.steps < 2_050_000);
        let gap = found.gap.unwrap();
        assert_eq!((found.selection.placed(), gap.placed), (200, 200));
        let sum = found.selection.objective(objective);
        assert!(gap.objective < sum && (sum - gap.objective) * 1_000 < sum * max, "{sum} {gap:?}");
    }
}

/// Too little room for all, and work for a fraction of a first guess: still a bound that holds.
#[test]
fn work_limits_are_kept_where_room_is_short() {
    let jobs = market(200, 20, 20, 200, 2);
    for work_limit in [0, 10_000, 300_000] {
        let found = select(&jobs, Objective::MinTime, SumLimits::default(), None, work_limit);
        assert!(keeps_the_rules(&jobs, SumLimits::default(), &found.selection));
        let (placed, gap) = (found.selection.placed(), found.gap.unwrap());
        assert!(placed > 40 && gap.placed >= placed, "{placed} {gap:?}");
        assert!(found.steps < work_limit + 60_000, "{}", found.steps);
    }
}
