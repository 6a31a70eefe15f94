//! How long a job will wait: a median and ranges that keep their word.
//!
//! A look-ahead over the queue says when a job would start if nothing more were submitted. What
//! came of earlier look-aheads corrects it, online (split conformal prediction with adaptive levels):
//!
//! - The score of a job is its wait over the expected wait. Scores of the last jobs are kept by class:
//!   expected wait, how much shorter learned lengths make it, width, requested time (`classes`). The
//!   finest class with enough scores gives the quantiles.
//! - Which quantile of the scores is read is adapted, one level for each bound (`levels`): a bound
//!   that was exceeded too often moves outwards, and one that was not moves inwards. So the bounds
//!   hold in the long run whatever is submitted, also where scores repeat (Gibbs and Candès, 2021, for
//!   single quantiles; here with results that come late).
//!
//! A result is known when the job starts, and that a bound was too low as soon as it is over. Nothing
//! is drawn at random, so that there is no seed. Integers throughout: the same calls give the same
//! ranges on every machine.

mod binomial;
mod classes;
mod levels;
#[cfg(test)]
mod tests;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{JobId, Span, Time};

pub use binomial::BinomialBounds;
use classes::Classes;
use levels::{BOUNDS, Levels};

/// The ranges of a forecast: so many starts of 100 are to be within.
pub const LEVELS: [u8; 3] = [50, 80, 95];

/// What is known when a job is submitted that has to wait. Spans are counted from the submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// When it is submitted.
    pub at: Time,
    /// The wait by a look-ahead with learned lengths.
    pub learned: Span,
    /// The wait by a look-ahead with requested times.
    pub requested: Span,
    /// Nodes that it asks for.
    pub processors: u32,
    /// The run time that it asks for.
    pub request: Span,
}

impl Question {
    /// The wait that scores refer to, at least 1 s: between both look-aheads. The one with requested
    /// times is too long, the other one knows nothing of jobs that are still to come.
    fn expected(&self) -> Span {
        Span(((self.learned.0.max(0) + self.requested.0.max(0)) / 2).max(1))
    }
}

/// A closed range of waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitRange {
    /// The shortest wait in it.
    pub low: Span,
    /// The longest wait in it.
    pub high: Span,
}

impl WaitRange {
    /// Whether the wait is in the range.
    pub fn has(&self, wait: Span) -> bool {
        self.low <= wait && wait <= self.high
    }

    /// The shortest range with both.
    fn around(self, other: WaitRange) -> WaitRange {
        WaitRange { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// From the one end to the other.
    pub fn width(&self) -> Span {
        Span(self.high.0 - self.low.0)
    }
}

/// The range from `low` to `high`. Where more waits are equal than the range is to have, its ends step
/// over these waits in turn and so cross: then the range is the end that left `centre`, and leaves the
/// equal waits out this time.
fn closed(low: Span, high: Span, centre: Span) -> WaitRange {
    match low <= high {
        true => WaitRange { low, high },
        false if low > centre => WaitRange { low, high: low },
        false => WaitRange { low: high, high },
    }
}

/// What is said of a job's wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitForecast {
    /// Half of such jobs wait no longer.
    pub median: Span,
    /// By [`LEVELS`]; each contains the one before.
    pub ranges: [WaitRange; 3],
}

impl WaitForecast {
    /// The bounds as the levels gave them, around `centre`, the median of the scores.
    fn of(bounds: [Span; BOUNDS], centre: Span) -> WaitForecast {
        let [low95, low80, low50, median, high50, high80, high95] = bounds;
        let half = closed(low50, high50, centre);
        let most = closed(low80, high80, centre).around(half);
        let nearly_all = closed(low95, high95, centre).around(most);
        let median = median.clamp(half.low, half.high);
        WaitForecast { median, ranges: [half, most, nearly_all] }
    }

