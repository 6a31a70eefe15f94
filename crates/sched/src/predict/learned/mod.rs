//! Our own learner: how long jobs of the same class ran, from general classes to special ones.
//!
//! Four levels of classes: all jobs that ask for about as long, the jobs of the user, those of them
//! that ask for exactly as long, and those of them that are as wide. Each level keeps a histogram of
//! run times in which older runs count less, and what it says is mixed with what the level above
//! says: the fewer runs a class has seen, the more the level above counts (a prior of so many runs).
//! So a prediction is a whole distribution ([`Forecast`]), and a new class begins with what is known
//! of its user, a new user with what is known of all.
//!
//! A [`Trust`] in each user compares predictions with requests by the runs that came, and prefers
//! requests as long as predictions were off by more than twice as much.

mod classes;
mod spread;
mod trust;

use std::collections::BTreeMap;

use tradewind_model::{JobId, Span, Time};

use super::{Learner, Submission};
use classes::Classes;
use spread::Spread;
use trust::Trust;

/// How long a job is expected to run: from 1 s up to its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forecast {
    /// As many run longer as shorter.
    pub median: Span,
    /// The mean.
    pub mean: Span,
    /// One in a hundred runs longer.
    pub late: Span,
    /// Jobs for which this is less should start first if the mean bounded slowdown is to be small:
    /// the geometric mean of the mean and of the harmonic mean.
    pub turn: Span,
}

impl Forecast {
    fn of(spread: &Spread, requested: Span) -> Forecast {
        let (mean, inverse) = spread.means();
        let whole = |seconds: f64| Span(seconds as i64).max(Span(1)).min(requested);
        Forecast {
            median: spread.quantile(0.5),
            mean: whole(mean),
            late: spread.quantile(0.99),
            turn: whole((mean / inverse).sqrt()),
        }
    }
}

/// See the module's text. A prediction and a lesson take some hundred operations; memory is bounded
/// for each user, and grows with users and with jobs that have not ended.
#[derive(Debug, Default)]
pub struct Learned {
    classes: Classes,
    trust: BTreeMap<i64, Trust>,
    active: BTreeMap<JobId, Active>,
}

/// A job that has not ended.
#[derive(Debug)]
struct Active {
    what: Submission,
    /// What the classes said, trusted or not.
    median: Span,
}

impl Learned {
    /// A job is submitted: how long it is expected to run.
    pub fn forecast(&mut self, job: JobId, what: Submission) -> Forecast {
        let spread = self.classes.spread(&what);
        let forecast = Forecast::of(&spread, what.requested);
        self.active.insert(job, Active { what, median: forecast.median });
        match self.trust.get(&what.user).is_none_or(Trust::prefers_predictions) {
            true => forecast,
            false => {
                let Submission { requested, .. } = what;
                Forecast { median: requested, mean: requested, late: requested, turn: requested }
            }
        }
    }
}

impl Learner for Learned {
    fn submitted(&mut self, job: JobId, what: Submission) -> Span {
        self.forecast(job, what).median
    }

    fn left(&mut self, job: JobId) {
        self.active.remove(&job);
    }

    fn ended(&mut self, job: JobId, run: Span, _: Time) {
        let Some(Active { what, median }) = self.active.remove(&job) else { return };
        self.classes.learn(&what, run);
        self.trust.entry(what.user).or_default().learn(median, what.requested, run);
    }
}

#[cfg(test)]
mod tests;
