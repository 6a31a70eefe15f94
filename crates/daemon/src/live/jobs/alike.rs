//! How long a user's jobs ran that are like another one.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use tradewind_io::submission::Submission;
use tradewind_model::Span;
use tradewind_sched::predict::limits::{self, LimitAdvice};

use crate::live::Live;
use crate::live::state::jobs::limit_of;
use crate::live::state::jobs::redact::hash_of;
use crate::live::state::{Finish, Job, Phase};

pub use tradewind_sched::predict::limits::PERCENT;

/// What a job of the same width has in common with a submission.
#[derive(Debug, Clone, Copy)]
struct Likeness {
    name: bool,
    script: bool,
}

/// Which jobs are alike: the first kind of which there are enough runs.
const ALIKE: [fn(Likeness) -> bool; 3] = [|it| it.name && it.script, |it| it.name, |it| it.script];

/// How much of its own time limit a job used that ended by itself or at its limit. Other ends say
/// nothing of how long such jobs run.
fn used(job: &Job) -> Option<Span> {
    let Phase::Over(Finish::Completed | Finish::Timeout) = job.phase() else { return None };
    job.used_of_limit().map(|(_, used, _)| used)
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
