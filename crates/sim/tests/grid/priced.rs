//! Prices that change with time, against sums over all seconds.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Criterion, Demand, Limit, Money, Objective, Pools, Rates, Series, Span, Terms, Time, VoPolicy,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::bsf::{Bsf, BsfSettings};
use tradewind_sched::policy::cyclic::SearchBy;
use tradewind_sched::policy::cyclic::market::{CycleSettings, Cycles, Stretch};
use tradewind_sched::policy::gridfill::{Depth, GridFill, GridFillSettings, Order};
use tradewind_sched::window::{Algorithm, Variant};
use tradewind_sim::workload::{LogJob, Overrun, Workload};
use tradewind_sim::{Estimate, ReplaySettings};

use crate::worlds::*;
use crate::{cycles, fill, naive};

/// What the tasks of a job cost second by second, if each runs for so long in its pool.
fn summed(workload: &Workload, job: usize, ran: &tradewind_sim::Ran, span: Span) -> (i64, i64) {
    let it = &workload.jobs[job];
    let demand = Demand { terms: it.terms.clone(), ..Demand::new(it.processors, span) };
    let (mut sum, mut most) = (0, 0);
    for share in ran.place.shares(it.processors) {
        let length = workload.pools.pool(share.pool).length_of(&demand).0;
        for second in ran.start.0..ran.start.0 + length {
            let price = naive::price_at(workload, share.pool, second);
            (sum, most) = (sum + price * i64::from(share.nodes), price.max(most));
        }
    }
    (sum, most)
}

/// Every job pays what each of its seconds cost, and no more than it may.
fn check(workload: &Workload, policy: &mut dyn Policy, within: bool) -> Result<(), TestCaseError> {
    let settings = ReplaySettings { estimate: Estimate::Exact, ..ReplaySettings::default() };
    let run = replay(workload, settings, policy);
    for (number, ran) in run.jobs.iter().enumerate().filter(|(_, ran)| ran.refused.is_none()) {
        let span = workload.jobs[number].run;
        let (sum, most) = summed(workload, number, ran, span);
        prop_assert_eq!(ran.cost, Money(sum), "job {}", number);
        let Some(terms) = workload.jobs[number].terms.as_ref().filter(|_| within) else { continue };
        prop_assert!(terms.budget.is_none_or(|budget| ran.cost <= budget));
        prop_assert!(terms.max_price.is_none_or(|max| most <= max.0));
        prop_assert!(terms.deadline.is_none_or(|deadline| ran.end <= deadline));
    }
    Ok(())
}

