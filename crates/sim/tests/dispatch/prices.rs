//! What is paid in the end, and prices that move.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Admission, LoadPrice, Money, Pools, Price, Rates, Reason, Series, Span, Terms, Time, TimeMode,
};
use tradewind_sched::policy::dispatch::{
    Clearing, Dispatch, DispatchRule, DispatchSettings, Dynamics, Fraction, Gate, Prices, Slots,
    Ties, Valuation, Wait,
};
use tradewind_sim::workload::{LogJob, Overrun};
use tradewind_sim::{Estimate, ReplaySettings, Run, Semantics, Struck};

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

/// A queue that costs a thousand until 100 and a tenth of it from then on, and one that costs 600.
fn cheap_later() -> Arc<Pools> {
    let series = Series::new(&[(Time(0), 1_000), (Time(100), 100)]).unwrap();
    let rates = Rates::new(vec![Some(Arc::new(series))]);
    priced(&site(vec![queue(1, 1_000, 0), queue(1, 1_000, 600)]), &rates)
}

#[test]
fn a_queue_offers_the_mean_price_of_a_jobs_time() {
    let trades = |run: i64, settings: DispatchSettings| {
        let ran = play(&cheap_later(), &steady(1, 0, run), settings);
        let trade = &ran.trades[0].trade;
        (trade.pool.0, trade.price.0, ran.jobs[0].cost.0)
    };
    let rule = |rule| DispatchSettings { ties: Ties::Cheapest, ..DispatchSettings::of(rule) };
    // Ninety seconds cost 1,000 each; 130, 100,000 and 3,000 in all; 300, 100,000 and 20,000.
    assert_eq!(trades(90, rule(DispatchRule::Fcfs)), (0, 1_000, 90_000));
    assert_eq!(trades(130, rule(DispatchRule::Fcfs)), (0, 793, 793 * 130), "rounded up");
    // Idle queues ask nothing: the cheapest for this job comes first.
    assert_eq!(trades(90, rule(DispatchRule::Auction)), (1, 600, 54_000));
    assert_eq!(trades(130, rule(DispatchRule::Auction)), (1, 600, 78_000));
    assert_eq!(trades(300, rule(DispatchRule::Auction)), (0, 400, 120_000));
    // And per unit the ask is this price.
    let unit = DispatchSettings { valuation: Valuation::Unit, ..rule(DispatchRule::Auction) };
    assert_eq!(trades(300, unit), (0, 400, 120_000));
}

#[test]
fn the_price_is_that_of_the_slot_and_stays() {
    // The first job holds the queue until 80. The second is to begin then: 20 seconds at 1,000 and
    // 20 at 100. The first ends at 50 instead, and the second begins then, at the price agreed.
    let series = Series::new(&[(Time(0), 1_000), (Time(100), 100)]).unwrap();
    let rates = Rates::new(vec![Some(Arc::new(series))]);
    let pools = priced(&site(vec![queue(1, 1_000, 0)]), &rates);
    let job = |number, run, requested| LogJob {
        number,
        submit: Some(Time(0)),
        run: Some(Span(run)),
        processors: Some(1),
        requested: Some(Span(requested)),
        user: 0,
        terms: None,
    };
    let workload = workload(&pools, &[job(0, 50, 80), job(1, 40, 40)], Overrun::Kill, vec![]);
    let knobs = DispatchSettings { slots: Slots::Packaged, ..DispatchSettings::fcfs() };
    let run = replay(&workload, ReplaySettings::default(), &mut Dispatch::new(knobs));
    let second = &run.trades[1].trade;
    assert_eq!((second.expected, second.price), (Time(80), Price(550)));
    assert_eq!((run.jobs[1].start, run.jobs[1].cost), (Time(50), Money(40 * 550)));
}

