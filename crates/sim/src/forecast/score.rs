//! How forecasts held: coverage, widths, errors.

use tradewind_model::{Span, Time};
use tradewind_sched::predict::waits::{LEVELS, WaitRange};

use super::{Forecasted, Said};

/// A month, in seconds: 30 days from the first submission on.
const MONTH: i64 = 30 * 86_400;

/// How one kind of ranges held.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// Of 100 starts, so many were to be within.
    pub level: u8,
    /// Jobs with a range.
    pub jobs: u64,
    /// Jobs that started within it, earlier, and later.
    pub within: u64,
    /// Jobs that started before it began.
    pub earlier: u64,
    /// Mean width, seconds.
    pub mean_width: f64,
    /// Median width.
    pub median_width: Span,
}

impl Held {
    /// Starts within the range, of 100. 0 without any job.
    pub fn covered(&self) -> f64 {
        100.0 * share(self.within, self.jobs)
    }

    /// Starts after the end of the range, of 100.
    pub fn later(&self) -> f64 {
        100.0 * share(self.jobs - self.within - self.earlier, self.jobs)
    }
}

/// Jobs submitted in a month of 30 days.
#[derive(Debug, Clone, PartialEq)]
pub struct Month {
    /// When it began.
    pub from: Time,
    /// Jobs that waited.
    pub jobs: u64,
    /// Of them, as many as waited one after the other: each was submitted after the one before had
    /// started. Jobs that wait at the same time wait alike, so that this is the number of results
    /// that do not depend on each other.
    pub apart: u64,
    /// Starts within the ranges, of 100, by level.
    pub covered: [f64; 3],
}

/// One of the bounds of all forecasts, as a reliability diagram shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Of 100 starts, so many were to come no later.
    pub said: f64,
    /// So many did.
    pub came: f64,
}

/// Another way to make forecasts, measured on the same jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Its ranges, if it makes any for so many jobs.
    pub held: Held,
    /// Correlation of its point forecast and the wait, if it makes one.
    pub correlation: Option<f64>,
    /// Mean absolute error of its point forecast, seconds.
    pub mean_error: Option<f64>,
}

/// How forecasts held.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// All jobs that started.
    pub jobs: u64,
    /// Those that started in the second of their submission.
    pub at_once: u64,
    /// Correlation of the median and the wait, of all jobs: an immediate start is forecast as one.
    /// 0 where either never differs.
    pub correlation: f64,
    /// The same, of jobs that waited.
    pub correlation_waiting: f64,
    /// Mean absolute error of the median, of jobs that waited, seconds.
    pub mean_error: f64,
    /// Mean wait of jobs that waited, seconds.
    pub mean_wait: f64,
    /// Our ranges.
    pub levels: [Held; 3],
    /// By share.
    pub bounds: Vec<Bound>,
    /// Over time; months without a job that waited are left out.
    pub months: Vec<Month>,
    /// Waits of earlier jobs of similar width alone, with binomial bounds.
    pub binomial: Baseline,
    /// The look-ahead with requested times: a start at any time up to what it says.
    pub requested: Baseline,
}

/// What is said of these jobs, which are in the order of submission, beside what came.
pub fn score(made: &[Forecasted]) -> Score {
    let waited: Vec<(&Forecasted, &Said)> =
        made.iter().filter_map(|it| Some((it, it.said.as_ref()?))).collect();
    let median = |it: &Forecasted| it.said.map_or(Span::ZERO, |said| said.forecast.median);
    let wait = |it: &Forecasted| it.wait;
    let all = made.iter().map(|it| (median(it), wait(it)));
    let medians = || waited.iter().map(|(it, _)| (median(it), wait(it)));
    let requested = || waited.iter().map(|(it, said)| (said.requested, it.wait));
    let up_to = |said: &Said| Some(WaitRange { low: Span::ZERO, high: said.requested });
    Score {
        jobs: made.len() as u64,
        at_once: (made.len() - waited.len()) as u64,
        correlation: correlation(all),
        correlation_waiting: correlation(medians()),
        mean_error: mean_error(medians()),
        mean_wait: mean(waited.iter().map(|(it, _)| it.wait.0 as f64)),
        levels: std::array::from_fn(|at| {
            held(&waited, LEVELS[at], |said| Some(said.forecast.ranges[at]))
        }),
        bounds: bounds(&waited),
        months: months(&waited, made.first().map_or(Time(0), |first| first.at)),
        binomial: Baseline {
            held: held(&waited, 80, |said| said.binomial),
            correlation: None,
            mean_error: None,
        },
        requested: Baseline {
            held: held(&waited, 80, up_to),
            correlation: Some(correlation(requested())),
            mean_error: Some(mean_error(requested())),
        },
    }
}

