//! How long a job will wait: a median and ranges that keep their word.
//!
//! A look-ahead over the queue says when a job would start if nothing more were submitted. What
//! came of earlier look-aheads corrects it, online (split conformal prediction with adaptive levels):
//!
//! - The score of a job is its wait over the expected wait. Scores of the last jobs are kept by class:
//!   expected wait, how much shorter learned lengths make it, width, requested time (`classes`). The
//!   finest class that knows enough gives the quantiles.
//! - Jobs that wait at the same time wait alike and are one result. What counts is how many waited one
//!   after the other: of few such results ranges are wide, as the next one is likely to be beyond them
//!   all.
//! - No bound is beyond a ceiling: the look-ahead with requested times, times what 998 of the last
//!   1,000 waits did not exceed of it.
//! - Which quantile of the scores is read is adapted, one level for each bound (`levels`): a bound
//!   that was exceeded too often moves outwards, and one that was not moves inwards. So the bounds
//!   hold in the long run whatever is submitted (Gibbs and Candès, 2021, for single quantiles; here with
//!   results that come late: the more forecasts are open, the slower levels move, and the wider
//!   ranges are).
//! - Where scores repeat, each job has a place among equal ones, and its range leaves them out if that
//!   place is not in it (smoothed conformal prediction, with places that are spread evenly instead of
//!   drawn ones).
//!
//! That a bound was too low is known as soon as it is over, everything else when the job starts.
//! Nothing is drawn at random, so that there is no seed. Integers throughout: the same calls give the
//! same ranges on every machine.

mod binomial;
mod classes;
mod levels;
mod memory;
#[cfg(test)]
mod tests;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{JobId, Span, Time};

pub use binomial::BinomialBounds;
use classes::{Ceiling, ScoreClasses};
use levels::{BOUNDS, Levels};
pub use memory::{LevelMemory, OpenMemory, ScoreMemory};

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

/// With fewer scores, even the range of all of them is none for 95 of 100.
const LEAST: usize = 40;

/// What a forecast whose job has not started is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It was made from too few results: it teaches, and its ranges are nothing to rely on.
    Guessed,
    /// It was made from enough results.
    Informed,
    /// It was made before a change of the machine: it teaches nothing any more.
    Outdated,
}

/// A forecast whose job has not started.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenForecast {
    question: Question,
    /// As each level gave them: not sorted.
    bounds: [Span; BOUNDS],
    /// The median of the scores.
    centre: Span,
    standing: Standing,
}

impl OpenForecast {
    fn teaches(&self) -> bool {
        self.standing != Standing::Outdated
    }

    /// The first moment at which a bound is exceeded: a lower one by a wait that is as long.
    fn over(&self, at: usize) -> Time {
        let bound = self.question.at + self.bounds[at];
        if levels::LOWER.contains(&at) { bound } else { bound + Span(1) }
    }
}

/// A forecast that was made from enough results, and what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitResult {
    /// What was said.
    pub forecast: WaitForecast,
    /// From the submission to the start.
    pub wait: Span,
}

/// Makes forecasts, and learns from what came; see the module's text.
///
/// Memory: a thousand scores of each class, some hundred classes (at most 4,096), and the jobs that
/// wait. A forecast takes a few look-ups, a result five insertions into a window. `K` is what jobs
/// are known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitForecaster<K = JobId> {
    classes: ScoreClasses,
    levels: Levels,
    open: BTreeMap<K, OpenForecast>,
    /// When a bound of a job is over.
    due: BTreeSet<(Time, K, usize)>,
    /// Jobs that started and taught.
    started: u64,
}

impl<K> Default for WaitForecaster<K> {
    fn default() -> WaitForecaster<K> {
        WaitForecaster {
            classes: ScoreClasses::default(),
            levels: Levels::default(),
            open: BTreeMap::new(),
            due: BTreeSet::new(),
            started: 0,
        }
    }
}

impl<K: Copy + Ord> WaitForecaster<K> {
    /// One that knows nothing and bounds no range by a ceiling, as before there was one: what was
    /// learned then is learned again in the same way.
    pub fn without_ceiling() -> WaitForecaster<K> {
        let classes = ScoreClasses { ceiling: Ceiling::Without, ..ScoreClasses::default() };
        WaitForecaster { classes, ..WaitForecaster::default() }
    }

