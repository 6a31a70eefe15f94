//! No more processors are held than there are.

use std::collections::BTreeMap;

use tradewind_model::{Event, JobId, Market};

use super::{Checker, Violation};

/// Adds up the demands of running jobs by itself.
#[derive(Debug, Default)]
pub(super) struct Capacity {
    demands: BTreeMap<JobId, u32>,
    held: u64,
}

impl Checker for Capacity {
    fn event(&mut self, market: &Market, event: Event) -> Result<(), Violation> {
        let of = |job: JobId| u64::from(self.demands.get(&job).copied().unwrap_or_default());
        match event {
            Event::Submitted { job, demand } => {
                self.demands.insert(job, demand.processors);
            }
            Event::Started { job } => self.held += of(job),
            Event::Ended { job } => {
                self.held = self.held.saturating_sub(of(job));
                self.demands.remove(&job);
            }
        }
        let there_are = u64::from(market.processors());
        if self.held <= there_are && self.held + u64::from(market.free()) == there_are {
            return Ok(());
        }
        let what = format!("{} of {there_are} processors held", self.held);
        Err(Violation { checker: "capacity", what })
    }
}
