//! One cycle in the simulator: nodes are pools of one, local tasks are outages, all jobs come at
//! the start.

use std::sync::Arc;

use tradewind_model::{
    Admission, Cause, Outage, Performance, Pool, PoolId, Pools, Snapshot, Span, Terms, Time, Times,
    Window, random,
};
use tradewind_sched::policy::Policy;
use tradewind_sim::models::Cycle;
use tradewind_sim::outage::AnnouncedOutage;
use tradewind_sim::workload::{Job, Workload};
use tradewind_sim::{ReplaySettings, run};

use super::parameters::SHORTEST;
use crate::case::Case;

/// A cycle to be replayed.
#[derive(Debug)]
pub(super) struct Replay {
    workload: Workload,
    /// By job: what it really takes of the reference node; at most what it reserves.
    pub(super) real: Vec<Span>,
}

/// What a job got.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Got {
    pub(super) start: f64,
    pub(super) finish: f64,
    /// Summed over its tasks.
    pub(super) cpu: f64,
}

/// Means over a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Means {
    pub(super) start: f64,
    pub(super) cpu: f64,
}

impl Means {
    /// Of `jobs`; `None` if one of them ends after `by`.
    pub(super) fn of(jobs: &[Got], by: f64) -> Option<Means> {
        let count = jobs.len() as f64;
        let mean = |of: fn(&Got) -> f64| jobs.iter().map(of).sum::<f64>() / count;
        let in_time = jobs.iter().all(|job| job.finish <= by);
        in_time.then(|| Means { start: mean(|job| job.start), cpu: mean(|job| job.cpu) })
    }
}

impl Replay {
    /// Real run times are drawn from the case's law.
    pub(super) fn new(case: &Case, cycle: &Cycle, seed: u64) -> Option<Replay> {
        let Cycle { snapshot, busy } = cycle;
        let pool = |node: &tradewind_model::Node| Pool {
            name: node.name.clone(),
            site: node.site,
            nodes: 1,
            performance: node.performance,
            price: node.price,
            attributes: node.attributes.clone(),
            admission: Admission::NONE,
            times: Times::Work,
        };
        let pools = snapshot.grid.nodes().iter().map(pool).collect();
        let pools = Pools::new(snapshot.grid.sites().to_vec(), pools).ok()?;
        let outage = |task: &tradewind_model::Slot| {
            let (pool, from, until) = (PoolId(task.node.0), task.start, task.end);
            let what = Outage { pool, nodes: 1, from, until, cause: Cause::Local };
            AnnouncedOutage { announced: snapshot.horizon.start, what }
        };
        let mut outages: Vec<AnnouncedOutage> = busy.iter().map(outage).collect();
        outages.sort_by_key(|outage| (outage.what.from, outage.what.pool));
        let real = real_times(case, snapshot, seed);
        let jobs = jobs(snapshot);
        let pools = Arc::new(pools);
        Some(Replay { workload: Workload { outages, ..Workload::new(pools, jobs) }, real })
    }

    /// Jobs that take what they reserve.
    pub(super) fn scheduled(&self, policy: &mut dyn Policy) -> Option<Vec<Got>> {
        got(&self.workload, policy)
    }

    /// Jobs that take what they really take.
    pub(super) fn real(&self, policy: &mut dyn Policy) -> Option<Vec<Got>> {
        let mut workload = self.workload.clone();
        for (job, real) in workload.jobs.iter_mut().zip(&self.real) {
            job.run = *real;
        }
        got(&workload, policy)
    }
}

/// A part of what each job reserves, uniform from the case's least one to all of it.
fn real_times(case: &Case, snapshot: &Snapshot, seed: u64) -> Vec<Span> {
    let min = (case.number(&SHORTEST) * 1e6).round() as i64;
    let real = |(key, job): (u64, &tradewind_model::Job)| {
        let part = random::within(&mut random::stream(seed, "real-run", key), min, 1_000_000);
        Span((job.request.work.0 * part).div_euclid(1_000_000).max(1))
    };
    (0..).zip(&snapshot.jobs).map(real).collect()
}

fn jobs(snapshot: &Snapshot) -> Vec<Job> {
    let job = |(source, job): (usize, &tradewind_model::Job)| {
        let request = &job.request;
        let terms = Terms {
            priority: job.priority,
            min_performance: request.min_performance,
            max_price: request.max_price,
            budget: request.budget,
            criterion: request.criterion.clone(),
            ..Terms::NONE
        };
        Job {
            source,
            number: source as i64 + 1,
            submit: snapshot.horizon.start,
            run: request.work,
            processors: request.tasks,
            requested: request.work,
            user: 1,
            killed: false,
            terms: Some(Arc::new(terms)),
        }
    };
    snapshot.jobs.iter().enumerate().map(job).collect()
}

/// `None` if a job is refused.
fn got(workload: &Workload, policy: &mut dyn Policy) -> Option<Vec<Got>> {
    let ran = run(workload, ReplaySettings::default(), policy, &mut []).ok()?;
    let got = |(job, ran): (&Job, &tradewind_sim::Ran)| {
        let length = |performance: Performance| performance.length_of(job.run).0;
        let shares = ran.place.shares(job.processors);
        let time = shares.map(|share| {
            length(workload.pools.pool(share.pool).performance) * i64::from(share.nodes)
        });
        let cpu = time.sum::<i64>() as f64;
        let (start, finish) = (ran.start.0 as f64, ran.end.0 as f64);
        ran.refused.is_none().then_some(Got { start, finish, cpu })
    };
    workload.jobs.iter().zip(&ran.jobs).map(got).collect()
}

/// A planned window whose tasks take `work` of the reference node.
pub(super) fn planned(snapshot: &Snapshot, window: &Window, work: Span) -> Got {
    let length = |task: &tradewind_model::Task| {
        snapshot.grid.node(task.node).performance.length_of(work).0 as f64
    };
    let Time(start) = window.start();
    let longest = window.tasks().iter().map(length).fold(0.0, f64::max);
    let cpu = window.tasks().iter().map(length).sum();
    Got { start: start as f64, finish: start as f64 + longest, cpu }
}
