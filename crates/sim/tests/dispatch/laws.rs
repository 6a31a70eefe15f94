//! What holds for every rule and every knob.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Cause, Demand, Money, Outage, Place, Pool, PoolId, Pools, Price, SkipReason, Span, Terms, Time,
    Trade,
};
use tradewind_sched::policy::backfill::{self, Backfill};
use tradewind_sched::policy::dispatch::{
    Clearing, Deadline, DemandSupply, Dispatch, DispatchRule, DispatchSettings, Dynamics, Gate,
    Prices, QueueDiscipline, Slots, Ties, Valuation,
};
use tradewind_sim::outage::AnnouncedOutage;
use tradewind_sim::workload::{LogJob, Overrun};
use tradewind_sim::{Estimate, Ran, ReplaySettings, Run, Semantics};

use crate::naive::Naive;
use crate::worlds::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_rule_does_what_the_plain_version_does(
        pools in any_site(), log in any_log(), outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), settings in any_settings(),
    ) {
        // With several passes in one second, the plain version spends the second's cycle on the
        // first of them, ours on the first that can change anything.
        let settings = ReplaySettings { semantics: Semantics::Textbook, ..settings };
        let workload = workload(&pools, &log, overrun, outages);
        let run = replay(&workload, settings, &mut Dispatch::new(knobs));
        let plain = replay(&workload, settings, &mut Naive::new(knobs));
        // Cycles that change nothing may be left out.
        prop_assert_eq!(Run { passes: 0, ..run }, Run { passes: 0, ..plain });
    }

    #[test]
    fn the_same_where_prices_change_with_time(
        pools in any_site(), rates in any_rates(), log in any_log(), outages in any_outages(),
        knobs in any_knobs(), overrun in any_overrun(), settings in any_settings(),
    ) {
        let settings = ReplaySettings { semantics: Semantics::Textbook, ..settings };
        let workload = workload(&priced(&pools, &rates), &log, overrun, outages);
        let run = replay(&workload, settings, &mut Dispatch::new(knobs));
        let plain = replay(&workload, settings, &mut Naive::new(knobs));
        prop_assert_eq!(Run { passes: 0, ..run }, Run { passes: 0, ..plain });
    }

    /// As printed, Demand/Supply stands on both sides; no job starts elsewhere or at another time.
    #[test]
    fn demand_over_supply_cancels(
        pools in any_site(), log in any_log(), outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), settings in any_settings(),
    ) {
        let workload = workload(&pools, &log, overrun, outages);
        let plain = replay(&workload, settings, &mut Dispatch::new(knobs));
        let printed = DispatchSettings { demand_supply: DemandSupply::BothSides, ..knobs };
        let printed = replay(&workload, settings, &mut Dispatch::new(printed));
        let places = |run: &Run| -> Vec<_> {
            run.jobs.iter().map(|job| (job.start, job.end, job.place.clone())).collect()
        };
        prop_assert_eq!(places(&plain), places(&printed));
        let agreed = |run: &Run| -> Vec<_> {
            let of = |it: &tradewind_sim::Struck| (it.job, it.at, it.trade.pool, it.trade.price);
            run.trades.iter().map(of).collect()
        };
        prop_assert_eq!(agreed(&plain), agreed(&printed));
        let refused = |run: &Run| -> Vec<bool> {
            run.jobs.iter().map(|job| job.refused.is_some()).collect()
        };
        prop_assert_eq!(refused(&plain), refused(&printed));
    }

    #[test]
    fn trades_are_within_bids_asks_budgets_and_deadlines(
        pools in any_site(), log in any_log(), outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), settings in any_settings(),
    ) {
        let workload = workload(&pools, &log, overrun, outages);
        let run = replay(&workload, settings, &mut Dispatch::new(knobs));
        let mut last = (Time::MIN, 0);
        for struck in &run.trades {
            let (job, trade) = (&workload.jobs[struck.job], &struck.trade);
            let pool = pools.pool(trade.pool);
            if knobs.gate == Gate::On {
                prop_assert!(trade.bid.unwrap() >= trade.ask.unwrap());
            }
            within_prices(&pools, &knobs, trade)?;
            let ahead = if knobs.slots == Slots::Immediate { 1 } else { knobs.horizon.0.max(1) };
            prop_assert!(trade.expected >= struck.at && trade.expected < struck.at + Span(ahead));
            // Under shares, jobs of low rank may trade before jobs of a higher one.
            let turn = (struck.at, trade.rank);
            prop_assert!(knobs.rule == DispatchRule::FairShare && turn.0 >= last.0 || turn > last);
            last = turn;
            let terms = job.terms.clone().unwrap();
            prop_assert!(terms.earliest_start.is_none_or(|earliest| struck.at >= earliest));
            prop_assert!(pool.nodes >= job.processors);
            prop_assert_eq!(trade.passed.len(), trade.passed_in_all.min(16) as usize);
            prop_assert!(trade.passed.iter().all(|(passed, _)| *passed != trade.pool));
            if settings.estimate != tradewind_sim::Estimate::Requested {
                continue; // what the policy was told of lengths is not known here
            }
            let demand = Demand { terms: job.terms.clone(), ..Demand::new(job.processors, job.requested) };
            prop_assert!(pool.suits(&demand));
            let length = pool.length_of(&demand);
            let cost = trade.price.of(job.processors, length);
            prop_assert!(terms.budget.is_none_or(|budget| cost <= budget));
            if knobs.clearing != Clearing::List {
                let worthless = |value| knobs.clearing == Clearing::Posted && value <= Money::ZERO;
                prop_assert!(terms.value.is_none_or(|value| cost <= value || worthless(value)));
            }
            prop_assert!(terms.max_price.is_none_or(|cap| trade.price <= cap));
            let in_time = terms.deadline.is_none_or(|deadline| trade.expected + length <= deadline);
            prop_assert!(knobs.deadline == Deadline::Ignore || in_time);
        }
    }

    #[test]
    fn with_conservative_queues_no_job_starts_later_than_its_trade_says(
        pools in any_site(), log in any_log(), knobs in any_knobs(),
    ) {
        let workload = workload(&pools, &log, Overrun::Kill, vec![]);
        let settings = ReplaySettings { estimate: Estimate::Exact, ..ReplaySettings::default() };
        let knobs = DispatchSettings { local: QueueDiscipline::Conservative, ..knobs };
        let run = replay(&workload, settings, &mut Dispatch::new(knobs));
        for struck in &run.trades {
            prop_assert!(run.jobs[struck.job].start <= struck.trade.expected);
        }
    }

    #[test]
    fn in_one_queue_jobs_start_as_under_its_own_rule(
        log in any_log(), overrun in any_overrun(),
        local in prop::sample::select(QueueDiscipline::ALL.map(|it| it.0).to_vec()),
    ) {
        let log: Vec<LogJob> = log.into_iter().map(|job| LogJob { terms: None, ..job }).collect();
        let workload = workload(&Arc::new(Pools::cluster(6)), &log, overrun, vec![]);
        let slots = Slots::Packaged;
        let far = Span(1 << 40);
        let knobs = DispatchSettings { cycle: Span(1), slots, horizon: far, local, ..DispatchSettings::fcfs() };
        let starts = |run: Run| run.jobs.iter().map(|ran| ran.start).collect::<Vec<_>>();
        let depth = match local {
            QueueDiscipline::Easy => backfill::Depth::First(1),
            QueueDiscipline::Conservative => backfill::Depth::All,
        };
        let rule = backfill::BackfillSettings { depth, ..Default::default() };
        let expected = replay(&workload, ReplaySettings::default(), &mut Backfill::new(rule));
        let run = replay(&workload, ReplaySettings::default(), &mut Dispatch::new(knobs));
        prop_assert_eq!(starts(run), starts(expected));
    }

    #[test]
    fn a_credit_may_be_worth_half(
        pools in any_site(), log in any_log(), outages in any_outages(), knobs in any_knobs(),
    ) {
        // Amounts are so large that rounding decides nothing.
        let play = |factor: i64| {
            let workload = workload(&dearer(&pools, factor), &worth(&log, factor), Overrun::Extend, outages.clone());
            let run = replay(&workload, ReplaySettings::default(), &mut Dispatch::new(knobs));
            let trades: Vec<_> = run.trades.iter().map(|struck| {
                (struck.job, struck.at, struck.trade.pool, struck.trade.passed.clone())
            }).collect();
            let jobs: Vec<_> = run.jobs.iter().map(|ran| {
                (ran.start, ran.place.clone(), ran.refused.as_ref().map(|reason| reason.code()))
            }).collect();
            (trades, jobs)
        };
        prop_assert_eq!(play(1_000_000_000), play(2_000_000_000));
    }

    #[test]
    fn the_order_of_queues_decides_only_between_equals(
        pools in any_site(), log in any_log(), knobs in any_knobs(), turn in 0usize..6,
    ) {
        let count = pools.as_slice().len();
        let priced = (1..).zip(pools.as_slice());
        let mut queues: Vec<Pool> = priced.map(|(price, it)| Pool { price: Price(price), ..it.clone() }).collect();
        // Small prices that move may become equal.
        let prices = Prices::List;
        let knobs = DispatchSettings { rule: DispatchRule::Auction, ties: Ties::Cheapest, prices, ..knobs };
        let play = |queues: &[Pool]| {
            let workload = workload(&site(queues.to_vec()), &log, Overrun::Extend, vec![]);
            let run = replay(&workload, ReplaySettings::default(), &mut Dispatch::new(knobs));
            run.jobs
        };
        let before = play(&queues);
        let turn = turn % count;
        queues.rotate_left(turn);
        let moved = |ran: Ran| match ran.place {
            Place::Pool(PoolId(at)) if ran.refused.is_none() => {
                Ran { place: Place::Pool(PoolId(((at as usize + turn) % count) as u32)), ..ran }
            }
            _ => ran,
        };
        prop_assert_eq!(play(&queues).into_iter().map(moved).collect::<Vec<_>>(), before);
    }

    #[test]
    fn the_order_of_submission_decides_only_between_equals(
        pools in any_site(), log in any_log(), knobs in any_knobs(), turn in 0usize..20,
    ) {
        // All jobs arrive at once, and no two values or estimates are equal.
        let distinct = |(at, job): (i64, &LogJob)| {
            let terms = Terms { value: Some(Money(at)), ..job.terms.as_deref().unwrap().clone() };
            LogJob { submit: Some(Time(0)), requested: Some(Span(at)), terms: Some(Arc::new(terms)), ..job.clone() }
        };
        let log: Vec<LogJob> = (1..).zip(&log).map(distinct).collect();
        for rule in [DispatchRule::Hvfq, DispatchRule::Sjf] {
            let knobs = DispatchSettings { rule, gate: Gate::Off, ..knobs };
            let play = |log: &[LogJob]| {
                let workload = workload(&pools, log, Overrun::Kill, vec![]);
                let run = replay(&workload, ReplaySettings::default(), &mut Dispatch::new(knobs));
                let jobs = workload.jobs.iter().zip(run.jobs);
                let mut jobs: Vec<_> = jobs.map(|(job, ran)| (job.number, Ran { backfilled: false, ..ran })).collect();
                jobs.sort_by_key(|(number, _)| *number);
                jobs
            };
            let before = play(&log);
            let turn = turn % log.len();
            let mut turned = log.clone();
            turned.rotate_left(turn);
            // Numbers decide about the order within a second.
            let numbered = (0..).zip(&turned).map(|(number, job)| LogJob { number, ..job.clone() });
            let names: Vec<i64> = turned.iter().map(|job| job.number).collect();
            let mut after: Vec<_> = play(&numbered.collect::<Vec<_>>()).into_iter()
                .map(|(number, ran)| (names[number as usize], ran)).collect();
            after.sort_by_key(|(number, _)| *number);
            prop_assert_eq!(after, before);
        }
    }
}

