//! Prices that follow load or demand, against what was in use and waited.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Demand, LoadPrice, Money, Pool, PoolId, Pools, Price, Share, Span, Terms, Time,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::bsf::{Bsf, BsfSettings};
use tradewind_sched::policy::cyclic::market::{CycleSettings, Cycles, Stretch};
use tradewind_sched::policy::cyclic::{Cyclic, SearchBy};
use tradewind_sched::policy::gridfill::{GridFill, GridFillSettings, Order};
use tradewind_sched::window::{Algorithm, Variant};
use tradewind_sim::workload::{Job, LogJob, Overrun, Workload};
use tradewind_sim::{Estimate, Ran, ReplaySettings, Run};

use crate::posted::{self, Posted};
use crate::worlds::*;
use crate::{cycles, fill, naive};

/// Where the job ran, each until it gave its nodes back.
fn stays(workload: &Workload, job: usize, ran: &Ran) -> Vec<(Share, Time)> {
    let it = &workload.jobs[job];
    let stay = |share: Share| (share, ran.start + it.length_in(workload.pools.pool(share.pool)));
    ran.place.shares(it.processors).map(stay).collect()
}

/// Nodes of the pool with jobs that began before `at`, and are not over by `until`.
fn used(workload: &Workload, run: &Run, pool: PoolId, (at, until): (Time, Time)) -> u32 {
    let ran = run.jobs.iter().enumerate().filter(|(_, ran)| ran.refused.is_none());
    let before = ran.filter(|(_, ran)| ran.start < at);
    let stays = before.flat_map(|(job, ran)| stays(workload, job, ran));
    let used = stays.filter(|(share, end)| share.pool == pool && *end > until);
    used.map(|(share, _)| share.nodes).sum()
}

/// What a node of the pool cost at `at`.
fn price_then(workload: &Workload, run: &Run, pool: PoolId, at: Time) -> i64 {
    match workload.pools.load_price(pool) {
        None => naive::price_at(workload, pool, at.0),
        Some(price) if price.every().is_some() => demanded(workload, run, (pool, price), at),
        Some(price) => {
            let nodes = workload.pools.pool(pool).nodes;
            naive::price_under(price, used(workload, run, pool, (at, at)), nodes)
        }
    }
}

/// The same by demand: from the first moment of the price to the last one by `at`.
fn demanded(workload: &Workload, run: &Run, (id, price): (PoolId, &LoadPrice), at: Time) -> i64 {
    let (pool, from) = (workload.pools.pool(id), workload.jobs[0].submit.0);
    let (mut made, mut asks, mut before) = (Posted::default(), price.idle().0, from);
    for now in (from..=at.0).filter(|now| posted::is_made(price, from, *now)) {
        let jobs = || workload.jobs.iter().zip(&run.jobs).enumerate();
        let waits =
            |(_, (job, ran)): &(usize, (&Job, &Ran))| job.submit.0 < now && ran.start.0 >= now;
        let demand = |job: &Job| {
            let terms = job.terms.clone();
            Demand { terms, ..Demand::new(job.processors, job.run) }
        };
        let waiting: Vec<Demand> = jobs().filter(waits).map(|it| demand(it.1.0)).collect();
        made.sold = jobs().any(|(job, (_, ran))| {
            let begins = ran.refused.is_none() && (before..now).contains(&ran.start.0);
            begins && stays(workload, job, ran).iter().any(|(share, _)| share.pool == id)
        });
        // Jobs that end in this second are counted.
        let used = used(workload, run, id, (Time(now), Time(now - 1)));
        asks = made.make((price, pool), used, &waiting);
        before = now;
    }
    asks
}

/// Every job pays for all of its time what its start cost, and no more than it may.
fn check(workload: &Workload, policy: &mut dyn Policy, within: bool) -> Result<(), TestCaseError> {
    let settings = ReplaySettings { estimate: Estimate::Exact, ..ReplaySettings::default() };
    let run = replay(workload, settings, policy);
    for (number, ran) in run.jobs.iter().enumerate().filter(|(_, ran)| ran.refused.is_none()) {
        let (mut sum, mut highest) = (0, 0);
        for (share, end) in stays(workload, number, ran) {
            let price = price_then(workload, &run, share.pool, ran.start);
            (sum, highest) =
                (sum + price * i64::from(share.nodes) * (end - ran.start).0, highest.max(price));
        }
        prop_assert_eq!(ran.cost, Money(sum), "job {}", number);
        let Some(terms) = workload.jobs[number].terms.as_ref().filter(|_| within) else { continue };
        prop_assert!(terms.budget.is_none_or(|budget| ran.cost <= budget));
        prop_assert!(terms.max_price.is_none_or(|max| highest <= max.0));
        prop_assert!(terms.deadline.is_none_or(|deadline| ran.end <= deadline));
    }
    Ok(())
}

