//! Agents that choose as our policies do give the starts of these.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Command, Event, JobId, LoadPrice, Market, Performance, Place, Pool, PoolId, Pools, Price,
    Rates, Series, Site, SiteId, Span, Terms, Time,
};
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};
use tradewind_sched::policy::gridfill::{GridFill, GridFillSettings};
use tradewind_sched::policy::{Policy, Promise};

use super::{Episode, Episodes, Kind, MakePolicy, Scene, Turn, grid};
use crate::feedback::{Link, kept};
use crate::workload::{self, LogJob, Overrun, Workload};
use crate::{Estimate, ReplaySettings, Run, Semantics, check, run};

/// Jobs: seconds after the one before, run, request, width, user.
type Drawn = Vec<(i64, i64, i64, u32, i64)>;

fn log(jobs: Drawn) -> Arc<Workload> {
    Arc::new(on(Pools::cluster(8), Overrun::Kill, jobs))
}

fn on(pools: Pools, overrun: Overrun, jobs: Drawn) -> Workload {
    let mut submit = 0;
    let jobs: Vec<LogJob> = jobs
        .into_iter()
        .enumerate()
        .map(|(at, job)| {
            submit += job.0;
            LogJob {
                number: at as i64 + 1,
                submit: Some(Time(submit)),
                run: Some(Span(job.1)),
                processors: Some(job.3),
                requested: Some(Span(job.2)),
                user: job.4,
                terms: None,
            }
        })
        .collect();
    workload::prepare(&jobs, Arc::new(pools), Semantics::Textbook, overrun)
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let job = (0_i64..40, 0_i64..120, 1_i64..150, 1_u32..=8, 0_i64..3);
    prop::collection::vec(job, 1..60)
}

fn jobs() -> impl Strategy<Value = Arc<Workload>> {
    drawn().prop_map(log)
}

/// Clusters of other speeds, with a price that may change; jobs that run on beyond their requests, or
/// are submitted when others are over.
fn rich() -> impl Strategy<Value = Arc<Workload>> {
    let link = |it: (usize, Option<i64>)| (it.0, it.1.map(Span));
    let links =
        prop::collection::vec((1_usize..60, prop::option::of(0_i64..50)).prop_map(link), 0..9);
    let pool = (prop::sample::select(vec![500_u32, 1_000, 1_700]), 0..3_u8);
    (drawn(), pool, any::<bool>(), links).prop_map(
        |(jobs, (performance, changes), extend, links)| {
            let overrun = if extend { Overrun::Extend } else { Overrun::Kill };
            let workload = on(cluster(performance, changes), overrun, jobs);
            let links = links.into_iter().map(|(job, think)| Link { job, after: job / 2, think });
            let known = links.filter(|link| link.job < workload.jobs.len());
            let links =
                known.map(|it| (it.job, it)).collect::<BTreeMap<_, _>>().into_values().collect();
            let (links, _) = kept(links, &workload.jobs, workload.jobs.len());
            Arc::new(Workload { links, ..workload })
        },
    )
}

/// Eight nodes at 7 micro-credits per second (0), at 5 and 9 in turns of 100 s (1), or at 5, and 9 from
/// three nodes in use on (2).
fn cluster(performance: u32, changes: u8) -> Pools {
    let mut pool = Pools::cluster(8).as_slice()[0].clone();
    (pool.performance, pool.price) =
        (Performance::from_thousandths(performance).unwrap(), Price(7));
    let pools = Pools::new(vec![Site { name: "site".to_owned() }], vec![pool]).unwrap();
    let series = Series::new(&[(Time(0), 5), (Time(100), 9)]).unwrap().repeated(Span(200)).unwrap();
    let rising = LoadPrice::new(vec![(0, Price(5)), (375, Price(9))]).ok();
    match changes {
        0 => pools,
        1 => pools.with_rates(Rates::new(vec![Some(Arc::new(series))])),
        _ => pools.with_load_prices(vec![rising]),
    }
}

fn ours(workload: &Workload, estimate: Estimate, depth: Depth) -> Run {
    let settings = ReplaySettings { semantics: Semantics::Textbook, estimate };
    let mut policy = Backfill::new(BackfillSettings { depth, ..Default::default() });
    run(workload, settings, &mut policy, &mut check::all(check_promise(depth))).unwrap()
}

fn check_promise(depth: Depth) -> tradewind_sched::policy::Promise {
    match depth {
        Depth::First(0) => tradewind_sched::policy::Promise::Order,
        _ => tradewind_sched::policy::Promise::Head,
    }
}

