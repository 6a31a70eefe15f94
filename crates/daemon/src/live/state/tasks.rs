//! Tasks: what sites were or are to be told, and what they have said.

use std::collections::{BTreeMap, btree_map};
use std::ops::Deref;

use tradewind_model::{PoolId, Time};

use super::ApplyError;
use super::jobs::{Job, Jobs, Phase};
use crate::site::{Seen, Tag};

/// Tasks that sites were or are to be told of, and have not forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tasks(pub(crate) BTreeMap<Tag, Task>);

/// A task at a site, until the site has forgotten it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Whose nodes.
    pub pool: PoolId,
    /// What is to become of it.
    pub wanted: TaskGoal,
    /// What is known of it.
    pub known: TaskReport,
    /// When its work is to begin, as long as its site has not been told.
    pub go: Option<Time>,
    /// When its site said that its work had begun and that it could not be taken back any more.
    pub begun: Option<Time>,
    /// Since when its site's manager holds it, and the manager's word for that.
    pub held: Option<(Time, String)>,
    /// When its nodes are taken back, as long as its site has not been told.
    pub notice: Option<Time>,
}

impl Task {
    /// Whether it will not run (any more).
    pub fn is_over(&self) -> bool {
        matches!(self.known, TaskReport::Seen(Seen::Ended { .. }))
    }
}

/// What is to become of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskGoal {
    /// It is to run.
    Run,
    /// It is to stop, or never to start.
    Stop,
    /// It is to be taken back if its work has not begun; or else it runs on.
    Recall,
}

/// What is known of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskReport {
    /// Nothing: the site may or may not know of it.
    Nothing,
    /// The site would not take it; its words.
    Declined(String),
    /// It will not begin any more, if it had not by then; why, if it was not our wish.
    Withdrawn(Option<String>),
    /// The site has it.
    Acknowledged,
    /// What the site saw last.
    Seen(Seen),
}

/// What is written down of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskRecord {
    /// A site has the task.
    Acknowledged {
        /// Which.
        tag: Tag,
    },
    /// A site would not take the task. It may have taken it when it was asked before and did not
    /// answer: it is to be withdrawn, to be sure.
    Declined {
        /// Which.
        tag: Tag,
        /// What the site said.
        why: String,
    },
    /// A task that the site never said it had will not run there from now on.
    Withdrawn {
        /// Which.
        tag: Tag,
    },
    /// A site sees a task otherwise than before.
    Saw {
        /// Which.
        tag: Tag,
        /// How.
        seen: Seen,
    },
    /// A site would not take a task back, since its work has begun: the task runs on.
    Resumed {
        /// Which.
        tag: Tag,
    },
    /// A site's manager holds a task that waits there, or does not hold it any more.
    HeldThere {
        /// Which.
        tag: Tag,
        /// The manager's word; `None`: it is released.
        why: Option<String>,
    },
    /// A site was told when the task's work begins.
    Went {
        /// Which.
        tag: Tag,
    },
    /// A site was told that the task's nodes are taken back, and has passed it on if it can.
    Notified {
        /// Which.
        tag: Tag,
    },
    /// A site has forgotten a task that is over.
    Forgot {
        /// Which.
        tag: Tag,
    },
}

impl Tasks {
    /// Makes one change at `at`; what a site sees of a task its job knows, too.
    pub(super) fn apply(
        &mut self,
        at: Time,
        record: &TaskRecord,
        jobs: &mut Jobs,
    ) -> Result<(), ApplyError> {
        match record {
            TaskRecord::Acknowledged { tag } => {
                let task = self.task(tag)?;
                if task.known == TaskReport::Nothing {
                    task.known = TaskReport::Acknowledged;
                }
            }
            TaskRecord::Declined { tag, why } => {
                let task = self.task(tag)?;
                task.known = TaskReport::Declined(why.clone());
                task.wanted = TaskGoal::Stop;
            }
            TaskRecord::Withdrawn { tag } => {
                let task = self.task(tag)?;
                let why = match &task.known {
                    TaskReport::Declined(why) => Some(why.clone()),
                    _ => None,
                };
                task.known = TaskReport::Withdrawn(why);
            }
            TaskRecord::Saw { tag, seen } => {
                self.task(tag)?.known = TaskReport::Seen(seen.clone());
                jobs.saw(at, tag, seen)?;
            }
            TaskRecord::Resumed { tag } => self.resume(at, tag, jobs)?,
            TaskRecord::HeldThere { tag, why } => {
                let task = self.task(tag)?;
                let since = task.held.as_ref().map_or(at, |(since, _)| *since);
                task.held = why.clone().map(|why| (since, why));
            }
            TaskRecord::Went { tag } => self.task(tag)?.go = None,
            TaskRecord::Notified { tag } => self.task(tag)?.notice = None,
            TaskRecord::Forgot { tag } => drop(self.0.remove(tag).ok_or_else(|| missing(tag))?),
        }
        Ok(())
    }

