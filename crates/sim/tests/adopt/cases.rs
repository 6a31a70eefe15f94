//! One thing at a time, under every policy.

use std::collections::BTreeSet;
use std::sync::Arc;

use tradewind_model::{Money, Pools, Span, Terms, Time};
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::{Order, Policy};

use crate::worlds::{Maker, backfill, fill, grid, plain, pools};
use crate::yard::{End, Fate, Gap, Job, Way, World, run};

/// Cycles may keep a job waiting for so long.
const PERIOD: i64 = 7;

fn job(submit: i64, run: i64, processors: u32) -> Job {
    let terms = Some(Arc::new(Terms { value: Some(Money::credits(1_000)), ..Terms::NONE }));
    Job { submit, run, processors, asked: run, terms, way: Way::Policy, cancel: None }
}

/// Of one user, without any other terms.
fn of(user: i64, job: &Job) -> Job {
    Job { terms: Some(Arc::new(Terms { user, ..Terms::NONE })), ..*job }
}

fn world(pools: Arc<Pools>, jobs: Vec<Job>) -> World {
    World {
        pools,
        jobs,
        gaps: vec![],
        prices: vec![],
        cuts: BTreeSet::new(),
        looks: BTreeSet::new(),
    }
}

fn four() -> Arc<Pools> {
    Arc::new(Pools::cluster(4))
}

fn starts(world: &World, make: &Maker) -> Vec<i64> {
    let start = |fate| match fate {
        Fate::Ran { start, .. } => start,
        _ => -1,
    };
    run(world, &|| make.1(&world.pools)).into_iter().map(start).collect()
}

fn all() -> Vec<Maker> {
    plain().into_iter().chain(grid()).collect()
}

/// Whether `at` is when it should be, or (where plans are made in cycles) soon after.
fn soon(at: i64, expected: i64) -> bool {
    (expected..expected + PERIOD).contains(&at)
}

fn gap(nodes: u32, from: i64, until: i64, end: End) -> Gap {
    Gap { pool: 0, nodes, announced: from, from, until, early: 0, end }
}

#[test]
fn nodes_that_are_back_early_are_used() {
    for make in all() {
        for cut in [None, Some(5), Some(20)] {
            let mut world = world(four(), vec![job(1, 5, 4)]);
            world.gaps.push(gap(4, 0, 1_000, End::Off(-970)));
            world.cuts.extend(cut);
            let at = starts(&world, &make)[0];
            assert!(soon(at, 30), "{} {cut:?}: {at}", make.0);
        }
    }
}

#[test]
fn nodes_that_are_not_back_are_not_counted_on() {
    for make in all() {
        for cut in [None, Some(5), Some(20)] {
            let mut world = world(four(), vec![job(1, 5, 4)]);
            world.gaps.push(gap(2, 0, 10, End::Off(40)));
            world.cuts.extend(cut);
            let at = starts(&world, &make)[0];
            assert!(soon(at, 50), "{} {cut:?}: {at}", make.0);
        }
    }
}

#[test]
fn a_job_that_is_taken_back_makes_room() {
    let easy = [
        backfill("easy", Depth::First(1), Order::Arrival),
        backfill("conservative", Depth::All, Order::Arrival),
        fill("grid easy", Depth::First(1), Order::Arrival),
        fill("grid conservative", Depth::All, Order::Arrival),
    ];
    for make in easy {
        for cut in [None, Some(5)] {
            let wide = Job { cancel: Some(9), ..job(1, 10, 4) };
            let mut world = world(four(), vec![job(0, 50, 3), wide, job(2, 100, 1)]);
            world.cuts.extend(cut);
            assert_eq!(starts(&world, &make), [0, -1, 10], "{} {cut:?}", make.0);
        }
    }
}

#[test]
fn who_cannot_pay_waits_for_other_prices() {
    for make in grid() {
        for cut in [None, Some(20), Some(60)] {
            let poor = Terms { budget: Some(Money::credits(40)), ..Terms::NONE };
            let max = Terms { max_price: Some(tradewind_model::Price::credits(1)), ..poor };
            let value = Some(Money::credits(10_000));
            let poor = Job { terms: Some(Arc::new(Terms { value, ..max })), ..job(5, 10, 4) };
            let rich = Terms { value, ..Terms::NONE };
            let rich = Job { terms: Some(Arc::new(rich)), ..job(0, 50, 4) };
            let mut world = world(pools(&[(4, 1_000, 1)]), vec![rich, poor]);
            // It may be handed to a queue at once, and then the price is settled.
            world.prices = vec![(4, 0, 1), (6, 0, 2), (80, 0, 1)];
            world.cuts.extend(cut);
            let at = starts(&world, &make);
            let agreed = ["auction", "admission"].contains(&make.0) || make.0.contains('-');
            assert!(soon(at[1], 80) || agreed && soon(at[1], 50), "{} {cut:?}: {at:?}", make.0);
        }
    }
}

/// A job is submitted in the very second in which nodes are there again for which an outage was
/// announced that never began: no event says so, and no call is for that alone.
#[test]
fn nodes_that_were_never_taken_are_used_from_the_end_that_was_announced() {
    for make in all() {
        for cut in [None, Some(30)] {
            let mut world = world(four(), vec![job(2, 20, 4), job(10, 1, 1)]);
            world.gaps.push(Gap { announced: 1, ..gap(2, 5, 10, End::Never) });
            world.cuts.extend(cut);
            let at = starts(&world, &make);
            // Or behind the other, and in the next cycle.
            assert!((10..20).contains(&at[0]), "{} {cut:?}: {at:?}", make.0);
        }
    }
}

#[test]
fn what_users_had_used_counts_after_a_change_of_policies() {
    let week = Order::HALF_LIFE;
    for make in [
        backfill("cluster", Depth::First(1), Order::FairShare(week)),
        fill("grid", Depth::First(1), Order::FairShare(week)),
    ] {
        for cut in [None, Some(60), Some(150)] {
            // User 1 has used the cluster; user 2 comes later, and goes first.
            let jobs = [of(1, &job(0, 50, 4)), of(3, &job(50, 100, 4))];
            let waiting = [of(1, &job(51, 10, 4)), of(2, &job(52, 10, 4)), of(3, &job(53, 10, 4))];
            let mut world = world(four(), jobs.into_iter().chain(waiting).collect());
            world.cuts.extend(cut);
            let expected = [0, 50, 160, 150, 170];
            assert_eq!(starts(&world, &make), expected, "{} {cut:?}", make.0);
        }
    }
}

#[test]
fn standing_is_what_was_used() {
    let (make, usage) = (fill("", Depth::First(1), Order::FairShare(Span(100))), [(4, 10)]);
    let mut policy: Box<dyn Policy> = (make.1)(&four());
    policy.resume(&usage.into());
    let standing: Vec<_> = policy.standing(Time(0)).iter().map(|it| (it.user, it.used)).collect();
    assert_eq!(standing, [(4, 10)]);
}
