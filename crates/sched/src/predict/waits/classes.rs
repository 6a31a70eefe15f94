//! Scores by classes of jobs, from coarse to fine.

use std::collections::BTreeMap;

use tradewind_model::{Span, Time};

use super::Question;
use super::levels::{BOUNDS, LOWER, Levels, SHARES, ScoreReading};
use super::window::Window;

/// A score of 1: the wait was as expected.
const ONE: i64 = 1 << 20;
/// Added to waits, so that seconds more or less do not matter.
const GRACE: i64 = 60;
/// A class has a say from so many scores on,
const ENOUGH: usize = 100;
/// and from so many on of jobs that waited one after the other.
const APART: i64 = 30;
/// From so many scores of jobs that waited together on, not all are kept.
const TOGETHER: i64 = 16;
/// So many classes are kept.
const MOST: usize = 4_096;
/// Waits are known where so many are, and this share of them is exactly as the look-ahead with
/// requested times said.
const EXACT: (usize, (usize, usize)) = (40, (3, 4));

/// How fine a class is, and what its jobs have in common.
pub(super) type ClassKey = (u8, [u8; 4]);
/// The class of all jobs.
const ALL: ClassKey = (0, [0; 4]);
/// All jobs again, with their waits over those of the look-ahead with requested times: hardly any is
/// longer, so that no bound has to be.
const CEILING: ClassKey = (4, [0; 4]);
/// Of a thousand waits so many are not beyond the ceiling.
const BELOW: usize = 998;

/// A window of scores for each class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ScoreClasses {
    pub(super) windows: BTreeMap<ClassKey, ClassScores>,
    pub(super) ceiling: Ceiling,
}

/// Whether bounds have a ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Ceiling {
    #[default]
    Kept,
    Without,
}

/// The scores of a class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ClassScores {
    pub(super) window: Window,
    /// When the last job that waited after another one started, and how many scores there were since
    /// it was submitted.
    pub(super) until: Time,
    pub(super) count: i64,
    /// Jobs that waited one after the other.
    pub(super) apart: i64,
}

impl ClassScores {
    /// Jobs that wait at the same time wait alike: they are one result, and the more of them there
    /// are, the fewer scores are kept, so that the window has scores of other times, too.
    fn add(&mut self, at: Time, wait: Span, score: i64) {
        if at >= self.until {
            (self.until, self.count) = (at + wait.max(Span(1)), 0);
            self.apart += 1;
        }
        self.count += 1;
        if self.count % (1 + self.count / TOGETHER) == 0 {
            self.window.add(score);
        }
    }

    /// Whether nearly all scores are 1.
    fn is_exact(&self) -> bool {
        let (least, (part, whole)) = EXACT;
        let exact = self.window.equal(ONE).len();
        self.window.len() >= least && exact * whole >= self.window.len() * part
    }
}

impl ScoreClasses {
    /// A job waited for so long.
    pub(super) fn learn(&mut self, question: &Question, wait: Span) {
        let score = score(question.expected(), wait);
        for class in classes(question) {
            self.make_room(class);
            self.windows.entry(class).or_default().add(question.at, wait, score);
        }
        if self.ceiling == Ceiling::Without {
            return;
        }
        let beside_requested = self::score(question.requested, wait);
        self.windows.entry(CEILING).or_default().add(question.at, wait, beside_requested);
    }

    /// A wait that hardly any job exceeds of which a look-ahead with requested times says as much.
    fn ceiling(&self, question: &Question) -> Span {
        let is_kept = self.ceiling == Ceiling::Kept;
        let window = self.windows.get(&CEILING).filter(|_| is_kept).map(|seen| &seen.window);
        let window = window.filter(|window| window.len() >= ENOUGH);
        let score = window.and_then(|window| window.nth(window.len() * BELOW / 1_000));
        score.map_or(Span::MAX, |score| wait(question.requested, score))
    }

    /// Where there are too many classes, that which had no score for longest goes.
    fn make_room(&mut self, class: ClassKey) {
        if self.windows.len() < MOST || self.windows.contains_key(&class) {
            return;
        }
        let oldest = self.windows.iter().min_by_key(|(_, seen)| seen.until);
        if let Some(oldest) = oldest.map(|(class, _)| *class) {
            self.windows.remove(&oldest);
        }
    }

