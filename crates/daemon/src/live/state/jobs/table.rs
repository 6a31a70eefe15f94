//! All jobs by number, and which of them have changed since the last snapshot.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::ops::Deref;

use super::Job;

/// Jobs by number. Reading is the map's; whatever may change a job marks its page.
#[derive(Debug, Clone, Default)]
pub struct JobTable {
    jobs: BTreeMap<u64, Job>,
    touched: BTreeSet<u64>,
}

impl JobTable {
    /// Jobs of one page of a snapshot, by their numbers.
    pub const PAGE: u64 = 64;

    /// The job, to be changed.
    pub fn get_mut(&mut self, number: &u64) -> Option<&mut Job> {
        let job = self.jobs.get_mut(number)?;
        self.touched.insert(number / Self::PAGE);
        Some(job)
    }

    /// Adds a job.
    pub fn insert(&mut self, number: u64, job: Job) -> Option<Job> {
        self.touched.insert(number / Self::PAGE);
        self.jobs.insert(number, job)
    }

    /// Drops a job.
    pub fn remove(&mut self, number: &u64) -> Option<Job> {
        self.touched.insert(number / Self::PAGE);
        self.jobs.remove(number)
    }

    /// All jobs, to be changed.
    pub fn values_mut(&mut self) -> btree_map::ValuesMut<'_, u64, Job> {
        self.touched.extend(self.jobs.keys().map(|number| number / Self::PAGE));
        self.jobs.values_mut()
    }

    /// Pages that were touched since this was asked last.
    pub fn take_touched(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.touched)
    }
}

impl Deref for JobTable {
    type Target = BTreeMap<u64, Job>;

    fn deref(&self) -> &BTreeMap<u64, Job> {
        &self.jobs
    }
}

impl<'a> IntoIterator for &'a JobTable {
    type Item = (&'a u64, &'a Job);
    type IntoIter = btree_map::Iter<'a, u64, Job>;

    fn into_iter(self) -> Self::IntoIter {
        self.jobs.iter()
    }
}

/// Jobs as a snapshot has them: nothing has changed since.
impl From<BTreeMap<u64, Job>> for JobTable {
    fn from(jobs: BTreeMap<u64, Job>) -> JobTable {
        JobTable { jobs, touched: BTreeSet::new() }
    }
}

impl PartialEq for JobTable {
    fn eq(&self, other: &JobTable) -> bool {
        self.jobs == other.jobs
    }
}

impl Eq for JobTable {}
