//! The measures of a replay. Sums are exact; only the final quotients are floats.

use tradewind_model::{Span, Time};

use crate::result::{Ran, Run};
use crate::workload::{Job, Workload};

/// Runs shorter than this count as this long in the bounded slowdown, in seconds.
pub const SLOWDOWN_BOUND_S: i64 = 10;

/// Spans at both ends of a replay whose submissions are not counted, so that an empty machine at
/// the start and a thinning queue at the end tell nothing. Which jobs count depends on the
/// workload alone, not on the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trim {
    /// From the first submission on.
    pub warm_up: Span,
    /// Up to the last submission.
    pub cool_down: Span,
}

/// The part of a replay that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Submissions from then on count.
    pub from: Time,
    /// Submissions up to then count.
    pub to: Time,
    /// When nothing is cut off the end, usage counts up to the last end of a job.
    until_end: bool,
}

impl Counted {
    /// What `trim` leaves of the workload. Submissions are in order there.
    pub fn of(workload: &Workload, trim: Trim) -> Counted {
        let submit = |job: Option<&Job>| job.map_or(Time(0), |job| job.submit);
        Counted {
            from: submit(workload.jobs.first()) + trim.warm_up,
            to: submit(workload.jobs.last()) - trim.cool_down,
            until_end: trim.cool_down == Span::ZERO,
        }
    }

    /// Whether a job submitted then counts.
    pub fn has(self, submit: Time) -> bool {
        (self.from..=self.to).contains(&submit)
    }
}

/// What a replay amounts to; `docs/metrics.md` has the formulas.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Metrics {
    /// Jobs that ran and count.
    pub jobs: usize,
    /// Of them, killed at their request.
    pub killed: usize,
    /// Mean wait in seconds.
    pub mean_wait_s: f64,
    /// Longest wait in seconds.
    pub max_wait_s: i64,
    /// Mean turnaround in seconds.
    pub mean_turnaround_s: f64,
    /// Mean slowdown, of jobs that ran for a second or more.
    pub mean_slowdown: f64,
    /// Mean bounded slowdown.
    pub mean_bounded_slowdown: f64,
    /// Processor time used, by whichever job, over processor time there was in the time that
    /// counts: untrimmed, from the first submission to the last end.
    pub utilisation: f64,
    /// From the first submission to the last end of jobs that count, in seconds.
    pub makespan_s: i64,
    /// The share of jobs that overtook one submitted earlier.
    pub backfill_ratio: f64,
}

/// Sums up the part of a run that counts. A run of no jobs is all zeros.
#[expect(
    clippy::cast_precision_loss,
    reason = "quotients are for reading; nothing is decided by them"
)]
pub fn measure(workload: &Workload, run: &Run, trim: Trim) -> Metrics {
    let counted = Counted::of(workload, trim);
    let mut sums = Metrics::default();
    let (mut wait, mut turnaround) = (0i128, 0i128);
    let (mut backfilled, mut long) = (0usize, 0usize);
    let (mut first, mut last) = (Time::MAX, Time::MIN);
    for (job, ran) in ran(workload, run).filter(|(job, _)| counted.has(job.submit)) {
        let (waited, turned) = ((ran.start - job.submit).0, (ran.end - job.submit).0);
        sums.jobs += 1;
        wait += i128::from(waited);
        turnaround += i128::from(turned);
        sums.max_wait_s = sums.max_wait_s.max(waited);
        sums.killed += usize::from(job.killed);
        backfilled += usize::from(ran.backfilled);
        (first, last) = (first.min(job.submit), last.max(ran.end));
        if job.run.0 > 0 {
            long += 1;
            sums.mean_slowdown += turned as f64 / job.run.0 as f64;
        }
        let bounded = turned as f64 / job.run.0.max(SLOWDOWN_BOUND_S) as f64;
        sums.mean_bounded_slowdown += bounded.max(1.0);
    }
    let jobs = sums.jobs.max(1) as f64;
    sums.makespan_s = if sums.jobs > 0 { (last - first).0 } else { 0 };
    sums.mean_wait_s = wait as f64 / jobs;
    sums.mean_turnaround_s = turnaround as f64 / jobs;
    sums.mean_slowdown /= long.max(1) as f64;
    sums.mean_bounded_slowdown /= jobs;
    sums.backfill_ratio = backfilled as f64 / jobs;
    sums.utilisation = utilisation(workload, run, counted);
    sums
}

