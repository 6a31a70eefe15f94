//! How many jobs wait, and how much work, over time.

use tradewind_model::Time;

use super::Window;
use crate::result::Run;
use crate::workload::Workload;

/// One stretch of waiting of one job: from its submission or interruption to its next start or
/// refusal.
#[derive(Debug, Clone, Copy)]
pub struct WaitStretch {
    /// Index in the workload's jobs.
    pub job: usize,
    /// When it begins.
    pub from: Time,
    /// When it ends.
    pub until: Time,
}

/// Every stretch of waiting, job by job. O(n log n) for n interruptions.
pub fn stretches<'a>(
    workload: &'a Workload,
    run: &'a Run,
) -> impl Iterator<Item = WaitStretch> + 'a {
    // Of an interrupted job the first stretch ends with its first attempt, and each attempt
    // begins another: in all they are as if it had waited throughout but for the attempts.
    let mut lost: Vec<_> = run.lost.iter().collect();
    lost.sort_by_key(|lost| (lost.job, lost.start));
    let whole = workload.jobs.iter().zip(&run.jobs).enumerate();
    whole.flat_map(move |(job, (of, ran))| {
        let first = lost.partition_point(|lost| lost.job < job);
        let attempts = lost[first..].iter().take_while(|lost| lost.job == job);
        let mut ends: Vec<(Time, Time)> = Vec::new();
        let mut from = of.submit;
        for attempt in attempts {
            ends.push((from, attempt.start));
            from = attempt.end;
        }
        let last = (from, ran.start);
        ends.into_iter().chain([last]).map(move |(from, until)| WaitStretch { job, from, until })
    })
}

/// The queue over the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct QueueMetrics {
    /// Σ over seconds of how many jobs wait.
    pub(super) job_seconds: i128,
    /// Σ over seconds of the work that waits, in node-seconds.
    pub(super) work_seconds: i128,
    pub(super) most_jobs: i128,
    pub(super) most_work: i128,
}

impl QueueMetrics {
    /// O(n log n) for n jobs.
    pub(super) fn of(workload: &Workload, run: &Run, window: Window) -> QueueMetrics {
        let mut queue = QueueMetrics::default();
        let work = |job: usize| {
            let of = &workload.jobs[job];
            i128::from(of.processors) * i128::from(of.run.0)
        };
        let mut joins: Vec<(Time, u32)> = Vec::with_capacity(run.jobs.len());
        let mut leaves: Vec<(Time, u32)> = Vec::with_capacity(run.jobs.len());
        for WaitStretch { job, from, until } in stretches(workload, run) {
            let seconds = i128::from(window.seconds_of(from, until));
            queue.job_seconds += seconds;
            queue.work_seconds += seconds * work(job);
            if seconds > 0 {
                joins.push((from.max(window.from), job as u32));
                leaves.push((until, job as u32));
            }
        }
        // Joins come nearly in order, by submission.
        joins.sort();
        leaves.sort_unstable();
        let (mut jobs, mut waiting, mut left) = (0i128, 0i128, leaves.iter().peekable());
        for (at, job) in joins {
            while let Some((_, gone)) = left.next_if(|(until, _)| *until <= at) {
                (jobs, waiting) = (jobs - 1, waiting - work(*gone as usize));
            }
            (jobs, waiting) = (jobs + 1, waiting + work(job as usize));
            queue.most_jobs = queue.most_jobs.max(jobs);
            queue.most_work = queue.most_work.max(waiting);
        }
        queue
    }
}
