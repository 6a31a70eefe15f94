//! Which other jobs a job waits for, and whether they have done what they must.

use std::collections::BTreeSet;

use tradewind_io::submission::{Dependency, When};

use crate::live::Live;
use crate::live::state::{Finish, Job, Phase};

/// Whether what a job waits for has come.
pub(in crate::live) enum DependencyState {
    /// It has.
    No,
    /// Not yet.
    Still,
    /// It never will, because of this job.
    InVain(u64),
}

impl Live {
    /// Whether the job still waits for others. Linear in the jobs that it names; with `singleton`,
    /// in all jobs.
    pub(in crate::live) fn waits(&self, job: &Job) -> DependencyState {
        let mut waits = DependencyState::No;
        for dependency in &job.submission.after {
            match self.waits_for(job, *dependency) {
                DependencyState::No => {}
                DependencyState::Still => waits = DependencyState::Still,
                DependencyState::InVain(other) => return DependencyState::InVain(other),
            }
        }
        waits
    }

    fn waits_for(&self, job: &Job, dependency: Dependency) -> DependencyState {
        if dependency.when == When::Singleton {
            return match self.rivals(job).next() {
                Some(_) => DependencyState::Still,
                None => DependencyState::No,
            };
        }
        let others = self.named(job, dependency);
        let Some(first) = others.first() else {
            // One that is gone was over long ago, and it is not known how.
            return match dependency.when {
                When::Any | When::Begun | When::Singleton => DependencyState::No,
                When::Ok | When::NotOk | When::Corresponding => {
                    DependencyState::InVain(dependency.job)
                }
            };
        };
        let is_over = |other: &&Job| matches!(other.phase(), Phase::Over(_));
        let is_good = |other: &&Job| other.phase() == Phase::Over(&Finish::Completed);
        let has_begun = |other: &&Job| other.began().is_some() || is_over(other);
        let all_over = others.iter().all(is_over);
        let all_good = others.iter().all(is_good);
        match dependency.when {
            When::Begun if others.iter().all(has_begun) => DependencyState::No,
            When::Begun => DependencyState::Still,
            _ if !all_over => DependencyState::Still,
            When::Ok | When::Corresponding if !all_good => {
                let bad = others.iter().find(|other| !is_good(other)).unwrap_or(first);
                DependencyState::InVain(bad.number)
            }
            When::NotOk if all_good => DependencyState::InVain(first.number),
            _ => DependencyState::No,
        }
    }

    /// The jobs that a dependency of `job` names: all tasks of an array that is called by its
    /// first number, or the one of `job`'s own index. None: they are gone.
    fn named(&self, job: &Job, dependency: Dependency) -> Vec<&Job> {
        let number = dependency.job;
        let Some(first) = self.state.jobs.get(&number) else { return Vec::new() };
        if first.array.is_none_or(|(leader, _)| leader != number) {
            return vec![first];
        }
        let tasks = self.state.jobs.range(number..).map(|(_, task)| task);
        let tasks = tasks.take_while(|task| task.array.is_some_and(|(of, _)| of == number));
        let own = job.array.map(|(_, index)| index);
        let is_meant = |task: &&Job| match (dependency.when, own) {
            (When::Corresponding, Some(own)) => task.array.is_some_and(|(_, index)| index == own),
            _ => true,
        };
        tasks.filter(is_meant).collect()
    }

    /// Jobs of the same user and name that must be over before a `singleton` may begin: earlier
    /// ones, and later ones that run already.
    fn rivals<'a>(&'a self, job: &'a Job) -> impl Iterator<Item = &'a Job> {
        let is_active = |other: &Job| match other.phase() {
            Phase::Over(_) => false,
            Phase::Running | Phase::Handing | Phase::Away => other.number != job.number,
            Phase::Held(_) | Phase::Waiting => other.number < job.number,
        };
        let is_like =
            |other: &Job| other.user == job.user && other.submission.name == job.submission.name;
        self.state.jobs.values().filter(move |other| is_active(other) && is_like(other))
    }

    /// The numbers of the jobs whose beginning or end may let the job go.
    fn awaited(&self, job: &Job) -> BTreeSet<u64> {
        let mut all = BTreeSet::new();
        for dependency in &job.submission.after {
            match dependency.when {
                When::Singleton => all.extend(self.rivals(job).map(|other| other.number)),
                _ => all.extend(self.named(job, *dependency).iter().map(|other| other.number)),
            }
        }
        all
    }

    /// Notes whom the job waits for, so that it is looked at again when they are over.
    pub(in crate::live) fn remember_dependencies(&mut self, number: u64) {
        let Some(job) = self.state.jobs.get(&number) else { return };
        if job.submission.after.is_empty() {
            return;
        }
        for other in self.awaited(job) {
            self.index.dependents.entry(other).or_default().insert(number);
        }
    }
}
