//! One replay, as its pictures see it: plain data.

use tradewind_model::{Horizon, Span, Time};

use super::steps::{Change, TimeColumns};

/// One run of one policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replay {
    /// Above the pictures: `easy on KTH-SP2`.
    pub title: String,
    /// The pools of processors, from the first processor on.
    pub pools: Vec<ReplayPool>,
    /// Jobs on their processors, in any order: those that ran, and what was interrupted of them.
    pub jobs: Vec<ReplayJob>,
    /// When jobs waited, from and until, in any order; also those that never ran.
    pub waiting: Vec<(Time, Time)>,
    /// Processors that were not ours, or promised, in any order.
    pub holds: Vec<Hold>,
}

/// Like processors of one site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayPool {
    /// As shown beside its rows.
    pub name: String,
    /// How many there are.
    pub processors: u32,
}

/// A job that ran, or an attempt of it that was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayJob {
    /// The log's number, or any other name.
    pub name: String,
    /// Whose it is, if the log says.
    pub user: Option<i64>,
    /// When it was submitted.
    pub submit: Time,
    /// When it started, for the last time if it was interrupted.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// How it ended.
    pub fate: RunFate,
    /// Its processors; without any, it is in the numbers but not in the Gantt chart.
    pub processors: Vec<Processors>,
    /// How many it held, whether or not they are listed.
    pub width: u32,
}

/// Neighbouring processors, counted through all pools from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processors {
    /// The first one.
    pub first: u32,
    /// The last one.
    pub last: u32,
    /// When they were free again: faster pools are done before the job is.
    pub until: Time,
}

/// How a job that ran ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunFate {
    /// The job ended by itself.
    Completed,
    /// Killed at its request.
    Killed,
    /// It lost its processors.
    Interrupted,
}

/// Why processors were not free for jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldCause {
    /// The owner's own load.
    Local,
    /// Planned maintenance.
    Maintenance,
    /// They had failed.
    Failure,
    /// Promised to a job: drawn as an outline, and free to others until then.
    Reserved,
}

/// Processors that were not free for jobs for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Cause: maintenance, failure or other load.
    pub cause: HoldCause,
    /// Shown when pointed at.
    pub label: String,
    /// First second.
    pub from: Time,
    /// First second after it.
    pub until: Time,
    /// The first and last of each range of processors, counted through all pools.
    pub processors: Vec<(u32, u32)>,
}

impl Hold {
    fn width(&self) -> i64 {
        self.processors.iter().map(|&(first, last)| i64::from(last) - i64::from(first) + 1).sum()
    }
}

impl Replay {
    /// Number of processors of all pools.
    pub fn processors(&self) -> u64 {
        self.pools.iter().map(|pool| u64::from(pool.processors)).sum()
    }

    /// The jobs that ran to an end: attempts that were interrupted are not counted.
    pub fn ran(&self) -> impl Iterator<Item = &ReplayJob> {
        self.jobs.iter().filter(|job| job.fate != RunFate::Interrupted)
    }

    /// How long each job that ran had waited since its submission, in seconds.
    pub fn waits(&self) -> impl Iterator<Item = i64> {
        self.ran().map(|job| (job.start - job.submit).0)
    }

    /// From the first submission to the last end; `None` if nothing ran.
    pub fn horizon(&self) -> Option<Horizon> {
        let start = self.jobs.iter().map(|job| job.submit).min()?;
        let end = self.jobs.iter().map(|job| job.end).max()?;
        Some(Horizon { start, end: end.max(start + Span(1)) })
    }

    /// Processors in use by jobs.
    pub(super) fn used(&self) -> Vec<Change> {
        let mut changes = Vec::with_capacity(2 * self.jobs.len());
        for job in &self.jobs {
            let listed: i64 = job.processors.iter().map(|p| i64::from(p.last - p.first) + 1).sum();
            for part in &job.processors {
                step(&mut changes, i64::from(part.last - part.first) + 1, job.start, part.until);
            }
            step(&mut changes, i64::from(job.width) - listed, job.start, job.end);
        }
        changes
    }

    /// Processors held for these causes.
    pub(super) fn held(&self, causes: &[HoldCause]) -> Vec<Change> {
        let mut changes = Vec::new();
        for hold in self.holds.iter().filter(|hold| causes.contains(&hold.cause)) {
            step(&mut changes, hold.width(), hold.from, hold.until);
        }
        changes
    }

    /// Jobs that wait.
    pub(super) fn queue(&self) -> Vec<Change> {
        let mut changes = Vec::with_capacity(2 * self.waiting.len());
        for &(from, until) in &self.waiting {
            step(&mut changes, 1, from, until);
        }
        changes
    }

    /// The seven days, from a whole day of the clock on, in which jobs used most processor time;
    /// the whole replay if it is no longer. Ties go to the earlier. O(jobs log jobs + days).
    ///
    /// Of a replay of more than 50,000 days only some weeks are looked at.
    pub fn busiest_week(&self) -> Option<Horizon> {
        let whole = self.horizon()?;
        if whole.span() <= WEEK {
            return Some(whole);
        }
        let start = whole.start.0.div_euclid(DAY) * DAY;
        let days = (whole.end.0 - start + DAY - 1) / DAY;
        let grid = Horizon { start: Time(start), end: Time(start + days * DAY) };
        let columns = TimeColumns::new(grid, (days as usize).min(DAYS_MOST));
        let areas = columns.areas(&self.used());
        let per_week = (DAYS_PER_WEEK * columns.len() / days as usize).max(1);
        let mut best = (0, i128::MIN);
        let mut sum = 0;
        for (index, area) in areas.iter().enumerate() {
            sum += area;
            if index >= per_week {
                sum -= areas[index - per_week];
            }
            let complete = index + 1 >= per_week;
            if complete && sum > best.1 {
                best = (index + 1 - per_week, sum);
            }
        }
        let first = columns.edge(best.0);
        Some(Horizon { start: first, end: first + WEEK })
    }
}

const DAY: i64 = 86_400;
const DAYS_PER_WEEK: usize = 7;
const WEEK: Span = Span(DAYS_PER_WEEK as i64 * DAY);
/// Days that the search for the busiest week distinguishes: more than a century.
const DAYS_MOST: usize = 50_000;

fn step(changes: &mut Vec<Change>, by: i64, from: Time, until: Time) {
    if from < until && by != 0 {
        changes.extend([Change { at: from, by }, Change { at: until, by: -by }]);
    }
}
