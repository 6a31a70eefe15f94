//! Jobs that have a deadline or a value, and whether they were completed in time.

use tradewind_model::{Terms, Time};

use super::classes::{ClassTally, Family};
use super::{Counted, Trim};
use crate::result::Run;
use crate::workload::{Job, Workload};

/// A job with terms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Promise<'a> {
    /// In the workload and the run; `None` if it can never run.
    pub(super) index: Option<usize>,
    pub(super) job: &'a Job,
    /// As when it counts: its submission, but a job that cannot run counts as submitted no earlier
    /// than the first and no later than the last that can.
    pub(super) at: Time,
    pub(super) terms: &'a Terms,
    /// Whether it was completed, by its deadline if it has one.
    pub(super) kept: bool,
}

/// Jobs with a deadline or a value, in the order of submission. Those that are too wide for the
/// grid are among them: they failed. So did jobs that were refused or killed.
pub(super) fn all<'a>(workload: &'a Workload, run: &'a Run) -> Vec<Promise<'a>> {
    let of = |job: &'a Job| {
        let terms = job.terms.as_deref()?;
        let promised = terms.deadline.is_some() || terms.value.is_some();
        promised.then_some(Promise { index: None, job, at: job.submit, terms, kept: false })
    };
    let ran = workload.jobs.iter().zip(&run.jobs).enumerate().filter_map(|(index, (job, ran))| {
        let promise = of(job)?;
        let completed = ran.refused.is_none() && !job.killed;
        let in_time = promise.terms.deadline.is_none_or(|deadline| ran.end <= deadline);
        Some(Promise { index: Some(index), kept: completed && in_time, ..promise })
    });
    let Counted { from, to } = Counted::of(workload, Trim::default());
    let too_wide = workload.rejected.iter().filter_map(|it| of(it.job.as_deref()?));
    let too_wide = too_wide.map(|promise| Promise { at: promise.at.clamp(from, to), ..promise });
    let mut all: Vec<Promise<'a>> = ran.chain(too_wide).collect();
    all.sort_by_key(|promise| (promise.job.submit, promise.job.number));
    all
}

/// Sums over the promises that count.
#[derive(Debug, Default)]
pub(super) struct Promises {
    /// Jobs with a deadline, and those of them that were completed by then.
    pub(super) deadlines: i128,
    pub(super) in_time: i128,
    /// Micro-credits of all jobs with a value, and of those that were completed in time.
    pub(super) offered: Option<i128>,
    pub(super) realised: i128,
    pub(super) urgency: ClassTally<5>,
    pub(super) value: ClassTally<6>,
}

impl Promises {
    pub(super) fn of(all: &[Promise<'_>], counted: Counted) -> Promises {
        let mut sums = Promises::default();
        for promise in all.iter().filter(|promise| counted.has(promise.at)) {
            sums.add(promise);
        }
        // What no job of the workload has, has no classes; whether it counts or not.
        sums.urgency.exists = all.iter().any(|promise| promise.terms.deadline.is_some());
        sums.value.exists = all.iter().any(|promise| promise.terms.value.is_some());
        sums
    }

    fn add(&mut self, &Promise { job, terms, kept, .. }: &Promise<'_>) {
        if let Some(deadline) = terms.deadline {
            self.deadlines += 1;
            self.in_time += i128::from(kept);
            self.urgency.add(Family::URGENCY.class_of_deadline(job, deadline), kept);
        }
        if let Some(value) = terms.value {
            *self.offered.get_or_insert(0) += i128::from(value.0);
            self.realised += i128::from(if kept { value.0 } else { 0 });
            self.value.add(Family::VALUE.class_of_value(job, value), kept);
        }
    }
}

/// So many of the first applications missed their deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// Jobs with a deadline, in the order of submission.
    pub applications: u64,
    /// Those of them that were not completed by then.
    pub missed: u64,
}

/// How deadlines missed add up over the applications of the whole replay, untrimmed: at most
/// `max` points (at least 2) at equal distances, each exact, from nothing up to all. Empty if no
/// job has a deadline. O(n log n) for n jobs.
pub fn misses(workload: &Workload, run: &Run, max: usize) -> Vec<Missed> {
    let promises = all(workload, run);
    let kept = promises.iter().filter(|it| it.terms.deadline.is_some()).map(|it| it.kept);
    let kept: Vec<bool> = kept.collect();
    if kept.is_empty() {
        return Vec::new();
    }
    let steps = kept.len().min(max.max(2) - 1);
    let (mut from, mut missed) = (0, 0);
    let point = |step: usize| {
        let applications = kept.len() * step / steps;
        missed += kept[from..applications].iter().filter(|kept| !**kept).count();
        from = applications;
        Missed { applications: applications as u64, missed: missed as u64 }
    };
    (0..=steps).map(point).collect()
}
