//! Jobs that others name as what they wait for. They stay in the state until those are over, so that
//! it is known how they ended whenever that is asked. It follows from the state, and is kept up to date.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_io::submission::When;
use tradewind_model::Time;

use crate::live::Live;
use crate::live::state::{Job, Phase};

/// Who names whom: jobs that are not over, an array as one by its first number. An array that is not
/// over names itself.
#[derive(Debug, Default)]
pub(in crate::live) struct NamedJobs {
    /// By who names them.
    names: BTreeMap<u64, BTreeSet<u64>>,
    /// How many name the job.
    namers: BTreeMap<u64, usize>,
}

impl NamedJobs {
    /// The job, which is not over, names these. What it named before counts until it is over.
    pub(in crate::live) fn note(&mut self, job: &Job) {
        let others = job.submission.after.iter().filter(|it| it.when != When::Singleton);
        let others = others.map(|it| it.job).chain(job.array.map(|(first, _)| first));
        for other in others {
            if self.names.entry(group_of(job)).or_default().insert(other) {
                *self.namers.entry(other).or_default() += 1;
            }
        }
    }

    /// The job is over, or all jobs of the array with this first number: returns those that
    /// no other job names.
    fn close(&mut self, group: u64) -> Vec<u64> {
        let mut free = Vec::new();
        for other in self.names.remove(&group).unwrap_or_default() {
            let Some(count) = self.namers.get_mut(&other) else { continue };
            *count -= 1;
            if *count == 0 {
                self.namers.remove(&other);
                free.push(other);
            }
        }
        free
    }

    /// Whether the job, or the array that it is of, is named.
    pub(in crate::live) fn has(&self, job: &Job) -> bool {
        self.namers.contains_key(&job.number) || self.namers.contains_key(&group_of(job))
    }
}

/// The job's number; of an array its first one.
fn group_of(job: &Job) -> u64 {
    job.array.map_or(job.number, |(first, _)| first)
}

impl Live {
    /// The job is over: those that only it has named may leave the state when their time has come.
    pub(super) fn names_no_more(&mut self, number: u64) {
        let Some(job) = self.state.jobs.get(&number) else { return };
        let group = group_of(job);
        let array = job.array.and_then(|(first, _)| self.index.awaited.array(first));
        if array.is_some_and(|array| !array.open.is_empty()) {
            return;
        }
        for other in self.index.named.close(group) {
            let jobs =
                self.state.jobs.get(&other).into_iter().chain(self.state.jobs.of_array(other));
            let over = jobs.filter(|job| matches!(job.phase(), Phase::Over(_)));
            let ends = over.filter_map(|job| job.ended().map(|at: Time| (at, job.number)));
            self.index.over.extend(ends);
        }
    }
}