    /// The scores that say most of this job, and the wait that they refer to.
    fn best(&self, question: &Question) -> Option<(&ClassScores, Span)> {
        if let Some(exact) = self.windows.get(&CEILING).filter(|seen| seen.is_exact()) {
            return Some((exact, question.requested));
        }
        let mut finest_first = classes(question).into_iter().rev();
        let seen = finest_first.find_map(|class @ (fineness, _)| {
            let seen = self.windows.get(&class)?;
            let enough = seen.window.len() >= ENOUGH && seen.apart >= APART;
            (fineness == 0 || enough).then_some(seen)
        });
        seen.map(|seen| (seen, question.expected()))
    }

    /// Where the levels put the bounds of this job's wait, and the median of its class. `rank`: where
    /// its score is among equal ones.
    pub(super) fn bounds(
        &self,
        question: &Question,
        levels: &Levels,
        (open, rank): (usize, i64),
    ) -> ([Span; BOUNDS], Span) {
        let guess = guess(question);
        let Some((seen, expected)) = self.best(question) else {
            return (guess, question.expected());
        };
        let steady = seen.is_exact();
        let ceiling = self.ceiling(question);
        let bound = |at: usize| {
            let reading = ScoreReading { open, apart: seen.apart, rank, steady };
            let Some(quantile) = levels.score(at, &seen.window, reading) else { return guess[at] };
            let said = wait(expected, quantile.score).min(ceiling);
            let said = match (quantile.excluded, LOWER.contains(&at)) {
                (false, _) => said,
                (true, true) => Span(said.0 + 1),
                (true, false) => Span((said.0 - 1).max(0)),
            };
            match (steady || seen.apart >= least(at), LOWER.contains(&at)) {
                (true, _) => said,
                (false, true) => said.min(guess[at]),
                (false, false) => said.max(guess[at]),
            }
        };
        let centre = seen.window.nth(seen.window.len() / 2);
        let centre = centre.map_or(expected, |score| wait(expected, score));
        (std::array::from_fn(bound), centre)
    }
}

/// Bounds without any score. They cover more than they say on most logs.
fn guess(question: &Question) -> [Span; BOUNDS] {
    let (one, other) = (question.learned.0.max(0), question.requested.0.max(0));
    let (early, late) = (one.min(other), one.max(other).max(1));
    let expected = question.expected().0;
    let most = late.saturating_mul(2).saturating_add(300);
    [0, early / 8, early / 2, expected, late, late + late / 4 + 60, most].map(Span)
}

/// Results that do not depend on each other that it takes for a bound: of fewer, not even the
/// greatest is exceeded as rarely. None for the median.
fn least(at: usize) -> i64 {
    let share = i64::from(SHARES[at].min(1_000 - SHARES[at]));
    if share == 500 { 0 } else { 1_000 / share - 1 }
}

/// The score of a wait, rounded up so that [`wait`] gives it back.
fn score(expected: Span, wait: Span) -> i64 {
    let unit = i128::from(expected.0.max(0) + GRACE);
    let wait = i128::from(wait.0.max(0) + GRACE) * i128::from(ONE);
    i64::try_from((wait + unit - 1) / unit).unwrap_or(i64::MAX)
}

/// The wait with this score.
fn wait(expected: Span, score: i64) -> Span {
    let expected = i128::from(expected.0.max(0) + GRACE);
    let wait = expected * i128::from(score) / i128::from(ONE) - i128::from(GRACE);
    Span(wait.clamp(0, i128::from(Span::MAX.0)) as i64)
}

/// The classes of a job: all jobs; the expected wait by powers of two; also how many times as long the
/// wait is with requested times as with learned ones; also width and requested time by powers of four.
fn classes(question: &Question) -> [ClassKey; 4] {
    let (learned, requested) = (question.learned.0.max(0), question.requested.0.max(0));
    let wait = digits(question.expected().0 + GRACE);
    let ratio = digits((requested + GRACE) / (learned + GRACE));
    let width = digits(i64::from(question.processors)) / 2;
    let length = digits(question.request.0.max(60) / 60) / 2;
    [ALL, (1, [wait, 0, 0, 0]), (2, [wait, ratio, 0, 0]), (3, [wait, ratio, width, length])]
}

/// Binary digits of a number.
fn digits(number: i64) -> u8 {
    (64 - number.max(0).leading_zeros()) as u8
}
