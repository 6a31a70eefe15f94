//! What happened to each job of the logs, in their order.

use tradewind_model::{Place, Span};
use tradewind_sim::Ran;
use tradewind_sim::workload::{Job, Workload};

use crate::replay::Finished;

/// By index in the jobs that a run was prepared from.
pub struct Fates<'a> {
    all: Vec<Fate<'a>>,
}

/// What happened to a job.
#[derive(Debug, Clone)]
pub enum Fate<'a> {
    /// It ran to its end.
    Ran(Life<'a>),
    /// It did not run, for this reason.
    Rejected(String),
}

/// A job that ran.
#[derive(Debug, Clone, Copy)]
pub struct Life<'a> {
    /// In the workload and in the run.
    pub index: usize,
    /// As it was replayed.
    pub job: &'a Job,
    /// What the replay gave.
    pub ran: &'a Ran,
    /// Processor-seconds of its last run.
    pub busy: i128,
    /// Processor-seconds of runs that were interrupted.
    pub lost: i128,
}

impl<'a> Fates<'a> {
    /// Of every job of a run. O(jobs).
    pub fn of(finished: &'a Finished<'_>) -> Fates<'a> {
        let (workload, run) = (&finished.prepared.workload, &finished.run);
        let mut all = vec![Fate::Rejected(String::new()); finished.prepared.jobs.len()];
        for rejected in &workload.rejected {
            all[rejected.source] = Fate::Rejected(rejected.why.text().to_owned());
        }
        let mut lost = vec![0i128; run.jobs.len()];
        for cut in &run.lost {
            let job = &workload.jobs[cut.job];
            lost[cut.job] += processor_time(workload, job, &cut.place, cut.end - cut.start);
        }
        for (index, (job, ran)) in workload.jobs.iter().zip(&run.jobs).enumerate() {
            all[job.source] = match &ran.refused {
                Some(reason) => Fate::Rejected(reason.to_string()),
                None => {
                    let busy = processor_time(workload, job, &ran.place, ran.end - ran.start);
                    Fate::Ran(Life { index, job, ran, busy, lost: lost[index] })
                }
            };
        }
        Fates { all }
    }

    /// What happened to the job with this index.
    pub fn of_job(&self, index: usize) -> &Fate<'a> {
        &self.all[index]
    }

    /// In the order of the logs' jobs.
    pub fn iter(&self) -> impl Iterator<Item = &Fate<'a>> {
        self.all.iter()
    }
}

/// The processor-seconds of a job in a place within `at_most` from its start: a faster pool is
/// free again sooner.
fn processor_time(workload: &Workload, job: &Job, place: &Place, at_most: Span) -> i128 {
    let share = |share: tradewind_model::Share| {
        let length = job.length_in(workload.pools.pool(share.pool)).min(at_most);
        i128::from(length.0) * i128::from(share.nodes)
    };
    place.shares(job.processors).map(share).sum()
}
