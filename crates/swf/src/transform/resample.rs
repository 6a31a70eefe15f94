//! Logs of other users: the recorded users' own streams, drawn again and moved in time.

use tradewind_model::random::{stream, within};
use tradewind_model::{Span, Time};

use super::{TransformError, made};
use crate::{Log, Record};

/// A week: streams are moved by whole ones, so that days and hours stay what they were.
pub const WEEK: Span = Span(7 * 86_400);

/// The most jobs in a resampled log.
pub(super) const MOST_JOBS: usize = 50_000_000;

/// How many users, for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resample {
    /// Users of the new log; `None`: as many as the log has. More of them are more load.
    pub users: Option<u32>,
    /// Weeks of the new log; `None`: as many as the log has, the last one begun counted.
    pub weeks: Option<u32>,
}

/// A log of users drawn, with replacement, from those of `log`. Each brings its whole stream of
/// jobs, moved by a drawn number of whole weeks and wrapped round at the log's end, so that it
/// keeps its order of weeks and, within the week, every job's moment; load and daily cycle stay
/// alike in the mean, and who meets whom is new. Jobs and users are numbered again from 1; wait
/// times, preceding jobs and think times are taken out. Users who are not named are one user.
///
/// After Zakay and Feitelson, "Workload resampling for performance evaluation of parallel job
/// schedulers" (2013), in a simpler form: they distinguish users who stay from those who come for a
/// while, and draw the former's weeks singly.
///
/// # Errors
/// [`TransformError::Empty`], [`TransformError::TooMany`].
pub fn resample(log: &Log, seed: u64, options: Resample) -> Result<Log, TransformError> {
    let first = log.jobs.first().ok_or(TransformError::Empty)?.submit;
    let streams = Streams::of(log, first);
    let users = options.users.unwrap_or(streams.users.len() as u32);
    let weeks = i64::from(options.weeks.unwrap_or(streams.weeks as u32));
    let mut jobs: Vec<Record> = Vec::new();
    for user in 1..=users {
        let mut rng = stream(seed, "resample", u64::from(user));
        let from = within(&mut rng, 0, streams.users.len() as i64 - 1);
        let moved = within(&mut rng, 0, streams.weeks - 1);
        for week in 0..weeks {
            let source = (week + moved) % streams.weeks;
            let shift = Span((week - source) * WEEK.0);
            let drawn = streams.week(from as usize, source);
            let there = |job: &&Record| job.submit + shift <= Time::MAX;
            jobs.extend(drawn.iter().filter(there).map(|job| Record {
                submit: job.submit + shift,
                wait: None,
                user: i64::from(user),
                preceding: -1,
                think_time: -1,
                ..*job
            }));
        }
        if jobs.len() > MOST_JOBS {
            return Err(TransformError::TooMany);
        }
    }
    jobs.sort_by_key(|job| (job.submit, job.user, job.number));
    (1..).zip(&mut jobs).for_each(|(number, job)| job.number = number);
    let mut header = log.header.clone();
    header.note(&format!(
        "resampled with seed {seed}: {users} users drawn from {}, {weeks} weeks",
        streams.users.len()
    ));
    Ok(made(log, header, jobs, Vec::new()))
}

/// Each user's jobs in order of submission.
struct Streams {
    first: Time,
    /// How many weeks the log goes on, the last one begun counted.
    weeks: i64,
    users: Vec<Vec<Record>>,
}

impl Streams {
    fn of(log: &Log, first: Time) -> Streams {
        let mut jobs = log.jobs.clone();
        // Stable: a user's jobs stay in order of submission.
        jobs.sort_by_key(|job| job.user);
        let users = jobs.chunk_by(|a, b| a.user == b.user).map(<[Record]>::to_vec).collect();
        let last = log.jobs.last().map_or(first, |job| job.submit);
        Streams { first, weeks: (last - first).0 / WEEK.0 + 1, users }
    }

    /// A user's jobs in one week.
    fn week(&self, user: usize, week: i64) -> &[Record] {
        let jobs = &self.users[user];
        let begin = self.first + Span(week * WEEK.0);
        let from = jobs.partition_point(|job| job.submit < begin);
        let to = jobs.partition_point(|job| job.submit < begin + WEEK);
        &jobs[from..to]
    }
}