/// Plays a whole workload by a rule from the mask; the run and the sum of rewards.
fn played(
    workload: &Arc<Workload>,
    estimate: Estimate,
    kind: Kind,
    choose: impl Fn(&[bool]) -> usize,
) -> Option<(Run, f64)> {
    let scene = Scene { workload: Arc::clone(workload), estimate, kind, jobs: workload.jobs.len() };
    let shape = scene.shape();
    let mut world = Episodes::new(scene, 1);
    if world.reset().unwrap() == Turn::Over {
        return None;
    }
    let (mut seen, mut mask) = (vec![0.0; shape.rows * shape.features], vec![false; shape.actions]);
    let mut rewards = 0.0;
    loop {
        let episode: &mut Box<dyn Episode> = world.episode().unwrap();
        episode.observe(&mut seen);
        episode.mask(&mut mask);
        assert!(seen.iter().all(|it| (0.0..=1.0).contains(it)), "{seen:?}");
        let action = choose(&mask);
        let turn = episode.act(action).unwrap();
        rewards += episode.reward();
        if turn == Turn::Over {
            return Some((world.finish().unwrap().unwrap(), rewards));
        }
    }
}

fn estimates() -> impl Strategy<Value = Estimate> {
    let all = [
        Estimate::Requested,
        Estimate::Exact,
        Estimate::Predicted,
        Estimate::PublishedLinear,
        Estimate::Learned,
    ];
    prop::sample::select(all.to_vec())
}

/// Starts jobs when a run says that they started; those of no length first, as they give their nodes
/// back in the same second.
struct Script<'a>(&'a Run);

impl Policy for Script<'_> {
    fn decide(&mut self, market: &Market, _: &[Event], commands: &mut Vec<Command>) {
        let ran = |job: JobId| &self.0.jobs[job.index()];
        let due = market.queue().filter(|job| ran(*job).start == market.now());
        let mut due: Vec<JobId> = due.collect();
        due.sort_by_key(|job| (ran(*job).end > market.now(), *job));
        let mut free = market.free();
        for job in due {
            let Some(left) = free.checked_sub(market.demand(job).unwrap().processors) else {
                break;
            };
            free = left;
            commands.push(Command::Start { job, place: Place::Pool(PoolId(0)) });
        }
        let next = market.queue().map(|job| ran(job).start).filter(|at| *at > market.now()).min();
        commands.extend(next.map(|at| Command::Wake { at }));
    }
}

/// What the engine of all replays makes of the same starts.
fn replayed(workload: &Workload, run: &Run) -> Run {
    let replay = crate::run(
        workload,
        ReplaySettings::default(),
        &mut Script(run),
        &mut check::all(Promise::Nothing),
    );
    Run { passes: run.passes, ..replay.unwrap() }
}

proptest! {
    #[test]
    fn the_first_each_time_is_easy(workload in rich(), estimate in estimates()) {
        let easy = ours(&workload, estimate, Depth::First(1));
        let kind = Kind::Backfill { candidates: 5 };
        if let Some((run, rewards)) = played(&workload, estimate, kind, |_| 0) {
            prop_assert_eq!(&run.jobs, &easy.jobs);
            prop_assert_eq!((&run.submitted, &run.income), (&easy.submitted, &easy.income));
            prop_assert!(rewards <= 0.0);
        }
        let kind = Kind::Order { candidates: 3 };
        if let Some((run, _)) = played(&workload, estimate, kind, |_| 0) {
            prop_assert_eq!(&run.jobs, &easy.jobs);
        }
    }

    #[test]
    fn none_each_time_is_fcfs(workload in jobs()) {
        let fcfs = ours(&workload, Estimate::Requested, Depth::First(0));
        let kind = Kind::Backfill { candidates: 5 };
        let none = |mask: &[bool]| mask.len() - 1;
        if let Some((run, _)) = played(&workload, Estimate::Requested, kind, none) {
            prop_assert_eq!(&run.jobs, &fcfs.jobs);
        }
    }

    #[test]
    fn any_choice_is_what_the_engine_makes_of_it(
        workload in rich(),
        estimate in estimates(),
        picks in prop::collection::vec(0_usize..6, 8),
    ) {
        // The script does not know in which pass of a second a job started, and a price may follow
        // the load of each: there are several where a job takes no time.
        let takes_time = |job: &crate::workload::Job| job.run > Span::ZERO;
        prop_assume!(!workload.pools.follow_load() || workload.jobs.iter().all(takes_time));
        for kind in [Kind::Backfill { candidates: 4 }, Kind::Order { candidates: 4 }] {
            let turn = std::cell::Cell::new(0);
            let choose = |_: &[bool]| {
                turn.set(turn.get() + 1);
                picks[turn.get() % picks.len()]
            };
            if let Some((run, _)) = played(&workload, estimate, kind, choose) {
                prop_assert_eq!(&replayed(&workload, &run), &run);
            }
        }
    }
}