    /// The task, to be changed.
    pub(super) fn task(&mut self, tag: &Tag) -> Result<&mut Task, ApplyError> {
        self.0.get_mut(tag).ok_or_else(|| missing(tag))
    }

    /// The task runs on, unless its job was cancelled meanwhile.
    fn resume(&mut self, at: Time, tag: &Tag, jobs: &Jobs) -> Result<(), ApplyError> {
        let job = jobs.get(&tag.job).filter(|job| job.attempt == tag.attempt);
        let is_to_stop = |job: &Job| job.cancelled_by.is_some() || job.requeued_by().is_some();
        let may = job.is_some_and(|it| !is_to_stop(it) && it.phase() == Phase::Running);
        let task = self.task(tag)?;
        task.wanted = if may { TaskGoal::Run } else { TaskGoal::Stop };
        task.begun = Some(at);
        if matches!(task.known, TaskReport::Nothing | TaskReport::Declined(_)) {
            task.known = TaskReport::Acknowledged;
        }
        Ok(())
    }

    /// The parts of a job that was just given its nodes: their sites are to run them.
    pub(super) fn begin(&mut self, market: &str, job: &Job) {
        let (wanted, known) = (TaskGoal::Run, TaskReport::Nothing);
        for (part, tag) in job.parts().iter().zip(job.tags(market)) {
            let (pool, known) = (part.pool, known.clone());
            let (go, begun, held, notice) = (None, None, None, None);
            self.0.insert(tag, Task { pool, wanted, known, go, begun, held, notice });
        }
    }

    /// The tasks of the job's present attempt are to stop.
    pub(super) fn stop(&mut self, market: &str, job: &Job) {
        for tag in job.tags(market) {
            if let Some(task) = self.0.get_mut(&tag) {
                task.wanted = TaskGoal::Stop;
            }
        }
    }

    /// The tasks of the job's present attempt that are to run, or that their sites have declined,
    /// are to be taken back.
    pub(super) fn recall(&mut self, market: &str, job: &Job) {
        for tag in job.tags(market) {
            let Some(task) = self.0.get_mut(&tag) else { continue };
            if task.wanted == TaskGoal::Run || matches!(task.known, TaskReport::Declined(_)) {
                task.wanted = TaskGoal::Recall;
            }
        }
    }

    /// The tasks of the job's present attempt are removed: no site knows of them.
    pub(super) fn drop_all(&mut self, market: &str, job: &Job) {
        job.tags(market).for_each(|tag| drop(self.0.remove(&tag)));
    }

    /// The tasks of the job's present attempt are to hear that their nodes are taken back.
    pub(super) fn notify(&mut self, market: &str, job: &Job, ends: Time) {
        for tag in job.tags(market) {
            if let Some(task) = self.0.get_mut(&tag).filter(|task| !task.is_over()) {
                task.notice = Some(ends);
            }
        }
    }

    /// The tasks of the job's present attempt are to begin their work at this moment.
    pub(super) fn go(&mut self, market: &str, job: &Job, at: Time) -> Result<(), ApplyError> {
        job.tags(market).try_for_each(|tag| {
            self.task(&tag)?.go = Some(at);
            Ok(())
        })
    }
}

impl Deref for Tasks {
    type Target = BTreeMap<Tag, Task>;

    fn deref(&self) -> &BTreeMap<Tag, Task> {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Tasks {
    type Item = (&'a Tag, &'a Task);
    type IntoIter = btree_map::Iter<'a, Tag, Task>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

fn missing(tag: &Tag) -> ApplyError {
    ApplyError::Task(tag.to_string())
}
