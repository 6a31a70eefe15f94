//! How long a user's jobs ran that are like another one.

use tradewind_io::submission::{Submission, TimeLimit};
use tradewind_model::Span;
pub use tradewind_sched::predict::limits::PERCENT;
use tradewind_sched::predict::limits::{self, LimitAdvice};

use super::{Finish, Job, Phase};
use crate::live::redact::hash_of;
use crate::live::state::State;

/// What a job has in common with a submission.
#[derive(Debug, Clone, Copy)]
struct Likeness {
    name: bool,
    script: bool,
    width: bool,
}

/// Which jobs are alike: the first kind of which there are enough runs.
const ALIKE: [fn(Likeness) -> bool; 3] =
    [|it| it.name && it.script && it.width, |it| it.name && it.width, |it| it.script && it.width];

/// The one time limit that a submission asks for. `None`: it has limits by class of nodes.
pub fn limit_of(submission: &Submission) -> Option<Span> {
    match submission.time {
        TimeLimit::One { limit, .. } | TimeLimit::Reference(limit) => Some(limit),
        TimeLimit::Classes(_) => None,
    }
}

/// How much of its own time limit a job used that ended by itself or at its limit. Other ends say
/// nothing of how long such jobs run.
fn used(job: &Job) -> Option<Span> {
    let Phase::Over(Finish::Completed | Finish::Timeout) = job.phase() else { return None };
    job.used_of_limit().map(|(used, _)| used)
}

impl Job {
    /// How long it ran, as a part of its one time limit, and that limit. `None`: it did not run to
    /// an end of its own.
    pub(in crate::live) fn ran(&self) -> Option<(Span, Span)> {
        let Phase::Over(finish) = self.phase() else { return None };
        let is_own = matches!(
            finish,
            Finish::Completed
                | Finish::Timeout
                | Finish::Failed(_)
                | Finish::Killed(_)
                | Finish::OutOfMemory
        );
        self.used_of_limit().filter(|_| is_own && self.started().is_some())
    }

    fn used_of_limit(&self) -> Option<(Span, Span)> {
        let (asked, end) = (limit_of(&self.submission)?, self.ended()?);
        let part = |part: &super::Part| {
            let worked = i128::from(self.worked(part, end).0) * i128::from(asked.0);
            let limit = i128::from(part.limit.0.max(1));
            i64::try_from((worked + limit - 1) / limit).unwrap_or(asked.0)
        };
        let most = self.parts().iter().map(part).max()?;
        Some((Span(most.clamp(1, asked.0.max(1))), asked))
    }
}

impl State {
    /// What the user's own runs say of the time limit that a submission for so many nodes asks for:
    /// of jobs that are over and still known. Linear in the jobs.
    pub fn limit_advice(
        &self,
        user: &str,
        submission: &Submission,
        nodes: u32,
    ) -> Option<LimitAdvice> {
        let (asked, hash) = (limit_of(submission)?, hash_of(submission));
        let likeness = |job: &Job| {
            let script = match job.redacted() {
                Some(other) => other == hash,
                None => job.submission.work == submission.work,
            };
            let name = job.submission.name == submission.name;
            Likeness { name, script, width: job.nodes() == nodes }
        };
        let own = self.jobs.values().filter(|job| job.user == user && job.origin.is_none());
        let runs: Vec<(Likeness, Span)> =
            own.filter_map(|job| Some((likeness(job), used(job)?))).collect();
        let alike = |is_alike: fn(Likeness) -> bool| {
            let alike = runs.iter().filter(|(it, _)| is_alike(*it));
            let alike: Vec<Span> = alike.map(|(_, used)| *used).collect();
            limits::is_enough(alike.len()).then_some(alike)
        };
        limits::advice(&ALIKE.into_iter().find_map(alike)?, asked)
    }
}
