//! Measures of the jobs that count: how long they took and what they paid.

use std::collections::BTreeMap;

use super::column::Column;
use super::entry::Unit;
use super::spread::Spread;
use super::{Counted, Entry, MetricOptions, preemption, stays};
use crate::result::{Ran, Run};
use crate::workload::{Job, Workload};

/// Sums over the jobs that count, and 12 bytes for each.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// Number of jobs that ran.
    pub(super) count: i128,
    pub(super) killed: i128,
    pub(super) backfilled: i128,
    pub(super) refused: BTreeMap<&'static str, usize>,
    /// Cost in micro-credits.
    pub(super) cost: i128,
    /// First submission and last end, in seconds.
    pub(super) makespan: Option<(i64, i64)>,
    pub(super) killed_work: i128,
    waited: Column<u32>,
    ran_for: Column<u32>,
    /// 0 at an index where no job ran.
    processors: Column<u16>,
    /// Places in the order in which users came.
    user: Column<u16>,
    /// Each user's place in that order.
    users: BTreeMap<i64, u32>,
}

/// What is known of each job that ran; times in seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) waited: i64,
    pub(super) ran_for: i64,
    pub(super) processors: u32,
    user: usize,
}

/// Fairness among users.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fairness {
    pub(super) jain: f64,
    pub(super) worst: f64,
}

impl Measured {
    /// From submission to end.
    pub(super) fn turned(&self) -> i64 {
        self.waited + self.ran_for
    }

    /// Turnaround by run time; `None` for a run of no length.
    #[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
    fn slowdown(&self) -> Option<f64> {
        (self.ran_for > 0).then(|| self.turned() as f64 / self.ran_for as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
    fn at_least(&self, options: MetricOptions) -> f64 {
        self.ran_for.max(options.slowdown_bound.0).max(1) as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
    pub(super) fn bounded(&self, options: MetricOptions) -> f64 {
        (self.turned() as f64 / self.at_least(options)).max(1.0)
    }

    #[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
    fn per_processor(&self, options: MetricOptions) -> f64 {
        let work = self.at_least(options) * f64::from(self.processors);
        (self.turned() as f64 / work).max(1.0)
    }
}

impl Jobs {
    pub(super) fn of(workload: &Workload, run: &Run, counted: Counted) -> Jobs {
        let mut jobs = Jobs::default();
        let all = workload.jobs.iter().zip(&run.jobs).enumerate();
        for (index, (job, ran)) in all.filter(|(_, (job, _))| counted.has(job.submit)) {
            let work = || stays::of_job(workload, run, index).map(|stay| stay.work()).sum();
            match preemption::as_one_run(workload, run, index) {
                Some(ran) => jobs.add(index, (job, &ran), work),
                None => jobs.add(index, (job, ran), work),
            }
        }
        jobs
    }

    /// Adds the job of this index; the order of jobs does not matter. `work` is what it did, in
    /// node-seconds.
    pub(super) fn add(
        &mut self,
        index: usize,
        (job, ran): (&Job, &Ran),
        work: impl FnOnce() -> i128,
    ) {
        if let Some(reason) = &ran.refused {
            *self.refused.entry(reason.code()).or_default() += 1;
            return;
        }
        self.count += 1;
        self.waited.set(index, (ran.start - job.submit).0);
        self.ran_for.set(index, (ran.end - ran.start).0);
        self.processors.set(index, job.processors.into());
        let place = self.users.len() as u32;
        self.user.set(index, (*self.users.entry(job.user).or_insert(place)).into());
        self.backfilled += i128::from(ran.backfilled);
        self.cost += i128::from(ran.cost.0);
        let (first, last) = self.makespan.unwrap_or((job.submit.0, ran.end.0));
        self.makespan = Some((first.min(job.submit.0), last.max(ran.end.0)));
        if job.killed {
            self.killed += 1;
            self.killed_work += work();
        }
    }

    /// The jobs that ran, by index.
    pub(super) fn all(&self) -> impl Iterator<Item = Measured> {
        let times = self.waited.iter().zip(self.ran_for.iter());
        let rest = self.processors.iter().zip(self.user.iter());
        let measured = |((waited, ran_for), (processors, user))| Measured {
            waited,
            ran_for,
            processors: u32::try_from(processors).unwrap_or(u32::MAX),
            user: usize::try_from(user).unwrap_or_default(),
        };
        times.zip(rest).map(measured).filter(|job| job.processors > 0)
    }

    /// Mean and quantiles of all that is measured per job, one measure after the other.
    pub(super) fn spreads(&self, options: MetricOptions) -> Vec<Entry> {
        let whole = |of: fn(Measured) -> i64| Spread::of_whole(&mut self.values(|it| Some(of(it))));
        let quotients =
            |of: &dyn Fn(Measured) -> Option<f64>| Spread::of_quotients(&mut self.values(of));
        let bounded = |job: Measured| Some(job.bounded(options));
        let per_processor = |job: Measured| Some(job.per_processor(options));
        let entries = Spread::entries;
        [
            entries(whole(|job| job.waited), "wait_s", Unit::Seconds),
            entries(whole(|job| job.turned()), "turnaround_s", Unit::Seconds),
            entries(quotients(&|job| job.slowdown()), "slowdown", Unit::Ratio),
            entries(quotients(&bounded), "bounded_slowdown", Unit::Ratio),
            entries(quotients(&per_processor), "per_processor_slowdown", Unit::Ratio),
        ]
        .concat()
    }

    fn values<T>(&self, of: impl Fn(Measured) -> Option<T>) -> Vec<T> {
        let mut values = Vec::with_capacity(usize::try_from(self.count).unwrap_or_default());
        values.extend(self.all().filter_map(of));
        values
    }

    /// Jain's index of the users' mean bounded slowdowns (Jain, Chiu and Hawe, 1984), and the
    /// greatest of these; `None` without users.
    #[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
    pub(super) fn fairness(&self, options: MetricOptions) -> Option<Fairness> {
        let mut sums = vec![(0.0, 0u64); self.users.len()];
        for job in self.all() {
            let of = &mut sums[job.user];
            *of = (of.0 + job.bounded(options), of.1 + 1);
        }
        let means = || {
            let sums = self.users.values().map(|user| sums[*user as usize]);
            sums.map(|(sum, count)| sum / count as f64)
        };
        let (sum, squares) = means().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        let worst = means().max_by(f64::total_cmp)?;
        Some(Fairness { jain: sum * sum / (self.users.len() as f64 * squares), worst })
    }
}
