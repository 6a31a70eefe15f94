//! Every job is submitted, started and ended once each, in this order, or refused while it waits.
//! An interrupted job waits again, and one that leaves the queue of a site's own scheduler. Trades are struck for jobs that wait.

use std::collections::BTreeMap;

use tradewind_model::{Event, JobId, Market};

use super::{Checker, Violation};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobStage {
    Waiting,
    Lined,
    Running,
    Over,
}

/// Follows each job through its life.
#[derive(Debug, Default)]
pub(super) struct Lives {
    stages: BTreeMap<JobId, JobStage>,
}

impl Lives {
    /// In which stage a job is that has no nodes and may get some.
    fn before_start(&self, job: JobId) -> JobStage {
        let stage = self.stages.get(&job).copied().filter(|stage| *stage == JobStage::Lined);
        stage.unwrap_or(JobStage::Waiting)
    }
}

fn wrong(job: JobId, what: &str) -> Violation {
    Violation { checker: "lives", what: format!("job {} {what}", job.0) }
}

impl Checker for Lives {
    fn event(&mut self, _market: &Market, event: &Event) -> Result<(), Violation> {
        let (job, before, after) = match *event {
            Event::Submitted { job, .. } => (job, None, JobStage::Waiting),
            Event::Lined { job } => (job, Some(JobStage::Waiting), JobStage::Lined),
            Event::Started { job, .. } => (job, Some(self.before_start(job)), JobStage::Running),
            Event::Interrupted { job } => {
                let before = match self.before_start(job) {
                    JobStage::Lined => JobStage::Lined,
                    _ => JobStage::Running,
                };
                (job, Some(before), JobStage::Waiting)
            }
            Event::Ended { job } => (job, Some(JobStage::Running), JobStage::Over),
            Event::Refused { job } | Event::Cancelled { job } => {
                (job, Some(self.before_start(job)), JobStage::Over)
            }
            Event::Traded { job, .. } => (job, Some(JobStage::Waiting), JobStage::Waiting),
            _ => return Ok(()),
        };
        match self.stages.insert(job, after) == before {
            true => Ok(()),
            false => Err(wrong(job, "skips or repeats a stage of its life")),
        }
    }

    fn finish(&mut self, market: &Market) -> Result<(), Violation> {
        market.check().map_err(|error| Violation { checker: "lives", what: error.to_string() })?;
        let left = self.stages.iter().find(|(_, stage)| **stage != JobStage::Over);
        left.map_or(Ok(()), |(job, _)| Err(wrong(*job, "never ended")))
    }
}
