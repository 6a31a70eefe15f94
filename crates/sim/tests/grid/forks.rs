//! Forecasts of live markets are the rest of a replay.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Cause, Demand, Event, JobId, Market, Money, Outage, OutageId, Place, PoolId, Pools, Price,
    Share, Span, Time,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::cyclic::market::{CycleSettings as Cyclic, Cycles};
use tradewind_sched::policy::gridfill::{GridFill, GridFillSettings};
use tradewind_sim::fork::{
    Beliefs, Clash, Coming, Forecast, Limits, Outcome, Runs, Stopped, compare, fork,
};
use tradewind_sim::outage::AnnouncedOutage;
use tradewind_sim::workload::{self, Workload};
use tradewind_sim::{Ran, ReplaySettings, Run, run};

use crate::live::{Greedy, Idle, Recorder};
use crate::worlds::{
    any_grid, any_log, any_outages, any_overrun, plain_log, with_outages, workload,
};

fn forecast(market: &Market, policy: &mut dyn Policy, beliefs: &Beliefs) -> Forecast {
    fork(market, policy, beliefs, Limits::default(), &mut |_| ControlFlow::Continue(())).unwrap()
}

fn fill(depth: Depth) -> GridFill {
    GridFill::new(GridFillSettings { depth, ..GridFillSettings::default() })
}

fn filling(which: u32) -> Box<dyn Policy> {
    match which {
        0 => Box::new(Greedy),
        1 => Box::new(fill(Depth::First(1))),
        2 => Box::new(fill(Depth::All)),
        3 => Box::new(fill(Depth::First(0))),
        _ => Box::new(Cycles::new(Cyclic { period: Span(7), ..Cyclic::css() })),
    }
}

/// The jobs of a workload from the `first` on, as jobs to come.
fn coming(workload: &Workload, first: usize) -> Vec<Coming> {
    let one = |job: &tradewind_sim::workload::Job| Coming {
        submit: job.submit,
        demand: Demand { terms: job.terms.clone(), ..Demand::new(job.processors, job.requested) },
        run: job.run,
    };
    workload.jobs.iter().skip(first).map(one).collect()
}

/// What a forecast is to say of a job that fared like this.
fn fared(ran: &Ran) -> Outcome {
    let Ran { start, end, place, cost, refused, .. } = ran.clone();
    match refused {
        Some(reason) => Outcome::Refused { at: start, reason },
        None => Outcome::Runs(Runs { start, end, place, cost }),
    }
}

/// All outages are known from the beginning.
fn known(workload: Workload, outages: Vec<AnnouncedOutage>) -> Workload {
    let first = workload.jobs.first().map_or(Time(0), |job| job.submit);
    let told = |it: AnnouncedOutage| AnnouncedOutage { announced: first, ..it };
    with_outages(workload, outages.into_iter().map(told).collect())
}

