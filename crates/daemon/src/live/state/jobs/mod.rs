//! Jobs: all that are not over, and those whose end is not long ago.

mod barrier;
mod booking;
pub mod choice;
mod job;
mod limit;
mod notice;
mod promise;
mod record;
pub(in crate::live) mod redact;
mod remote;
mod table;

use std::collections::{BTreeMap, btree_map};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use tradewind_io::submission::{Submission, Surroundings};
use tradewind_model::{JobId, Time};

use super::ApplyError;
use crate::site::{Seen, Tag};

pub use barrier::StartBarrier;
pub(in crate::live) use barrier::gone;
pub use booking::{BookedPart, Booking};
pub use job::{
    Beginning, Finish, Happening, HeldLicences, Job, JobEnd, JobHold, LastStage, Part, Phase, Run,
    RunNotice, Setback, Stage,
};
pub use limit::limit_of;
pub(in crate::live::state) use limit::mode_of;
pub use promise::{BreachReason, OfferOutcome, Promise};
pub use record::JobRecord;
pub use remote::{Away, BrokenOffer, Receipt, RemoteOrigin, RemoteProgress, Settlement};
pub use table::JobTable;

/// Jobs by number, and by what else they are found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jobs {
    pub(crate) table: JobTable,
    /// Those of the market's jobs that wait or run.
    pub numbers: BTreeMap<JobId, u64>,
    /// The last job's number.
    pub last: u64,
    /// By user and the user's own name for a submission: the first job of it.
    pub keys: BTreeMap<(String, String), u64>,
    /// In the order of their first submission: policies know users by this place.
    pub users: Vec<String>,
}

impl Deref for Jobs {
    type Target = JobTable;

    fn deref(&self) -> &JobTable {
        &self.table
    }
}

impl DerefMut for Jobs {
    fn deref_mut(&mut self) -> &mut JobTable {
        &mut self.table
    }
}

impl<'a> IntoIterator for &'a Jobs {
    type Item = (&'a u64, &'a Job);
    type IntoIter = btree_map::Iter<'a, u64, Job>;

    fn into_iter(self) -> Self::IntoIter {
        self.table.iter()
    }
}

impl Jobs {
    /// The job, to be changed.
    pub(super) fn job(&mut self, number: u64) -> Result<&mut Job, ApplyError> {
        self.table.get_mut(&number).ok_or(ApplyError::Job(number))
    }

    /// The running job's start, to be changed.
    pub(super) fn run(&mut self, number: u64) -> Result<&mut Run, ApplyError> {
        match &mut self.job(number)?.stage {
            Stage::Running(run) => Ok(run),
            _ => Err(ApplyError::Job(number)),
        }
    }

    /// The number of a job that waits or runs in the market.
    pub(in crate::live::state) fn number(&self, id: JobId) -> Result<u64, ApplyError> {
        self.numbers.get(&id).copied().ok_or(ApplyError::Other("a job that is not known"))
    }

    /// The job of one array at the place of the first number, and those behind it.
    pub(in crate::live) fn of_array(&self, first: u64) -> impl Iterator<Item = &Job> {
        let jobs = self.table.range(first..).map(|(_, job)| job);
        jobs.take_while(move |job| job.array.is_some_and(|(of, _)| of == first))
    }

    pub(super) fn note(
        &mut self,
        at: Time,
        number: u64,
        what: Happening,
    ) -> Result<(), ApplyError> {
        let job = self.job(number)?;
        job.history.push_back((at, what));
        if job.history.len() > Job::KEPT {
            job.history.remove(1); // the submission stays
        }
        Ok(())
    }

    /// A further job of an array.
    pub(in crate::live::state) fn element(
        &mut self,
        at: Time,
        job: u64,
        first: u64,
        index: u32,
    ) -> Result<(), ApplyError> {
        let leader = self.table.get(&first).ok_or(ApplyError::Job(first))?;
        let (user, submission) = (leader.user.clone(), Arc::clone(&leader.submission));
        self.submit(at, job, &user, &submission, (Some((first, index)), None))
    }

    pub(in crate::live::state) fn submit(
        &mut self,
        at: Time,
        number: u64,
        user: &str,
        submission: &Arc<Submission>,
        (array, key): (Option<(u64, u32)>, Option<&String>),
    ) -> Result<(), ApplyError> {
        if number != self.last + 1 {
            return Err(ApplyError::Job(number));
        }
        self.last = number;
        if !self.users.iter().any(|known| known == user) {
            self.users.push(user.to_owned());
        }
        if let Some(key) = key {
            self.keys.insert((user.to_owned(), key.clone()), number);
        }
        let mut new = Job::new(number, user, Arc::clone(submission), at);
        (new.array, new.key) = (array, key.cloned());
        self.table.insert(number, new);
        self.note(at, number, Happening::Submitted)
    }