#[test]
fn a_job_waits_for_the_hour_that_it_can_pay() {
    // A day of a thousand seconds, of which the last tenth is cheap.
    let series = Series::new(&[(Time(0), 1_000), (Time(900), 10)]).unwrap();
    let rates = Rates::new(vec![Some(Arc::new(series.repeated(Span(1_000)).unwrap()))]);
    let pools = priced(&site(vec![queue(4, 1_000, 0)]), &rates);
    let start = |budget: i64, run, cycle| {
        let terms = Terms { budget: Some(Money(budget)), ..Terms::NONE };
        let log = [LogJob { terms: Some(Arc::new(terms)), ..steady(1, 0, run)[0].clone() }];
        let knobs = DispatchSettings { cycle: Span(cycle), ..DispatchSettings::fcfs() };
        let run = play(&pools, &log, knobs);
        run.jobs[0].refused.as_deref().cloned().map_or(Ok(run.jobs[0].start.0), Err)
    };
    assert_eq!(start(100_000, 100, 10), Ok(0));
    assert_eq!(start(1_000, 100, 10), Ok(900));
    // With 9,900 credits more, ten of its seconds may be dear.
    assert_eq!(start(10_900, 100, 10), Ok(890));
    assert_eq!(start(1_000, 50, 10), Ok(900));
    // Cycles of 400 never begin in the last tenth of a day, those of 300 do.
    let short =
        |cheapest| Err(Reason::BudgetShort { cheapest: Money(cheapest), budget: Money(1_000) });
    assert_eq!(start(1_000, 100, 400), short(100_000));
    assert_eq!(start(1_000, 100, 300), Ok(900));
    assert_eq!(
        start(999, 100, 10),
        Err(Reason::BudgetShort { cheapest: Money(1_000), budget: Money(999) })
    );
}

/// Cycles in which the only job could pay nothing are omitted: to wait for days is not to be stuck.
#[test]
fn a_job_waits_for_days() {
    let cheap = 6 * 86_400;
    let series = Series::new(&[(Time(0), 1_000), (Time(cheap), 10)]).unwrap();
    let rates = Rates::new(vec![Some(Arc::new(series.repeated(Span(7 * 86_400)).unwrap()))]);
    let pools = priced(&site(vec![queue(4, 1_000, 0)]), &rates);
    let mut log = steady(1, 0, 100);
    log[0].terms = Some(Arc::new(Terms { value: Some(Money(1_000)), ..Terms::NONE }));
    for (rule, _) in DispatchRule::ALL {
        for prices in [Prices::List, Prices::Dynamic] {
            let knobs = DispatchSettings { prices, ..DispatchSettings::of(rule) };
            let knobs = DispatchSettings { clearing: Clearing::K, ..knobs };
            let run = play(&pools, &log, knobs);
            assert_eq!(run.jobs[0].start, Time(cheap), "{rule:?} {prices:?}");
            assert!(run.passes < 20, "{} passes", run.passes);
        }
    }
}

#[test]
fn a_job_that_missed_the_last_hour_that_it_could_pay_is_refused() {
    // Cheap until 100; the queue is held until then.
    let series = Series::new(&[(Time(0), 10), (Time(100), 1_000)]).unwrap();
    let rates = Rates::new(vec![Some(Arc::new(series))]);
    let pools = priced(&site(vec![queue(1, 1_000, 0)]), &rates);
    let terms = Terms { budget: Some(Money(1_000)), ..Terms::NONE };
    let mut log = steady(2, 0, 100);
    log[1].run = Some(Span(50));
    log[1].terms = Some(Arc::new(terms));
    let run = play(&pools, &log, DispatchSettings::fcfs());
    // In the cycle of 50 it could still pay; in that of 60 ten of its seconds are dear.
    let short = Reason::BudgetShort { cheapest: Money(10_400), budget: Money(1_000) };
    assert_eq!((run.jobs[1].refused.as_deref(), run.jobs[1].end), (Some(&short), Time(60)));
}

