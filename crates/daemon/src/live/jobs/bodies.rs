//! How many bytes the submissions take of jobs that have not ended. The jobs of an array share one.

use std::collections::BTreeMap;

use tradewind_io::submission::Submission;

use crate::live::answer::{Refusal, RefusalKind, Usage};
use crate::live::state::{Job, State};
use crate::live::{Live, Settings};

/// Who has how many jobs that have not ended, and the bytes of their submissions.
#[derive(Debug, Default)]
pub(in crate::live) struct Bodies {
    users: BTreeMap<String, UserBytes>,
    all: UserBytes,
    /// By the number of a single job, or of an array's first one: jobs, and bytes.
    bodies: BTreeMap<u64, UserBytes>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct UserBytes {
    jobs: usize,
    bytes: u64,
}

impl Bodies {
    pub(in crate::live) fn is_empty(&self) -> bool {
        self.all.jobs == 0
    }

    /// A job is there that has not ended.
    pub(in crate::live) fn add(&mut self, job: &Job) {
        let first = job.array.map_or(job.number, |(first, _)| first);
        let body = self.bodies.entry(first).or_default();
        let bytes = if body.jobs == 0 { job.submission.bytes() as u64 } else { 0 };
        (body.jobs, body.bytes) = (body.jobs + 1, body.bytes + bytes);
        let user = self.users.entry(job.user.clone()).or_default();
        for own in [user, &mut self.all] {
            (own.jobs, own.bytes) = (own.jobs + 1, own.bytes + bytes);
        }
    }

    /// It has ended.
    pub(in crate::live) fn remove(&mut self, job: &Job) {
        let first = job.array.map_or(job.number, |(first, _)| first);
        let Some(body) = self.bodies.get_mut(&first) else { return };
        body.jobs = body.jobs.saturating_sub(1);
        let bytes = if body.jobs == 0 { body.bytes } else { 0 };
        if body.jobs == 0 {
            self.bodies.remove(&first);
        }
        let user = self.users.entry(job.user.clone()).or_default();
        for own in [&mut *user, &mut self.all] {
            let (jobs, left) = (own.jobs.saturating_sub(1), own.bytes.saturating_sub(bytes));
            (own.jobs, own.bytes) = (jobs, left);
        }
        if user.jobs == 0 {
            self.users.remove(&job.user);
        }
    }

    fn of(&self, user: &str) -> UserBytes {
        self.users.get(user).copied().unwrap_or_default()
    }

    /// Whether `count` more jobs of one submission may come.
    ///
    /// # Errors
    /// The limit that they would exceed.
    pub(in crate::live) fn may_come(
        &self,
        user: &str,
        count: usize,
        submission: &Submission,
        settings: &Settings,
    ) -> Result<(), Refusal> {
        let (own, all, bytes) = (self.of(user), self.all, submission.bytes() as u64);
        let jobs = |jobs: usize| (jobs as u64, count as u64);
        let limits = [
            ("jobs", "the market", "jobs", jobs(all.jobs), settings.max_jobs as u64),
            ("jobs_per_user", user, "jobs", jobs(own.jobs), settings.max_jobs_per_user as u64),
            ("job_bytes", "the market", "bytes of jobs", (all.bytes, bytes), settings.max_bytes),
            ("job_bytes_per_user", user, "bytes of jobs", (own.bytes, bytes), {
                settings.max_bytes_per_user
            }),
        ];
        let met = limits.into_iter().find(|(_, _, _, (used, more), max)| used + more > *max);
        let Some((limit, who, what, (used, more), allowed)) = met else { return Ok(()) };
        let message = format!(
            "{who} has {used} {what}, {more} more would come, and {allowed} are allowed (`{limit}`)"
        );
        // More than there is room for at all: waiting does not help.
        let (wait, hint) = match more > allowed {
            true => (0, "submit less at once: so much never fits"),
            false => (WAIT, "try again when some jobs have ended"),
        };
        let usage = Usage { limit: limit.to_owned(), used, allowed, wait };
        Err(Refusal::limit(message, hint, usage))
    }
}

/// When to come again where jobs must end first: seconds.
const WAIT: u64 = 60;

/// Refuses an environment that is larger than any may be.
///
/// # Errors
/// The limit that it exceeds.
pub fn check_environment(submission: &Submission, settings: &Settings) -> Result<(), Refusal> {
    let variables = submission.surroundings.environment.len();
    let limits = [
        ("environment_variables", "variables", variables, settings.max_variables),
        ("environment_bytes", "bytes", submission.environment_bytes(), settings.max_environment),
    ];
    let met = limits.into_iter().find(|(_, _, used, max)| used > max);
    let Some((limit, what, used, max)) = met else { return Ok(()) };
    let message = format!("the environment has {used} {what}, and {max} are allowed (`{limit}`)");
    let hint = "export only what the job needs: `--export=NAME,…`; keep data in files";
    let usage = Usage { limit: limit.to_owned(), used: used as u64, allowed: max as u64, wait: 0 };
    Err(Refusal { kind: RefusalKind::Limit, ..Refusal::limit(message, hint, usage) })
}

impl State {
    /// Jobs of an array have one submission in memory, though it may have been read for each.
    pub(in crate::live) fn share_bodies(&mut self) {
        let mut last: Option<(u64, std::sync::Arc<Submission>)> = None;
        for job in self.jobs.values_mut() {
            let Some((first, _)) = job.array else { continue };
            match &last {
                Some((known, body)) if *known == first && **body == *job.submission => {
                    job.submission = std::sync::Arc::clone(body);
                }
                _ => last = Some((first, std::sync::Arc::clone(&job.submission))),
            }
        }
    }
}

impl Live {
    /// The job is counted from now on, until it is over.
    pub(in crate::live) fn count_in(&mut self, number: u64) {
        if let Some(job) = self.state.jobs.get(&number) {
            self.index.track(job);
        }
    }
}
