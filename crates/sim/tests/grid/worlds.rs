//! Small grids, jobs with terms, outages; and how to replay them.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Attributes, Cause, Criterion, JobData, Licence, LicenceId, LicenceShare, Link, Links,
    LoadPrice, Money, Outage, Performance, Pool, PoolId, Pools, Price, Rates, Series, Site, SiteId,
    Span, Terms, Time, TimeMode, Times,
};
use tradewind_sched::policy::Policy;
use tradewind_sim::outage::{AnnouncedOutage, in_order};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Estimate, ReplaySettings, Run, Semantics, check, run};

pub(crate) fn pool(site: u32, nodes: u32, thousandths: u32, price: i64) -> Pool {
    Pool {
        name: String::new(),
        site: SiteId(site),
        nodes,
        performance: Performance::from_thousandths(thousandths).unwrap(),
        price: Price::credits(price),
        attributes: Attributes::new(),
        admission: tradewind_model::Admission::NONE,
        times: Times::Work,
    }
}

/// A grid of pools with names of their own.
pub(crate) fn grid(pools: Vec<Pool>) -> Arc<Pools> {
    let sites = sites(pools.iter().map(|pool| pool.site.0).max().unwrap() + 1);
    let named = pools.into_iter().enumerate();
    let pools = named.map(|(at, pool)| Pool { name: format!("pool{at}"), ..pool }).collect();
    let pools = Pools::new(sites, pools).unwrap();
    let licence = |(name, count, price): (&str, u32, i64)| {
        (Licence { name: name.to_owned(), count, price: Price(price) }, SiteId(0))
    };
    let licences = [("abaqus", 3, 0), ("matlab", 4, 1_500_000)].map(licence);
    Arc::new(pools.with_licences(licences.into()).unwrap().with_links(links()))
}

/// Networks between some of the sites, and a place where no job runs.
fn links() -> Links {
    let link = |(one, other, bandwidth): (&str, &str, u64)| Link {
        between: [one.to_owned(), other.to_owned()],
        bandwidth,
    };
    let all = [("site0", "site1", 9), ("store", "site0", 4), ("site2", "store", 17)];
    Links::new(all.map(link).to_vec()).unwrap()
}

/// Data of a job on such a grid, if it lies at a place that is there.
fn any_data() -> impl Strategy<Value = Option<JobData>> {
    let place = || prop::sample::select(vec!["site0", "site1", "site2", "store"]);
    let data = (0u64..12, place(), 0u64..12, place()).prop_map(|(input, from, output, to)| {
        JobData { input, from: from.to_owned(), output, to: to.to_owned() }
    });
    prop::option::weighted(0.4, data)
}

pub(crate) fn any_grid() -> impl Strategy<Value = Arc<Pools>> {
    let speed = prop::sample::select(vec![500u32, 1_000, 1_500, 2_000]);
    let one = (0u32..3, 1u32..4, speed, 0i64..4);
    prop::collection::vec(one, 1..5).prop_map(|pools| {
        // Owners of every second pool count work, for jobs that leave it to them.
        let times = |at: usize| if at.is_multiple_of(2) { Times::Work } else { Times::Wall };
        let one = |(at, (site, nodes, speed, price)): (usize, (u32, u32, u32, i64))| Pool {
            times: times(at),
            ..pool(site, nodes, speed, price)
        };
        grid(pools.into_iter().enumerate().map(one).collect())
    })
}

/// Some pools' prices change with time, once or again and again.
pub(crate) fn any_priced_grid() -> impl Strategy<Value = Arc<Pools>> {
    let rate = (any_rate(), 0u32..3).prop_map(|(rate, has)| (has > 0).then_some(Arc::new(rate)));
    (any_grid(), prop::collection::vec(rate, 5))
        .prop_map(|(pools, rates)| Arc::new(pools.as_ref().clone().with_rates(Rates::new(rates))))
}