    pub(in crate::live::state) fn hold(
        &mut self,
        at: Time,
        number: u64,
        hold: &JobHold,
    ) -> Result<(), ApplyError> {
        let job = self.job(number)?;
        let Stage::Held(held) = &mut job.stage else { return Err(ApplyError::Job(number)) };
        held.clone_from(hold);
        self.note(at, number, Happening::Held(hold.clone()))
    }

    /// When jobs were first expected to start.
    pub(in crate::live::state) fn expect(
        &mut self,
        starts: &[(u64, Time)],
    ) -> Result<(), ApplyError> {
        starts.iter().try_for_each(|(job, start)| {
            let job = self.job(*job)?;
            job.expected = job.expected.or(Some(*start));
            Ok(())
        })
    }

    /// What a site sees of a task is written down with the job, if it is of its present attempt.
    pub(super) fn saw(&mut self, at: Time, tag: &Tag, seen: &Seen) -> Result<(), ApplyError> {
        let Some(job) = self.table.get_mut(&tag.job) else { return Ok(()) };
        let is_present = job.attempt == tag.attempt;
        let Stage::Running(run) = &mut job.stage else { return Ok(()) };
        let gathers = matches!(run.beginning, Beginning::Together(_));
        let first = !gathers && run.parts.iter().all(|part| part.since.is_none());
        let part = run.parts.get_mut(tag.part as usize).filter(|_| is_present);
        let Some(part) = part else { return Ok(()) };
        match seen {
            Seen::Waiting => {}
            Seen::Running { since, nodes } => {
                part.since = Some(*since);
                part.names.clone_from(nodes);
            }
            Seen::Ended { since, at, exit } => {
                // One that waited for others has begun only if the site says so now.
                part.since = since.or(part.since.filter(|_| !gathers));
                part.exit = Some((*at, exit.clone()));
            }
        }
        match first && part.since.is_some() {
            true => self.note(at, tag.job, Happening::Began),
            false => Ok(()),
        }
    }

    /// The task's work never began, though it was seen with its nodes.
    pub(in crate::live::state) fn unbegun(&mut self, tag: &Tag) -> Result<(), ApplyError> {
        let part = self.run(tag.job)?.parts.get_mut(tag.part as usize);
        part.ok_or_else(|| ApplyError::Task(tag.to_string()))?.since = None;
        Ok(())
    }

    /// When the work of the job's parts really began.
    pub(in crate::live::state) fn launched(
        &mut self,
        number: u64,
        began: &[i64],
    ) -> Result<(), ApplyError> {
        match &mut self.run(number)?.beginning {
            Beginning::Together(barrier) => barrier.began = began.to_vec(),
            Beginning::Apart(known) => *known = began.to_vec(),
        }
        Ok(())
    }

    /// Its user has changed a job that waits.
    pub(in crate::live::state) fn update(
        &mut self,
        at: Time,
        number: u64,
        submission: &Submission,
        by: &str,
    ) -> Result<(), ApplyError> {
        let job = self.table.get(&number).ok_or(ApplyError::Job(number))?;
        let (Stage::Held(_) | Stage::Waiting(_)) = job.stage else {
            return Err(ApplyError::Job(number));
        };
        let environment = job.submission.surroundings.environment.clone();
        let surroundings = Surroundings { environment, ..submission.surroundings.clone() };
        let work = job.submission.work.clone();
        let changed = Submission { work, surroundings, ..submission.clone() };
        let shared = self.beside(job).find(|it| *it.submission == changed);
        let changed =
            shared.map_or_else(|| Arc::new(changed), |other| Arc::clone(&other.submission));
        let job = self.job(number)?;
        if job.submission.tasks != changed.tasks {
            job.is_as_wide_as(changed.tasks, None);
        }
        job.submission = changed;
        self.note(at, number, Happening::Updated(by.to_owned()))
    }

    /// The jobs of the same array before and behind it.
    fn beside(&self, job: &Job) -> impl Iterator<Item = &Job> {
        let first = job.array.map(|(first, _)| first);
        let numbers = [job.number.checked_sub(1), job.number.checked_add(1)];
        let jobs = numbers.into_iter().flatten().filter_map(|number| self.table.get(&number));
        jobs.filter(move |it| first.is_some() && it.array.map(|(first, _)| first) == first)
    }

    /// A job that was over for long is no more.
    pub(in crate::live::state) fn forget(&mut self, number: u64) -> Result<Job, ApplyError> {
        let gone = self.table.remove(&number).ok_or(ApplyError::Job(number))?;
        if let Some(key) = &gone.key {
            self.keys.remove(&(gone.user.clone(), key.clone()));
        }
        Ok(gone)
    }
}
