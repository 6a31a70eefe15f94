//! What `jobs.csv` says of each job.

use tradewind_io::batsim::{self, BatsimRow, FinalState};
use tradewind_model::Energy;
use tradewind_sim::metrics;
use tradewind_sim::placement::Places;

use crate::fates::{Fate, Fates};
use crate::replay::Finished;

/// One row for each job of the logs, in their order.
pub struct JobRows<'a> {
    finished: &'a Finished<'a>,
    fates: &'a Fates<'a>,
    places: &'a Places,
    /// The log of each job.
    logs: Vec<usize>,
    /// What each job that ran consumed, if anything is known of electricity.
    energy: Option<Vec<Energy>>,
}

impl<'a> JobRows<'a> {
    /// The rows of a run. O(jobs).
    #[must_use]
    pub fn of(finished: &'a Finished<'_>, fates: &'a Fates<'_>) -> JobRows<'a> {
        let workload = &finished.prepared.workload;
        let used = workload.pools.power().map(|_| metrics::consumption(workload, &finished.run));
        JobRows {
            finished,
            fates,
            places: finished.places(),
            logs: finished.prepared.log_of().collect(),
            energy: used.map(|used| used.iter().map(|used| used.energy).collect()),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.logs.len()
    }

    /// The row of the job with this index.
    #[must_use]
    pub fn row(&self, at: usize) -> BatsimRow {
        let job = &self.finished.prepared.jobs[at];
        let row = BatsimRow {
            log: self.logs[at],
            number: job.number,
            submit: job.submit,
            processors: job.processors,
            requested: job.requested,
            life: None,
        };
        let Fate::Ran(life) = self.fates.of_job(at) else { return row };
        let ranges = self.places.jobs.of(life.index).iter();
        BatsimRow {
            processors: Some(life.job.processors),
            requested: Some(life.job.requested),
            life: Some(batsim::Life {
                start: life.ran.start,
                end: life.ran.end,
                state: match life.job.killed {
                    true => FinalState::WalltimeReached,
                    false => FinalState::Completed,
                },
                processors: ranges.map(|range| (range.first, range.last)).collect(),
                energy: self.energy.as_ref().map(|used| used[life.index]),
            }),
            ..row
        }
    }
}
