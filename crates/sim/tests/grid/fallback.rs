//! Fall-back windows of cyclic schemes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Cause, Command, Event, JobId, Market, Outage, Place, PoolId, Pools, Share, SiteId, Span, Terms,
    Time,
};
use tradewind_sched::policy::availability::{expected_length, missing_time};
use tradewind_sched::policy::cyclic::SearchBy;
use tradewind_sched::policy::cyclic::market::{BookedWindow, CycleSettings, Cycles, Replan};
use tradewind_sched::policy::{Policy, Promise};
use tradewind_sim::outage::AnnouncedOutage;
use tradewind_sim::workload::{LogJob, Overrun};
use tradewind_sim::{Estimate, ReplaySettings, Run};

use crate::cycles::any_knobs;
use crate::worlds::*;

/// The policy, with every fall-back window checked after every pass.
struct Watched {
    policy: Cycles,
    count: usize,
    /// How many windows were checked.
    seen: usize,
}

/// Free nodes by pool and second.
struct Free {
    now: Time,
    pools: Vec<BTreeMap<i64, i64>>,
}

impl Free {
    fn take(&mut self, share: Share, from: Time, until: Time) {
        for second in from.max(self.now).0..until.0 {
            *self.pools[share.pool.index()].entry(second).or_default() += i64::from(share.nodes);
        }
    }

    fn fits(&self, pools: &Pools, share: Share, from: Time, until: Time) -> bool {
        let taken = &self.pools[share.pool.index()];
        let nodes = i64::from(pools.pool(share.pool).nodes - share.nodes);
        (from.0..until.0).all(|second| taken.get(&second).copied().unwrap_or(0) <= nodes)
    }
}

impl Watched {
    /// What is taken beside fall-backs: running jobs, outages, bookings, and what starts now.
    fn taken(&self, market: &Market, commands: &[Command]) -> Free {
        let now = market.now();
        let pools = market.pools().as_slice().iter().map(|_| BTreeMap::new()).collect();
        let mut free = Free { now, pools };
        for run in market.running() {
            for share in run.shares() {
                let pool = market.pools().pool(share.pool);
                let length = expected_length(pool, run.demand, now - run.start);
                free.take(share, now, run.start + length);
            }
        }
        for (id, what) in market.outages() {
            let begun = market.closure_state(id).unwrap().1;
            let (from, until) = missing_time(&what, begun, now);
            free.take(Share { pool: what.pool, nodes: what.nodes }, from, until);
        }
        let starts = commands.iter().filter_map(|command| match command {
            Command::Start { job, place } => Some((*job, now, place.clone())),
            _ => None,
        });
        let booked = |job| self.policy.booked(job).map(|it| (job, it.start, it.place));
        for (job, start, place) in starts.chain(market.queue().filter_map(booked)) {
            let demand = market.demand(job).unwrap();
            for share in place.shares(demand.processors) {
                let length = market.pools().pool(share.pool).length_of(demand);
                free.take(share, start, start + length);
            }
        }
        free
    }

    fn home(&self, market: &Market, job: JobId, commands: &[Command]) -> Option<Place> {
        let started = commands.iter().find_map(|command| match command {
            Command::Start { job: other, place } if *other == job => Some(place.clone()),
            _ => None,
        });
        // Nodes that it gave back cannot fail under it any more.
        let running = market.run_of(job).map(|run| Place::of(run.shares().collect()));
        started.or(running).or_else(|| self.policy.booked(job).map(|it| it.place))
    }

    fn check(&mut self, market: &Market, commands: &[Command]) {
        let free = self.taken(market, commands);
        let running = market.running().map(|run| run.job);
        for job in market.queue().chain(running).collect::<Vec<_>>() {
            let all: Vec<BookedWindow> = self.policy.fallbacks(job).collect();
            assert!(all.len() <= self.count);
            let Some(home) = self.home(market, job, commands) else { continue };
            for window in &all {
                check_window(market, job, &home, window, &free);
            }
            self.seen += all.len();
        }
    }
}

