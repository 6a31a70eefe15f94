//! The online linear learner of a published study (Gaussier, Glesser, Reis and Trystram, "Improving
//! backfilling by using machine learning to predict running times", SC 2015), as its schedules need
//! it: number by number.
//!
//! Features of the job, of its user's history and of his running jobs, their products in pairs and
//! their squares, weighted by normalized adaptive gradient descent (Ross, Mineiro and Langford,
//! 2013). An error counts by its square, a hundred times as much if the prediction is too long, and
//! the more the wider and shorter the job is.

use std::collections::BTreeMap;

use tradewind_model::{JobId, Span, Time};

use super::{Learner, Submission};

/// Features before products.
const PLAIN: usize = 19;
/// All features: those, the products of the 2nd to the 17th in pairs, and squares of all but the
/// first.
const ALL: usize = PLAIN + 16 * 15 / 2 + PLAIN - 1;
/// The step of the descent.
const ETA: f64 = 5_000.0;
/// How much large weights cost.
const REGULARIZATION: f64 = 4_000_000_000.0;
/// What a prediction that is too long costs; one that is too short costs 1.
const TOO_LONG: f64 = 100.0;
const TINY: f64 = 0.000_000_001;

/// See the module's text. Memory: three runs of each user, and the features of jobs that have not
/// ended. A prediction and a lesson take a few hundred operations.
#[derive(Debug, Default)]
pub struct PublishedLinear {
    model: Descent,
    users: BTreeMap<i64, UserHistory>,
    active: BTreeMap<JobId, ActiveJob>,
}

/// A job that has not ended.
#[derive(Debug)]
struct ActiveJob {
    what: Submission,
    features: Box<[f64; ALL]>,
    started: Option<Time>,
}

/// What is remembered of a user.
#[derive(Debug, Default)]
struct UserHistory {
    /// Submissions and run times of the last jobs that ended, the latest first.
    last: [Option<(Time, Span)>; 3],
    ended: f64,
    run: f64,
    processors: f64,
    /// When the last job ended.
    at: Option<Time>,
    /// Jobs that run: since when, and on how many processors.
    running: BTreeMap<JobId, (Time, u32)>,
}

impl UserHistory {
    /// What one of the last jobs took, as the study reckons it: a job that must have ended by now
    /// counts from its submission.
    fn lasted(&self, place: usize, what: &Submission) -> f64 {
        let span = match self.last[place] {
            Some((submit, run)) if submit + run > what.at => run,
            Some((submit, _)) => what.at - submit,
            None => what.requested,
        };
        span.min(what.requested).0 as f64
    }

    fn features(&self, what: &Submission) -> Box<[f64; ALL]> {
        let mut x = Box::new([0.0; ALL]);
        x[0] = 1.0;
        (x[1], x[2], x[3]) = (self.lasted(0, what), self.lasted(1, what), self.lasted(2, what));
        x[4] = what.requested.0 as f64;
        let half = 0.5 * (x[1] + x[2]);
        (x[5], x[6]) = match self.last {
            [_, _, Some(_)] => (half, 0.33 * (x[1] + x[2] + x[3])),
            [_, Some(_), _] => (half, half),
            [Some(_), ..] => (x[1], x[1]),
            _ => (x[4], x[4]),
        };
        let width = f64::from(what.processors);
        if self.ended > 0.0 {
            x[7] = self.run / self.ended;
            x[9] = width / (self.processors / self.ended);
        }
        x[8] = self.at.map_or(0.0, |at| (what.at - at).0 as f64);
        let running = self.running.values().filter(|(start, _)| *start < what.at);
        for (start, processors) in running {
            let elapsed = (what.at - *start).0 as f64;
            x[10] += f64::from(*processors);
            x[11] += elapsed;
            x[12] += 1.0;
            x[13] = x[13].max(elapsed);
        }
        let (day, week) = (24.0 * 3_600.0, 24.0 * 3_600.0 * 7.0);
        let angle = |period: f64| {
            2.0 * std::f64::consts::PI * (what.at.0.rem_euclid(period as i64) as f64) / period
        };
        (x[14], x[15]) = (angle(day).cos(), angle(day).sin());
        (x[16], x[17]) = (angle(week).cos(), angle(week).sin());
        x[18] = width;
        let mut at = PLAIN;
        for one in 1..17 {
            for other in one + 1..17 {
                x[at] = x[one] * x[other];
                at += 1;
            }
        }
        for one in 1..PLAIN {
            x[at] = x[one] * x[one];
            at += 1;
        }
        x
    }

