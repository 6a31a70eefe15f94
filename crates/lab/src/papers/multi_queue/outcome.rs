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
    /// Slowdown, by equation (13).
    slowdown: f64,
    /// Response over run time, of at least 10 s.
    bounded: f64,
    /// The share of jobs that started before an older one of their site.
    backfilled: f64,
    /// Of processors, from the first job that counts to the last submission.
    utilisation: f64,
    /// Messages per job.
    messages: f64,
    /// Transfers per job.
    passed_on: f64,
    /// Equation (13), by class; not a number for a class without jobs.
    pub(super) by_class: [f64; 6],
    /// Bounded slowdowns, by class.
    pub(super) bounded_by_class: [f64; 6],
}

/// A measure of [`Outcome`], and its name in the tally.
pub(super) type OutcomeMeasure = (&'static str, fn(&Outcome) -> f64);

/// Those that are counted for every scheme.
pub(super) static MEASURES: [OutcomeMeasure; 9] = [
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tradewind_model::{Money, Span, Time};

    use super::super::load::{LOAD, slowdown_ratio};
    use super::super::world::{SITES, pools};
    use super::*;
    use crate::case::{Size, Value};

    fn job(submit: i64, run: i64, processors: u32) -> Job {
        Job {
            source: 0,
            number: 0,
            submit: Time(submit),
            run: Span(run),
            processors,
            requested: Span(run),
            user: 0,
            killed: false,
            terms: None,
        }
    }

    fn ran(job: &Job, start: i64, site: u32) -> Ran {
        let (start, place) = (Time(start), Place::Pool(PoolId(site)));
        let (cost, backfilled, refused) = (Money::ZERO, false, None);
        Ran { start, end: start + job.run, place, cost, backfilled, refused }
    }

    fn world(jobs: Vec<Job>) -> Workload {
        Workload::new(pools(SITES).unwrap(), jobs)
    }

    proptest! {
        #[test]
        fn backfilled_is_to_start_before_an_older_job_of_the_site(
            starts in prop::collection::vec((0..50i64, 0..3u32), 0..30)
        ) {
            let jobs: Vec<Job> = starts.iter().map(|_| job(0, 10, 1)).collect();
            let ran: Vec<Ran> =
                starts.iter().zip(&jobs).map(|((start, site), job)| ran(job, *start, *site)).collect();
            let slow: Vec<bool> = (0..starts.len())
                .map(|at| {
                    let (start, site) = starts[at];
                    starts[..at].iter().any(|older| older.1 == site && older.0 > start)
                })
                .collect();
            prop_assert_eq!(backfilled(&world(jobs), &ran), slow);
        }
    }

    #[test]
    fn measures_by_hand() {
        // At one site: 64 processors from 0 to 100; 2 from 100 to 150, asked for at 10; and one
        // that overtakes it.
        let jobs = vec![job(0, 100, 64), job(10, 50, 2), job(20, 10, 32)];
        let starts = [0, 110, 100];
        let ran: Vec<Ran> = jobs.iter().zip(starts).map(|(job, at)| ran(job, at, 0)).collect();
        let run = tradewind_sim::Run {
            jobs: ran,
            submitted: vec![],
            trades: vec![],
            lost: vec![],
            kept: std::collections::BTreeMap::new(),
            income: vec![],
            passes: 0,
            owners: vec![],
            counts: vec![],
        };
        let case = Case::new(&LOAD, 1, Size::Quick).with(&WARM_UP, Value::Number(0.0));
        let played = Played { run, messages: 6, passed_on: 3 };
        let of = measure(&case, &world(jobs), &played);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        // Responses 100, 150 and 90 s; waits 0, 100 and 80 s.
        near(of.response_h, 340.0 / 3.0 / 3_600.0);
        near(of.wait_h, 60.0 / 3_600.0);
        near(of.longest_wait_h, 100.0 / 3_600.0);
        near(of.slowdown, (1.0 / 64.0 + 150.0 / 100.0 + 90.0 / 320.0) / 3.0);
        near(of.bounded, (1.0 + 3.0 + 9.0) / 3.0);
        near(of.backfilled, 1.0 / 3.0);
        // From 0 to 20 s one of eight sites is busy.
        near(of.utilisation, 1.0 / 8.0);
        near(of.messages, 2.0);
        near(of.passed_on, 1.0);
        // The mean run is 53 s: large and long, small and short, medium and short.
        near(of.by_class[1], 1.0 / 64.0);
        near(of.by_class[4], 1.5);
        near(of.by_class[2], 90.0 / 320.0);
        assert!(of.by_class[0].is_nan());
        let waited = case.with(&QUEUED, Value::Word("waited"));
        near(
            measure(
                &waited,
                &world(vec![job(0, 100, 64), job(10, 50, 2), job(20, 10, 32)]),
                &played,
            )
            .backfilled,
            0.5,
        );
        near(slowdown_ratio(3.0, 2.0), 0.5);
        near(slowdown_ratio(2.0, 3.0), -0.5);
    }
}
