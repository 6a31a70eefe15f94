//! Forecasts of starts, made at submissions while a log is replayed, and how they held.
//!
//! Whenever jobs are submitted and do not start in the same second, a look-ahead over the queue and a
//! [`WaitForecaster`](tradewind_sched::predict::waits::WaitForecaster) say when each will start. Jobs
//! that the policy starts at once need no forecast: their start is known, and ranges of no width
//! would only make the coverage look better. Two other ways are measured beside it.

mod queue;
mod score;
mod watch;

use std::cell::RefCell;
use std::rc::Rc;

use tradewind_model::{Span, Time};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::local::{Moments, PlainSettings};
use tradewind_sched::predict::Learner;
use tradewind_sched::predict::waits::{WaitForecast, WaitRange};

use crate::check::Checker;
use crate::workload::Workload;
use crate::{ReplaySettings, Run, SimError};

pub use score::{Baseline, Bound, Held, Month, Score, score};
use watch::Watcher;

/// How forecasts are made.
#[derive(Debug)]
pub struct ForecastOptions {
    /// The scheduler of the look-ahead: for policies that do other things, an approximation.
    pub scheduler: PlainSettings,
    /// Predicts run times for the look-ahead.
    pub learner: Box<dyn Learner>,
    /// The most moments of virtual time in one look-ahead.
    pub moments: Moments,
    /// The most waiting jobs in one look-ahead; those behind them count as work.
    pub waiting: usize,
}

impl ForecastOptions {
    /// With limits that only the longest queues of grids reach.
    pub fn new(scheduler: PlainSettings, learner: Box<dyn Learner>) -> ForecastOptions {
        ForecastOptions { scheduler, learner, moments: Moments(4_000), waiting: 4_000 }
    }
}

/// What was said of a job at its submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// The corrected forecast.
    pub forecast: WaitForecast,
    /// The wait by the look-ahead with learned run times.
    pub learned: Span,
    /// The wait by the look-ahead with requested times: what `squeue --start` says.
    pub requested: Span,
    /// By the waits of earlier jobs of similar width alone, once there are enough.
    pub binomial: Option<WaitRange>,
}

/// A job of the log that started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forecasted {
    /// Index in the workload's jobs.
    pub job: usize,
    /// When it was submitted.
    pub at: Time,
    /// How long it waited.
    pub wait: Span,
    /// `None`: it started at once.
    pub said: Option<Said>,
}

/// Replays the workload, which is on one pool, and makes a forecast for each job that waits.
/// `checkers` see everything, too. In the order of submission; jobs that never started, and
/// those that lost their nodes before they could be forecast, are left out.
///
/// Costs two look-ahead runs for each moment at which jobs are submitted that wait.
///
/// # Errors
/// When the policy misbehaves or a checker objects.
pub fn forecast(
    workload: &Workload,
    settings: ReplaySettings,
    policy: &mut dyn Policy,
    options: ForecastOptions,
    checkers: Vec<Box<dyn Checker>>,
) -> Result<(Run, Vec<Forecasted>), SimError> {
    let made = Rc::new(RefCell::new(Vec::new()));
    let watcher = Watcher::new(workload, options, Rc::clone(&made));
    let mut all: Vec<Box<dyn Checker>> = vec![Box::new(watcher)];
    all.extend(checkers);
    let run = crate::run(workload, settings, policy, &mut all)?;
    let mut made = made.take();
    made.sort_by_key(|it: &Forecasted| it.job);
    Ok((run, made))
}