/// The jobs that were not refused.
fn ran<'a>(workload: &'a Workload, run: &'a Run) -> impl Iterator<Item = (&'a Job, &'a Ran)> {
    workload.jobs.iter().zip(&run.jobs).filter(|(_, ran)| ran.refused.is_none())
}

/// Used over available processor time between the first and the last moment that count. A faster
/// pool is used for as long as its tasks take there.
#[expect(clippy::cast_precision_loss, reason = "the quotient is for reading")]
fn utilisation(workload: &Workload, run: &Run, counted: Counted) -> f64 {
    let until = match counted.until_end {
        true => ran(workload, run).map(|(_, ran)| ran.end).max().unwrap_or(counted.to),
        false => counted.to,
    };
    let mut used = 0i128;
    for (job, ran) in ran(workload, run) {
        for share in ran.place.shares(job.processors) {
            let end = ran.start + workload.pools.pool(share.pool).length_of(job.run);
            let within = (end.min(until) - ran.start.max(counted.from)).0.max(0);
            used += i128::from(within) * i128::from(share.nodes);
        }
    }
    let span = (until - counted.from).0.max(0);
    let there_was = i128::from(span) * i128::from(workload.processors());
    used as f64 / there_was.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use tradewind_model::Pools;

    /// Jobs of (submit, start, end) on one processor each, on two processors.
    fn replay(jobs: &[(i64, i64, i64)]) -> (Workload, Run) {
        let job = |&(submit, start, end): &(i64, i64, i64)| Job {
            source: 0,
            number: 1,
            submit: Time(submit),
            run: Span(end - start),
            processors: 1,
            requested: Span(end - start),
            user: 1,
            killed: false,
            terms: None,
        };
        let ran = |&(_, start, end): &(i64, i64, i64)| Ran {
            end: Time(end),
            ..Ran::nothing(Time(start))
        };
        let workload = Workload {
            pools: Arc::new(Pools::cluster(2)),
            jobs: jobs.iter().map(job).collect(),
            outages: vec![],
            rejected: vec![],
        };
        let jobs = jobs.iter().map(ran).collect();
        (workload, Run { jobs, lost: vec![], income: vec![], passes: 0 })
    }

    const JOBS: [(i64, i64, i64); 3] = [(0, 0, 40), (20, 30, 60), (50, 60, 100)];

    #[test]
    fn untrimmed_everything_counts() {
        let (workload, run) = replay(&JOBS);
        let all = measure(&workload, &run, Trim::default());
        assert_eq!((all.jobs, all.makespan_s, all.max_wait_s), (3, 100, 10));
        assert_eq!(all.utilisation, 110.0 / 200.0);
        assert_eq!(all.mean_wait_s, 20.0 / 3.0);
    }

    #[test]
    fn a_trimmed_job_still_uses_the_machine() {
        let (workload, run) = replay(&JOBS);
        // From 10 to 40: of the first job 30 s, of the second 10 s.
        let trim = Trim { warm_up: Span(10), cool_down: Span(10) };
        let middle = measure(&workload, &run, trim);
        assert_eq!((middle.jobs, middle.mean_wait_s, middle.makespan_s), (1, 10.0, 40));
        assert_eq!(middle.utilisation, 40.0 / 60.0);
        // Only the start is cut: up to the last end, from 10 to 100.
        let late = measure(&workload, &run, Trim { warm_up: Span(10), ..Trim::default() });
        assert_eq!((late.jobs, late.utilisation), (2, 100.0 / 180.0));
    }

    #[test]
    fn nothing_left_is_all_zeros() {
        let (workload, run) = replay(&JOBS);
        let none = measure(&workload, &run, Trim { warm_up: Span(60), ..Trim::default() });
        assert_eq!((none.jobs, none.mean_wait_s, none.makespan_s), (0, 0.0, 0));
    }
}