/// By hand: job 2 waits from 0 to 100, job 3 overtakes it or does not.
#[test]
fn rewards_are_the_slowdown_that_waiting_adds() {
    let workload = log(vec![(0, 100, 100, 6, 1), (0, 50, 50, 8, 1), (0, 20, 20, 2, 1)]);
    let kind = Kind::Backfill { candidates: 2 };
    let (_, first) = played(&workload, Estimate::Requested, kind.clone(), |_| 0).unwrap();
    assert!((first + (100.0 / 50.0) / 3.0).abs() < 1e-6, "{first}");
    let (_, none) = played(&workload, Estimate::Requested, kind, |mask| mask.len() - 1).unwrap();
    assert!((none + (100.0 / 50.0 + 150.0 / 20.0) / 3.0).abs() < 1e-6, "{none}");
}

#[test]
fn the_same_seed_draws_the_same_stretches() {
    let jobs = (0..200).map(|at| (7, 60 + at % 50, 120, 1 + (at % 8) as u32, at % 3)).collect();
    let workload = log(jobs);
    let scene = Scene {
        workload,
        estimate: Estimate::Requested,
        kind: Kind::Order { candidates: 4 },
        jobs: 50,
    };
    let firsts = |seed| {
        let mut world = Episodes::new(scene.clone(), seed);
        let mut first = || {
            assert_eq!(world.reset().unwrap(), Turn::Choice);
            world.workload().jobs[0].number
        };
        [first(), first(), first()]
    };
    assert_eq!(firsts(5), firsts(5));
    assert_ne!(firsts(5), firsts(6));
}

/// The campus costs 8 at even hundreds of seconds and 2 at odd ones, the cloud always 4.
fn two_sites() -> Pools {
    let pool = |site: u32, price| Pool {
        name: format!("pool{site}"),
        site: SiteId(site),
        price: Price(price),
        ..Pools::cluster(4).as_slice()[0].clone()
    };
    let sites = ["campus", "cloud"].map(|name| Site { name: name.to_owned() });
    let pools = Pools::new(sites.to_vec(), vec![pool(0, 2), pool(1, 4)]).unwrap();
    let series = Series::new(&[(Time(0), 8), (Time(100), 2)]).unwrap().repeated(Span(200)).unwrap();
    pools.with_rates(Rates::new(vec![Some(Arc::new(series)), None]))
}

#[test]
fn an_agent_sees_the_mean_price_over_the_jobs_own_time() {
    let of = |number, submit, requested, max_price| LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(requested)),
        processors: Some(1),
        requested: Some(Span(requested)),
        user: 0,
        terms: Some(Arc::new(Terms { max_price, ..Terms::NONE })),
    };
    let jobs = [of(0, 0, 60, None), of(1, 60, 80, None), of(2, 100, 50, Some(Price(5)))];
    let workload =
        workload::prepare(&jobs, Arc::new(two_sites()), Semantics::Textbook, Overrun::Kill);
    let policy: MakePolicy = Arc::new(|_| Box::new(GridFill::new(GridFillSettings::default())));
    let kind = Kind::Pool { policy };
    let scene =
        Scene { workload: Arc::new(workload), estimate: Estimate::Requested, kind, jobs: 3 };
    let mut world = Episodes::new(scene, 1);
    assert_eq!(world.reset().unwrap(), Turn::Choice);
    let episode = world.episode().unwrap();
    let mut seen = [0.0; 3 * grid::FEATURES];
    let mut prices = |episode: &dyn Episode| {
        episode.observe(&mut seen);
        [seen[grid::FEATURES - 1], seen[2 * grid::FEATURES - 1]]
    };
    assert_eq!(prices(&**episode), [1.0, 0.5]);
    assert_eq!(episode.act(0).unwrap(), Turn::Choice);
    // 40 seconds at 8 and 40 at 2.
    assert_eq!(prices(&**episode), [5.0 / 8.0, 0.5]);
    // The last job has no choice: the campus is above its cap again from 200 on.
    assert_eq!(episode.act(0).unwrap(), Turn::Over);
}
