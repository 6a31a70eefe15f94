//! What jobs wait for that wait for others. It follows from the state, and is kept up to date.
//!
//! An array is looked at as a whole, and of many jobs of one name each waits for the one before it:
//! so arrays that wait for arrays, and lines of `singleton` jobs, cost little more than their jobs.

use std::collections::{BTreeMap, BTreeSet};

use crate::live::state::{Finish, Job, JobHold, Phase};

/// What a job that waits is looked at again for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::live) enum Moment {
    /// The job is over.
    End(u64),
    /// The work of the job has begun, or it is over.
    Begin(u64),
    /// The same of all tasks of the array with this first number.
    EndOfArray(u64),
    BeginOfArray(u64),
}

/// The tasks of an array that are in the state.
#[derive(Debug, Default)]
pub(super) struct ArrayProgress {
    /// Not over.
    pub(super) open: BTreeSet<u64>,
    /// Over, and not completed.
    pub(super) bad: BTreeSet<u64>,
    /// Wait because enough of them are in the queue or run; some may do so no more.
    behind: BTreeSet<u64>,
}

/// Who waits for what.
#[derive(Debug, Default)]
pub(in crate::live) struct Awaited {
    waiting: BTreeMap<Moment, BTreeSet<u64>>,
    /// By first number.
    arrays: BTreeMap<u64, ArrayProgress>,
    /// By user and name: jobs that are not over.
    namesakes: BTreeMap<String, BTreeMap<String, BTreeSet<u64>>>,
}

impl Awaited {
    /// The job is there, or is over now.
    pub(in crate::live) fn note(&mut self, job: &Job) {
        let number = job.number;
        let over = match job.phase() {
            Phase::Over(finish) => Some(*finish == Finish::Completed),
            _ => None,
        };
        if job.phase() == Phase::Held(&JobHold::Array) {
            self.wait_behind(number, job.array);
        }
        if let Some((first, _)) = job.array {
            let tasks = self.arrays.entry(first).or_default();
            match over {
                None => drop(tasks.open.insert(number)),
                Some(is_good) => {
                    tasks.open.remove(&number);
                    if !is_good {
                        tasks.bad.insert(number);
                    }
                }
            }
        }
        match over {
            None => self.named(job),
            Some(_) => self.unnamed(job, &job.submission.name),
        }
    }

    fn named(&mut self, job: &Job) {
        let (user, name) = (&job.user, &job.submission.name);
        let names = match self.namesakes.get_mut(user) {
            Some(names) => names,
            None => self.namesakes.entry(user.clone()).or_default(),
        };
        match names.get_mut(name) {
            Some(numbers) => drop(numbers.insert(job.number)),
            None => drop(names.insert(name.clone(), [job.number].into())),
        }
    }

    /// The job, which is not over, had this name.
    pub(super) fn rename(&mut self, job: &Job, before: &str) {
        self.unnamed(job, before);
        self.named(job);
    }

    fn unnamed(&mut self, job: &Job, name: &str) {
        let Some(names) = self.namesakes.get_mut(&job.user) else { return };
        let Some(numbers) = names.get_mut(name) else { return };
        numbers.remove(&job.number);
        if numbers.is_empty() {
            names.remove(name);
        }
        if names.is_empty() {
            self.namesakes.remove(&job.user);
        }
    }

    /// The job, which is over, leaves the state.
    pub(in crate::live) fn forget(&mut self, job: &Job) {
        let Some((first, _)) = job.array else { return };
        let Some(tasks) = self.arrays.get_mut(&first) else { return };
        tasks.open.remove(&job.number);
        tasks.bad.remove(&job.number);
        tasks.behind.remove(&job.number);
        if tasks.open.is_empty() && tasks.bad.is_empty() {
            self.arrays.remove(&first);
        }
    }

    /// The tasks of the array with this first number; none: all have completed.
    pub(super) fn array(&self, first: u64) -> Option<&ArrayProgress> {
        self.arrays.get(&first)
    }

    /// The task waits for a place in its array.
    pub(super) fn wait_behind(&mut self, number: u64, array: Option<(u64, u32)>) {
        if let Some((first, _)) = array {
            self.arrays.entry(first).or_default().behind.insert(number);
        }
    }

    /// The first task of the array that waits for a place, or did.
    pub(super) fn first_behind(&self, first: u64) -> Option<u64> {
        self.arrays.get(&first)?.behind.first().copied()
    }

    /// The task waits for no place any more.
    pub(super) fn is_not_behind(&mut self, first: u64, number: u64) {
        if let Some(tasks) = self.arrays.get_mut(&first) {
            tasks.behind.remove(&number);
        }
    }

    /// Jobs of the same user and name that are not over.
    pub(super) fn alike(&self, job: &Job) -> Option<&BTreeSet<u64>> {
        self.namesakes.get(&job.user)?.get(&job.submission.name)
    }

    /// The job is to be looked at again then.
    pub(super) fn wait(&mut self, moment: Moment, number: u64) {
        self.waiting.entry(moment).or_default().insert(number);
    }

    /// Notes of jobs that wait.
    #[cfg(test)]
    pub(in crate::live) fn size(&self) -> usize {
        self.waiting.values().map(BTreeSet::len).sum()
    }

    pub(super) fn is_awaited(&self, moment: Moment) -> bool {
        self.waiting.contains_key(&moment)
    }

    /// Who is to be looked at again now.
    pub(super) fn come(&mut self, moment: Moment) -> BTreeSet<u64> {
        self.waiting.remove(&moment).unwrap_or_default()
    }
}