fn check_window(market: &Market, job: JobId, home: &Place, window: &BookedWindow, free: &Free) {
    let (demand, pools) = (market.demand(job).unwrap(), market.pools());
    let sites = |place: &Place| -> BTreeSet<SiteId> {
        place.shares(demand.processors).map(|it| pools.pool(it.pool).site).collect()
    };
    assert!(sites(home).is_disjoint(&sites(&window.place)), "{job:?} at {}", market.now());
    let (mut nodes, mut cost) = (0, 0);
    for share in window.place.shares(demand.processors) {
        let pool = pools.pool(share.pool);
        let length = pool.length_of(demand);
        let end = window.start + length;
        assert!(pool.suits(demand));
        assert!(demand.terms().deadline.is_none_or(|deadline| end <= deadline));
        nodes += share.nodes;
        cost += (pool.price * length).0 * i64::from(share.nodes);
        // One whose start has passed may have become impossible since the last renewal.
        let fits = free.fits(pools, share, window.start, end);
        assert!(window.start < market.now() || fits, "{job:?} at {}: {window:?}", market.now());
    }
    assert_eq!(nodes, demand.processors);
    assert!(demand.terms().budget.is_none_or(|budget| cost <= budget.0));
}

impl Policy for Watched {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        self.policy.decide(market, events, commands);
        self.check(market, commands);
    }

    fn promise(&self) -> Promise {
        self.policy.promise()
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.policy.reservation(job)
    }
}

fn with(fallback: u32, knobs: &CycleSettings) -> CycleSettings {
    CycleSettings { fallback, ..knobs.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn windows_are_valid_after_every_pass(
        pools in any_grid(), log in any_log(), outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), count in 1u32..4,
    ) {
        let workload = with_outages(workload(&pools, &log, overrun), outages);
        let policy = Cycles::new(with(count, &knobs));
        let mut watched = Watched { policy, count: count as usize, seen: 0 };
        replay(&workload, ReplaySettings::default(), &mut watched);
    }

    #[test]
    fn without_lost_windows_they_change_nothing(
        pools in any_grid(), log in any_log(), knobs in any_knobs(), count in 1u32..4,
    ) {
        let workload = workload(&pools, &log, Overrun::Kill);
        let settings = ReplaySettings { estimate: Estimate::Exact, ..ReplaySettings::default() };
        let run = |count| {
            let run = replay(&workload, settings, &mut Cycles::new(with(count, &knobs)));
            (run.jobs, run.lost, run.income, run.passes)
        };
        prop_assert_eq!(run(0), run(count));
    }

    #[test]
    fn with_exact_estimates_jobs_that_go_elsewhere_keep_their_limits(
        pools in any_grid(), log in any_log(), outages in any_outages(), knobs in any_knobs(),
        count in 1u32..4,
    ) {
        let mut knobs = with(count, &knobs);
        knobs.cyclic.search = SearchBy::Job;
        let workload = with_outages(workload(&pools, &log, Overrun::Extend), outages);
        let settings = ReplaySettings { estimate: Estimate::Exact, ..ReplaySettings::default() };
        let run = replay(&workload, settings, &mut Cycles::new(knobs));
        for (index, (job, ran)) in workload.jobs.iter().zip(&run.jobs).enumerate() {
            let Some(terms) = job.terms.as_ref().filter(|_| ran.refused.is_none()) else { continue };
            prop_assert!(terms.deadline.is_none_or(|deadline| ran.end <= deadline));
            // Tasks that had ended when the others were lost are paid for, beside the budget.
            let lost = run.lost.iter().any(|lost| lost.job == index);
            prop_assert!(lost || terms.budget.is_none_or(|budget| ran.cost <= budget));
        }
    }
}

/// Jobs of (processors, run time), all submitted at 0 and equally important.
fn jobs(all: &[(u32, i64)]) -> Vec<LogJob> {
    let job = |(number, &(processors, run)): (usize, &(u32, i64))| LogJob {
        number: number as i64,
        submit: Some(Time(0)),
        run: Some(Span(run)),
        processors: Some(processors),
        requested: Some(Span(run)),
        user: 0,
        terms: Some(Arc::new(Terms::NONE)),
    };
    all.iter().enumerate().map(job).collect()
}