/// Searches are ours.
fn open(mut knobs: CycleSettings) -> CycleSettings {
    knobs.cyclic.variant = Variant::Exact;
    knobs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn backfilling_is_what_the_plain_version_does(
        pools in any_priced_grid(), log in any_log(), knobs in fill::any_knobs(),
        overrun in any_overrun(),
    ) {
        prop_assume!(!knobs.order.moves() && knobs.order != Order::Expansion);
        let workload = workload(&pools, &log, overrun);
        prop_assert_eq!(fill::fates(&workload, knobs), naive::fates(&workload, knobs));
    }

    #[test]
    fn backfilled_jobs_pay_for_their_seconds(
        pools in any_priced_grid(), log in any_log(), knobs in fill::any_knobs(),
    ) {
        let workload = workload(&pools, &log, Overrun::Extend);
        check(&workload, &mut GridFill::new(knobs), true)?;
    }

    #[test]
    fn planned_jobs_pay_for_their_seconds(
        pools in any_priced_grid(), log in any_log(), knobs in cycles::any_knobs(),
        fallback in 0u32..2,
    ) {
        let workload = workload(&pools, &log, Overrun::Extend);
        let within = knobs.cyclic.search == SearchBy::Job;
        let knobs = CycleSettings { fallback, ..open(knobs) };
        check(&workload, &mut Cycles::new(knobs), within)?;
    }

    #[test]
    fn both_together_pay_for_their_seconds(
        pools in any_priced_grid(), log in any_log(), cycles in cycles::any_knobs(),
        fill in fill::any_knobs(),
    ) {
        let workload = workload(&pools, &log, Overrun::Extend);
        let within = cycles.cyclic.search == SearchBy::Job;
        let knobs = BsfSettings { cycles: open(cycles), fill, ..BsfSettings::default() };
        check(&workload, &mut Bsf::new(knobs), within)?;
    }

    #[test]
    fn a_series_that_never_changes_is_a_price(
        pools in any_grid(), log in any_log(), knobs in fill::any_knobs(),
        cycles in cycles::any_knobs(), outages in any_outages(), overrun in any_overrun(),
    ) {
        // With fewer reservations jobs are examined more often where prices change.
        prop_assume!(!knobs.order.moves());
        let knobs = GridFillSettings { depth: Depth::All, ..knobs };
        let constant = |pool: &tradewind_model::Pool| {
            Some(Arc::new(Series::new(&[(Time(0), pool.price.0)]).unwrap()))
        };
        let rates = Rates::new(pools.as_slice().iter().map(constant).collect());
        let series = Arc::new(pools.as_ref().clone().with_rates(rates));
        let of = |pools: &Arc<Pools>| with_outages(workload(pools, &log, overrun), outages.clone());
        let (plain, changing) = (of(&pools), of(&series));
        let run = |workload: &Workload| {
            replay(workload, ReplaySettings::default(), &mut GridFill::new(knobs)).jobs
        };
        prop_assert_eq!(run(&plain), run(&changing));
        // Bounded searches may choose otherwise among equals.
        let cycles = open(cycles);
        let cycles = CycleSettings {
            stretch: Stretch::Own,
            horizon: cycles.horizon.map(|it| it.max(cycles.period)),
            cyclic: tradewind_sched::policy::cyclic::Cyclic {
                search: SearchBy::All(Algorithm::Best(Criterion::Start)),
                ..cycles.cyclic.clone()
            },
            ..cycles
        };
        let run = |workload: &Workload| {
            replay(workload, ReplaySettings::default(), &mut Cycles::new(cycles.clone())).jobs
        };
        prop_assert_eq!(run(&plain), run(&changing));
    }

    /// One job that wants the lowest cost gets the lowest of all windows of a cycle.
    #[test]
    fn a_cycle_finds_the_cheapest_seconds(
        pools in any_priced_grid(), procs in 1u32..4, asked in 1i64..20, horizon in 1i64..60,
    ) {
        let terms = Terms { criterion: Criterion::Cost, ..Terms::NONE };
        let job = LogJob {
            number: 0,
            submit: Some(Time(0)),
            run: Some(Span(asked)),
            processors: Some(procs),
            requested: Some(Span(asked)),
            user: 0,
            terms: Some(Arc::new(terms)),
        };
        let workload = workload(&pools, &[job], Overrun::Extend);
        prop_assume!(procs <= pools.nodes());
        let (period, horizon_of) = (Span(1), Some(Span(horizon)));
        let mut knobs = CycleSettings { period, horizon: horizon_of, ..CycleSettings::css() };
        knobs.cyclic.max_alternatives = Some(1);
        let run = replay(&workload, ReplaySettings::default(), &mut Cycles::new(knobs));
        let demand = Demand::new(procs, Span(asked));
        let lengths: Vec<i64> =
            pools.as_slice().iter().map(|pool| pool.length_of(&demand).0).collect();
        let end = horizon + lengths.iter().max().unwrap();
        let at = |start: i64| {
            let mut costs: Vec<i64> = Vec::new();
            for ((id, pool), length) in pools.iter().zip(&lengths) {
                let seconds = start..start + length;
                if seconds.end <= end {
                    let cost: i64 = seconds.map(|at| naive::price_at(&workload, id, at)).sum();
                    costs.extend(std::iter::repeat_n(cost, pool.nodes as usize));
                }
            }
            costs.sort_unstable();
            costs.get(..procs as usize).map(|cheapest| cheapest.iter().sum::<i64>())
        };
        let cheapest = (0..end).filter_map(at).min();
        prop_assert_eq!(Some(run.jobs[0].cost.0), cheapest);
    }
}

#[test]
fn a_job_waits_for_the_second_that_it_can_afford() {
    let series = Series::new(&[(Time(0), 5_000_000), (Time(100), 1_000_000)]).unwrap();
    let pools = grid(vec![pool(0, 2, 1_000, 5)]);
    let rates = Rates::new(vec![Some(Arc::new(series))]);
    let pools = Arc::new(pools.as_ref().clone().with_rates(rates));
    let terms = Terms { budget: Some(Money::credits(30)), ..Terms::NONE };
    let job = |number: i64, budget: bool| LogJob {
        number,
        submit: Some(Time(0)),
        run: Some(Span(10)),
        processors: Some(1),
        requested: Some(Span(10)),
        user: 0,
        terms: budget.then(|| Arc::new(terms.clone())),
    };
    let workload = workload(&pools, &[job(0, false), job(1, true)], Overrun::Extend);
    // 5·5 + 5·1 = 30 credits from second 95 on.
    let run = replay(
        &workload,
        ReplaySettings::default(),
        &mut GridFill::new(GridFillSettings::default()),
    );
    assert_eq!(starts(&run), [Some(0), Some(95)]);
    assert_eq!((run.jobs[0].cost, run.jobs[1].cost), (Money::credits(50), Money::credits(30)));
    let knobs = CycleSettings { period: Span(10), ..CycleSettings::css() };
    let run = replay(&workload, ReplaySettings::default(), &mut Cycles::new(knobs));
    assert_eq!(starts(&run), [Some(0), Some(95)]);
    assert_eq!(run.jobs[1].cost, Money::credits(30));
}

