//! Backfilling against a plain version that walks through time second by second with flat arrays.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Pools, Span, Time};
use tradewind_sched::policy::Policy as _;
use tradewind_sched::policy::availability::expected_span;
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth, Order};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Estimate, ReplaySettings, Run, Semantics, check, run};

const AHEAD: i64 = 4_000;

const ESTIMATES: [Estimate; 4] =
    [Estimate::Requested, Estimate::Exact, Estimate::Predicted, Estimate::PublishedLinear];

#[derive(Clone, Copy)]
struct Waits {
    job: usize,
    reserved: Option<i64>,
}

#[derive(Clone, Copy)]
struct Runs {
    job: usize,
    start: i64,
    believed_end: i64,
}

struct Naive<'a> {
    workload: &'a Workload,
    knobs: BackfillSettings,
    queue: Vec<Waits>,
    running: Vec<Runs>,
    starts: Vec<Option<i64>>,
}

impl Naive<'_> {
    fn procs(&self, job: usize) -> i64 {
        i64::from(self.workload.jobs[job].processors)
    }

    fn estimate(&self, job: usize) -> i64 {
        self.workload.jobs[job].requested.0
    }

    fn key(&self, job: usize) -> (i64, usize) {
        (self.key_by(self.knobs.order, job), job)
    }

    fn key_by(&self, order: Order, job: usize) -> i64 {
        let (procs, estimate) = (self.procs(job), self.estimate(job));
        match order {
            Order::Arrival => 0,
            Order::Shortest => estimate,
            Order::Longest => -estimate,
            Order::Widest => -procs,
            Order::Narrowest => procs,
            Order::Smallest => estimate * procs,
            order => unreachable!("{order:?} has tests of its own"),
        }
    }

    /// Jobs as they are looked at: once so many have reservations as the depth says, candidates come
    /// in their own order.
    fn next_to_look_at(&self, looked: &[usize]) -> Option<usize> {
        let left = |w: &&Waits| !looked.contains(&w.job);
        let first = self.queue.iter().position(|w| !looked.contains(&w.job))?;
        match (self.knobs.candidates, self.knobs.depth) {
            (Some(order), Depth::First(depth @ 1..)) if first >= depth as usize => {
                let key = |w: &&Waits| (self.key_by(order, w.job), w.job);
                Some(self.queue.iter().filter(left).min_by_key(key)?.job)
            }
            _ => Some(self.queue[first].job),
        }
    }

    /// Free processors in each second from `now` on, beside running jobs and the reservations of
    /// all jobs but `but`.
    fn free(&self, now: i64, but: usize) -> Vec<i64> {
        let mut free = vec![i64::from(self.workload.processors()); AHEAD as usize];
        let running = self.running.iter().map(|r| (r.job, now, r.believed_end));
        let reserved = self.queue.iter().filter(|w| w.job != but);
        let reserved = reserved.filter_map(|w| Some((w.job, w.reserved?)));
        let reserved = reserved.map(|(job, start)| (job, start, start + self.estimate(job)));
        for (job, start, end) in running.chain(reserved) {
            for at in start..end.min(now + AHEAD) {
                free[(at - now) as usize] -= self.procs(job);
            }
        }
        free
    }

    fn earliest(&self, now: i64, job: usize) -> i64 {
        let free = self.free(now, job);
        let span = self.estimate(job) as usize;
        let fits = |from: usize| free[from..from + span].iter().all(|f| *f >= self.procs(job));
        now + (0..AHEAD as usize - span).find(|from| fits(*from)).unwrap() as i64
    }

    /// Jobs from the place on are looked at; `blocked` jobs stand before.
    fn walk(&mut self, now: i64, only_new: &[usize]) {
        let mut looked = Vec::new();
        while let Some(job) = self.next_to_look_at(&looked) {
            looked.push(job);
            let place = self.queue.iter().position(|w| w.job == job).unwrap();
            if !only_new.is_empty() && !only_new.contains(&job) {
                continue;
            }
            if self.knobs.depth == Depth::First(0) && place > 0 {
                return;
            }
            let earliest = self.earliest(now, job);
            if earliest == now {
                self.queue.remove(place);
                self.starts[job] = Some(now);
                let believed_end = now + self.estimate(job);
                self.running.push(Runs { job, start: now, believed_end });
            } else {
                let covered = match self.knobs.depth {
                    Depth::First(depth) => place < depth as usize,
                    Depth::All => true,
                };
                self.queue[place].reserved = covered.then_some(earliest);
            }
        }
    }

    fn round(&mut self, now: i64, next: &mut usize) -> bool {
        let over = |r: &Runs| r.start + self.workload.jobs[r.job].run.0 <= now;
        let ended = self.running.iter().any(over);
        self.running.retain(|r| r.start + self.workload.jobs[r.job].run.0 > now);
        let mut new = Vec::new();
        while self.workload.jobs.get(*next).is_some_and(|job| job.submit.0 <= now) {
            new.push(*next);
            *next += 1;
        }
        let due = self.queue.iter().any(|w| w.reserved.is_some_and(|at| at <= now));
        if !ended && new.is_empty() && !due {
            return false;
        }
        let mut overrun = false;
        for index in 0..self.running.len() {
            let Runs { job, start, believed_end } = self.running[index];
            overrun |= believed_end <= now;
            let span = expected_span(Span(self.estimate(job)), Span(now - start));
            self.running[index].believed_end = start + span.0;
        }
        let only_new = self.knobs.depth == Depth::All && !ended && !due && !overrun;
        if self.knobs.depth != Depth::All || overrun {
            self.queue.iter_mut().for_each(|w| w.reserved = None);
        }
        self.queue.extend(new.iter().map(|&job| Waits { job, reserved: None }));
        let mut queue = std::mem::take(&mut self.queue);
        queue.sort_by_key(|w| self.key(w.job));
        self.queue = queue;
        if only_new {
            for job in new {
                self.walk(now, &[job]);
            }
        } else {
            self.walk(now, &[]);
        }
        true
    }
}

