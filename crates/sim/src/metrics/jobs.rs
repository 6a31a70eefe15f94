//! Measures of the jobs that count: how long they took and what they paid.

use std::collections::BTreeMap;

use super::entry::Unit;
use super::spread::Spread;
use super::{Counted, Entry, Options, stays};
use crate::result::{Ran, Run};
use crate::workload::{Job, Workload};

/// Sums over the jobs that count.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    pub(super) killed: i128,
    pub(super) backfilled: i128,
    pub(super) refused: BTreeMap<&'static str, usize>,
    /// Cost in micro-credits.
    pub(super) cost: i128,
    /// First submission and last end, in seconds.
    pub(super) makespan: Option<(i64, i64)>,
    pub(super) killed_work: i128,
    waits: Vec<i64>,
    turnarounds: Vec<i64>,
    slowdowns: Vec<f64>,
    bounded: Vec<f64>,
    per_processor: Vec<f64>,
    /// By user: the sum of bounded slowdowns and how many.
    users: BTreeMap<i64, (f64, u64)>,
}

/// Fairness among users.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fairness {
    pub(super) jain: f64,
    pub(super) worst: f64,
}

impl Jobs {
    pub(super) fn of(workload: &Workload, run: &Run, counted: Counted, options: Options) -> Jobs {
        let mut jobs = Jobs::default();
        let all = workload.jobs.iter().zip(&run.jobs).enumerate();
        for (index, (job, ran)) in all.filter(|(_, (job, _))| counted.has(job.submit)) {
            match &ran.refused {
                Some(reason) => *jobs.refused.entry(reason.code()).or_default() += 1,
                None => {
                    jobs.ran(job, ran, options);
                    if job.killed {
                        let stays = stays::of_job(workload, run, index);
                        jobs.killed_work += stays.map(|stay| stay.work()).sum::<i128>();
                    }
                }
            }
        }
        jobs
    }

    /// Number of jobs that ran.
    pub(super) fn count(&self) -> i128 {
        self.waits.len() as i128
    }

    fn ran(&mut self, job: &Job, ran: &Ran, options: Options) {
        let (waited, turned) = ((ran.start - job.submit).0, (ran.end - job.submit).0);
        let ran_for = (ran.end - ran.start).0;
        self.waits.push(waited);
        self.turnarounds.push(turned);
        self.killed += i128::from(job.killed);
        self.backfilled += i128::from(ran.backfilled);
        self.cost += i128::from(ran.cost.0);
        let (first, last) = self.makespan.unwrap_or((job.submit.0, ran.end.0));
        self.makespan = Some((first.min(job.submit.0), last.max(ran.end.0)));
        self.slow(job, turned, ran_for, options.slowdown_bound.0);
    }

    #[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
    fn slow(&mut self, job: &Job, turned: i64, ran_for: i64, bound: i64) {
        let turned = turned as f64;
        if ran_for > 0 {
            self.slowdowns.push(turned / ran_for as f64);
        }
        let at_least = ran_for.max(bound).max(1) as f64;
        let bounded = (turned / at_least).max(1.0);
        self.bounded.push(bounded);
        self.per_processor.push((turned / (at_least * f64::from(job.processors))).max(1.0));
        let user = self.users.entry(job.user).or_default();
        *user = (user.0 + bounded, user.1 + 1);
    }

    /// Mean and quantiles of all that is measured per job.
    pub(super) fn spreads(&mut self) -> Vec<Entry> {
        let waits = Spread::of_whole(&mut self.waits);
        let turnarounds = Spread::of_whole(&mut self.turnarounds);
        let slowdowns = Spread::of_quotients(&mut self.slowdowns);
        let bounded = Spread::of_quotients(&mut self.bounded);
        let per_processor = Spread::of_quotients(&mut self.per_processor);
        [
            Spread::entries(waits, "wait_s", Unit::Seconds),
            Spread::entries(turnarounds, "turnaround_s", Unit::Seconds),
            Spread::entries(slowdowns, "slowdown", Unit::Ratio),
            Spread::entries(bounded, "bounded_slowdown", Unit::Ratio),
            Spread::entries(per_processor, "per_processor_slowdown", Unit::Ratio),
        ]
        .concat()
    }

    /// Jain's index of the users' mean bounded slowdowns (Jain, Chiu and Hawe, 1984), and the
    /// greatest of these; `None` without users.
    #[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
    pub(super) fn fairness(&self) -> Option<Fairness> {
        let means = || self.users.values().map(|(sum, count)| sum / *count as f64);
        let (sum, squares) = means().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        let worst = means().max_by(f64::total_cmp)?;
        Some(Fairness { jain: sum * sum / (self.users.len() as f64 * squares), worst })
    }
}
