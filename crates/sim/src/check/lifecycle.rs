//! Every job is submitted, started and ended once each, in this order, or refused while it waits.
//! An interrupted job waits again. Trades are struck for jobs that wait.

use std::collections::BTreeMap;

use tradewind_model::{Event, JobId, Market};

use super::{Checker, Violation};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    Over,
}

/// Follows each job through its life.
#[derive(Debug, Default)]
pub(super) struct Lives {
    stages: BTreeMap<JobId, Stage>,
}

fn wrong(job: JobId, what: &str) -> Violation {
    Violation { checker: "lives", what: format!("job {} {what}", job.0) }
}

impl Checker for Lives {
    fn event(&mut self, _market: &Market, event: &Event) -> Result<(), Violation> {
        let (job, before, after) = match *event {
            Event::Submitted { job, .. } => (job, None, Stage::Waiting),
            Event::Started { job, .. } => (job, Some(Stage::Waiting), Stage::Running),
            Event::Interrupted { job } => (job, Some(Stage::Running), Stage::Waiting),
            Event::Ended { job } => (job, Some(Stage::Running), Stage::Over),
            Event::Refused { job } | Event::Cancelled { job } => {
                (job, Some(Stage::Waiting), Stage::Over)
            }
            Event::Traded { job, .. } => (job, Some(Stage::Waiting), Stage::Waiting),
            _ => return Ok(()),
        };
        match self.stages.insert(job, after) == before {
            true => Ok(()),
            false => Err(wrong(job, "skips or repeats a stage of its life")),
        }
    }

    fn finish(&mut self, market: &Market) -> Result<(), Violation> {
        market.check().map_err(|error| Violation { checker: "lives", what: error.to_string() })?;
        let left = self.stages.iter().find(|(_, stage)| **stage != Stage::Over);
        left.map_or(Ok(()), |(job, _)| Err(wrong(*job, "never ended")))
    }
}
