//! Worlds at random, and policies of every family.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Admission, Attributes, Money, Performance, Pool, Pools, Price, Site, SiteId, Span, Terms, Time,
    Times,
};
use tradewind_sched::policy::autonomous::{AutonomousSites, HomeRule};
use tradewind_sched::policy::backfill::{self, Backfill, Depth};
use tradewind_sched::policy::bsf::{self, Bsf, First};
use tradewind_sched::policy::cyclic::market::{self, Cycles, PlanOrder, Replan};
use tradewind_sched::policy::dispatch::{self, Dispatch, DispatchRule};
use tradewind_sched::policy::gridfill::{self, GridFill, Spread};
use tradewind_sched::policy::local::{LocalScheduler, Plain, PlainSettings, QueueOrder as Next};
use tradewind_sched::policy::multiqueue::{self, MultiQueue};
use tradewind_sched::policy::{Order, Policy};

use crate::yard::{End, Gap, Job, Way, World};

/// A name, and what makes a fresh policy.
pub(crate) type Maker = (&'static str, Box<dyn Fn(&Pools) -> Box<dyn Policy>>);

fn maker<P: Policy + 'static>(name: &'static str, make: impl Fn(&Pools) -> P + 'static) -> Maker {
    (name, Box::new(move |pools| Box::new(make(pools))))
}

pub(crate) fn backfill(name: &'static str, depth: Depth, order: Order) -> Maker {
    maker(name, move |_| {
        Backfill::new(backfill::BackfillSettings { depth, order, ..Default::default() })
    })
}

pub(crate) fn fill(name: &'static str, depth: Depth, order: Order) -> Maker {
    let settings = gridfill::GridFillSettings { depth, order, ..Default::default() };
    maker(name, move |_| GridFill::new(settings))
}

const FAIR: Order = Order::FairShare(Span(40));

/// For one plain pool and jobs without terms.
pub(crate) fn plain() -> Vec<Maker> {
    vec![
        backfill("fcfs", Depth::First(0), Order::Arrival),
        backfill("easy", Depth::First(1), Order::Arrival),
        backfill("sjf", Depth::First(0), Order::Shortest),
        backfill("three", Depth::First(3), Order::Widest),
        backfill("conservative", Depth::All, Order::Arrival),
        backfill("conservative, smallest", Depth::All, Order::Smallest),
        backfill("easy, expansion", Depth::First(1), Order::Expansion),
        backfill("easy, fair share", Depth::First(1), FAIR),
        backfill("conservative, fair share", Depth::All, FAIR),
    ]
}

/// For any pools and jobs.
pub(crate) fn grid() -> Vec<Maker> {
    let cycles = |settings: market::CycleSettings, replan, turn| market::CycleSettings {
        period: Span(7),
        replan,
        turn,
        batch: 6,
        ..settings
    };
    let css = cycles(market::CycleSettings::css(), Replan::NextCycle, PlanOrder::Priority);
    let slicer =
        cycles(market::CycleSettings::batch_slicer(), Replan::OnRelease, PlanOrder::Priority);
    let fair =
        cycles(market::CycleSettings::css(), Replan::NextCycle, PlanOrder::FairShare(Span(40)));
    let both = |first, cycles: &market::CycleSettings| {
        let fill = gridfill::GridFillSettings::default();
        bsf::BsfSettings { cycles: cycles.clone(), first, fill, ..bsf::BsfSettings::default() }
    };
    let some = both(First::Count(2), &css);
    let percent = both(First::Percent(50), &slicer);
    let none = both(First::Count(0), &css);
    let site = |depth| PlainSettings { depth, turn: Next::Arrival };
    let plain = move |depth| {
        move |pools: &Pools| {
            AutonomousSites::isolated(
                pools,
                HomeRule::FirstSuitable,
                |pool| -> Box<dyn LocalScheduler> { Box::new(Plain::new(pool.nodes, site(depth))) },
            )
        }
    };
    let hybrid = |pools: &Pools| {
        AutonomousSites::isolated(
            pools,
            HomeRule::FirstSuitable,
            |pool| -> Box<dyn LocalScheduler> {
                let settings = multiqueue::MultiQueueSettings::new(500, 3).unwrap();
                Box::new(MultiQueue::new(pool.nodes, settings))
            },
        )
    };
    let mut all = vec![
        fill("grid fcfs", Depth::First(0), Order::Arrival),
        fill("grid easy", Depth::First(1), Order::Arrival),
        fill("grid three", Depth::First(3), Order::Shortest),
        fill("grid conservative", Depth::All, Order::Arrival),
        fill("grid fair share", Depth::First(1), FAIR),
        maker("one site", |_| {
            let settings = gridfill::GridFillSettings::default();
            GridFill::new(gridfill::GridFillSettings { spread: Spread::Site, ..settings })
        }),
        maker("css", move |_| Cycles::new(css.clone())),
        maker("batch-slicer", move |_| Cycles::new(slicer.clone())),
        maker("css, fair share", move |_| Cycles::new(fair.clone())),
        maker("bsf", move |_| Bsf::new(some.clone())),
        maker("bsf, half", move |_| Bsf::new(percent.clone())),
        maker("bsf, none", move |_| Bsf::new(none.clone())),
        maker("fcfs sites", plain(Depth::First(0))),
        maker("easy sites", plain(Depth::First(1))),
        maker("conservative sites", plain(Depth::All)),
        maker("multi-queue sites", hybrid),
    ];
    all.extend(DispatchRule::ALL.map(|(rule, name)| {
        let settings =
            dispatch::DispatchSettings { cycle: Span(5), ..dispatch::DispatchSettings::of(rule) };
        maker(name, move |_| Dispatch::new(settings))
    }));
    all
}

