//! Jobs that are submitted when others are over: the feedback from a schedule to its workload.
//!
//! A log has the submissions of users who saw how long their jobs waited. In a replay with another
//! policy they would have come at other times. With [`Link`]s some submissions depend on the
//! replay: the loop from the scheduler to its users is closed.
//!
//! The fields: Feitelson and others, the Standard Workload Format, fields 17 and 18; the idea:
//! Shmueli and Feitelson, "Using site-level modeling to evaluate the performance of parallel system
//! schedulers" (2006); links by users' sessions ([`sessions`]): Zakay and Feitelson, "Preserving user
//! behavior characteristics in trace-based simulation of parallel job scheduling" (2014).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tradewind_model::{JobId, Span, Time};

use crate::load::shifted;
use crate::workload::{Job, LogJob};

/// A job of a log that is not submitted before another one is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The job: its index in the log as it was given.
    pub job: usize,
    /// The preceding job, likewise.
    pub after: usize,
    /// How long after the preceding job's end it is submitted, whatever the log's own moment is.
    /// `None`: at the log's moment, or at the end of the preceding job, whichever is later.
    pub think: Option<Span>,
}

/// What [`kept`] left out, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unlinked {
    /// The preceding job is not replayed: it can never run.
    pub rejected: usize,
    /// The preceding job is submitted later than the job, is the job itself, or is not in the log.
    pub unknown: usize,
}

/// The links that a replay of `jobs`, in the order of submission, can keep: those to a job that is
/// replayed and comes before. The others are counted, and their jobs are submitted as logged. At
/// most one link per job is expected.
pub fn kept(links: Vec<Link>, jobs: &[Job], log_jobs: usize) -> (Vec<Link>, Unlinked) {
    let mut places: Vec<Option<usize>> = vec![None; log_jobs];
    for (place, job) in jobs.iter().enumerate() {
        if let Some(of) = places.get_mut(job.source) {
            *of = Some(place);
        }
    }
    let place = |source: usize| places.get(source).copied().flatten();
    let mut unlinked = Unlinked::default();
    let keep = |link: &Link| match (place(link.job), place(link.after)) {
        (None, _) => false,
        (Some(_), None) => {
            unlinked.rejected += 1;
            false
        }
        (Some(job), Some(after)) if after >= job => {
            unlinked.unknown += 1;
            false
        }
        _ => true,
    };
    let kept = links.into_iter().filter(keep).collect();
    (kept, unlinked)
}

/// A job of a log with what it says of how it came to be: for [`sessions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trail {
    /// Its index in the log as it was given.
    pub job: usize,
    /// Number of the user; equal in different logs only for the same user.
    pub user: i64,
    /// When it was submitted, in the log.
    pub submit: Time,
    /// When it ended, in the log.
    pub end: Time,
}

/// Links by users' sessions: a job is linked to that of its user's jobs, of those submitted before
/// it, that ended last before its submission, if this was at most `gap` ago. The think time is the
/// time between. `trails` are in the order of submission. O(n log n).
pub fn sessions(trails: &[Trail], gap: Span) -> Vec<Link> {
    let mut ended: BTreeMap<i64, BTreeMap<(Time, usize), usize>> = BTreeMap::new();
    let mut links = Vec::new();
    for (place, trail) in trails.iter().enumerate() {
        let of_user = ended.entry(trail.user).or_default();
        let last = of_user.range(..=(trail.submit, usize::MAX)).next_back();
        if let Some((&(end, _), &after)) = last
            && trail.submit - end <= gap
        {
            links.push(Link { job: trail.job, after, think: Some(trail.submit - end) });
        }
        of_user.insert((trail.end, place), trail.job);
    }
    links
}

/// The order in which the jobs of a replay are submitted. Its methods are given the workload's jobs.
pub(crate) struct Feed {
    /// Jobs submitted so far.
    submitted: usize,
    closed: Option<Closed>,
}