/// No job is over in the second in which it starts.
fn any_long_log() -> impl Strategy<Value = Vec<LogJob>> {
    any_log().prop_map(|mut log| {
        log.iter_mut().for_each(|job| job.run = job.run.map(|run| run.max(Span(1))));
        log
    })
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
        pools in any_loaded_grid(any_grid()), log in any_long_log(), knobs in fill::any_knobs(),
        overrun in any_overrun(),
    ) {
        prop_assume!(!knobs.order.moves() && knobs.order != Order::Expansion);
        let workload = workload(&pools, &log, overrun);
        prop_assert_eq!(fill::fates(&workload, knobs), naive::fates(&workload, knobs));
    }

    #[test]
    fn backfilled_jobs_pay_the_price_of_their_start(
        pools in any_loaded_grid(any_grid()), log in any_long_log(), knobs in fill::any_knobs(),
    ) {
        let workload = workload(&pools, &log, Overrun::Extend);
        check(&workload, &mut GridFill::new(knobs), true)?;
    }

    #[test]
    fn planned_jobs_pay_the_price_of_their_start(
        pools in any_loaded_grid(any_grid()), log in any_long_log(), knobs in cycles::any_knobs(),
        fallback in 0u32..2,
    ) {
        let workload = workload(&pools, &log, Overrun::Extend);
        let within = knobs.cyclic.search == SearchBy::Job;
        let knobs = CycleSettings { fallback, ..open(knobs) };
        check(&workload, &mut Cycles::new(knobs), within)?;
    }

    #[test]
    fn both_together_pay_the_price_of_their_start(
        pools in any_loaded_grid(any_grid()), log in any_long_log(),
        cycles in cycles::any_knobs(), fill in fill::any_knobs(),
    ) {
        let workload = workload(&pools, &log, Overrun::Extend);
        let within = cycles.cyclic.search == SearchBy::Job;
        let knobs = BsfSettings { cycles: open(cycles), fill, ..BsfSettings::default() };
        check(&workload, &mut Bsf::new(knobs), within)?;
    }

    /// Beside prices by the hour, outages, and an order within the second of another simulator: no
    /// job waits for ever, and checkers agree.
    #[test]
    fn no_job_waits_for_ever(
        pools in any_loaded_grid(any_priced_grid()), log in any_log(), outages in any_outages(),
        fill in fill::any_knobs(), cycles in cycles::any_knobs(), settings in any_settings(),
    ) {
        let workload = with_outages(workload(&pools, &log, Overrun::Extend), outages);
        replay(&workload, settings, &mut GridFill::new(fill));
        replay(&workload, settings, &mut Cycles::new(open(cycles.clone())));
        let both = BsfSettings { cycles: open(cycles), fill, ..BsfSettings::default() };
        replay(&workload, settings, &mut Bsf::new(both));
    }

    #[test]
    fn a_price_that_never_changes_is_a_price(
        pools in any_grid(), log in any_log(), fill in fill::any_knobs(),
        cycles in cycles::any_knobs(), outages in any_outages(), settings in any_settings(),
    ) {
        let constant = |pool: &Pool| LoadPrice::new(vec![(0, pool.price), (500, pool.price)]).ok();
        let constant = pools.as_slice().iter().map(constant).collect();
        let constant = Arc::new(pools.as_ref().clone().with_load_prices(constant));
        let run = |pools: &Arc<Pools>, policy: &mut dyn Policy| {
            let workload = workload(pools, &log, Overrun::Extend);
            replay(&with_outages(workload, outages.clone()), settings, policy).jobs
        };
        let filled = |pools| run(pools, &mut GridFill::new(fill));
        prop_assert_eq!(filled(&pools), filled(&constant));
        let planned = |pools| run(pools, &mut Cycles::new(open(cycles.clone())));
        prop_assert_eq!(planned(&pools), planned(&constant));
    }
}

/// Four nodes: 1 credit while fewer than half are in use, then 3.
fn rising() -> Arc<Pools> {
    let price = LoadPrice::new(vec![(0, Price::credits(1)), (500, Price::credits(3))]).unwrap();
    let pools = grid(vec![pool(0, 4, 1_000, 9)]);
    Arc::new(pools.as_ref().clone().with_load_prices(vec![Some(price)]))
}

