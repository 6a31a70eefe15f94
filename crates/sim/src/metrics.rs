//! The measures of a replay. Sums are exact; only the final quotients are floats.

use tradewind_model::Time;

use crate::result::Run;
use crate::workload::Workload;

/// Runs shorter than this count as this long in the bounded slowdown, in seconds.
pub const SLOWDOWN_BOUND_S: i64 = 10;

/// What a replay amounts to; `docs/metrics.md` has the formulas.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Metrics {
    /// Jobs that ran.
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
    /// Processor time used over processor time there was, from the first submission to the last
    /// end.
    pub utilisation: f64,
    /// From the first submission to the last end, in seconds.
    pub makespan_s: i64,
    /// The share of jobs that overtook one submitted earlier.
    pub backfill_ratio: f64,
}

/// Sums a run up. A run of no jobs is all zeros.
#[expect(
    clippy::cast_precision_loss,
    reason = "quotients are for reading; nothing is decided by them"
)]
pub fn measure(workload: &Workload, run: &Run) -> Metrics {
    let mut sums = Metrics::default();
    let (mut wait, mut turnaround, mut used) = (0i128, 0i128, 0i128);
    let (mut backfilled, mut long) = (0usize, 0usize);
    let (mut first, mut last) = (Time::MAX, Time::MIN);
    for (job, ran) in workload.jobs.iter().zip(&run.jobs).filter(|(_, ran)| ran.refused.is_none()) {
        let (waited, turned) = ((ran.start - job.submit).0, (ran.end - job.submit).0);
        sums.jobs += 1;
        wait += i128::from(waited);
        turnaround += i128::from(turned);
        used += i128::from(job.run.0) * i128::from(job.processors);
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
    let there_was = i128::from(sums.makespan_s) * i128::from(workload.processors());
    sums.utilisation = used as f64 / there_was.max(1) as f64;
    sums
}