    fn learn(&mut self, what: &Submission, run: Span, at: Time) {
        let [first, second, _] = self.last;
        self.last = [Some((what.at, run)), first, second];
        self.ended += 1.0;
        self.run += run.0 as f64;
        self.processors += f64::from(what.processors);
        self.at = Some(at);
    }
}

impl Learner for PublishedLinear {
    fn submitted(&mut self, job: JobId, what: Submission) -> Span {
        let features = self.users.entry(what.user).or_default().features(&what);
        let predicted = self.model.predict(&features).abs();
        self.active.insert(job, ActiveJob { what, features, started: None });
        // Towards zero, and within the range of times.
        Span(predicted as i64).max(Span(1)).min(what.requested)
    }

    fn started(&mut self, job: JobId, at: Time) {
        let Some(active) = self.active.get_mut(&job) else { return };
        active.started = Some(at);
        let user = self.users.entry(active.what.user).or_default();
        user.running.insert(job, (at, active.what.processors));
    }

    fn interrupted(&mut self, job: JobId) {
        let Some(active) = self.active.get_mut(&job) else { return };
        active.started = None;
        self.users.entry(active.what.user).or_default().running.remove(&job);
    }

    fn left(&mut self, job: JobId) {
        self.interrupted(job);
        self.active.remove(&job);
    }

    fn ended(&mut self, job: JobId, run: Span, at: Time) {
        let Some(ActiveJob { what, features, .. }) = self.active.remove(&job) else { return };
        let user = self.users.entry(what.user).or_default();
        user.running.remove(&job);
        user.learn(&what, run, at);
        let weight = 5.0 + (f64::from(what.processors) / run.max(Span(1)).0 as f64).ln();
        self.model.learn(&features, run.0 as f64, weight);
    }
}

/// Normalized adaptive gradient descent.
#[derive(Debug)]
struct Descent {
    weights: Box<[f64; ALL]>,
    /// The largest values of features so far.
    scale: Box<[f64; ALL]>,
    /// Squares of gradients, added up.
    gradients: Box<[f64; ALL]>,
    /// Squares of scaled features, added up.
    norm: f64,
    count: f64,
}

impl Default for Descent {
    fn default() -> Descent {
        let tiny = || Box::new([TINY; ALL]);
        Descent {
            weights: Box::new([0.0; ALL]),
            scale: tiny(),
            gradients: tiny(),
            norm: TINY,
            count: 1.0,
        }
    }
}

impl Descent {
    fn predict(&self, x: &[f64; ALL]) -> f64 {
        self.weights.iter().zip(x).fold(0.0, |sum, (weight, x)| sum + weight * x)
    }

    fn learn(&mut self, x: &[f64; ALL], truth: f64, weight: f64) {
        for ((w, scale), x) in self.weights.iter_mut().zip(self.scale.iter_mut()).zip(x) {
            if x.abs() > *scale {
                *w *= *scale / x.abs();
                *scale = x.abs();
            }
        }
        let squares = x.iter().zip(self.scale.iter()).map(|(x, scale)| x * x / (scale * scale));
        self.norm += squares.fold(0.0, |sum, square| sum + square);
        let error = self.predict(x) - truth;
        let slope = |x: f64| match error {
            error if error > 0.0 => weight * (TOO_LONG * 2.0 * x * error),
            error if error < 0.0 => -weight * (2.0 * x * -error),
            _ => 0.0,
        };
        let Descent { weights, scale, gradients, norm, count } = self;
        let each = weights.iter_mut().zip(scale.iter()).zip(gradients.iter_mut()).zip(x);
        for (((w, scale), gradient), x) in each {
            let loss = slope(*x) + REGULARIZATION * *w;
            *gradient += loss * loss;
            *w += -ETA * loss / ((*norm * *gradient / *count).sqrt() * *scale);
        }
        *count += 2.0;
    }
}
