//! What a run amounts to, in the paper's measures.

use tradewind_model::{Place, PoolId};
use tradewind_sim::Ran;
use tradewind_sim::workload::{Job, Workload};

use super::parameters::{QUEUED, WARM_UP};
use super::schemes::Played;
use super::world::PROCESSORS;
use crate::case::Case;
use crate::tally::Tally;

/// Large, medium and small jobs, short and long: the paper's LS to SL.
pub(super) const CLASSES: [&str; 6] = ["LS", "LL", "MS", "ML", "SS", "SL"];

/// Means over the jobs that count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outcome {
    /// From submission to end, in hours.
    pub(super) response_h: f64,
    wait_h: f64,
    longest_wait_h: f64,
    /// Equation (13).
    slowdown: f64,
    /// Response over run time, of at least 10 s.
    bounded: f64,
    /// The share of jobs that started before an older one of their site.
    backfilled: f64,
    /// Of processors, from the first job that counts to the last submission.
    utilisation: f64,
    /// Per job.
    messages: f64,
    /// Per job.
    passed_on: f64,
    /// Equation (13), by class; not a number for a class without jobs.
    pub(super) by_class: [f64; 6],
    /// Bounded slowdowns, by class.
    pub(super) bounded_by_class: [f64; 6],
}

/// A measure of [`Outcome`], and its name in the tally.
pub(super) type Measure = (&'static str, fn(&Outcome) -> f64);

/// Those that are counted for every scheme.
pub(super) static MEASURES: [Measure; 9] = [
    ("response", |of| of.response_h),
    ("wait", |of| of.wait_h),
    ("longest-wait", |of| of.longest_wait_h),
    ("slowdown", |of| of.slowdown),
    ("bounded", |of| of.bounded),
    ("backfilled", |of| of.backfilled),
    ("utilisation", |of| of.utilisation),
    ("messages", |of| of.messages),
    ("passed-on", |of| of.passed_on),
];

impl Outcome {
    /// Counts it under `prefix/measure`.
    pub(super) fn count(&self, prefix: &str, tally: &mut Tally) {
        for (name, of) in &MEASURES {
            tally.add(&format!("{prefix}/{name}"), of(self));
        }
    }
}

/// One job of a run that counts.
#[derive(Clone, Copy)]
struct Counted<'a> {
    job: &'a Job,
    ran: &'a Ran,
    backfilled: bool,
}

impl Counted<'_> {
    fn response(&self) -> f64 {
        (self.ran.end - self.job.submit).0 as f64
    }

    fn wait(&self) -> f64 {
        (self.ran.start - self.job.submit).0 as f64
    }

    /// Its part of equation (13) for a shortest run of `shortest` seconds.
    fn slowdown(&self, shortest: i64) -> f64 {
        let run = self.job.run.0.max(shortest).max(1) as f64;
        self.response() / (f64::from(self.job.processors) * run)
    }

    fn bounded(&self) -> f64 {
        (self.response() / self.job.run.0.max(10) as f64).max(1.0)
    }

    fn class(&self, mean_run: f64) -> usize {
        let width = match self.job.processors {
            wide if wide >= PROCESSORS * 2 / 3 => 0,
            medium if medium >= PROCESSORS / 3 => 2,
            _ => 4,
        };
        width + usize::from(self.job.run.0 as f64 >= mean_run)
    }
}

/// Sums a run up. O(jobs).
pub(super) fn measure(case: &Case, workload: &Workload, played: &Played) -> Outcome {
    let (jobs, run) = (&workload.jobs, &played.run);
    let backfilled = backfilled(workload, &run.jobs);
    let first = (case.number(&WARM_UP) * jobs.len() as f64) as usize;
    let all: Vec<Counted<'_>> = (first..jobs.len())
        .filter(|at| run.jobs[*at].refused.is_none())
        .map(|at| Counted { job: &jobs[at], ran: &run.jobs[at], backfilled: backfilled[at] })
        .collect();
    let queued = |one: &&Counted<'_>| case.word(&QUEUED) == "all" || one.wait() > 0.0;
    let shortest = jobs.iter().map(|job| job.run.0).min().unwrap_or(1);
    let mean_run = mean(jobs.iter().map(|job| job.run.0 as f64));
    let by_class = |of: &dyn Fn(&Counted<'_>) -> f64| {
        std::array::from_fn(|class| {
            mean(all.iter().filter(|one| one.class(mean_run) == class).map(of))
        })
    };
    let hours = |seconds: f64| seconds / 3_600.0;
    Outcome {
        response_h: hours(mean(all.iter().map(Counted::response))),
        wait_h: hours(mean(all.iter().map(Counted::wait))),
        longest_wait_h: hours(all.iter().map(Counted::wait).fold(0.0, f64::max)),
        slowdown: mean(all.iter().map(|one| one.slowdown(shortest))),
        bounded: mean(all.iter().map(Counted::bounded)),
        backfilled: mean(all.iter().filter(queued).map(|one| f64::from(u8::from(one.backfilled)))),
        utilisation: utilisation(workload, &run.jobs, first),
        messages: played.messages as f64 / jobs.len() as f64,
        passed_on: played.passed_on as f64 / jobs.len() as f64,
        by_class: by_class(&|one| one.slowdown(shortest)),
        bounded_by_class: by_class(&|one| one.bounded()),
    }
}

/// Whether each job started before one that was submitted earlier and ran at the same site.
fn backfilled(workload: &Workload, ran: &[Ran]) -> Vec<bool> {
    let mut latest = vec![i64::MIN; workload.pools.as_slice().len()];
    let one = |ran: &Ran| {
        let Place::Pool(PoolId(site)) = ran.place else { return false };
        let latest = &mut latest[site as usize];
        let before = ran.start.0 < *latest;
        *latest = (*latest).max(ran.start.0);
        before
    };
    ran.iter().map(one).collect()
}

fn utilisation(workload: &Workload, ran: &[Ran], first: usize) -> f64 {
    let jobs = &workload.jobs;
    let (Some(from), Some(until)) = (jobs.get(first), jobs.last()) else { return f64::NAN };
    let (from, until) = (from.submit, until.submit);
    let inside = |(job, ran): (&Job, &Ran)| {
        let span = (ran.end.min(until) - ran.start.max(from)).0.max(0);
        span as f64 * f64::from(job.processors)
    };
    let used: f64 = jobs.iter().zip(ran).map(inside).sum();
    used / (f64::from(workload.processors()) * (until - from).0 as f64)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), x| (sum + x, count + 1));
    sum / f64::from(count)
}
