//! What is paid in the end, and prices that move.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Admission, Money, Pools, Price, Reason, Span, Terms, Time};
use tradewind_sched::policy::dispatch::{
    Clearing, Dispatch, DispatchRule, DispatchSettings, Dynamics, Fraction, Prices, Valuation, Wait,
};
use tradewind_sim::workload::{LogJob, Overrun};
use tradewind_sim::{Estimate, ReplaySettings, Run};

use crate::worlds::*;

/// A log in which each job is worth a credit per processor and second.
fn steady(count: i64, every: i64, run: i64) -> Vec<LogJob> {
    let terms = Terms { value: Some(Money::credits(run)), ..Terms::NONE };
    let job = |number| LogJob {
        number,
        submit: Some(Time(number * every)),
        run: Some(Span(run)),
        processors: Some(1),
        requested: None,
        user: 0,
        terms: Some(Arc::new(terms.clone())),
    };
    (0..count).map(job).collect()
}

fn play(pools: &Arc<Pools>, log: &[LogJob], knobs: DispatchSettings) -> Run {
    let workload = workload(pools, log, Overrun::Extend, vec![]);
    let exact = ReplaySettings { estimate: Estimate::Exact, ..ReplaySettings::default() };
    replay(&workload, exact, &mut Dispatch::new(knobs))
}

fn prices(run: &Run) -> Vec<i64> {
    run.trades.iter().map(|struck| struck.trade.price.0).collect()
}

const MOVING: Dynamics = Dynamics { step: 10, floor: 700, ceiling: 1_300, outlook: Span(100) };

#[test]
fn prices_rise_to_their_bound_while_too_much_is_wanted() {
    let pools = site(vec![queue(2, 1_000, 1_000)]);
    let knobs =
        DispatchSettings { prices: Prices::Dynamic, dynamics: MOVING, ..DispatchSettings::fcfs() };
    let knobs = DispatchSettings { horizon: Span(1), ..knobs };
    // Four times what there is.
    let paid = prices(&play(&pools, &steady(400, 10, 80), knobs));
    let risen = paid.iter().position(|price| *price == 1_300).unwrap();
    assert!(risen < 100 && paid[risen..350].iter().all(|price| *price == 1_300));
}

#[test]
fn prices_fall_to_their_bound_while_little_is_wanted() {
    let pools = site(vec![queue(4, 1_000, 1_000)]);
    let knobs = DispatchSettings {
        prices: Prices::Dynamic,
        dynamics: MOVING,
        ..DispatchSettings::auction()
    };
    let paid = prices(&play(&pools, &steady(100, 10, 5), knobs));
    assert_eq!((paid[0] / 10, paid[99]), (99, 700));
    assert!(paid.is_sorted_by(|a, b| a >= b));
    // No job arrives for so long: one cycle in which nothing is wanted after the other.
    let paid = prices(&play(&pools, &steady(2, 250, 5), knobs));
    assert!((paid[0] - paid[1] - 250).abs() <= 10, "{paid:?}");
}

#[test]
fn a_job_waits_until_it_can_pay_or_is_refused() {
    let pools = site(vec![queue(4, 1_000, 1_000)]);
    let knobs = DispatchSettings {
        prices: Prices::Dynamic,
        dynamics: MOVING,
        ..DispatchSettings::auction()
    };
    let mut log = steady(3, 0, 10);
    for (job, credit) in log.iter_mut().zip([8_500, 6_999, 7_000]) {
        let terms = Terms { value: Some(Money(credit)), ..Terms::NONE };
        *job = LogJob { terms: Some(Arc::new(terms)), ..job.clone() };
    }
    let knobs = DispatchSettings { clearing: Clearing::K, k: Fraction::NONE, ..knobs };
    let run = play(&pools, &log, knobs);
    let [first, second, third] = &run.jobs[..] else { unreachable!() };
    assert_eq!((first.start, third.start), (Time(140), Time(290)));
    assert_eq!((first.cost, third.cost), (Money(8_500), Money(7_000)));
    let out = Reason::PricedOut { bid: Money(6_999), ask: Money(7_000) };
    assert_eq!(second.refused.as_deref(), Some(&out));
}

#[test]
fn one_price_per_cycle_is_between_the_marginal_bid_and_the_marginal_ask() {
    let narrow = Admission { max_processors: Some(1), ..Admission::NONE };
    let pools = site(vec![
        tradewind_model::Pool { admission: narrow, ..queue(1, 1_000, 100) },
        queue(2, 2_000, 300),
    ]);
    let mut log = steady(2, 0, 10);
    for (job, (wide, value)) in log.iter_mut().zip([(2, 4_000), (1, 2_000)]) {
        let terms = Terms { value: Some(Money(value)), ..Terms::NONE };
        *job = LogJob { processors: Some(wide), terms: Some(Arc::new(terms)), ..job.clone() };
    }
    // The wide one could pay 400 for a node of twice the speed that is to cost 300, the other 200
    // for one that is to cost 100: per reference second 200 against 150, and 200 against 100.
    let of = |clearing| {
        let knobs = DispatchSettings { clearing, ..DispatchSettings::auction() };
        let run = play(&pools, &log, knobs);
        let mut paid: Vec<(usize, i64)> =
            run.trades.iter().map(|it| (it.job, it.trade.price.0)).collect();
        paid.sort_unstable();
        paid.into_iter().map(|(_, price)| price).collect::<Vec<_>>()
    };
    assert_eq!(of(Clearing::List), [300, 100]);
    assert_eq!(of(Clearing::Bid), [400, 200]);
    assert_eq!(of(Clearing::K), [350, 150]);
    assert_eq!(of(Clearing::Uniform), [350, 175]);
}