fn failure(pool: u32, nodes: u32, from: i64, until: i64) -> AnnouncedOutage {
    let (pool, from, until) = (PoolId(pool), Time(from), Time(until));
    let what = Outage { pool, nodes, from, until, cause: Cause::Failure(0) };
    AnnouncedOutage { announced: from, what }
}

/// A replay of jobs, with a cycle every 100 s.
fn run(pools: &[(u32, u32)], all: &[(u32, i64)], outages: &[AnnouncedOutage], count: u32) -> Run {
    let pools = grid(pools.iter().map(|&(site, nodes)| pool(site, nodes, 1_000, 0)).collect());
    let workload = with_outages(workload(&pools, &jobs(all), Overrun::Kill), outages.to_vec());
    let knobs = CycleSettings { period: Span(100), fallback: count, ..CycleSettings::css() };
    replay(&workload, ReplaySettings::default(), &mut Cycles::new(knobs))
}

fn where_and_when(run: &Run) -> Vec<(i64, Place)> {
    run.jobs.iter().map(|ran| (ran.start.0, ran.place.clone())).collect()
}

#[test]
fn a_job_whose_site_fails_goes_elsewhere_at_once() {
    let outages = [failure(0, 4, 30, 500)];
    let there = |at, pool| vec![(at, Place::Pool(PoolId(pool)))];
    let run = |count| run(&[(0, 4), (1, 4)], &[(4, 50)], &outages, count);
    assert_eq!(where_and_when(&run(0)), there(100, 1), "at the next cycle");
    assert_eq!(where_and_when(&run(1)), there(30, 1));
    assert_eq!(run(0).counts, []);
    assert_eq!(run(1).counts, [("fallbacks_taken", 1), ("fallbacks_missed", 0)]);
}

#[test]
fn a_window_that_has_not_begun_is_replaced_at_once() {
    // Three sites of one node each. The fourth job is booked at 60 where the first one runs; both
    // lose this node at 50, and the first job takes the first fall-back of both.
    let outages = [failure(0, 1, 50, 900)];
    let all = [(1, 60), (1, 70), (1, 80), (1, 90)];
    let pools = [(0, 1), (1, 1), (2, 1)];
    let starts = |count| {
        let run = run(&pools, &all, &outages, count);
        [run.jobs[0].start.0, run.jobs[3].start.0]
    };
    assert_eq!(starts(0), [100, 100], "nodes were free from 70 and from 80 on");
    assert_eq!(starts(1), [70, 100]);
    assert_eq!(starts(2), [70, 80]);
}

#[test]
fn several_windows_help_where_many_jobs_lose_theirs_at_once() {
    // Both jobs run at the first site. Both have the second site as their first fall-back, where
    // one of them fits.
    let outages = [failure(0, 2, 30, 900)];
    let pools = [(0, 2), (1, 1), (2, 1)];
    let starts = |count| {
        let run = run(&pools, &[(1, 50), (1, 50)], &outages, count);
        run.jobs.iter().map(|ran| ran.start.0).collect::<Vec<_>>()
    };
    assert_eq!(starts(0), [100, 100]);
    assert_eq!(starts(1), [30, 100]);
    assert_eq!(starts(2), [30, 30]);
}

#[test]
fn plans_of_bookings_that_move_keep_fall_backs_valid() {
    // The same with plans at every early end, which move what is booked.
    let pools = grid(vec![pool(0, 2, 1_000, 0), pool(1, 2, 2_000, 1)]);
    let all: Vec<(u32, i64)> = (0..12).map(|at| (1 + at % 2, 20 + 7 * i64::from(at))).collect();
    let mut log = jobs(&all);
    for job in &mut log {
        job.requested = job.run.map(|run| Span(2 * run.0));
    }
    let outages = vec![failure(0, 1, 25, 300), failure(1, 2, 60, 90)];
    let workload = with_outages(workload(&pools, &log, Overrun::Kill), outages);
    let knobs = CycleSettings {
        period: Span(40),
        replan: Replan::OnRelease,
        fallback: 3,
        ..CycleSettings::css()
    };
    let mut watched = Watched { policy: Cycles::new(knobs), count: 3, seen: 0 };
    replay(&workload, ReplaySettings::default(), &mut watched);
    assert!(watched.seen > 50, "{}", watched.seen);
}