fn job(submit: i64, processors: u32, run: i64, budget: Option<i64>) -> LogJob {
    let terms = Terms { budget: budget.map(Money::credits), ..Terms::NONE };
    LogJob {
        number: 0,
        submit: Some(Time(submit)),
        run: Some(Span(run)),
        processors: Some(processors),
        requested: Some(Span(run)),
        user: 0,
        terms: Some(Arc::new(terms)),
    }
}

/// The same nodes: 1 credit while fewer than 4 are in use or asked for, then 3; every 10 s.
fn demanded_nodes() -> Arc<Pools> {
    let steps = vec![(0, Price::credits(1)), (1_000, Price::credits(3))];
    let price = LoadPrice::by_demand(steps, Span(10)).unwrap();
    Arc::new(rising().as_ref().clone().with_load_prices(vec![Some(price)]))
}

fn played(jobs: &[LogJob], policy: &mut dyn Policy) -> Vec<(Option<i64>, i64)> {
    played_on(&rising(), jobs, policy)
}

fn played_on(
    pools: &Arc<Pools>,
    jobs: &[LogJob],
    policy: &mut dyn Policy,
) -> Vec<(Option<i64>, i64)> {
    let run = replay(&workload(pools, jobs, Overrun::Kill), ReplaySettings::default(), policy);
    let cost = run.jobs.iter().map(|ran| ran.cost.0 / 1_000_000);
    starts(&run).into_iter().zip(cost).collect()
}

#[test]
fn a_job_waits_until_it_can_pay() {
    // At 5 half of the nodes are in use: the second would cost 30, the third pays it.
    let jobs = [job(0, 2, 20, None), job(5, 1, 10, Some(12)), job(6, 1, 10, None)];
    let filled = played(&jobs, &mut GridFill::new(GridFillSettings::default()));
    assert_eq!(filled, [(Some(0), 40), (Some(20), 10), (Some(6), 30)]);
    // Not even on idle nodes.
    let jobs = [job(0, 2, 20, None), job(5, 1, 10, Some(9))];
    let filled = played(&jobs, &mut GridFill::new(GridFillSettings::default()));
    assert_eq!(filled, [(Some(0), 40), (None, 0)]);
}

#[test]
fn a_job_that_waits_raises_the_price() {
    let fill = || GridFill::new(GridFillSettings::default());
    // At 10 and 20 two or four nodes are in use and four asked for; at 30 four are in use. A job that
    // cannot pay 3 asks for nothing at that price.
    let jobs = [job(0, 2, 20, None), job(1, 4, 10, None), job(12, 1, 10, Some(12))];
    let filled = played_on(&demanded_nodes(), &jobs, &mut fill());
    assert_eq!(filled, [(Some(0), 40), (Some(20), 120), (Some(40), 10)]);
    // The wide job cannot pay 3 for all of its tasks, so it does not raise the price.
    let jobs = [job(0, 2, 20, None), job(1, 4, 10, Some(119)), job(12, 1, 10, Some(12))];
    let filled = played_on(&demanded_nodes(), &jobs, &mut fill());
    assert_eq!(filled, [(Some(0), 40), (Some(20), 40), (Some(40), 10)]);
}

/// The wide job may start at 100, and raises the price until for 10 s nothing was sold; so again after
/// the other job.
#[test]
fn a_price_that_sells_nothing_falls() {
    let mut wide = job(1, 4, 10, None);
    let terms = Terms { earliest_start: Some(Time(100)), ..Terms::NONE };
    wide.terms = Some(Arc::new(terms));
    let jobs = [wide, job(12, 1, 10, Some(12))];
    let filled =
        played_on(&demanded_nodes(), &jobs, &mut GridFill::new(GridFillSettings::default()));
    assert_eq!(filled, [(Some(100), 40), (Some(21), 10)]);
}

/// A horizon of fixed length is no reason to keep a job that no cycle can hold.
#[test]
fn a_job_longer_than_the_horizon_is_refused_at_any_load() {
    let settings = CycleSettings {
        stretch: Stretch::Fixed,
        period: Span(5),
        horizon: Some(Span(15)),
        cyclic: Cyclic {
            search: SearchBy::All(Algorithm::Best(tradewind_model::Criterion::Start)),
            ..CycleSettings::css().cyclic
        },
        ..CycleSettings::css()
    };
    let jobs = [job(0, 2, 10, None), job(5, 1, 20, Some(25)), job(5, 1, 10, Some(12))];
    let planned = played(&jobs, &mut Cycles::new(settings));
    assert_eq!(planned, [(Some(0), 20), (None, 0), (Some(10), 10)]);
}