/// Under `fcfs` a job that can no longer start in time on nodes that it can pay for goes at once, and not
/// when something else happens.
#[test]
fn a_job_that_can_no_longer_pay_in_time_lets_others_pass() {
    let dearer = Series::new(&[(Time(0), 1_000_000), (Time(10), 5_000_000)]).unwrap();
    let pools = grid(vec![pool(0, 1, 1_000, 0), pool(0, 1, 2_000, 1)]);
    let rates = Rates::new(vec![None, Some(Arc::new(dearer))]);
    let pools = Arc::new(pools.as_ref().clone().with_rates(rates));
    let limited =
        Terms { budget: Some(Money::credits(20)), deadline: Some(Time(50)), ..Terms::NONE };
    let job = |number: i64, (submit, asked): (i64, i64), terms: Option<&Terms>| LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(asked)),
        processors: Some(1),
        requested: Some(Span(asked)),
        user: 0,
        terms: terms.map(|terms| Arc::new(terms.clone())),
    };
    // The second needs the free node until second 30 at the latest, and the first has it until 40.
    let jobs = [job(0, (0, 40), None), job(1, (12, 20), Some(&limited)), job(2, (13, 10), None)];
    let workload = workload(&pools, &jobs, Overrun::Extend);
    let knobs = GridFillSettings { depth: Depth::First(0), ..GridFillSettings::default() };
    let run = replay(&workload, ReplaySettings::default(), &mut GridFill::new(knobs));
    assert_eq!(starts(&run), [Some(0), None, Some(31)]);
}

/// A job that the VO's limit keeps from a window at any price is refused, and does not wait for ever.
#[test]
fn a_job_that_prices_do_not_keep_waiting_is_refused() {
    let pools = grid(vec![pool(0, 1, 1_000, 0), pool(0, 2, 1_500, 3), pool(0, 2, 1_500, 1)]);
    let constant = |pool: &tradewind_model::Pool| {
        Some(Arc::new(Series::new(&[(Time(0), pool.price.0)]).unwrap()))
    };
    let rates = Rates::new(pools.as_slice().iter().map(constant).collect());
    let changing = Arc::new(pools.as_ref().clone().with_rates(rates));
    let job = LogJob {
        number: 0,
        submit: Some(Time(0)),
        run: Some(Span(0)),
        processors: Some(4),
        requested: Some(Span(11)),
        user: 0,
        terms: None,
    };
    let cycles = CycleSettings {
        stretch: Stretch::Own,
        period: Span(1),
        horizon: Some(Span(5)),
        batch: 1,
        vo: VoPolicy {
            objective: Objective::MaxIncome,
            budget_limit: Limit::At(Money::credits(40)),
            ..VoPolicy::default()
        },
        cyclic: tradewind_sched::policy::cyclic::Cyclic {
            search: SearchBy::All(Algorithm::Best(Criterion::Start)),
            max_alternatives: Some(2),
            variant: Variant::Exact,
            ..CycleSettings::css().cyclic
        },
        ..CycleSettings::css()
    };
    let refused = |pools: &Arc<Pools>| {
        let workload = workload(pools, std::slice::from_ref(&job), Overrun::Kill);
        let run = replay(&workload, ReplaySettings::default(), &mut Cycles::new(cycles.clone()));
        run.jobs[0].refused.is_some()
    };
    assert_eq!((refused(&pools), refused(&changing)), (true, true));
}

/// A cycle that sees no window of a job but those at its very end does not refuse it: its earliest start
/// is beyond what the cycle looks at.
#[test]
fn a_cycle_before_its_time_refuses_no_job() {
    let slow = tradewind_model::Pool { times: tradewind_model::Times::Wall, ..pool(0, 1, 500, 0) };
    let pools = grid(vec![pool(0, 2, 1_000, 3), slow]);
    let job = |number, submit, processors, asked, earliest: Option<i64>| LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(0)),
        processors: Some(processors),
        requested: Some(Span(asked)),
        user: 0,
        terms: earliest.map(|at| Arc::new(Terms { earliest_start: Some(Time(at)), ..Terms::NONE })),
    };
    let cycles = CycleSettings {
        stretch: Stretch::Own,
        period: Span(2),
        horizon: Some(Span(8)),
        batch: 1,
        vo: VoPolicy {
            objective: Objective::MaxIncome,
            budget_limit: Limit::At(Money::credits(27)),
            ..VoPolicy::default()
        },
        cyclic: tradewind_sched::policy::cyclic::Cyclic {
            search: SearchBy::All(Algorithm::Best(Criterion::Start)),
            max_alternatives: Some(1),
            variant: Variant::Exact,
            ..CycleSettings::css().cyclic
        },
        ..CycleSettings::css()
    };
    // A cycle at 26 for the third job sees 43 + 9, on the two fast nodes, and no window with the slow one.
    let log = [job(0, 0, 2, 9, Some(43)), job(1, 0, 1, 1, None), job(2, 23, 1, 1, None)];
    let workload = workload(&pools, &log, Overrun::Kill);
    let run = replay(&workload, ReplaySettings::default(), &mut Cycles::new(cycles));
    assert_eq!(starts(&run), [Some(43), Some(0), Some(24)]);
}