    /// From now on there is a ceiling.
    pub fn keep_ceiling(&mut self) {
        self.classes.ceiling = Ceiling::Kept;
    }

    /// Whether enough forecasts have ended for ranges to be relied on.
    pub fn is_informed(&self) -> bool {
        self.results() >= LEAST
    }

    /// Forecasts that have ended, as far as ranges are made from them: at most a thousand.
    pub fn results(&self) -> usize {
        self.started.min(window::MOST as u64) as usize
    }

    /// How many results there have to be before [`WaitForecaster::is_informed`].
    pub const fn needed() -> usize {
        LEAST
    }

    /// Whether a forecast for this job is open.
    pub fn is_open(&self, job: K) -> bool {
        self.open.contains_key(&job)
    }

    /// A forecast for a job that might be submitted. To be called after [`WaitForecaster::pass_to`]
    /// for the same moment.
    pub fn forecast(&self, question: &Question) -> WaitForecast {
        let (bounds, centre) = self.bounds(question);
        WaitForecast::of(bounds, centre)
    }

    /// A job was submitted and waits: what is said of it, and compared with its start later.
    pub fn submitted(&mut self, job: K, question: Question) -> WaitForecast {
        let (bounds, centre) = self.bounds(&question);
        let standing = if self.is_informed() { Standing::Informed } else { Standing::Guessed };
        let open = OpenForecast { question, bounds, centre, standing };
        for at in 0..BOUNDS {
            self.due.insert((open.over(at), job, at));
        }
        self.open.insert(job, open);
        WaitForecast::of(bounds, centre)
    }

    /// It is `now`. Bounds that are over are known to be exceeded.
    pub fn pass_to(&mut self, now: Time) {
        while let Some(first) = self.due.first().copied().filter(|(at, ..)| *at <= now) {
            self.due.remove(&first);
            if self.open.get(&first.1).is_some_and(OpenForecast::teaches) {
                self.levels.exceeded(first.2, self.open.len());
            }
        }
    }

    /// A job has started. [`WaitForecaster::pass_to`] was called for this moment, or for a later one
    /// if the start was not known sooner. The result, if its forecast was made from enough others.
    pub fn started(&mut self, job: K, start: Time) -> Option<WaitResult> {
        let known = self.exceeded(job);
        let alike = self.open.len();
        let open = self.close(job).filter(OpenForecast::teaches)?;
        for (at, known) in known.into_iter().enumerate() {
            match (start >= open.over(at), known) {
                (true, true) => {} // since it was over
                (true, false) => self.levels.exceeded(at, alike),
                (false, true) => self.levels.held_after_all(at, alike),
                (false, false) => self.levels.held(at, alike),
            }
        }
        let wait = start - open.question.at;
        let forecast = WaitForecast::of(open.bounds, open.centre);
        self.levels.ranged(forecast.ranges.map(|range| range.has(wait)));
        self.classes.learn(&open.question, wait);
        self.started = self.started.saturating_add(1);
        (open.standing == Standing::Informed).then_some(WaitResult { forecast, wait })
    }

    /// Which bounds of the job are known to be exceeded.
    fn exceeded(&self, job: K) -> [bool; BOUNDS] {
        let open = self.open.get(&job);
        let is_due = |open: &OpenForecast, at| self.due.contains(&(open.over(at), job, at));
        std::array::from_fn(|at| open.is_some_and(|open| !is_due(open, at)))
    }

    /// A job will not start any more, or waits for another reason than the queue.
    pub fn left(&mut self, job: K) {
        self.close(job);
    }

    /// Nodes came or went for good, or the scheduler changed: what was learned before counts no more.
    pub fn reset(&mut self) {
        self.classes = ScoreClasses { ceiling: self.classes.ceiling, ..ScoreClasses::default() };
        self.levels = Levels::default();
        self.started = 0;
        self.open.values_mut().for_each(|open| open.standing = Standing::Outdated);
    }

    fn close(&mut self, job: K) -> Option<OpenForecast> {
        let open = self.open.remove(&job)?;
        for at in 0..BOUNDS {
            self.due.remove(&(open.over(at), job, at));
        }
        Some(open)
    }

    /// The bounds, and the median without any correction.
    fn bounds(&self, question: &Question) -> ([Span; BOUNDS], Span) {
        let open = self.open.len();
        let rank = levels::rank(self.started.wrapping_add(open as u64));
        self.classes.bounds(question, &self.levels, (open, rank))
    }
}
