//! Logs made from logs: a part of one, a heavier or lighter one, one of other users.
//!
//! Plain functions from log to log. Each leaves the fields that it does not name as they are and
//! adds a `Note` to the header. A wait time was a matter of the real machine and its queue: where
//! the jobs no longer meet the ones they met there, it is taken out.

mod resample;
#[cfg(test)]
mod tests;

use tradewind_model::{Span, Time};

use super::{Header, Log, Record, Summary};

pub use resample::{Resample, WEEK, resample};

/// Why a log cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TransformError {
    /// A time grew beyond what a log may hold.
    #[error("a time grows beyond {} s", Time::MAX)]
    Beyond,
    /// There is nothing to draw from.
    #[error("no job with a submit time is left to draw from")]
    Empty,
    /// Jobs of no length or all submitted at once have no load that could be scaled.
    #[error("the jobs do no work, or are all submitted at one moment")]
    NoLoad,
    /// More jobs than one could want.
    #[error("more than {} jobs", resample::MOST_JOBS)]
    TooMany,
}

/// A factor above 0, exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor {
    numerator: i64,
    denominator: i64,
}

impl Factor {
    /// `numerator` / `denominator`; `None` unless both are above 0.
    pub fn new(numerator: i64, denominator: i64) -> Option<Factor> {
        let common = gcd(numerator.into(), denominator.into()) as i64;
        (numerator > 0 && denominator > 0)
            .then(|| Factor { numerator: numerator / common, denominator: denominator / common })
    }

    /// The same of wider numbers; beyond 62 bits their last bits are dropped.
    fn wide(mut numerator: i128, mut denominator: i128) -> Option<Factor> {
        let common = gcd(numerator, denominator).max(1);
        (numerator, denominator) = (numerator / common, denominator / common);
        while numerator.max(denominator) >= 1 << 62 {
            (numerator, denominator) = (numerator >> 1, denominator >> 1);
        }
        Factor::new(i64::try_from(numerator).ok()?, i64::try_from(denominator).ok()?)
    }

    /// 1 / this.
    pub fn inverse(self) -> Factor {
        Factor { numerator: self.denominator, denominator: self.numerator }
    }

    /// Whether it changes nothing.
    pub fn is_one(self) -> bool {
        self.numerator == self.denominator
    }

    /// `n` times this, to the nearest whole number, halves up. `n` is not negative.
    fn of(self, n: i64) -> Result<i64, TransformError> {
        let twice = 2 * i128::from(n) * i128::from(self.numerator) + i128::from(self.denominator);
        let rounded = twice / (2 * i128::from(self.denominator));
        i64::try_from(rounded).ok().filter(|n| *n <= Time::MAX.0).ok_or(TransformError::Beyond)
    }
}

/// Of two numbers that are not negative.
fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Which jobs of a log, on which clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slice {
    /// Jobs submitted before are left out; `None`: none are.
    pub from: Option<Time>,
    /// Jobs submitted at or after are left out; `None`: none are.
    pub to: Option<Time>,
    /// What the clock shows.
    pub clock: SliceClock,
}

/// What the clock of a slice shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SliceClock {
    /// The log's own time.
    #[default]
    Kept,
    /// Time since the slice begins: since `from`, or else since its first submission.
    FromZero,
}

/// The jobs submitted within `[from, to)`. With [`SliceClock::FromZero`] `UnixStartTime` moves along.
/// Jobs without a submit time stay only where neither end is given.
pub fn slice(log: &Log, slice: Slice) -> Log {
    let within = |job: &&Record| {
        slice.from.is_none_or(|from| job.submit >= from)
            && slice.to.is_none_or(|to| job.submit < to)
    };
    let mut jobs: Vec<Record> = log.jobs.iter().filter(within).copied().collect();
    let whole = slice.from.is_none() && slice.to.is_none();
    let undated = if whole { log.undated.clone() } else { Vec::new() };
    let mut header = log.header.clone();
    let zero = slice.from.or(jobs.first().map(|job| job.submit)).unwrap_or(Time(0));
    if slice.clock == SliceClock::FromZero {
        jobs.iter_mut().for_each(|job| job.submit = Time((job.submit - zero).0));
        if let Some(start) = header.unix_start().and_then(|start| start.checked_add(zero.0)) {
            header.set("UnixStartTime", &start.to_string());
        }
    }
    let end = |time: Option<Time>| time.map_or("…".to_owned(), |time| time.to_string());
    header.note(&format!(
        "{} of {} jobs: submitted within [{}, {}){}",
        jobs.len(),
        log.jobs.len(),
        end(slice.from),
        end(slice.to),
        match slice.clock {
            SliceClock::Kept => String::new(),
            SliceClock::FromZero => format!(", where {zero} is now 0"),
        }
    ));
    made(log, header, jobs, undated)
}

/// The first `count` jobs by submit time.
pub fn first(log: &Log, count: usize) -> Log {
    let jobs: Vec<Record> = log.jobs.iter().take(count).copied().collect();
    let mut header = log.header.clone();
    header.note(&format!("the first {} of {} jobs", jobs.len(), log.jobs.len()));
    made(log, header, jobs, Vec::new())
}

