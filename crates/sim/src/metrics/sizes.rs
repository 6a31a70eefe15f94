//! Slowdown as paper 004 has it (equation 13), of all jobs and by size and length.

use tradewind_model::Pools;

use super::entry::{Better, Entry, Unit, Value};
use super::jobs::{Jobs, Measured};
use super::{MetricOptions, entry, quotient};

/// By width against the grid's widest pool: below a third, below two thirds, from there on.
const SIZES: [&str; 3] = ["small", "medium", "large"];
/// By run time: below its mean, from there on.
const LENGTHS: [&str; 2] = ["short", "long"];

/// Sums over the jobs of one class.
#[derive(Debug, Clone, Copy, Default)]
struct ClassSums {
    jobs: i128,
    /// Response / (width · max(S, run time)).
    by_width: f64,
    bounded: f64,
    responded: i128,
    longest_wait: i64,
}

impl ClassSums {
    #[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
    fn add(&mut self, job: Measured, shortest: i64, options: MetricOptions) {
        let scaled = job.turned() as f64 / job.ran_for.max(shortest).max(1) as f64;
        self.jobs += 1;
        self.responded += i128::from(job.turned());
        self.by_width += scaled / f64::from(job.processors);
        self.bounded += job.bounded(options);
        self.longest_wait = self.longest_wait.max(job.waited);
    }

    #[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
    fn mean(&self, sum: f64) -> Option<Value> {
        (self.jobs > 0).then(|| Value::Quotient(sum / self.jobs as f64))
    }
}

/// The mean of equation 13; on several sites also by class. O(n) for n jobs.
pub(super) fn entries(jobs: &Jobs, pools: &Pools, options: MetricOptions) -> Vec<Entry> {
    // A job of no length says nothing about lengths.
    let shortest = jobs.all().map(|job| job.ran_for).filter(|run| *run > 0).min();
    let sum: i128 = jobs.all().map(|job| i128::from(job.ran_for)).sum();
    let is_long = |job: Measured| i128::from(job.ran_for) * jobs.count >= sum;
    let site = pools.as_slice().iter().map(|pool| pool.nodes).max().unwrap_or(1);
    let mut total = ClassSums::default();
    let mut classes = [[ClassSums::default(); 2]; 3];
    for job in jobs.all() {
        let class = &mut classes[size(job.processors, site)][usize::from(is_long(job))];
        for class in [class, &mut total] {
            class.add(job, shortest.unwrap_or(1), options);
        }
    }
    let mean = shortest.and_then(|_| total.mean(total.by_width));
    let mut entries = vec![entry("mean_width_slowdown", Unit::Ratio, Better::Lower, mean)];
    if pools.sites().len() > 1 {
        entries.extend(by_class(&classes));
    }
    entries
}

/// The borders of the paper's equations (2) to (4).
fn size(processors: u32, site: u32) -> usize {
    let (small, large) = (site / 3, (u64::from(site) * 2 / 3) as u32);
    usize::from(processors >= small) + usize::from(processors >= large && processors >= small)
}

fn by_class(classes: &[[ClassSums; 2]; 3]) -> Vec<Entry> {
    use Better::{Lower, Neither};
    let mut entries = Vec::new();
    for (sizes, size) in classes.iter().zip(SIZES) {
        for (class, length) in sizes.iter().zip(LENGTHS) {
            let mut add = |what: &str, unit, better, value| {
                let name = format!("{what}_{size}_{length}");
                entries.push(Entry { name, unit, better, value });
            };
            let longest = (class.jobs > 0).then(|| Value::Whole(class.longest_wait.into()));
            let response = quotient(class.responded, class.jobs);
            add("jobs", Unit::Count, Neither, Some(Value::Whole(class.jobs)));
            add("mean_turnaround_s", Unit::Seconds, Lower, response);
            add("mean_bounded_slowdown", Unit::Ratio, Lower, class.mean(class.bounded));
            add("mean_width_slowdown", Unit::Ratio, Lower, class.mean(class.by_width));
            add("max_wait_s", Unit::Seconds, Lower, longest);
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tradewind_model::{Pools, Span, Time};

    use super::*;
    use crate::metrics::{Trim, measure};
    use crate::result::{Ran, Run};
    use crate::workload::{Job, Workload};

    /// Submission, start, run time, processors.
    fn measured(rows: &[(i64, i64, i64, u32)]) -> f64 {
        let job = |&(submit, _, run, processors): &(i64, i64, i64, u32)| Job {
            source: 0,
            number: 1,
            submit: Time(submit),
            run: Span(run),
            processors,
            requested: Span(run),
            user: 0,
            killed: false,
            terms: None,
        };
        let ran = |&(_, start, run, _): &(i64, i64, i64, u32)| Ran {
            start: Time(start),
            end: Time(start + run),
            ..Ran::nothing(Time(0))
        };
        let jobs = rows.iter().map(job).collect();
        let pools = Arc::new(Pools::cluster(9));
        let workload = Workload::new(pools, jobs);
        let run = Run {
            submitted: vec![],
            jobs: rows.iter().map(ran).collect(),
            trades: vec![],
            lost: vec![],
            kept: Default::default(),
            income: vec![0],
            passes: 0,
            owners: vec![],
            counts: vec![],
        };
        let options = MetricOptions { trim: Trim::default(), ..MetricOptions::default() };
        measure(&workload, &run, options).get("mean_width_slowdown").unwrap().as_f64()
    }

    #[test]
    fn a_wide_jobs_slowdown_is_divided_by_its_width() {
        // 30 / (2 · 10) and 40 / (4 · 20).
        assert_eq!(measured(&[(0, 20, 10, 2), (0, 20, 20, 4)]), (1.5 + 0.5) / 2.0);
    }

    #[test]
    fn no_run_counts_as_shorter_than_the_shortest() {
        // One takes no time, and counts as the shortest that does.
        assert_eq!(measured(&[(0, 7, 0, 1), (0, 0, 10, 1), (0, 0, 7, 1)]), 1.0);
    }

    #[test]
    fn sizes_meet_at_thirds_rounded_down() {
        let of = |processors| SIZES[size(processors, 64)];
        assert_eq!(
            [of(1), of(20), of(21), of(41), of(42), of(64)],
            ["small", "small", "medium", "medium", "large", "large"]
        );
        assert_eq!(SIZES[size(1, 1)], "large", "nothing is smaller than its site");
    }
}