/// Busy node-seconds by pool, counted from the replay.
fn busy(run: &Run, workload: &Workload, from: Time) -> Vec<i128> {
    let mut busy = vec![0i128; workload.pools.as_slice().len()];
    let mut add =
        |place: &Place, processors: u32, [start, end]: [Time; 2], done: Option<&workload::Job>| {
            for Share { pool, nodes } in place.shares(processors) {
                let end = match done {
                    Some(job) => end.min(start + job.length_in(workload.pools.pool(pool))),
                    None => end,
                };
                let span = (end - start.max(from)).0.max(0);
                busy[pool.index()] += i128::from(nodes) * i128::from(span);
            }
        };
    for (ran, job) in run.jobs.iter().zip(&workload.jobs).filter(|(ran, _)| ran.refused.is_none()) {
        add(&ran.place, job.processors, [ran.start, ran.end], Some(job));
    }
    for lost in run.lost.iter() {
        let job = &workload.jobs[lost.job];
        add(&lost.place, job.processors, [lost.start, lost.end], Some(job));
    }
    busy
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A fork of an empty market, to which all jobs come, is a replay: whether it knows outages
    /// from the beginning, or learns of them with the market.
    #[test]
    fn from_the_beginning_it_is_a_replay(
        (pools, log, outages, overrun) in (any_grid(), any_log(), any_outages(), any_overrun()),
        (which, surprises) in (0u32..5, any::<bool>()),
    ) {
        let log: Vec<_> = if which == 0 {
            log.into_iter().map(|job| tradewind_sim::workload::LogJob { terms: None, ..job }).collect()
        } else {
            log
        };
        let workload = workload(&pools, &log, overrun);
        let workload = match surprises {
            true => with_outages(workload, outages),
            false => known(workload, outages),
        };
        prop_assume!(!workload.jobs.is_empty());
        let replayed = run(&workload, ReplaySettings::default(), &mut *filling(which), &mut []).unwrap();
        let told = workload.outages.iter().map(|outage| outage.announced);
        let first = told.chain([workload.jobs[0].submit]).min().unwrap();
        let mut market = Market::new(pools, first);
        let mut beliefs = Beliefs { coming: coming(&workload, 0), ..Beliefs::default() };
        match surprises {
            true => beliefs.missing.clone_from(&workload.outages),
            false => for (closure, outage) in (0..).map(OutageId).zip(&workload.outages) {
                market.apply(&Event::Announced { closure, what: outage.what }).unwrap();
            },
        }
        let found = forecast(&market, &mut *filling(which), &beliefs);
        prop_assert_eq!(found.jobs.len(), workload.jobs.len());
        for (ran, outcome) in replayed.jobs.iter().zip(found.jobs.values()) {
            prop_assert_eq!(outcome, &fared(ran));
        }
        prop_assert_eq!(found.stopped, Stopped::Done);
        prop_assert_eq!(&found.totals.income, &replayed.income);
        prop_assert_eq!(&found.totals.busy, &busy(&replayed, &workload, first));
        let patient = Beliefs { clash: Clash::Waits, ..beliefs };
        let found = forecast(&market, &mut *filling(which), &patient);
        prop_assert_eq!(found.stopped, Stopped::Done, "no job waits for ever");
    }

    /// A fork in the middle of a replay, whose beliefs are true, is the rest of the replay.
    #[test]
    fn from_the_middle_it_is_the_rest(
        (pools, log, outages, overrun) in (any_grid(), plain_log(), any_outages(), any_overrun()),
        (first_come, keep) in (any::<bool>(), 0usize..40),
    ) {
        // Others decide again what they had decided and not begun.
        let which = if first_come { 3 } else { 0 };
        let workload = known(workload(&pools, &log, overrun), outages);
        let mut recorder = Recorder::new(filling(which), keep);
        let replayed = run(&workload, ReplaySettings::default(), &mut recorder, &mut []).unwrap();
        let Some(market) = recorder.kept else { return Ok(()) };
        let before = market.state();
        let first = market.submitted() as usize;
        let runs = (0..).map(JobId).zip(workload.jobs[..first].iter().map(|job| job.run));
        let beliefs = Beliefs {
            runs: runs.collect(), coming: coming(&workload, first), ..Beliefs::default()
        };
        let found = forecast(&market, &mut *filling(which), &beliefs);
        for (job, outcome) in &found.jobs {
            prop_assert_eq!(outcome, &fared(&replayed.jobs[job.index()]));
        }
        prop_assert_eq!(market.state(), before.clone());
        let earned = replayed.income.iter().zip(&before.income).map(|(all, past)| all - past);
        prop_assert_eq!(&found.totals.income, &earned.collect::<Vec<_>>());
        prop_assert_eq!(&found.totals.busy, &busy(&replayed, &workload, market.now()));
        let waited = |ran: &Ran, at: Time| (ran.start - at).0;
        let began = (0..first as u32).map(JobId).filter(|job| market.queue().any(|it| it == *job));
        let held = began.map(|job| &replayed.jobs[job.index()]);
        let held = held.map(|ran| (ran, market.now()));
        let later = (first..).zip(&replayed.jobs[first..]);
        let later = later.map(|(at, ran)| (ran, workload.jobs[at].submit.max(market.now())));
        let waits: Vec<i64> = held.chain(later).filter(|(ran, _)| ran.refused.is_none())
            .map(|(ran, at)| waited(ran, at)).collect();
        if replayed.lost.is_empty() {
            let mean = waits.iter().sum::<i64>() as f64 / waits.len() as f64;
            prop_assert_eq!(found.totals.mean_wait, (!waits.is_empty()).then_some(mean));
        }
    }
}

#[test]
fn owners_load_waits_for_jobs_or_sends_them_back() {
    let ends = |clash: Clash, cause: Cause| {
        let (from, until) = (Time(5), Time(15));
        let what = Outage { pool: PoolId(0), nodes: 3, from, until, cause };
        let missing = vec![AnnouncedOutage { announced: Time(5), what }];
        let beliefs = Beliefs { missing, clash, ..Beliefs::default() };
        let runs = spans(&forecast(&market(), &mut Greedy, &beliefs)).into_iter();
        runs.map(|run| run.map_or(0, |(_, end)| end)).collect::<Vec<_>>()
    };
    assert_eq!(ends(Clash::Interrupts, Cause::Local), [25, 35, 45, 55]);
    // Two nodes from 5 to 15, and the third from 10 on, when the first job gives it back.
    assert_eq!(ends(Clash::Waits, Cause::Local), [10, 30, 40, 50]);
    assert_eq!(ends(Clash::Waits, Cause::Booked), [10, 30, 40, 50]);
    assert_eq!(ends(Clash::Waits, Cause::Withheld), [10, 25, 35, 45]);
    assert_eq!(ends(Clash::Waits, Cause::Failure(0)), [25, 35, 45, 55]);
}