/// Neither below what the owner wants nor above what the job can pay.
fn within_prices(
    pools: &Pools,
    knobs: &DispatchSettings,
    trade: &Trade,
) -> Result<(), TestCaseError> {
    let list = pools.pool(trade.pool).price;
    let times = |thousandths: u32| Price(list.0 * i64::from(thousandths) / 1_000);
    let Dynamics { floor, ceiling, .. } = knobs.dynamics;
    match knobs.prices {
        Prices::List => prop_assert_eq!(trade.reserve, list),
        Prices::Dynamic => {
            prop_assert!(
                trade.reserve >= times(floor) && trade.reserve <= times(ceiling.max(floor))
            );
        }
    }
    prop_assert!(trade.price >= trade.reserve);
    prop_assert!(trade.limit.is_none_or(|limit| trade.price <= limit));
    let unit = knobs.gate == Gate::On && knobs.valuation == Valuation::Unit;
    prop_assert_eq!(trade.limit.is_some(), unit || knobs.clearing.divides_the_gain());
    match knobs.clearing {
        Clearing::Posted | Clearing::List => prop_assert_eq!(trade.price, trade.reserve),
        Clearing::Bid => prop_assert_eq!(Some(trade.price), trade.limit),
        Clearing::Uniform | Clearing::K => {}
    }
    Ok(())
}

