//! What jobs ask of a grid beside what their log says: drawn as the grid file says.

use std::sync::Arc;

use tradewind_io::grid::GridFile;
use tradewind_model::Terms;
use tradewind_sim::workload::Job;

/// Licences that jobs take along, and their data; each depends on the job's place in its log.
pub(crate) fn draw(jobs: &mut [Job], grid: &GridFile, seed: u64) {
    if !grid.uses_licences() && !grid.uses_data() {
        return;
    }
    for job in jobs {
        let number = job.source as u64;
        let (licences, data) = (grid.licences_of(seed, number), grid.data_of(seed, number));
        if licences.is_some() || data.is_some() {
            let none = || Terms { user: job.user, ..Terms::NONE };
            let terms = job.terms.as_deref().cloned().unwrap_or_else(none);
            job.terms = Some(Arc::new(Terms { licences, data, ..terms }));
        }
    }
}