#[test]
fn jobs_pay_the_price_of_their_start() {
    let mut market = market();
    market.apply(&Event::Priced { pool: PoolId(0), price: Price(1) }).unwrap();
    let asked = [(20, 7), (9, 3), (25, 9)];
    let asked = asked.map(|(at, price)| (Time(at), PoolId(0), Price(price))).to_vec();
    let beliefs = Beliefs { asked, ..Beliefs::default() };
    let found = forecast(&market, &mut Greedy, &beliefs);
    let paid = |job: u32| found.jobs[&JobId(job)].runs().map(|runs| runs.cost);
    // Four nodes for 10 s from 10 on, one for 10 s and two for 20 s from 20 on.
    assert_eq!([1, 2, 3].map(paid), [120, 70, 280].map(|cost| Some(Money(cost))));
    let sold: Vec<_> = found.sold().map(|it| (it.taken.from.0, it.price.0)).collect();
    assert_eq!(sold, [(10, 3), (20, 7), (20, 7)]);
}

/// Four nodes; the first job has two of them from 0 on for 10 s, as it says; three more wait.
fn market() -> Market {
    let mut market = Market::new(Arc::new(Pools::cluster(4)), Time(0));
    let demands = [(2, 10), (4, 10), (1, 10), (2, 20)];
    for (job, (processors, estimate)) in (0..).map(JobId).zip(demands) {
        let demand = Demand::new(processors, Span(estimate));
        market.apply(&Event::Submitted { job, demand }).unwrap();
    }
    let place = Place::Pool(PoolId(0));
    market.apply(&Event::Started { job: JobId(0), place }).unwrap();
    market
}

fn spans(forecast: &Forecast) -> Vec<Option<(i64, i64)>> {
    let runs = forecast.jobs.values().map(|outcome| outcome.runs());
    runs.map(|runs| runs.map(|runs| (runs.start.0, runs.end.0))).collect()
}

#[test]
fn a_job_that_exceeded_its_estimate_is_expected_to_need_twice_as_long() {
    let mut market = market();
    let at = |market: &Market, runs: &[(u32, i64)]| {
        let runs = runs.iter().map(|(job, run)| (JobId(*job), Span(*run))).collect();
        let beliefs = Beliefs { runs, ..Beliefs::default() };
        spans(&forecast(market, &mut Greedy, &beliefs))[0]
    };
    assert_eq!(at(&market, &[]), Some((0, 10)));
    assert_eq!(at(&market, &[(0, 4)]), Some((0, 4)));
    market.pass_to(Time(4)).unwrap();
    assert_eq!(at(&market, &[(0, 4)]), Some((0, 10)), "what was predicted is over");
    assert_eq!(at(&market, &[(0, 40)]), Some((0, 40)));
    market.pass_to(Time(10)).unwrap();
    assert_eq!(at(&market, &[]), Some((0, 20)));
    market.pass_to(Time(45)).unwrap();
    assert_eq!(at(&market, &[(0, 40)]), Some((0, 80)));
}

#[test]
fn outages_go_on_even_if_they_are_late() {
    let mut market = market();
    for (closure, (from, until)) in (0..).zip([(1, 5), (3, 40), (2, 9)]) {
        let (pool, nodes, cause) = (PoolId(0), 1, Cause::Maintenance);
        let what = Outage { pool, nodes, from: Time(from), until: Time(until), cause };
        market.apply(&Event::Announced { closure: OutageId(closure), what }).unwrap();
    }
    market.apply(&Event::Closed { closure: OutageId(0) }).unwrap();
    market.pass_to(Time(9)).unwrap();
    // The first is expected to last until 17, the second begins now, the third never.
    let short = Beliefs { runs: BTreeMap::from([(JobId(0), Span(30))]), ..Beliefs::default() };
    let found = forecast(&market, &mut Greedy, &short);
    assert_eq!(spans(&found), [Some((0, 30)), Some((40, 50)), Some((50, 60)), Some((50, 70))]);
    market.apply(&Event::Cancelled { job: JobId(1) }).unwrap();
    let found = forecast(&market, &mut Greedy, &short);
    assert_eq!(spans(&found), [Some((0, 30)), Some((17, 27)), Some((30, 50))]);
}