type Waited<'a> = [(&'a Forecasted, &'a Said)];

fn held(waited: &Waited<'_>, level: u8, range: impl Fn(&Said) -> Option<WaitRange>) -> Held {
    let ranges = || waited.iter().filter_map(|(it, said)| Some((it.wait, range(said)?)));
    let mut widths: Vec<Span> = ranges().map(|(_, range)| range.width()).collect();
    widths.sort_unstable();
    Held {
        level,
        jobs: widths.len() as u64,
        within: ranges().filter(|(wait, range)| range.has(*wait)).count() as u64,
        earlier: ranges().filter(|(wait, range)| *wait < range.low).count() as u64,
        mean_width: mean(widths.iter().map(|width| width.0 as f64)),
        median_width: widths.get(widths.len() / 2).copied().unwrap_or(Span::ZERO),
    }
}

fn bounds(waited: &Waited<'_>) -> Vec<Bound> {
    let Some((_, first)) = waited.first() else { return Vec::new() };
    let shares = first.forecast.quantiles().map(|(share, _)| share);
    let bound = |(at, share): (usize, u32)| {
        let held = waited.iter().filter(|(it, said)| it.wait <= said.forecast.quantiles()[at].1);
        Bound { said: f64::from(share) / 10.0, came: 100.0 * share_of(held.count(), waited.len()) }
    };
    shares.into_iter().enumerate().map(bound).collect()
}

fn months(waited: &Waited<'_>, first: Time) -> Vec<Month> {
    let month = |it: &Forecasted| (it.at - first).0.div_euclid(MONTH);
    let of_month = |jobs: &Waited<'_>| {
        let covered = |at: usize| {
            let within = jobs.iter().filter(|(it, said)| said.forecast.ranges[at].has(it.wait));
            100.0 * share_of(within.count(), jobs.len())
        };
        Month {
            from: first + Span(jobs.first().map_or(0, |(it, _)| month(it)) * MONTH),
            jobs: jobs.len() as u64,
            apart: apart(jobs),
            covered: std::array::from_fn(covered),
        }
    };
    waited.chunk_by(|(one, _), (other, _)| month(one) == month(other)).map(of_month).collect()
}

/// How many of the jobs waited one after the other.
fn apart(jobs: &Waited<'_>) -> u64 {
    let count = |(count, free), (it, _): &(&Forecasted, &Said)| match free {
        Some(free) if it.at < free => (count, Some(free)),
        _ => (count + 1, Some(it.at + it.wait)),
    };
    jobs.iter().fold((0, None), count).0
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

fn share_of(part: usize, all: usize) -> f64 {
    share(part as u64, all as u64)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

fn mean_error(pairs: impl Iterator<Item = (Span, Span)>) -> f64 {
    mean(pairs.map(|(said, came)| (said.0 - came.0).abs() as f64))
}

/// Pearson's.
fn correlation(pairs: impl Iterator<Item = (Span, Span)> + Clone) -> f64 {
    let x = mean(pairs.clone().map(|(x, _)| x.0 as f64));
    let y = mean(pairs.clone().map(|(_, y)| y.0 as f64));
    let away = pairs.map(|(one, other)| (one.0 as f64 - x, other.0 as f64 - y));
    let sums = away.fold([0.0; 3], |[both, xx, yy], (x, y)| [both + x * y, xx + x * x, yy + y * y]);
    let [both, xx, yy] = sums;
    if xx > 0.0 && yy > 0.0 { both / (xx.sqrt() * yy.sqrt()) } else { 0.0 }
}