fn naive(workload: &Workload, knobs: BackfillSettings) -> Vec<i64> {
    let starts = vec![None; workload.jobs.len()];
    let mut naive = Naive { workload, knobs, queue: vec![], running: vec![], starts };
    let (mut now, mut next) = (0, 0);
    while naive.starts.iter().any(Option::is_none) {
        while naive.round(now, &mut next) {}
        now += 1;
    }
    naive.starts.into_iter().flatten().collect()
}

fn replay(workload: &Workload, knobs: BackfillSettings, settings: ReplaySettings) -> Run {
    let mut policy = Backfill::new(knobs);
    let mut checkers = check::all(policy.promise());
    run(workload, settings, &mut policy, &mut checkers).unwrap()
}

fn starts(run: &Run) -> Vec<i64> {
    run.jobs.iter().map(|ran| ran.start.0).collect()
}

fn log_job() -> impl Strategy<Value = LogJob> {
    (0i64..60, 0i64..25, 1u32..7, 1i64..25, 0i64..3).prop_map(
        |(submit, run, procs, asked, user)| LogJob {
            number: 0,
            submit: Some(Time(submit)),
            run: Some(Span(run)),
            processors: Some(procs),
            requested: Some(Span(asked)),
            user,
            terms: None,
        },
    )
}

fn log() -> impl Strategy<Value = Vec<LogJob>> {
    prop::collection::vec(log_job(), 1..22).prop_map(|mut jobs| {
        (0..).zip(&mut jobs).for_each(|(number, job)| job.number = number);
        jobs
    })
}

fn knobs() -> impl Strategy<Value = BackfillSettings> {
    let depths = [0, 1, 1, 2, 3].map(Depth::First).into_iter().chain([Depth::All, Depth::All]);
    let orders = &Order::ALL.map(|(order, _)| order)[..6];
    let order = prop_oneof![Just(Order::Arrival), prop::sample::select(orders.to_vec())];
    let candidates = prop::option::of(prop::sample::select(orders.to_vec()));
    (prop::sample::select(depths.collect::<Vec<_>>()), order, candidates)
        .prop_map(|(depth, order, candidates)| BackfillSettings { depth, order, candidates })
}

fn overrun() -> impl Strategy<Value = Overrun> {
    prop_oneof![Just(Overrun::Kill), Just(Overrun::Extend)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_depth_and_order_starts_jobs_when_the_plain_version_does(
        log in log(), knobs in knobs(), overrun in overrun(),
    ) {
        let workload = prepare(&log, Arc::new(Pools::cluster(7)), Semantics::Textbook, overrun);
        let run = replay(&workload, knobs, ReplaySettings::default());
        prop_assert_eq!(starts(&run), naive(&workload, knobs));
    }

    #[test]
    fn time_may_be_scaled(log in log(), knobs in knobs(), factor in 2i64..5) {
        let scaled: Vec<LogJob> = log.iter().map(|job| LogJob {
            submit: job.submit.map(|at| Time(at.0 * factor)),
            run: job.run.map(|span| Span(span.0 * factor)),
            requested: job.requested.map(|span| Span(span.0 * factor)),
            ..job.clone()
        }).collect();
        let of = |log: &[LogJob]| {
            let workload = prepare(log, Arc::new(Pools::cluster(7)), Semantics::Textbook, Overrun::Kill);
            starts(&replay(&workload, knobs, ReplaySettings::default()))
        };
        let expected: Vec<i64> = of(&log).into_iter().map(|at| at * factor).collect();
        prop_assert_eq!(of(&scaled), expected);
    }

    #[test]
    fn checkers_agree_whatever_the_settings(
        log in log(), knobs in knobs(), overrun in overrun(), pyss in any::<bool>(), kind in 0..4,
    ) {
        let semantics = if pyss { Semantics::Pyss } else { Semantics::Textbook };
        let estimate = ESTIMATES[kind as usize];
        let workload = prepare(&log, Arc::new(Pools::cluster(7)), semantics, overrun);
        let run = replay(&workload, knobs, ReplaySettings { semantics, estimate });
        for (job, ran) in workload.jobs.iter().zip(&run.jobs) {
            prop_assert!(ran.start >= job.submit && ran.end == ran.start + job.run);
        }
    }
}
