//! Success by how urgent a job is and by how much it is worth.

use tradewind_model::{Money, Time};

use super::entry::{Better, Entry, Unit, Value};
use super::quotient;
use crate::workload::Job;

/// One class of jobs: from its own border up to that of the next class, exclusively.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobClass {
    /// Its measures are `jobs_KEY`, `succeeded_KEY` and `success_KEY`.
    pub key: &'static str,
    /// Label in tables and charts.
    pub label: &'static str,
    /// `None`: from below all others.
    from: Option<i64>,
}

/// Classes from the minimum to the greatest; each job is in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family<const N: usize> {
    /// The classes, from the smallest to the largest.
    pub classes: [JobClass; N],
}

const fn class(key: &'static str, label: &'static str, from: Option<i64>) -> JobClass {
    JobClass { key, label, from }
}

impl Family<5> {
    /// By urgency u = (deadline − submission) / run time on the reference node − 1: the share of
    /// its run time that a job may lose. Of paper 003, which leaves the borders open. Borders are
    /// in hundredths.
    pub const URGENCY: Family<5> = Family {
        classes: [
            class("urgency_0_25", "below 0.25", None),
            class("urgency_25_50", "0.25 to 0.5", Some(25)),
            class("urgency_50_75", "0.5 to 0.75", Some(50)),
            class("urgency_75_100", "0.75 to 1", Some(75)),
            class("urgency_100_up", "1 and more", Some(100)),
        ],
    };

    /// A job of no length has all the time in the world, unless it is late already.
    pub(super) fn class_of_deadline(&self, job: &Job, deadline: Time) -> usize {
        let slack = i128::from((deadline - job.submit).0) - i128::from(job.run.0);
        let run = i128::from(job.run.0);
        self.last(|hundredths| 100 * slack >= i128::from(hundredths) * run)
    }
}

impl Family<6> {
    /// By valuation: the job's value per processor. Paper 003 names the first class only. Borders
    /// are in credits.
    pub const VALUE: Family<6> = Family {
        classes: [
            class("value_0_1000", "below 1,000", None),
            class("value_1000_5000", "1,000 to 5,000", Some(1_000)),
            class("value_5000_10000", "5,000 to 10,000", Some(5_000)),
            class("value_10000_20000", "10,000 to 20,000", Some(10_000)),
            class("value_20000_30000", "20,000 to 30,000", Some(20_000)),
            class("value_30000_up", "30,000 and more", Some(30_000)),
        ],
    };

    pub(super) fn class_of_value(&self, job: &Job, value: Money) -> usize {
        let per_credit = i128::from(Money::credits(1).0) * i128::from(job.processors);
        self.last(|credits| i128::from(value.0) >= i128::from(credits) * per_credit)
    }
}

impl<const N: usize> Family<N> {
    /// The last class whose border is reached.
    fn last(&self, reached: impl Fn(i64) -> bool) -> usize {
        let borders = self.classes.iter().rev();
        let above = borders.take_while(|class| class.from.is_some_and(|from| !reached(from)));
        N - 1 - above.count()
    }
}

/// Counts by class.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClassTally<const N: usize> {
    /// Whether any job of the workload is in any class.
    pub(super) exists: bool,
    jobs: [i128; N],
    succeeded: [i128; N],
}

impl<const N: usize> Default for ClassTally<N> {
    fn default() -> ClassTally<N> {
        ClassTally { exists: false, jobs: [0; N], succeeded: [0; N] }
    }
}

impl<const N: usize> ClassTally<N> {
    pub(super) fn add(&mut self, class: usize, succeeded: bool) {
        self.jobs[class] += 1;
        self.succeeded[class] += i128::from(succeeded);
    }

    /// Three measures of each class; none if no job is in any.
    pub(super) fn entries(&self, family: &Family<N>) -> Vec<Entry> {
        let entry = |what: &str, class: &JobClass, unit, better, value| Entry {
            name: format!("{what}_{}", class.key),
            unit,
            better,
            value,
        };
        let of_class = |(at, class): (usize, &JobClass)| {
            let (jobs, succeeded) = (self.jobs[at], self.succeeded[at]);
            let count = |n| Some(Value::Whole(n));
            [
                entry("jobs", class, Unit::Count, Better::Neither, count(jobs)),
                entry("succeeded", class, Unit::Count, Better::Higher, count(succeeded)),
                entry("success", class, Unit::Ratio, Better::Higher, quotient(succeeded, jobs)),
            ]
        };
        let classes = family.classes.iter().enumerate().filter(|_| self.exists);
        classes.flat_map(of_class).collect()
    }
}
