//! What is missing or odd in a log, counted and said.

use tradewind_model::Span;

use super::{Log, Record, Summary};

impl Summary {
    /// The counts for jobs with and without a submit time, the first in order of submission.
    pub fn of(jobs: &[Record], undated: &[Record]) -> Summary {
        let count = |is: fn(&Record) -> bool| jobs.iter().filter(|job| is(job)).count();
        Summary {
            jobs: jobs.len() + undated.len(),
            without_submit: undated.len(),
            usable: count(Record::ran),
            without_run: count(|job| job.run.is_none_or(|run| run.0 == 0)),
            without_processors: count(|job| job.held().is_none()),
            without_wait: count(|job| job.wait.is_none()),
            without_request: count(|job| job.requested_time.is_none_or(|it| it.0 == 0)),
            out_of_order: 0,
            rounded: 0,
        }
    }

    /// Adds the counts of other lines.
    pub(super) fn add(&mut self, other: &Summary) {
        let Summary { jobs, without_submit, usable, without_run, without_processors, .. } = *other;
        let Summary { without_wait, without_request, out_of_order, rounded, .. } = *other;
        self.jobs += jobs;
        self.without_submit += without_submit;
        self.usable += usable;
        self.without_run += without_run;
        self.without_processors += without_processors;
        self.without_wait += without_wait;
        self.without_request += without_request;
        self.out_of_order += out_of_order;
        self.rounded += rounded;
    }
}

impl Log {
    /// What is missing or odd in the log, and what was repaired: one sentence each without a final
    /// period; none for a whole log. O(jobs).
    pub fn remarks(&self) -> Vec<String> {
        let all = self.summary.jobs;
        let mut remarks = Vec::new();
        let mut say = |count: usize, what: &str| {
            if count > 0 {
                remarks.push(format!("{count} of {all} jobs {what}"));
            }
        };
        let count = |is: &dyn Fn(&Record) -> bool| self.jobs.iter().filter(|job| is(job)).count();
        say(self.summary.without_submit, "have no submit time, and so no place in time");
        say(count(&|job| job.run.is_none()), "have no run time");
        say(count(&|job| job.run == Some(Span(0))), "ran for 0 s");
        say(self.summary.without_processors, "have no number of processors, held or requested");
        if let Some(max) = self.header.max_procs() {
            let wide = |job: &Record| job.held().is_some_and(|held| held > max);
            say(count(&wide), &format!("are wider than the {max} processors of the header"));
        }
        say(self.summary.without_request, "have no requested time");
        let asked = |job: &Record| job.requested_time.filter(|it| it.0 > 0);
        let outlived =
            |job: &Record| asked(job).zip(job.run).is_some_and(|(asked, run)| run > asked);
        say(count(&outlived), "ran longer than they requested");
        if self.has_waits() {
            say(self.summary.without_wait, "have no wait time");
        } else {
            remarks.push("the log has no wait times".to_owned());
        }
        let Summary { out_of_order, rounded, .. } = self.summary;
        if out_of_order > 0 {
            let what = "jobs that stand after a later one, sorted by submit time";
            remarks.push(format!("{what}: {out_of_order}"));
        }
        let repeated = self.repeated();
        if repeated > 0 {
            remarks.push(format!("jobs with the number of another one: {repeated}"));
        }
        if rounded > 0 {
            remarks.push(format!("times with a fraction of a second, rounded up: {rounded}"));
        }
        if self.header.max_procs().is_none() {
            remarks.push("the header does not say how many processors there are".to_owned());
        }
        remarks
    }
}
