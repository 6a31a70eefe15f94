//! Jobs in the queues of sites' own schedulers.

use std::collections::BTreeSet;

use tradewind_model::{Event, JobId};

/// Which jobs those are, by the events alone.
#[derive(Debug, Default)]
pub(super) struct Lines(BTreeSet<JobId>);

impl Lines {
    /// Follows the event; whether a site's own scheduler starts a job of the market by it.
    pub(super) fn starts(&mut self, event: &Event) -> bool {
        match event {
            Event::Lined { job } => {
                self.0.insert(*job);
                false
            }
            Event::Started { job, .. } => self.0.remove(job),
            Event::Interrupted { job } | Event::Cancelled { job } => {
                self.0.remove(job);
                false
            }
            _ => false,
        }
    }
}