#[test]
fn asks_per_unit_exclude_jobs_that_cannot_pay_even_an_idle_queue() {
    let pools = site(vec![queue(4, 1_000, 1_000)]);
    // Two are worth 1,100 per second, two 999.
    let mut log = steady(4, 0, 10);
    for (job, value) in log.iter_mut().zip([11_000, 11_000, 9_990, 9_990]) {
        let terms = Terms { value: Some(Money(value)), deadline: Some(Time(60)), ..Terms::NONE };
        *job = LogJob { terms: Some(Arc::new(terms)), ..job.clone() };
    }
    let of = |valuation| {
        let (cycle, wait) = (Span(5), Wait::First);
        let knobs = DispatchSettings {
            valuation,
            cycle,
            wait,
            clearing: Clearing::List,
            ..DispatchSettings::auction()
        };
        let run = play(&pools, &log, knobs);
        let asks: Vec<_> = run.trades.iter().map(|it| (it.at.0, it.trade.ask)).collect();
        let refused: Vec<_> = run.jobs.iter().filter_map(|ran| ran.refused.clone()).collect();
        (asks, refused)
    };
    let (asks, refused) = of(Valuation::Paper);
    assert_eq!((asks, refused.len()), (vec![(0, Some(Money(0))); 4], 0));
    // At 5, the second bids 1,100·(1 + 5/55) and is asked for 1,000·(1 + 1/4); at 10 all is idle.
    let out = Reason::PricedOut { bid: Money(9_990), ask: Money(10_000) };
    let (asks, refused) = of(Valuation::Unit);
    assert_eq!(asks, [(0, Some(Money(1_000))), (10, Some(Money(1_000)))]);
    assert!(refused.len() == 2 && refused.iter().all(|reason| **reason == out));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_job_pays_more_than_it_is_worth_and_no_owner_gets_less_than_wanted(
        pools in any_site(), log in any_log(), outages in any_outages(), knobs in any_knobs(),
        exact in any::<bool>(),
    ) {
        let (overrun, estimate) = match exact {
            true => (Overrun::Extend, Estimate::Exact),
            false => (Overrun::Kill, Estimate::Requested),
        };
        let workload = workload(&pools, &log, overrun, outages);
        let settings = ReplaySettings { estimate, ..ReplaySettings::default() };
        let run = replay(&workload, settings, &mut Dispatch::new(knobs));
        let mut list = 0i128;
        for (index, (job, ran)) in workload.jobs.iter().zip(&run.jobs).enumerate() {
            if ran.refused.is_some() {
                continue;
            }
            let terms = job.terms.clone().unwrap();
            let by_worth = knobs.clearing != Clearing::List;
            // What is worth nothing has no limit where jobs need no value.
            let limits = |worth: &Money| by_worth && *worth > Money::ZERO;
            let worth = terms.value.or(terms.budget).filter(limits);
            prop_assert!(worth.is_none_or(|worth| ran.cost <= worth));
            prop_assert!(terms.budget.is_none_or(|budget| ran.cost <= budget));
            let trade = &run.trades.iter().rev().find(|struck| struck.job == index).unwrap().trade;
            let length = ran.end - ran.start;
            let wanted = trade.reserve.of(job.processors, length);
            prop_assert!(ran.cost >= wanted);
            list += i128::from(pools.pool(trade.pool).price.of(job.processors, length).0);
        }
        let income: i128 = run.jobs.iter().map(|ran| i128::from(ran.cost.0)).sum();
        prop_assert!(knobs.prices == Prices::Dynamic || income >= list);
    }

    #[test]
    fn a_price_in_other_money_is_the_same_price(
        pools in any_site(), log in any_log(), knobs in any_knobs(),
    ) {
        let knobs = DispatchSettings { rule: DispatchRule::Fcfs, clearing: Clearing::List, prices: Prices::Dynamic, ..knobs };
        let log: Vec<LogJob> = log.into_iter().map(|job| {
            let terms = Terms { budget: None, max_price: None, ..job.terms.as_deref().unwrap().clone() };
            LogJob { terms: Some(Arc::new(terms)), ..job }
        }).collect();
        let dear = |factor| {
            let dear = |pool: &tradewind_model::Pool| tradewind_model::Pool {
                price: Price(pool.price.0 * factor * 1_000_000), ..pool.clone()
            };
            site(pools.as_slice().iter().map(dear).collect())
        };
        let knobs = DispatchSettings { gate: tradewind_sched::policy::dispatch::Gate::Off, ..knobs };
        let once = prices(&play(&dear(1), &log, knobs));
        let thrice = prices(&play(&dear(3), &log, knobs));
        prop_assert_eq!(once.iter().map(|price| price * 3).collect::<Vec<_>>(), thrice);
    }
}
