//! The same measures of jobs that come one by one as they end, in 12 bytes per job.

use std::collections::BTreeMap;

use tradewind_model::{JobId, Pools, Time};

use super::jobs::Jobs;
use super::promises::Promises;
use super::queue::QueueMetrics;
use super::{InterruptionCost, MetricOptions, Metrics, Sums, Usage, quotient, sizes};
use crate::result::Ran;
use crate::stream::Streamed;
use crate::workload::Job;

/// What is kept of the jobs of a stream ([`crate::stream::stream`]) to measure it as
/// [`measure`](super::measure) measures a whole run, with the same numbers to the last digit. The
/// machine is one cluster of reference nodes; all jobs count, and none has a deadline or a value.
#[derive(Debug, Default)]
pub struct Tally {
    jobs: Jobs,
    first: Option<Time>,
    last: Option<Time>,
    /// Processors × run, of all jobs, and of those that ran; in node-seconds.
    offered: i128,
    used: i128,
    /// How long jobs waited, and the same times the work of each.
    waited: i128,
    work_waited: i128,
}

impl Tally {
    /// Adds a job that has ended, or was refused. O(log u) with u users.
    pub fn add(&mut self, id: JobId, job: &Job, ran: &Ran) {
        let seconds = |from: Time, until: Time| i128::from((until - from).0);
        let processors = i128::from(job.processors);
        let work = processors * seconds(ran.start, ran.end);
        let (waited, offered) =
            (seconds(job.submit, ran.start), processors * i128::from(job.run.0));
        self.jobs.add(id.index(), (job, ran), || work);
        self.first = Some(self.first.map_or(job.submit, |first| first.min(job.submit)));
        self.last = Some(self.last.map_or(job.submit, |last| last.max(job.submit)));
        self.offered += offered;
        self.used += work;
        self.waited += waited;
        self.work_waited += waited * offered;
    }

    /// The measures, once all jobs were added. `rejected`: jobs that can never run, by reason.
    pub fn measure(
        mut self,
        pools: &Pools,
        of: &Streamed,
        rejected: BTreeMap<&'static str, usize>,
    ) -> Metrics {
        let options = MetricOptions::default();
        let submitted = i128::from(self.first.zip(self.last).map_or(0, |(a, b)| (b - a).0));
        let processors = pools.nodes();
        let usage = Usage {
            offered_load: quotient(self.offered, submitted * i128::from(processors)),
            span: self.jobs.makespan.map_or(submitted, |(first, last)| (last - first).into()),
            processors,
            used: self.used,
            closed: 0,
            queue: QueueMetrics {
                job_seconds: self.waited,
                work_seconds: self.work_waited,
                most_jobs: of.most_waiting as i128,
                most_work: of.most_waiting_work,
            },
        };
        let kept = Promises::default();
        let sums = Sums { lost: InterruptionCost::default(), usage, kept, income: &of.income };
        let mut entries = sums.entries(&self.jobs, options);
        entries.extend(sizes::entries(&self.jobs, pools, options));
        let refused = std::mem::take(&mut self.jobs.refused);
        Metrics { entries, refused, rejected, income: of.income.clone() }
    }
}