fn dearer(pools: &Pools, factor: i64) -> Arc<Pools> {
    let dear = |pool: &Pool| Pool { price: Price(pool.price.0 * factor), ..pool.clone() };
    site(pools.as_slice().iter().map(dear).collect())
}

fn worth(log: &[LogJob], factor: i64) -> Vec<LogJob> {
    let more = |job: &LogJob| {
        let terms = job.terms.as_deref().unwrap();
        let terms = Terms {
            value: terms.value.map(|it| Money(it.0 * factor)),
            budget: terms.budget.map(|it| Money(it.0 * factor)),
            max_price: terms.max_price.map(|it| Price(it.0 * factor)),
            ..terms.clone()
        };
        LogJob { terms: Some(Arc::new(terms)), ..job.clone() }
    };
    log.iter().map(more).collect()
}

/// A queue that is closed for days wakes the policy again and again, and that is no reason to give
/// up.
#[test]
fn jobs_outlast_long_outages() {
    let pools = site(vec![queue(2, 1_000, 0)]);
    let (from, until) = (Time(0), Time(300_000));
    let what = Outage { pool: PoolId(0), nodes: 2, from, until, cause: Cause::Maintenance };
    let outages = vec![AnnouncedOutage { announced: Time(0), what }];
    let log = [LogJob {
        number: 1,
        submit: Some(Time(1)),
        run: Some(Span(5)),
        processors: Some(1),
        requested: None,
        user: 0,
        terms: Some(Arc::new(Terms { value: Some(Money(1)), ..Terms::NONE })),
    }];
    let workload = workload(&pools, &log, Overrun::Kill, outages);
    for (rule, _) in DispatchRule::ALL {
        let knobs = DispatchSettings { slots: Slots::Immediate, ..DispatchSettings::of(rule) };
        let run = replay(&workload, ReplaySettings::default(), &mut Dispatch::new(knobs));
        assert_eq!(run.jobs[0].start, Time(300_001), "{rule:?}");
        assert_eq!(run.trades[0].trade.passed, Vec::<(PoolId, SkipReason)>::new());
    }
}