#[test]
fn a_forecast_stops_where_it_must() {
    let market = market();
    let all = Limits::default();
    let stops = |policy: &mut dyn Policy, limits: Limits| {
        fork(&market, policy, &Beliefs::default(), limits, &mut |_| ControlFlow::Continue(()))
            .unwrap()
    };
    let found = stops(&mut Idle, all);
    assert_eq!((found.stopped, found.totals.open), (Stopped::Stuck, 3));
    let found = stops(&mut Greedy, Limits { horizon: Span(10), ..all });
    assert_eq!(found.stopped, Stopped::Horizon);
    assert_eq!(spans(&found), [Some((0, 10)), Some((10, 20)), None, None]);
    assert_eq!((found.until, found.totals.makespan), (Time(10), Span(20)));
    let found = stops(&mut Greedy, Limits { passes: 1, ..all });
    assert_eq!((found.stopped, found.passes, found.totals.started), (Stopped::Passes, 1, 0));
    let found = stops(&mut Greedy, Limits { looks: 4, ..all });
    assert_eq!((found.stopped, found.passes), (Stopped::Looks, 2));
    let mut seen = Vec::new();
    let found = fork(&market, &mut Greedy, &Beliefs::default(), all, &mut |progress| {
        seen.push((progress.at.0, progress.waiting));
        if progress.at < Time(10) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!(found.unwrap().stopped, Stopped::Watcher);
    assert_eq!(seen, [(0, 3), (10, 3)]);
}

#[test]
fn where_a_forecast_stops_reservations_say_more() {
    let limits = Limits { passes: 1, ..Limits::default() };
    let go = &mut |_| ControlFlow::Continue(());
    let mut market = market();
    market.pass_to(Time(12)).unwrap();
    let mut policy = fill(Depth::All);
    let found = fork(&market, &mut policy, &Beliefs::default(), limits, go).unwrap();
    let told = |at: u32| found.jobs[&JobId(at)].clone();
    // The first job has exceeded its estimate, and no job is short enough to go before the second.
    assert_eq!(told(1), Outcome::Open { reserved: Some(Time(20)) });
    assert_eq!(spans(&found), [Some((0, 20)), None, None, None]);
    assert_eq!(told(2), Outcome::Open { reserved: Some(Time(30)) });
    assert_eq!(told(3), Outcome::Open { reserved: Some(Time(30)) });
}

#[test]
fn two_forecasts_are_compared_job_by_job() {
    let market = market();
    let before = forecast(&market, &mut Greedy, &Beliefs::default());
    assert_eq!(spans(&before), [Some((0, 10)), Some((10, 20)), Some((20, 30)), Some((20, 40))]);
    let short = Beliefs { runs: BTreeMap::from([(JobId(1), Span(5))]), ..Beliefs::default() };
    let after = forecast(&market, &mut Greedy, &short);
    assert_eq!(spans(&after), [Some((0, 10)), Some((10, 15)), Some((15, 25)), Some((15, 35))]);
    let found = compare(&before, &after);
    assert_eq!((found.same, found.sooner, found.later, found.changes.len()), (1, 3, 0, 3));
    let one = &found.changes[1];
    assert_eq!((one.job, one.start(), one.end()), (JobId(2), Some(Span(-5)), Some(Span(-5))));
    assert_eq!(one.cost(), Some(Money::ZERO));
    let stuck = forecast(&market, &mut Idle, &Beliefs::default());
    let found = compare(&before, &stuck);
    assert_eq!((found.lost, found.gained, found.changes[0].start()), (3, 0, None));
}

#[test]
fn what_new_jobs_take_is_known() {
    let found = forecast(&market(), &mut Greedy, &Beliefs::default());
    let taken: Vec<_> = found.taken().map(|it| (it.share.nodes, it.from.0, it.until.0)).collect();
    assert_eq!(taken, [(4, 10, 20), (1, 20, 30), (2, 20, 40)]);
    let totals = found.totals;
    assert_eq!((totals.started, totals.makespan, &totals.busy[..]), (3, Span(40), &[110][..]));
    assert_eq!(totals.mean_wait, Some(50.0 / 3.0));
    assert_eq!(totals.utilisation, [Some(110.0 / 160.0)]);
    let slow = (20.0 / 10.0 + 30.0 / 10.0 + 40.0 / 20.0) / 3.0;
    assert!((totals.mean_bounded_slowdown.unwrap() - slow).abs() < 1e-12);
}

#[test]
fn who_comes_too_wide_is_an_error() {
    let demand = Demand::new(5, Span(1));
    let late = Coming { submit: Time(7), demand, run: Span(1) };
    let beliefs = Beliefs { coming: vec![late], ..Beliefs::default() };
    let go = &mut |_| ControlFlow::Continue(());
    let found = fork(&market(), &mut Greedy, &beliefs, Limits::default(), go);
    assert!(found.is_err());
}
