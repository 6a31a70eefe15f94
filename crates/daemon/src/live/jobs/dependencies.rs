//! Which other jobs a job waits for, and whether they have done what they must.

use tradewind_io::submission::{Dependency, When};
use tradewind_model::Time;

use super::awaited::Moment;
use crate::live::answer::{Refusal, RefusalKind};
use crate::live::state::{Finish, Job, JobHold, Phase};
use crate::live::{ApplyError, Live};

/// A job has at most so many dependencies.
const MOST: usize = 1_000;
/// And so many all jobs of an array together: each is looked at for each.
const MOST_OF_ARRAY: usize = 100_000;

/// Whether what a job waits for has come.
pub(in crate::live) enum DependencyState {
    /// It has.
    No,
    /// Not yet.
    Still,
    /// It never will, because of this job.
    InVain(u64),
}

/// What a dependency names.
enum Named<'a> {
    /// It is gone: it was over long ago, and it is not known how.
    Gone,
    One(&'a Job),
    /// All tasks of an array, by its first number.
    All(u64),
}

/// Refuses more dependencies than may be.
///
/// # Errors
/// If there are more.
pub(in crate::live) fn check_dependencies(after: usize, jobs: usize) -> Result<(), Refusal> {
    let allowed = MOST.min(MOST_OF_ARRAY / jobs.max(1));
    if after <= allowed {
        return Ok(());
    }
    let message = match jobs {
        1 => format!("it names {after} jobs to wait for, and {allowed} are allowed"),
        _ => format!(
            "each of its {jobs} jobs names {after} jobs to wait for, and {allowed} are allowed"
        ),
    };
    let hint = "the first number of an array stands for all its jobs; or wait for one job that waits \
                for them";
    Err(Refusal::new(RefusalKind::Invalid, message, hint))
}

