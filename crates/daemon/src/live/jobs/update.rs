//! Jobs that wait, and that their users change.

use std::collections::BTreeSet;
use std::sync::Arc;

use tradewind_io::submission::Submission;
use tradewind_io::submission::change::SubmissionChange;
use tradewind_model::Time;

use super::awaited::Moment;
use super::dependencies::check_dependencies;
use crate::live::answer::{Refusal, RefusalKind, Reply, StepResult};
use crate::live::record::JobRecord;
use crate::live::rights::Actor;
use crate::live::state::jobs::redact::bare;
use crate::live::state::{Job, JobHold, Phase};
use crate::live::{ApplyError, Live};

/// The jobs of an array may be so many different ones: each has a script of its own in memory.
const MOST_DIFFERENT: usize = 64;

impl Live {
    /// Changes a job that waits. What changes its plan puts it behind the jobs that wait already.
    pub(in crate::live) fn change_job(
        &mut self,
        at: Time,
        actor: &Actor,
        number: u64,
        change: &SubmissionChange,
    ) -> StepResult {
        let submission = match self.changed(at, actor, number, change) {
            Ok(submission) => Arc::new(bare(&submission)),
            Err(refusal) => return Ok(Err(refusal)),
        };
        let phase = self.state.jobs.get(&number).map(Job::phase);
        let waits = phase == Some(Phase::Waiting);
        let is_kept = matches!(
            phase,
            Some(Phase::Held(JobHold::User | JobHold::Lost | JobHold::Breached | JobHold::Window))
        );
        if waits && change.plans_again() {
            self.put(at, JobRecord::Left { job: number, hold: JobHold::User })?;
        }
        let name = self.state.jobs.get(&number).map(|job| job.submission.name.clone());
        self.put(at, JobRecord::Updated { job: number, submission, by: actor.user.clone() })?;
        if let Some(job) = self.state.jobs.get(&number) {
            self.index.named.note(job);
        }
        self.was_called(at, number, &name.unwrap_or_default())?;
        if change.plans_again() && !is_kept {
            self.index.short.remove(&number);
            self.caps.pardon(number);
            self.enqueue(at, number)?;
        } else {
            self.settle_if(at, number, &JobHold::Dependency)?;
        }
        Ok(Ok(Reply::Done))
    }

    /// If the job has another name now: jobs that waited for it as one of their name are looked at
    /// again.
    fn was_called(&mut self, at: Time, number: u64, before: &str) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        if job.submission.name == before {
            return Ok(());
        }
        self.index.awaited.rename(job, before);
        for other in self.index.awaited.come(Moment::End(number)) {
            self.settle_if(at, other, &JobHold::Dependency)?;
        }
        Ok(())
    }

    /// What the job would be.
    fn changed(
        &self,
        at: Time,
        actor: &Actor,
        number: u64,
        change: &SubmissionChange,
    ) -> Result<Submission, Refusal> {
        self.may_change(actor, number)?;
        let Some(job) = self.state.jobs.get(&number) else {
            return Err(Refusal::new(
                RefusalKind::Unknown,
                format!("there is no job {number}"),
                "",
            ));
        };
        let again = "cancel it, and submit it again";
        let invalid = |(message, hint): (String, &str)| {
            Refusal::new(RefusalKind::Invalid, message, hint.to_owned())
        };
        let changed = change.of(&job.submission).map_err(invalid)?;
        check_dependencies(changed.after.len(), 1)?;
        self.may_be_asked(at, (actor, &job.user), &changed, None)?;
        if changed.terms.budget.is_some_and(|budget| budget < job.paid) {
            let message = format!("job {number} has paid {} already", job.paid);
            return Err(Refusal::new(
                RefusalKind::Invalid,
                message,
                "a budget is for all of its runs",
            ));
        }
        if self.waits_for_itself(job, &changed) {
            let message = format!("job {number} would wait for itself");
            return Err(Refusal::new(RefusalKind::Invalid, message, "see `after` of these jobs"));
        }
        let first = job.array.map_or(number, |(first, _)| first);
        if self.state.jobs.of_array(first).count() > 1 && self.is_too_varied(first) {
            let message = format!("jobs of array {first} differ in {MOST_DIFFERENT} ways already");
            return Err(Refusal::new(RefusalKind::Conflict, message, again));
        }
        Ok(changed)
    }

    /// Whether the job waits here and is its user's own to change.
    fn may_change(&self, actor: &Actor, number: u64) -> Result<(), Refusal> {
        let phase = self.find(actor, number)?;
        let again = "cancel it, and submit it again";
        let conflict = |what: &str, hint: &str| {
            let message = format!("job {number} {what}: it cannot be changed");
            Err(Refusal::new(RefusalKind::Conflict, message, hint))
        };
        let is_guest = self.state.jobs.get(&number).is_some_and(|job| job.origin.is_some());
        match phase {
            Phase::Over(_) => conflict("is over", ""),
            Phase::Running => conflict("has its nodes", again),
            Phase::Handing | Phase::Away => conflict("is at a peer", again),
            _ if is_guest => conflict("came from a peer", "change it where it was submitted"),
            Phase::Held(JobHold::Booked) => conflict("has an accepted offer", again),
            _ if self.state.is_check(number) => conflict("checks a peer", ""),
            Phase::Held(_) | Phase::Waiting => Ok(()),
        }
    }

    /// Whether the jobs of the array are as many different ones as may be. Linear in its jobs.
    fn is_too_varied(&self, first: u64) -> bool {
        let jobs: Vec<&Job> = self.state.jobs.of_array(first).collect();
        let differ = |pair: &&[&Job]| !Arc::ptr_eq(&pair[0].submission, &pair[1].submission);
        jobs.windows(2).filter(differ).count() >= MOST_DIFFERENT
    }

    /// Whether the job, as it would be, waits for jobs that wait for it. Linear in the jobs between.
    fn waits_for_itself(&self, job: &Job, changed: &Submission) -> bool {
        let mut seen = BTreeSet::new();
        let mut open: Vec<u64> = changed.after.iter().map(|it| it.job).collect();
        while let Some(number) = open.pop() {
            if number == job.number || job.array.is_some_and(|(first, _)| first == number) {
                return true;
            }
            if !seen.insert(number) {
                continue;
            }
            let Some(other) = self.state.jobs.get(&number) else { continue };
            if matches!(other.phase(), Phase::Over(_)) {
                continue;
            }
            open.extend(other.submission.after.iter().map(|it| it.job));
            if other.array.is_some_and(|(first, _)| first == number) {
                let tasks = self.state.jobs.of_array(number).skip(1).map(|it| it.number);
                open.extend(tasks);
            }
        }
        false
    }
}