    /// All bounds, beside the share of waits (in thousandths) that are to be no
    /// longer than each.
    pub fn quantiles(&self) -> [(u32, Span); BOUNDS] {
        let [half, most, nearly_all] = self.ranges;
        let bounds = [
            nearly_all.low,
            most.low,
            half.low,
            self.median,
            half.high,
            most.high,
            nearly_all.high,
        ];
        std::array::from_fn(|at| (levels::SHARES[at], bounds[at]))
    }
}

/// A forecast whose job has not started.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Open {
    question: Question,
    /// As each level gave them: not sorted.
    bounds: [Span; BOUNDS],
    forecast: WaitForecast,
    /// Before a change of the machine: nothing is learned from it any more.
    outdated: bool,
}

/// Makes forecasts, and learns from what came; see the module's text.
///
/// Memory: a thousand scores of each class, some hundred classes, and the jobs that wait. A
/// forecast takes a few look-ups, a result four insertions into a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitForecaster {
    classes: Classes,
    levels: Levels,
    open: BTreeMap<JobId, Open>,
    /// When an upper bound of a job is over.
    due: BTreeSet<(Time, JobId, usize)>,
}

impl WaitForecaster {
    /// A forecast for a job that might be submitted. To be called after [`WaitForecaster::pass_to`]
    /// for the same moment.
    pub fn forecast(&self, question: &Question) -> WaitForecast {
        let (bounds, centre) = self.bounds(question);
        WaitForecast::of(bounds, centre)
    }

    /// A job was submitted and waits: what is said of it, and compared with its start later.
    pub fn submitted(&mut self, job: JobId, question: Question) -> WaitForecast {
        let (bounds, centre) = self.bounds(&question);
        for at in levels::UPPER {
            self.due.insert((question.at + bounds[at] + Span(1), job, at));
        }
        let forecast = WaitForecast::of(bounds, centre);
        self.open.insert(job, Open { question, bounds, forecast, outdated: false });
        forecast
    }

    /// It is `now`. Bounds that are over are known to be exceeded.
    pub fn pass_to(&mut self, now: Time) {
        while let Some(first) = self.due.first().copied().filter(|(at, ..)| *at <= now) {
            self.due.remove(&first);
            if self.open.get(&first.1).is_some_and(|open| !open.outdated) {
                self.levels.exceeded(first.2);
            }
        }
    }

    /// A job has started now. [`WaitForecaster::pass_to`] was called for this moment.
    pub fn started(&mut self, job: JobId, now: Time) {
        let Some(open) = self.close(job).filter(|open| !open.outdated) else { return };
        let wait = now - open.question.at;
        for (at, bound) in open.bounds.iter().enumerate() {
            match wait <= *bound {
                true if levels::LOWER.contains(&at) && wait == *bound => self.levels.exceeded(at),
                true => self.levels.held(at),
                false if levels::UPPER.contains(&at) => {} // known since it was over
                false => self.levels.exceeded(at),
            }
        }
        self.levels.ranged(open.forecast.ranges.map(|range| range.has(wait)));
        self.classes.learn(&open.question, wait);
    }

    /// A job will not start any more, or waits for another reason than the queue.
    pub fn left(&mut self, job: JobId) {
        self.close(job);
    }

    /// Nodes came or went for good, or the scheduler changed: what was learned before counts no more.
    pub fn reset(&mut self) {
        self.classes = Classes::default();
        self.levels = Levels::default();
        self.open.values_mut().for_each(|open| open.outdated = true);
    }

    fn close(&mut self, job: JobId) -> Option<Open> {
        let open = self.open.remove(&job)?;
        for at in levels::UPPER {
            self.due.remove(&(open.question.at + open.bounds[at] + Span(1), job, at));
        }
        Some(open)
    }

    /// The bounds, and the median without any correction.
    fn bounds(&self, question: &Question) -> ([Span; BOUNDS], Span) {
        self.classes.bounds(question, &self.levels)
    }
}