impl Live {
    /// Whether the job still waits for others. Linear in the dependencies that it has, logarithmic
    /// in the jobs that these name.
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
            return match self.rival(job) {
                Some(_) => DependencyState::Still,
                None => DependencyState::No,
            };
        }
        match self.named(job, dependency) {
            Named::Gone => match dependency.when {
                When::Any | When::Begun | When::Singleton => DependencyState::No,
                _ if has_waited(job) => DependencyState::No,
                When::Ok | When::NotOk | When::Corresponding => {
                    DependencyState::InVain(dependency.job)
                }
            },
            Named::One(other) => {
                let bad = match other.phase() {
                    Phase::Over(Finish::Completed) => Some(None),
                    Phase::Over(_) => Some(Some(other.number)),
                    _ => None,
                };
                let has_begun = bad.is_some() || other.began().is_some();
                state_of(dependency.when, other.number, (has_begun, bad))
            }
            Named::All(first) => {
                let tasks = self.index.awaited.array(first);
                let is_over = tasks.is_none_or(|tasks| tasks.open.is_empty());
                let bad = || tasks.and_then(|tasks| tasks.bad.first().copied());
                let has_begun =
                    is_over || (dependency.when == When::Begun && self.have_begun(first));
                state_of(dependency.when, first, (has_begun, is_over.then(bad)))
            }
        }
    }

    /// Whether the work of all tasks of an array has begun, or they are over.
    fn have_begun(&self, first: u64) -> bool {
        let Some(tasks) = self.index.awaited.array(first) else { return true };
        let began = |task| self.state.jobs.get(task).is_none_or(|task| task.began().is_some());
        tasks.open.iter().all(began)
    }

    /// The jobs that a dependency of `job` names: all tasks of an array that is called by its
    /// first number, or the one of `job`'s own index.
    fn named(&self, job: &Job, dependency: Dependency) -> Named<'_> {
        let number = dependency.job;
        let Some(first) = self.state.jobs.get(&number) else { return Named::Gone };
        if first.array.is_none_or(|(leader, _)| leader != number) {
            return Named::One(first);
        }
        let (When::Corresponding, Some((_, own))) = (dependency.when, job.array) else {
            return Named::All(number);
        };
        // Tasks have their numbers in the order of their indices.
        let indices = first.submission.array.as_ref().map_or(&[][..], |it| &it.indices);
        let place = indices.binary_search(&own).ok();
        let task = place.and_then(|place| self.state.jobs.get(&(number + place as u64)));
        let is_own = |task: &&Job| task.array == Some((number, own));
        task.filter(is_own).map_or(Named::Gone, Named::One)
    }

    /// A job of the same user and name that must be over before a `singleton` may begin: the last
    /// one of the earlier ones, or a later one that runs already.
    fn rival(&self, job: &Job) -> Option<u64> {
        let alike = self.index.awaited.alike(job)?;
        let runs = |number: &&u64| {
            let other = self.state.jobs.get(number).map(Job::phase);
            matches!(other, Some(Phase::Running | Phase::Handing | Phase::Away))
        };
        let later = || alike.range(job.number + 1..).find(runs);
        alike.range(..job.number).next_back().or_else(later).copied()
    }

    /// Notes what the job waits for, so that it is looked at again then.
    pub(in crate::live) fn remember_dependencies(&mut self, number: u64) {
        let Some(job) = self.state.jobs.get(&number) else { return };
        let moments = job.submission.after.iter().filter_map(|it| self.moment(job, *it));
        let moments: Vec<Moment> = moments.collect();
        moments.into_iter().for_each(|moment| self.index.awaited.wait(moment, number));
    }

    /// When what comes of the dependency may change; never, if all that it names is over.
    fn moment(&self, job: &Job, dependency: Dependency) -> Option<Moment> {
        let begun = dependency.when == When::Begun;
        if dependency.when == When::Singleton {
            return self.rival(job).map(Moment::End);
        }
        match self.named(job, dependency) {
            Named::One(other) if !matches!(other.phase(), Phase::Over(_)) => Some(match begun {
                true => Moment::Begin(other.number),
                false => Moment::End(other.number),
            }),
            Named::All(first) if !self.index.awaited.array(first)?.open.is_empty() => {
                Some(match begun {
                    true => Moment::BeginOfArray(first),
                    false => Moment::EndOfArray(first),
                })
            }
            Named::Gone | Named::One(_) | Named::All(_) => None,
        }
    }

    /// The job has begun or is over: what waited for that goes on.
    pub(in crate::live) fn let_others_go(
        &mut self,
        at: Time,
        number: u64,
    ) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let (array, is_over) = (job.array, matches!(job.phase(), Phase::Over(_)));
        if !is_over && job.began().is_none() {
            return Ok(());
        }
        let mut come = vec![Moment::Begin(number)];
        come.extend(is_over.then_some(Moment::End(number)));
        if let Some((first, _)) = array {
            let open = self.index.awaited.array(first).map_or(0, |tasks| tasks.open.len());
            come.extend((open == 0).then_some(Moment::EndOfArray(first)));
            let begin = Moment::BeginOfArray(first);
            let has_come = self.index.awaited.is_awaited(begin) && self.have_begun(first);
            come.extend(has_come.then_some(begin));
        }
        for moment in come {
            for waiting in self.index.awaited.come(moment) {
                self.settle_if(at, waiting, &JobHold::Dependency)?;
            }
        }
        Ok(())
    }

    /// Whether the task of an array before this one waits because enough of its tasks are in the
    /// queue or run, and this one would wait for nothing else.
    pub(in crate::live) fn is_behind(&self, job: &Job) -> bool {
        let corresponds = |it: &Dependency| it.when == When::Corresponding;
        let before = job.number.checked_sub(1).and_then(|number| self.state.jobs.get(&number));
        let Some(before) = before else { return false };
        let first = |job: &Job| job.array.map(|(first, _)| first);
        job.array.is_some()
            && first(before) == first(job)
            && before.phase() == Phase::Held(&JobHold::Array)
            && !job.submission.after.iter().any(corresponds)
    }
}

/// Whether what the job waited for had come once: it is held for what is asked after that.
fn has_waited(job: &Job) -> bool {
    use JobHold::{Array, Capped, Funds, OverBudget};
    matches!(job.phase(), Phase::Held(Array | Funds(_) | OverBudget(_) | Capped(_)))
}

/// What follows from the jobs that a dependency names: whether all have begun, and if all are over,
/// the first that has not completed. `first` is the first of them.
fn state_of(
    when: When,
    first: u64,
    (has_begun, bad): (bool, Option<Option<u64>>),
) -> DependencyState {
    match (when, bad) {
        (When::Begun, _) if has_begun => DependencyState::No,
        (When::Begun, _) | (_, None) => DependencyState::Still,
        (When::Ok | When::Corresponding, Some(Some(bad))) => DependencyState::InVain(bad),
        (When::NotOk, Some(None)) => DependencyState::InVain(first),
        _ => DependencyState::No,
    }
}