/// Two nodes at 10, or 30 while one or both are in use.
#[test]
fn a_job_waits_for_the_load_that_it_can_pay() {
    let price = LoadPrice::new(vec![(0, Price(10)), (500, Price(30))]).unwrap();
    let pools = site(vec![queue(2, 1_000, 0)]);
    let pools = Arc::new(Pools::clone(&pools).with_load_prices(vec![Some(price)]));
    let fates = |rule, budget| {
        let mut log = steady(3, 1, 100);
        log[0].terms = Some(Arc::new(Terms { value: Some(Money(3_000)), ..Terms::NONE }));
        log[1].terms = Some(Arc::new(Terms {
            value: Some(Money(budget)),
            budget: Some(Money(budget)),
            ..Terms::NONE
        }));
        log.truncate(2);
        let knobs = DispatchSettings { gate: Gate::Off, ..DispatchSettings::of(rule) };
        let run = play(&pools, &log, knobs);
        let fate = |at: usize| run.jobs[at].refused.is_none().then(|| run.jobs[at].cost.0);
        (fate(0), fate(1), run.jobs[1].start.0)
    };
    for rule in [DispatchRule::Auction, DispatchRule::Fcfs] {
        assert_eq!(fates(rule, 3_000), (Some(1_000), Some(3_000), 10), "{rule:?}");
        assert_eq!(fates(rule, 2_999), (Some(1_000), Some(1_000), 100), "{rule:?}");
        assert_eq!(fates(rule, 999), (Some(1_000), None, 1), "{rule:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_flat_series_is_a_price(
        pools in any_site(), log in any_log(), outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), settings in any_settings(),
    ) {
        let flat = |pool: &tradewind_model::Pool| {
            let steps = [Time(0), Time(7), Time(50)].map(|at| (at, pool.price.0));
            Some(Arc::new(Series::new(&steps).unwrap().repeated(Span(60)).unwrap()))
        };
        let rates = Rates::new(pools.as_slice().iter().map(flat).collect());
        // With several passes in one second, a cycle may be spent on another of them than where no
        // price changes: on the first, instead of the first that can change anything.
        let settings = ReplaySettings { semantics: Semantics::Textbook, ..settings };
        let of = |pools: &Arc<Pools>| {
            let workload = workload(pools, &log, overrun, outages.clone());
            let run = replay(&workload, settings, &mut Dispatch::new(knobs));
            // Empty grids need no cycle before a price falls.
            Run { passes: 0, ..run }
        };
        prop_assert_eq!(of(&pools), of(&priced(&pools, &rates)));
    }

    /// Checkers look up the price of each trade. No job waits for ever.
    #[test]
    fn prices_may_follow_load(
        pools in any_site(), prices in any_load_prices(), rates in any_rates(), log in any_log(),
        outages in any_outages(), knobs in any_knobs(), settings in any_settings(),
    ) {
        let by_load = Arc::new(Pools::clone(&pools).with_load_prices(prices));
        let run = replay(&workload(&by_load, &log, Overrun::Extend, outages.clone()), settings, &mut Dispatch::new(knobs));
        for Struck { trade, by_load: list, .. } in &run.trades {
            let follows = by_load.load_price(trade.pool);
            prop_assert_eq!(list.is_some(), follows.is_some());
            if let (Prices::List, Some(list)) = (knobs.prices, list) {
                prop_assert_eq!(trade.reserve, *list);
            }
        }
        // Some follow the hours instead.
        let rates = priced(&pools, &rates);
        let prices = by_load.iter().map(|(id, _)| {
            by_load.load_price(id).filter(|_| rates.rate(id).is_none()).cloned()
        });
        let both = Arc::new(Pools::clone(&rates).with_load_prices(prices.collect()));
        replay(&workload(&both, &log, Overrun::Extend, outages), settings, &mut Dispatch::new(knobs));
    }

    /// The integral over the expected time, second by second, over its length, rounded up.
    #[test]
    fn every_trade_is_at_the_mean_price_of_its_time(
        pools in any_site(), rates in any_rates(), log in any_log(), outages in any_outages(),
        knobs in any_knobs(), overrun in any_overrun(),
    ) {
        let pools = priced(&pools, &rates);
        let workload = workload(&pools, &log, overrun, outages);
        let run = replay(&workload, ReplaySettings::default(), &mut Dispatch::new(knobs));
        for Struck { job, trade, .. } in &run.trades {
            let length = workload.jobs[*job].requested;
            let length = pools.pool(trade.pool).length_in(TimeMode::WORK, length).0;
            let seconds = trade.expected.0..trade.expected.0 + length;
            let sum: i64 = seconds.map(|at| pools.price_at(trade.pool, Time(at)).0).sum();
            let mean = sum / length + i64::from(sum % length > 0);
            match knobs.prices {
                Prices::List => prop_assert_eq!(trade.reserve, Price(mean)),
                Prices::Dynamic => {
                    let Dynamics { floor, ceiling, .. } = knobs.dynamics;
                    let at = |thousandths: u32| mean * i64::from(thousandths) / 1_000;
                    prop_assert!(trade.reserve.0 >= at(floor));
                    prop_assert!(trade.reserve.0 <= at(ceiling.max(floor)));
                }
            }
            prop_assert!(trade.price >= trade.reserve);
        }
    }

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
