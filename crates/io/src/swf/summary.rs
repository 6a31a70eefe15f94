//! What is missing or odd in a log, counted and said.

use super::{Record, Summary};

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

    /// What is missing or was repaired, one sentence each without a final period; none for a
    /// whole log.
    pub fn sentences(&self) -> Vec<String> {
        let dated = self.jobs - self.without_submit;
        let mut all = Vec::new();
        let mut say = |count: usize, what: &str| {
            if count > 0 {
                all.push(format!("{count} of {} jobs {what}", self.jobs));
            }
        };
        say(self.without_submit, "have no submit time and no place in time");
        say(self.without_run, "have no run time, or one of 0 s");
        say(self.without_processors, "have no number of processors, neither held nor requested");
        say(self.without_request, "have no requested time");
        say(self.out_of_order, "were out of order, sorted by submit time");
        if self.without_wait == dated {
            all.push("the log has no wait times".to_owned());
        } else if self.without_wait > 0 {
            all.push(format!("{} of {} jobs have no wait time", self.without_wait, self.jobs));
        }
        if self.rounded > 0 {
            all.push(format!("{} times had a fraction of a second, rounded up", self.rounded));
        }
        all
    }
}