/// What is needed where submissions depend on the replay.
struct Closed {
    /// Jobs whose moment is known: it, and the place in the workload.
    due: BinaryHeap<Reverse<(Time, usize)>>,
    /// By place in the workload: which jobs follow, and how long after.
    followers: BTreeMap<usize, Vec<(usize, Option<Span>)>>,
    /// As they were submitted.
    order: Vec<Job>,
    /// Their places in the workload.
    places: Vec<usize>,
}

impl Feed {
    /// `jobs` in the order of submission; links as [`kept`] gives them.
    pub(crate) fn new(jobs: &[Job], links: &[Link]) -> Feed {
        let closed = (!links.is_empty()).then(|| Closed::new(jobs, links));
        Feed { submitted: 0, closed }
    }

    /// When the next job is submitted whose moment is known.
    pub(crate) fn next(&self, jobs: &[Job]) -> Option<Time> {
        match &self.closed {
            None => jobs.get(self.submitted).map(|job| job.submit),
            Some(closed) => closed.due.peek().map(|Reverse((at, _))| *at),
        }
    }

    /// The next job, if it is submitted by `now`.
    pub(crate) fn take<'a>(&'a mut self, jobs: &'a [Job], now: Time) -> Option<&'a Job> {
        self.next(jobs).filter(|at| *at <= now)?;
        self.submitted += 1;
        match &mut self.closed {
            None => jobs.get(self.submitted - 1),
            Some(closed) => closed.take(jobs),
        }
    }

    /// A job that was submitted.
    pub(crate) fn job<'a>(&'a self, jobs: &'a [Job], job: JobId) -> &'a Job {
        match &self.closed {
            None => &jobs[job.index()],
            Some(closed) => &closed.order[job.index()],
        }
    }

    /// The job ended, or was refused: its followers' moments are known now.
    pub(crate) fn over(&mut self, jobs: &[Job], job: JobId, now: Time) {
        if let Some(closed) = &mut self.closed {
            closed.over(jobs, job, now);
        }
    }

    /// The jobs as they were submitted; empty if that is the order that was given.
    pub(crate) fn finish(self) -> Vec<Job> {
        self.closed.map(|closed| closed.order).unwrap_or_default()
    }
}

impl Closed {
    fn new(jobs: &[Job], links: &[Link]) -> Closed {
        let places: BTreeMap<usize, usize> =
            jobs.iter().enumerate().map(|(place, job)| (job.source, place)).collect();
        let mut followers: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        let mut follows = vec![false; jobs.len()];
        for link in links {
            let known = places.get(&link.job).zip(places.get(&link.after));
            if let Some((&job, &after)) = known
                && after < job
                && !follows[job]
            {
                follows[job] = true;
                followers.entry(after).or_default().push((job, link.think));
            }
        }
        let free = jobs.iter().enumerate().filter(|(place, _)| !follows[*place]);
        let due = free.map(|(place, job)| Reverse((job.submit, place))).collect();
        Closed { due, followers, order: Vec::with_capacity(jobs.len()), places: Vec::new() }
    }

    fn take(&mut self, jobs: &[Job]) -> Option<&Job> {
        let Reverse((submit, place)) = self.due.pop()?;
        let job = &jobs[place];
        let terms = job.terms.as_ref().map(|terms| shifted(terms, submit - job.submit));
        self.order.push(Job { submit, terms, ..job.clone() });
        self.places.push(place);
        self.order.last()
    }

    fn over(&mut self, jobs: &[Job], job: JobId, now: Time) {
        let place = self.places[job.index()];
        for (follower, think) in self.followers.remove(&place).unwrap_or_default() {
            let at = match think {
                Some(think) => Time((now + think).0.min(Time::MAX.0)),
                None => jobs[follower].submit.max(now),
            };
            self.due.push(Reverse((at, follower)));
        }
    }
}

/// The moments of `jobs` as a log's are: for outputs that show the log.
pub fn submitted_at(log: &mut [LogJob], jobs: &[Job]) {
    for job in jobs {
        if let Some(of) = log.get_mut(job.source) {
            of.submit = Some(job.submit);
        }
    }
}
