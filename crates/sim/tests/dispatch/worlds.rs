//! Small grids of queues, jobs with values and deadlines, outages; and how to replay them.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Admission, Attributes, Cause, LoadPrice, Money, Outage, Performance, Pool, PoolId, Pools,
    Price, Rates, Ratio, Series, Site, SiteId, Span, Terms, Time, Times,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::dispatch::{
    Clearing, Deadline, DemandSupply, DispatchRule, DispatchSettings, Dynamics, Fraction, Gate,
    Prices, QueueDiscipline, ShareOf, Slots, Ties, Valuation, Wait,
};
use tradewind_sim::outage::{AnnouncedOutage, in_order};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Estimate, ReplaySettings, Run, Semantics, check, run};

pub(crate) fn queue(nodes: u32, thousandths: u32, price: i64) -> Pool {
    Pool {
        name: String::new(),
        site: SiteId(0),
        nodes,
        performance: Performance::from_thousandths(thousandths).unwrap(),
        price: Price(price),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    }
}

/// A site of these queues.
pub(crate) fn site(queues: Vec<Pool>) -> Arc<Pools> {
    let named = queues.into_iter().enumerate();
    let queues = named.map(|(at, queue)| Pool { name: format!("queue{at}"), ..queue }).collect();
    Arc::new(Pools::new(vec![Site { name: "site".to_owned() }], queues).unwrap())
}

fn any_admission() -> impl Strategy<Value = Admission> {
    let min = prop::option::weighted(0.1, 1u32..3);
    let max = prop::option::weighted(0.1, 1u32..5);
    let time = prop::option::weighted(0.1, (5i64..30).prop_map(Span));
    (min, max, time).prop_map(|(min_processors, max_processors, max_time)| Admission {
        min_processors,
        max_processors,
        max_time,
    })
}

pub(crate) fn any_site() -> impl Strategy<Value = Arc<Pools>> {
    let speed = prop::sample::select(vec![500u32, 1_000, 1_000, 1_500, 2_000]);
    let one =
        (1u32..6, speed, 0i64..5, any_admission()).prop_map(|(nodes, speed, price, admission)| {
            Pool { admission, ..queue(nodes, speed, price) }
        });
    let factor = prop_oneof![2 => Just(1_000u32), 1 => 1u32..3_000];
    prop::collection::vec((one, factor), 1..5).prop_map(|queues| {
        let (queues, factors): (Vec<_>, Vec<_>) = queues.into_iter().unzip();
        let factors = factors.into_iter().filter_map(Ratio::from_thousandths).collect();
        Arc::new(Pools::clone(&site(queues)).with_ask_factors(factors))
    })
}

/// Prices of such queues that rise with their load, or the demand.
pub(crate) fn any_load_prices() -> impl Strategy<Value = Vec<Option<LoadPrice>>> {
    let steps = prop::collection::btree_map(1u32..=1_000, 0i64..5, 0..3);
    let every = prop::option::of((1i64..40).prop_map(Span));
    let one = (0i64..4, steps, every).prop_map(|(idle, steps, every)| {
        let mut price = idle;
        let step = |(load, dearer): (u32, i64)| {
            price += dearer;
            (load, Price(price))
        };
        let steps = std::iter::once((0, Price(idle))).chain(steps.into_iter().map(step));
        match every {
            Some(every) => LoadPrice::by_demand(steps.collect(), every).unwrap(),
            None => LoadPrice::new(steps.collect()).unwrap(),
        }
    });
    prop::collection::vec(prop::option::weighted(0.7, one), 5)
}

/// Prices of such queues over time, some of which change.
pub(crate) fn any_rates() -> impl Strategy<Value = Rates> {
    let steps = prop::collection::btree_map(-20i64..90, 0i64..8, 1..5);
    let one = (steps, prop::option::weighted(0.7, 60i64..100)).prop_filter_map(
        "steps beyond the period",
        |(steps, period)| {
            let steps: Vec<_> = steps.into_iter().map(|(at, price)| (Time(at), price)).collect();
            let series = Series::new(&steps).ok()?;
            let series = match period {
                Some(period) => series.repeated(Span(period)).ok()?,
                None => series,
            };
            Some(Arc::new(series))
        },
    );
    prop::collection::vec(prop::option::weighted(0.8, one), 4).prop_map(Rates::new)
}

/// The same queues with these prices.
pub(crate) fn priced(pools: &Arc<Pools>, rates: &Rates) -> Arc<Pools> {
    Arc::new(Pools::clone(pools).with_rates(rates.clone()))
}

/// Amounts are small, so that bids and asks meet, and are rounded.
fn any_terms() -> impl Strategy<Value = Terms> {
    let limits = (
        prop::option::weighted(0.95, prop_oneof![1 => -1i64..2, 20 => 1i64..400]),
        prop::option::weighted(0.2, 0i64..600),
        prop::option::weighted(0.1, 0i64..80),
        prop::option::weighted(0.6, 10i64..300),
        prop::option::weighted(0.1, prop::sample::select(vec![1_000u32, 1_500])),
        prop::option::weighted(0.1, 0i64..5),
        prop::option::weighted(0.3, 1u32..3_000),
    );
    limits.prop_map(|(value, budget, earliest, deadline, speed, price, factor)| Terms {
        value: value.map(Money),
        budget: budget.map(Money),
        earliest_start: earliest.map(Time),
        deadline: deadline.map(Time),
        min_performance: speed.and_then(Performance::from_thousandths),
        max_price: price.map(Price),
        bid_factor: factor.and_then(Ratio::from_thousandths),
        ..Terms::NONE
    })
}

