//! Our own learner: how long jobs of the same class ran, from general classes to special ones.
//!
//! Up to seven levels of classes: all jobs that ask for about as long, the jobs of the account, those
//! of the user, those of them that ask for exactly as long, and those of them that are as wide; the
//! user's jobs of the same name; those with the same script on as many nodes. Accounts, names and
//! scripts have a level only where they are known ([`JobTraits`](super::JobTraits)). Each level keeps a
//! histogram of run times in which older runs count less, and what it says is mixed with what the
//! level above says: the fewer runs a class has seen, the more the level above counts (a prior of so
//! many runs).
//! So a prediction is a whole distribution ([`RunForecast`]), and a new class begins with what is known
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
use classes::RunClasses;
use spread::{Reading, Spread};
use trust::Trust;

/// How long a job is expected to run: from 1 s up to its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunForecast {
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

impl RunForecast {
    fn of(spread: &Spread, requested: Span) -> RunForecast {
        let Reading { median, late, mean, inverse } = spread.reading();
        let whole = |seconds: f64| Span(seconds as i64).max(Span(1)).min(requested);
        RunForecast { median, late, mean: whole(mean), turn: whole((mean / inverse).sqrt()) }
    }

    /// Of a job that is expected to run as long as it asks for.
    fn requested(requested: Span) -> RunForecast {
        RunForecast { median: requested, mean: requested, late: requested, turn: requested }
    }
}

/// A prediction: what is expected, and what a lesson needs of it once the job has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prediction {
    /// What is expected.
    pub forecast: RunForecast,
    /// What the classes said, trusted or not.
    pub median: Span,
}

/// See the module's text. A prediction and a lesson take some hundred operations; memory is bounded
/// for each user and account, and grows with these. As a [`Learner`] it also remembers the jobs that have not
/// ended; those who do that themselves need [`Learned::predict`] and `learn` only.
#[derive(Debug, Default)]
pub struct Learned {
    classes: RunClasses,
    trust: BTreeMap<i64, Trust>,
    active: BTreeMap<JobId, (Submission, Span)>,
}

impl Learned {
    /// How long such a job is expected to run.
    pub fn predict(&self, what: &Submission) -> Prediction {
        self.predict_up_to(what, what.requested)
    }

    /// The same, where runs are counted in another unit than requests: its request is `longest` of
    /// these, at least 1 s.
    pub fn predict_up_to(&self, what: &Submission, longest: Span) -> Prediction {
        let forecast = RunForecast::of(&self.classes.spread(what, longest), longest);
        let median = forecast.median;
        match self.trust.get(&what.user).is_none_or(Trust::prefers_predictions) {
            true => Prediction { forecast, median },
            false => Prediction { forecast: RunForecast::requested(longest), median },
        }
    }

    /// Such a job is over after `run`; `median` is that of its prediction.
    pub(crate) fn learn(&mut self, what: &Submission, median: Span, run: Span) {
        self.learn_up_to(what, what.requested, (median, run));
    }

    /// The same, where runs are counted in another unit than requests: its request was `longest` of
    /// these where it ran.
    pub fn learn_up_to(&mut self, what: &Submission, longest: Span, (median, run): (Span, Span)) {
        self.classes.learn(what, run);
        self.trust.entry(what.user).or_default().learn(median, longest, run);
    }
}

impl Learner for Learned {
    fn submitted(&mut self, job: JobId, what: Submission) -> Span {
        let Prediction { forecast, median } = self.predict(&what);
        self.active.insert(job, (what, median));
        forecast.median
    }

    fn left(&mut self, job: JobId) {
        self.active.remove(&job);
    }

    fn ended(&mut self, job: JobId, run: Span, _: Time) {
        let Some((what, median)) = self.active.remove(&job) else { return };
        self.learn(&what, median, run);
    }
}

#[cfg(test)]
mod tests;
