//! How long a user's jobs ran that are like another one.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use tradewind_io::submission::{Submission, TimeLimit};
use tradewind_model::{Span, TimeMode};
pub use tradewind_sched::predict::limits::PERCENT;
use tradewind_sched::predict::limits::{self, LimitAdvice};

use super::{Finish, Job, Part, Phase};
use crate::live::Live;
use crate::live::redact::hash_of;

/// What a job of the same width has in common with a submission.
#[derive(Debug, Clone, Copy)]
struct Likeness {
    name: bool,
    script: bool,
}

/// Which jobs are alike: the first kind of which there are enough runs.
const ALIKE: [fn(Likeness) -> bool; 3] = [|it| it.name && it.script, |it| it.name, |it| it.script];

/// The one time limit that a submission asks for. `None`: it has limits by class of nodes.
pub fn limit_of(submission: &Submission) -> Option<Span> {
    match submission.time {
        TimeLimit::One { limit, .. } | TimeLimit::Reference(limit) => Some(limit),
        TimeLimit::Classes(_) => None,
    }
}

/// How its one time limit is counted.
pub(in crate::live) fn mode_of(submission: &Submission) -> TimeMode {
    match submission.time {
        TimeLimit::One { counted, .. } => counted.mode(),
        TimeLimit::Reference(_) => TimeMode::WORK,
        TimeLimit::Classes(_) => TimeMode::WALL,
    }
}

/// How much of its own time limit a job used that ended by itself or at its limit. Other ends say
/// nothing of how long such jobs run.
fn used(job: &Job) -> Option<Span> {
    let Phase::Over(Finish::Completed | Finish::Timeout) = job.phase() else { return None };
    job.used_of_limit().map(|(_, used, _)| used)
}

impl Job {
    /// The part that ran longest, how long that was as a part of its one time limit, and that limit.
    /// `None`: it did not run to an end of its own.
    pub(in crate::live) fn ran(&self) -> Option<(&Part, Span, Span)> {
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

    fn used_of_limit(&self) -> Option<(&Part, Span, Span)> {
        let (asked, end) = (limit_of(&self.submission)?, self.ended()?);
        let used = |part: &&Part| {
            let worked = i128::from(self.worked(part, end).0) * i128::from(asked.0);
            let limit = i128::from(part.limit.0.max(1));
            i64::try_from((worked + limit - 1) / limit).unwrap_or(asked.0)
        };
        let most = self.parts().iter().max_by_key(used)?;
        Some((most, Span(used(&most).clamp(1, asked.0.max(1))), asked))
    }
}

/// Runs of a user that are looked at: the last ones.
const MAX_RUNS: usize = 1_000;

/// By user, the numbers of jobs that say how long such jobs run, [`MAX_RUNS`] of each at most.
#[derive(Debug, Default)]
pub(in crate::live) struct AlikeRuns(BTreeMap<String, BTreeSet<u64>>);

impl AlikeRuns {
    /// A job that is over.
    pub(super) fn add(&mut self, job: &Job) {
        if job.origin.is_some() || used(job).is_none() {
            return;
        }
        let own = self.0.entry(job.user.clone()).or_default();
        own.insert(job.number);
        if own.len() > MAX_RUNS {
            own.pop_first();
        }
    }

    /// A job that leaves the state.
    pub(in crate::live) fn remove(&mut self, job: &Job) {
        if let Some(own) = self.0.get_mut(&job.user) {
            own.remove(&job.number);
            if own.is_empty() {
                self.0.remove(&job.user);
            }
        }
    }
}

impl Live {
    /// What the user's own last runs say of the time limit that a submission for so many nodes asks
    /// for.
    pub fn limit_advice(
        &self,
        user: &str,
        submission: &Submission,
        nodes: u32,
    ) -> Option<LimitAdvice> {
        let (asked, hash) = (limit_of(submission)?, LazyCell::new(|| hash_of(submission)));
        let own = self.index.runs.0.get(user)?.iter().rev();
        let own = own.filter_map(|number| self.state.jobs.get(number));
        let alike = |job: &Job| Some((likeness(job, submission, &hash, nodes)?, used(job)?));
        let runs: Vec<(Likeness, Span)> = own.filter_map(alike).collect();
        let alike = |is_alike: fn(Likeness) -> bool| {
            let alike = runs.iter().filter(|(it, _)| is_alike(*it));
            let alike: Vec<Span> = alike.map(|(_, used)| *used).collect();
            limits::is_enough(alike.len()).then_some(alike)
        };
        limits::advice(&ALIKE.into_iter().find_map(alike)?, asked)
    }
}

/// `None`: they differ in width. Scripts may be long, so they are compared last.
fn likeness(
    job: &Job,
    submission: &Submission,
    hash: &LazyCell<[u8; 32], impl FnOnce() -> [u8; 32]>,
    nodes: u32,
) -> Option<Likeness> {
    if job.nodes() != nodes {
        return None;
    }
    let script = match job.redacted() {
        Some(other) => other == **hash,
        None => job.submission.work == submission.work,
    };
    Some(Likeness { name: job.submission.name == submission.name, script })
}