/// The prices of some pools rise with their load, of others with the demand.
pub(crate) fn any_loaded_grid(
    pools: impl Strategy<Value = Arc<Pools>>,
) -> impl Strategy<Value = Arc<Pools>> {
    let steps = prop::collection::vec((1u32..500, 0i64..3_000_000), 1..4);
    let every = prop::option::of((1i64..30).prop_map(Span));
    let price = (0i64..2_000_000, steps, every).prop_map(|(idle, steps, every)| {
        let (mut load, mut price) = (0, idle);
        let step = |(more, dearer): (u32, i64)| {
            (load, price) = (load + more, price + dearer);
            (load, Price(price))
        };
        let steps = std::iter::once((0, Price(idle))).chain(steps.into_iter().map(step));
        match every {
            // Steps of demand are wider.
            Some(every) => {
                let steps = steps.map(|(share, price)| (share * 3, price)).collect();
                LoadPrice::by_demand(steps, every).unwrap()
            }
            None => LoadPrice::new(steps.take_while(|(load, _)| *load <= 1_000).collect()).unwrap(),
        }
    });
    (pools, prop::collection::vec(prop::option::weighted(0.7, price), 5)).prop_map(
        |(pools, mut prices)| {
            for (id, _) in pools.iter() {
                if pools.rate(id).is_some() {
                    prices[id.index()] = None;
                }
            }
            Arc::new(pools.as_ref().clone().with_load_prices(prices))
        },
    )
}

fn any_rate() -> impl Strategy<Value = Series> {
    let steps = prop::collection::vec((1i64..12, 0i64..4_000_000), 2..4);
    (steps, prop::option::of(prop::sample::select(vec![40i64, 80]))).prop_map(|(steps, period)| {
        let mut at = 0;
        let place = |(after, value): (i64, i64)| {
            at += after;
            (Time(at), value)
        };
        let series = Series::new(&steps.into_iter().map(place).collect::<Vec<_>>()).unwrap();
        match period {
            Some(period) => series.repeated(Span(period)).unwrap(),
            None => series,
        }
    })
}

fn any_criterion() -> impl Strategy<Value = Criterion> {
    use Criterion::{Cost, Finish, ProcessorTime, Runtime, Start};
    prop::sample::select(vec![Start, Finish, Runtime, Cost, ProcessorTime])
}

pub(crate) fn any_terms() -> impl Strategy<Value = Option<Arc<Terms>>> {
    let limits = (
        prop::option::weighted(0.3, prop::sample::select(vec![1_000u32, 1_500])),
        prop::option::weighted(0.3, 0i64..4),
        prop::option::weighted(0.4, 0i64..90),
        prop::option::weighted(0.3, 0i64..80),
        prop::option::weighted(0.4, 20i64..150),
    );
    let modes = [TimeMode::WORK, TimeMode::WORK, TimeMode::WALL, TimeMode::Owner];
    let times = prop::sample::select(modes.to_vec());
    let all = (limits, any_criterion(), 0i64..3, times);
    let terms = all.prop_map(|(limits, criterion, priority, times)| {
        let (speed, price, budget, earliest, deadline) = limits;
        Arc::new(Terms {
            priority,
            min_performance: speed.and_then(Performance::from_thousandths),
            max_price: price.map(Price::credits),
            budget: budget.map(Money::credits),
            earliest_start: earliest.map(Time),
            deadline: deadline.map(Time),
            criterion,
            times,
            ..Terms::NONE
        })
    });
    prop::option::weighted(0.7, terms)
}

fn job(terms: Option<Arc<Terms>>, numbers: (i64, i64, u32, i64, i64)) -> LogJob {
    let (submit, run, procs, asked, user) = numbers;
    LogJob {
        number: 0,
        submit: Some(Time(submit)),
        run: Some(Span(run)),
        processors: Some(procs),
        requested: Some(Span(asked)),
        user,
        terms,
    }
}

fn numbers() -> impl Strategy<Value = (i64, i64, u32, i64, i64)> {
    (0i64..60, 0i64..25, 1u32..6, 1i64..25, 0i64..3)
}

