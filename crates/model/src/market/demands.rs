//! A market whose jobs ask for something else.

use super::Market;
use crate::Demand;

impl Market {
    /// A copy in which jobs that wait, are in line or run ask for what `change` makes of their demands:
    /// as many processors, and something else besides. Linear in these jobs.
    pub fn with_demands(&self, change: impl Fn(&Demand) -> Option<Demand>) -> Market {
        let mut copy = self.clone();
        for job in self.queue.iter().chain(self.lined.keys()).chain(self.running.keys()) {
            let Some(changed) = self.demand(*job).and_then(&change) else { continue };
            if let Some(entry) = copy.jobs.get_mut(job.index()) {
                entry.demand = Demand { processors: entry.demand.processors, ..changed };
            }
        }
        copy
    }
}