/// Nodes, performance in thousandths and price of each pool, two pools to a site.
pub(crate) fn pools(drawn: &[(u32, u32, i64)]) -> Arc<Pools> {
    let pool = |(at, &(nodes, speed, price)): (usize, &(u32, u32, i64))| Pool {
        name: format!("pool{at}"),
        site: SiteId(at as u32 / 2),
        nodes,
        performance: Performance::from_thousandths(speed).unwrap(),
        price: Price::credits(price),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let sites = (0..drawn.len().div_ceil(2)).map(|at| Site { name: format!("site{at}") });
    Arc::new(Pools::new(sites.collect(), drawn.iter().enumerate().map(pool).collect()).unwrap())
}

fn any_pools() -> impl Strategy<Value = Arc<Pools>> {
    let speed = prop::sample::select(vec![500u32, 1_000, 2_000]);
    prop::collection::vec((1u32..6, speed, 0i64..4), 1..4).prop_map(|drawn| pools(&drawn))
}

fn any_terms() -> impl Strategy<Value = Terms> {
    let limits = (
        prop::option::weighted(0.2, 0i64..5),
        prop::option::weighted(0.3, 0i64..120),
        prop::option::weighted(0.3, 0i64..80),
        prop::option::weighted(0.3, 20i64..200),
    );
    (limits, 0i64..3, 0i64..3, 1i64..50).prop_map(|(limits, user, priority, value)| {
        let (price, budget, earliest, deadline) = limits;
        Terms {
            user,
            priority,
            value: Some(Money::credits(value)),
            max_price: price.map(Price::credits),
            budget: budget.map(Money::credits),
            earliest_start: earliest.map(Time),
            deadline: deadline.map(Time),
            ..Terms::NONE
        }
    })
}

/// What worlds may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// One pool, jobs without terms, no prices.
    Plain,
    /// Any kind of policy.
    Any,
}

fn any_way(own: bool) -> impl Strategy<Value = Way> {
    match own {
        true => prop_oneof![
            6 => Just(Way::Policy),
            1 => Just(Way::Itself),
            1 => (0i64..20).prop_map(Way::Booked),
        ]
        .boxed(),
        false => Just(Way::Policy).boxed(),
    }
}

fn any_job(sort: Sort, own: bool) -> impl Strategy<Value = Job> {
    let numbers = (0i64..80, 1i64..30, 1u32..6, 1i64..30);
    let terms = any_terms().prop_map(move |terms| (sort == Sort::Any).then(|| Arc::new(terms)));
    let cancel = prop::option::weighted(0.2, 0i64..40);
    (numbers, terms, any_way(own), cancel).prop_map(|(numbers, terms, way, cancel)| {
        let (submit, run, processors, asked) = numbers;
        Job { submit, run, processors, asked, terms, way, cancel }
    })
}

fn any_gap() -> impl Strategy<Value = Gap> {
    let end = prop_oneof![
        4 => (-15i64..25).prop_map(End::Off),
        1 => (1i64..15).prop_map(End::Renewed),
        1 => Just(End::Never),
    ];
    (0u32..4, 1u32..5, 0i64..80, 0i64..20, 1i64..25, 0i64..6, end).prop_map(
        |(pool, nodes, announced, ahead, length, early, end)| {
            let from = announced + ahead;
            let early = if early < 4 { 0 } else { early };
            Gap { pool, nodes, announced, from, until: from + length, early, end }
        },
    )
}

fn moments() -> impl Strategy<Value = BTreeSet<i64>> {
    prop::collection::btree_set(0i64..160, 0..4)
}

/// Everything that can go otherwise than planned.
pub(crate) fn world(sort: Sort) -> impl Strategy<Value = World> {
    let pools = match sort {
        Sort::Plain => Just(Arc::new(Pools::cluster(6))).boxed(),
        Sort::Any => any_pools().boxed(),
    };
    let jobs = prop::collection::vec(any_job(sort, true), 1..22);
    let gaps = prop::collection::vec(any_gap(), 0..4);
    let prices = prop::collection::vec((0i64..150, 0u32..3, 0i64..8), 0..5);
    (pools, jobs, gaps, prices, moments(), moments()).prop_map(
        move |(pools, mut jobs, gaps, mut prices, cuts, looks)| {
            jobs.sort_by_key(|job| job.submit);
            jobs.retain(|job| job.processors <= pools.nodes());
            if sort == Sort::Plain {
                prices.clear();
            }
            // In the end all jobs can pay.
            prices.extend((0..).zip(pools.as_slice()).map(|(at, _)| (200, at, 0)));
            prices.sort_unstable();
            World { pools, jobs, gaps, prices, cuts, looks }
        },
    )
}

/// Jobs that do what they said, and nothing else happens.
pub(crate) fn punctual() -> impl Strategy<Value = World> {
    let jobs = prop::collection::vec(any_job(Sort::Plain, false), 1..22);
    (jobs, moments()).prop_map(|(mut jobs, cuts)| {
        jobs.sort_by_key(|job| job.submit);
        jobs.iter_mut().for_each(|job| (job.run, job.cancel) = (job.asked, None));
        let pools = Arc::new(Pools::cluster(6));
        World { pools, jobs, gaps: vec![], prices: vec![], looks: cuts.clone(), cuts }
    })
}