type DrawnTerms =
    ((Option<Arc<Terms>>, Option<JobData>), BTreeMap<u32, u32>, (i64, i64, u32, i64, i64));

fn sites(count: u32) -> Vec<Site> {
    (0..count).map(|site| Site { name: format!("site{site}") }).collect()
}

fn numbered(mut jobs: Vec<LogJob>) -> Vec<LogJob> {
    (0..).zip(&mut jobs).for_each(|(number, job)| job.number = number);
    jobs
}

/// Jobs that ask for more than processors and time, take licences along, and have data.
pub(crate) fn licensed_log() -> impl Strategy<Value = Vec<LogJob>> {
    let along = prop::collection::btree_map(0u32..2, 1u32..4, 0..3);
    prop::collection::vec(((any_terms(), any_data()), along, numbers()), 1..18).prop_map(|jobs| {
        let licensed = |((terms, data), along, numbers): DrawnTerms| {
            let terms = terms.map_or(Terms::NONE, |terms| (*terms).clone());
            let share = |(licence, count)| LicenceShare { licence: LicenceId(licence), count };
            let shares: Arc<[LicenceShare]> = along.into_iter().map(share).collect();
            let licences = (!shares.is_empty()).then_some(shares);
            let data = data.map(|data| links().stage(&sites(3), data).unwrap());
            job(Some(Arc::new(Terms { licences, data, ..terms })), numbers)
        };
        numbered(jobs.into_iter().map(licensed).collect())
    })
}

/// Jobs that ask for more than processors and time.
pub(crate) fn any_log() -> impl Strategy<Value = Vec<LogJob>> {
    let job = (any_terms(), numbers()).prop_map(|(terms, numbers)| job(terms, numbers));
    prop::collection::vec(job, 1..18).prop_map(numbered)
}

/// Jobs that do not.
pub(crate) fn plain_log() -> impl Strategy<Value = Vec<LogJob>> {
    prop::collection::vec(numbers().prop_map(|numbers| job(None, numbers)), 1..22)
        .prop_map(numbered)
}

pub(crate) fn any_outages() -> impl Strategy<Value = Vec<AnnouncedOutage>> {
    let cause = prop_oneof![
        Just(Cause::Local),
        Just(Cause::Maintenance),
        (0u32..4).prop_map(Cause::Failure)
    ];
    let one = (0u32..4, 1u32..4, 0i64..80, 0i64..30, 1i64..30, cause).prop_map(
        |(pool, nodes, announced, notice, length, cause)| {
            let from = Time(announced + notice);
            let (pool, until) = (PoolId(pool), from + Span(length));
            let what = Outage { pool, nodes, from, until, cause };
            AnnouncedOutage { announced: Time(announced), what }
        },
    );
    prop::collection::vec(one, 0..4)
}

pub(crate) fn any_overrun() -> impl Strategy<Value = Overrun> {
    prop_oneof![Just(Overrun::Kill), Just(Overrun::Extend)]
}

pub(crate) fn any_settings() -> impl Strategy<Value = ReplaySettings> {
    let semantics = prop_oneof![Just(Semantics::Textbook), Just(Semantics::Pyss)];
    let learned = [Estimate::Predicted, Estimate::PublishedLinear];
    let all = [&[Estimate::Requested, Estimate::Exact], &learned[..]].concat();
    (semantics, prop::sample::select(all))
        .prop_map(|(semantics, estimate)| ReplaySettings { semantics, estimate })
}

pub(crate) fn workload(pools: &Arc<Pools>, log: &[LogJob], overrun: Overrun) -> Workload {
    prepare(log, pools.clone(), Semantics::Textbook, overrun)
}

pub(crate) fn with_outages(workload: Workload, outages: Vec<AnnouncedOutage>) -> Workload {
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

/// When each job started; `None` if it was refused.
pub(crate) fn starts(run: &Run) -> Vec<Option<i64>> {
    run.jobs.iter().map(|ran| ran.refused.is_none().then_some(ran.start.0)).collect()
}
