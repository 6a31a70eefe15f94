//! No more licences are held than there are.

use std::collections::BTreeMap;

use tradewind_model::{Event, JobId, LicenceId, LicenceShares, Market};

use super::{Checker, Violation};

/// Adds up what jobs hold by itself.
#[derive(Debug, Default)]
pub(super) struct Licences {
    /// What jobs take along that have not ended.
    demands: BTreeMap<JobId, LicenceShares>,
    holds: BTreeMap<JobId, LicenceShares>,
}

impl Checker for Licences {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        let licences = market.pools().licences();
        if licences.is_empty() {
            return Ok(());
        }
        match event {
            Event::Submitted { job, demand } => {
                _ = self.demands.insert(*job, demand.terms().licences.clone());
            }
            Event::Started { job, .. } => {
                let along = self.demands.get(job).cloned().flatten();
                _ = self.holds.insert(*job, along);
            }
            Event::Interrupted { job } => _ = self.holds.remove(job),
            Event::Ended { job } | Event::Refused { job } | Event::Cancelled { job } => {
                self.holds.remove(job);
                self.demands.remove(job);
            }
            _ => return Ok(()),
        }
        for (id, licence) in (0..).map(LicenceId).zip(licences) {
            let all = self.holds.values().flatten().flat_map(|shares| shares.iter());
            let held: u32 = all.filter(|share| share.licence == id).map(|it| it.count).sum();
            if held > licence.count || held + market.free_licences(id) != licence.count {
                let what = format!("{held} of {} `{}` held", licence.count, licence.name);
                return Err(Violation { checker: "licences", what });
            }
        }
        Ok(())
    }
}