/// A log with `factor` times the load: each submission's distance from the first one, divided by
/// the factor and rounded to the nearest second, halves up. Wait times are taken out. A factor of 1
/// changes nothing.
///
/// # Errors
/// [`TransformError::Beyond`].
pub fn scale_arrivals(log: &Log, factor: Factor) -> Result<Log, TransformError> {
    if factor.is_one() {
        return Ok(log.clone());
    }
    let first = log.jobs.first().map_or(Time(0), |job| job.submit);
    let shrink = factor.inverse();
    let mut jobs = log.jobs.clone();
    for job in &mut jobs {
        job.submit = Time(first.0 + shrink.of((job.submit - first).0)?);
        if job.submit > Time::MAX {
            return Err(TransformError::Beyond);
        }
    }
    let what = format!("the time between submissions divided by {}", text(factor));
    Ok(rescaled(log, jobs, &what))
}

/// The log with its arrivals scaled such that the offered load is `load`: Σ run × processors over
/// processors × the time from the first submission to the last.
///
/// # Errors
/// [`TransformError::NoLoad`], [`TransformError::Beyond`].
pub fn scale_to_load(log: &Log, processors: u32, load: Factor) -> Result<Log, TransformError> {
    let area = |job: &Record| {
        i128::from(job.run.unwrap_or_default().0) * i128::from(job.held().unwrap_or(0))
    };
    let work: i128 = log.jobs.iter().map(area).sum();
    let ends = log.jobs.first().zip(log.jobs.last());
    let span = ends.map_or(0, |(first, last)| (last.submit - first.submit).0);
    let capacity = i128::from(span) * i128::from(processors);
    // Both sides stay below 2^126: 2^64 of capacity or work, times 2^62.
    let wanted = capacity.saturating_mul(load.numerator.into());
    let offered = work.saturating_mul(load.denominator.into());
    let factor = Factor::wide(wanted, offered).ok_or(TransformError::NoLoad)?;
    scale_arrivals(log, factor)
}

/// A log with `factor` times the load: run times and requested times, times the factor and
/// rounded to the nearest second, halves up, but not to 0. Wait times are taken out. A factor of 1
/// changes nothing.
///
/// # Errors
/// [`TransformError::Beyond`].
pub fn scale_runs(log: &Log, factor: Factor) -> Result<Log, TransformError> {
    if factor.is_one() {
        return Ok(log.clone());
    }
    let scaled = |span: Option<Span>| match span {
        Some(Span(n)) if n > 0 => factor.of(n).map(|n| Some(Span(n.max(1)))),
        other => Ok(other),
    };
    let mut jobs = log.jobs.clone();
    for job in &mut jobs {
        job.run = scaled(job.run)?;
        job.requested_time = scaled(job.requested_time)?;
    }
    let what = format!("run and requested times multiplied by {}", text(factor));
    Ok(rescaled(log, jobs, &what))
}

/// `jobs` did not meet like this on the real machine.
fn rescaled(log: &Log, mut jobs: Vec<Record>, what: &str) -> Log {
    jobs.iter_mut().for_each(|job| job.wait = None);
    let mut header = log.header.clone();
    header.note(what);
    made(log, header, jobs, log.undated.clone())
}

fn text(factor: Factor) -> String {
    let Factor { numerator, denominator } = factor;
    match denominator {
        1 => numerator.to_string(),
        _ => format!("{numerator}/{denominator}"),
    }
}

/// What happens to jobs that are wider than the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wide {
    /// They are left out.
    Dropped,
    /// They are made as wide as the machine.
    Narrowed,
}

/// The log on a machine of `processors` processors, which `MaxProcs` then says; `MaxNodes` is
/// taken out if that changes it.
pub fn fit_machine(log: &Log, processors: u32, wide: Wide) -> Log {
    let too_wide = |job: &Record| job.held().max(job.wanted()).is_some_and(|it| it > processors);
    let count = log.jobs.iter().filter(|job| too_wide(job)).count();
    let keep = |jobs: &[Record]| -> Vec<Record> {
        let narrow = |count: Option<u32>| count.map(|count| count.min(processors));
        let jobs = jobs.iter().filter(|job| wide == Wide::Narrowed || !too_wide(job));
        let fitted = jobs.map(|job| Record {
            processors: narrow(job.processors),
            requested_processors: narrow(job.requested_processors),
            ..*job
        });
        fitted.collect()
    };
    let mut header = log.header.clone();
    if header.max_procs() != Some(processors) {
        header.set("MaxProcs", &processors.to_string());
        header.remove("MaxNodes");
    }
    let how = match wide {
        Wide::Dropped => "left out",
        Wide::Narrowed => "made that wide",
    };
    header.note(&format!("jobs wider than {processors} processors, {how}: {count}"));
    made(log, header, keep(&log.jobs), keep(&log.undated))
}

/// A log of these jobs, which are in order, with counts that are right.
fn made(log: &Log, mut header: Header, jobs: Vec<Record>, undated: Vec<Record>) -> Log {
    let summary = Summary::of(&jobs, &undated);
    for key in ["MaxJobs", "MaxRecords"] {
        if header.get(key).is_some() {
            header.set(key, &summary.jobs.to_string());
        }
    }
    Log { name: log.name.clone(), header, jobs, undated, summary }
}