pub(crate) fn any_log() -> impl Strategy<Value = Vec<LogJob>> {
    let job = (0i64..50, 0i64..40, 1u32..5, 1i64..40, any_terms()).prop_map(
        |(submit, run, processors, requested, terms)| LogJob {
            number: 0,
            submit: Some(Time(submit)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: Some(Span(requested)),
            user: 0,
            terms: Some(Arc::new(terms)),
        },
    );
    prop::collection::vec(job, 1..40).prop_map(|mut jobs| {
        (0..).zip(&mut jobs).for_each(|(number, job)| job.number = number);
        jobs
    })
}

pub(crate) fn any_outages() -> impl Strategy<Value = Vec<AnnouncedOutage>> {
    let cause = prop_oneof![
        Just(Cause::Local),
        Just(Cause::Maintenance),
        (0u32..4).prop_map(Cause::Failure)
    ];
    let one = (0u32..5, 1u32..5, 0i64..80, 0i64..30, 1i64..30, cause).prop_map(
        |(pool, nodes, announced, notice, length, cause)| {
            let from = Time(announced + notice);
            let (pool, until) = (PoolId(pool), from + Span(length));
            let what = Outage { pool, nodes, from, until, cause };
            AnnouncedOutage { announced: Time(announced), what }
        },
    );
    prop::collection::vec(one, 0..4)
}

fn any<T: std::fmt::Debug + Copy + 'static, const N: usize>(
    all: [(T, &'static str); N],
) -> impl Strategy<Value = T> {
    prop::sample::select(all.map(|(it, _)| it).to_vec())
}

pub(crate) fn any_rule() -> impl Strategy<Value = DispatchRule> {
    any(DispatchRule::ALL)
}

pub(crate) fn any_knobs() -> impl Strategy<Value = DispatchSettings> {
    let gate = prop::option::of(any(Gate::ALL));
    let slots = prop_oneof![1 => Just(Slots::Immediate), 3 => Just(Slots::Packaged)];
    let horizon = prop_oneof![0i64..60, 60i64..400];
    let what = (any_rule(), 1i64..15, slots, horizon, gate, any(Deadline::ALL));
    let how = (any(Ties::ALL), any(Wait::ALL), 1u32..3_000, 0i64..90, any(ShareOf::ALL), 0u64..9);
    let publish = prop::option::weighted(0.3, (1i64..60).prop_map(Span));
    (what, how, any_pricing(), publish).prop_map(|(what, how, pricing, publish)| {
        let (rule, cycle, slots, horizon, gate, deadline) = what;
        let (clearing, k, prices, dynamics, valuation, tau) = pricing;
        let (ties, wait, ratio, patience, share, seed) = how;
        let standard = DispatchSettings::of(rule);
        DispatchSettings {
            rule,
            cycle: Span(cycle),
            slots,
            horizon: Span(horizon),
            gate: gate.unwrap_or(standard.gate),
            deadline,
            ties,
            wait,
            publish,
            local: QueueDiscipline::Easy,
            ratio: Ratio::from_thousandths(ratio).unwrap(),
            demand_supply: DemandSupply::LeftOut,
            patience: Span(patience),
            share,
            seed,
            clearing,
            k,
            prices,
            dynamics,
            valuation,
            tau,
        }
    })
}

fn any_pricing() -> impl Strategy<Value = (Clearing, Fraction, Prices, Dynamics, Valuation, Span)> {
    let k = prop_oneof![Just(0u16), Just(500), Just(1_000), 0u16..=1_000];
    let k = k.prop_map(|k| Fraction::from_thousandths(k).unwrap());
    let dynamics = (0u32..1_500, 0u32..1_500, 0u32..4_000, 0i64..200);
    let dynamics = dynamics.prop_map(|(step, floor, ceiling, outlook)| Dynamics {
        step,
        floor,
        ceiling,
        outlook: Span(outlook),
    });
    let clearing = prop_oneof![2 => Just(Clearing::List), 3 => any(Clearing::ALL)];
    let tau = (0i64..90).prop_map(Span);
    (clearing, k, any(Prices::ALL), dynamics, any(Valuation::ALL), tau)
}

pub(crate) fn any_overrun() -> impl Strategy<Value = Overrun> {
    prop_oneof![Just(Overrun::Kill), Just(Overrun::Extend)]
}

pub(crate) fn any_settings() -> impl Strategy<Value = ReplaySettings> {
    let semantics = prop_oneof![3 => Just(Semantics::Textbook), 1 => Just(Semantics::Pyss)];
    let learned = [Estimate::Predicted, Estimate::PublishedLinear];
    let all = [&[Estimate::Requested, Estimate::Exact], &learned[..]].concat();
    (semantics, prop::sample::select(all))
        .prop_map(|(semantics, estimate)| ReplaySettings { semantics, estimate })
}

pub(crate) fn workload(
    pools: &Arc<Pools>,
    log: &[LogJob],
    overrun: Overrun,
    outages: Vec<AnnouncedOutage>,
) -> Workload {
    let workload = prepare(log, pools.clone(), Semantics::Textbook, overrun);
    let outages = in_order(&workload.pools, outages);
    Workload { outages, ..workload }
}

/// A replay with every checker.
pub(crate) fn replay(
    workload: &Workload,
    settings: ReplaySettings,
    policy: &mut dyn Policy,
) -> Run {
    let mut checkers = check::all(policy.promise());
    run(workload, settings, policy, &mut checkers).unwrap()
}
