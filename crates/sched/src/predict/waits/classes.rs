//! Scores by classes of jobs, from coarse to fine.

use std::collections::BTreeMap;

use tradewind_model::{Span, Time};

use super::Question;
use super::levels::{BOUNDS, Levels};
use super::window::Window;

/// A score of 1: the wait was as expected.
const ONE: i128 = 1 << 20;
/// Added to waits, so that seconds more or less do not matter.
const GRACE: i64 = 60;
/// A class has a say from so many scores on.
const ENOUGH: usize = 100;
/// From so many scores of an hour on, not all are kept.
const TOGETHER: i64 = 32;
/// So many classes are kept.
const MOST: usize = 4_096;
/// Without any score: expected waits are multiplied by these eighths.
const GUESS: [i64; BOUNDS] = [0, 0, 4, 8, 16, 32, 64];

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
    /// The hour of the last score's submission, and how many scores it had so far.
    pub(super) hour: i64,
    pub(super) count: i64,
}

impl ClassScores {
    /// Jobs that are submitted together wait alike: the more of them, the fewer count, so that the
    /// window has scores of other hours, too.
    fn add(&mut self, at: Time, score: i64) {
        let hour = at.0.div_euclid(3_600);
        if hour != self.hour {
            (self.hour, self.count) = (hour, 0);
        }
        self.count += 1;
        if self.count % (1 + self.count / TOGETHER) == 0 {
            self.window.add(score);
        }
    }
}

impl ScoreClasses {
    /// Scores of all jobs that are kept.
    pub(super) fn results(&self) -> usize {
        self.windows.get(&ALL).map_or(0, |seen| seen.window.len())
    }

    /// A job waited for so long.
    pub(super) fn learn(&mut self, question: &Question, wait: Span) {
        let score = score(question.expected(), wait);
        for class in classes(question) {
            self.make_room(class);
            self.windows.entry(class).or_default().add(question.at, score);
        }
        if self.ceiling == Ceiling::Without {
            return;
        }
        let beside_requested = self::score(question.requested, wait);
        self.windows.entry(CEILING).or_default().add(question.at, beside_requested);
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
        let oldest = self.windows.iter().min_by_key(|(_, seen)| seen.hour);
        if let Some(oldest) = oldest.map(|(class, _)| *class) {
            self.windows.remove(&oldest);
        }
    }

    /// Where the levels put the bounds of this job's wait, and the median of its class.
    pub(super) fn bounds(&self, question: &Question, levels: &Levels) -> ([Span; BOUNDS], Span) {
        let expected = question.expected();
        let mut finest_first = classes(question).into_iter().rev();
        let window = finest_first.find_map(|class @ (fineness, _)| {
            let window = &self.windows.get(&class)?.window;
            (fineness == 0 || window.len() >= ENOUGH).then_some(window)
        });
        let ceiling = self.ceiling(question);
        let bound = |at: usize| match window.and_then(|window| levels.score(at, window)) {
            Some(score) => wait(expected, score).min(ceiling),
            None => Span(expected.0.saturating_mul(GUESS[at]) / 8).min(Span::MAX),
        };
        let centre = window.and_then(|window| window.nth(window.len() / 2));
        let centre = centre.map_or(expected, |score| wait(expected, score));
        (std::array::from_fn(bound), centre)
    }
}

/// The score of a wait, rounded up so that [`wait`] gives it back.
fn score(expected: Span, wait: Span) -> i64 {
    let unit = i128::from(expected.0.max(0) + GRACE);
    let wait = i128::from(wait.0.max(0) + GRACE) * ONE;
    i64::try_from((wait + unit - 1) / unit).unwrap_or(i64::MAX)
}

/// The wait with this score.
fn wait(expected: Span, score: i64) -> Span {
    let expected = i128::from(expected.0.max(0) + GRACE);
    let wait = expected * i128::from(score) / ONE - i128::from(GRACE);
    Span(wait.clamp(0, i128::from(Span::MAX.0)) as i64)
}

/// The classes of a job: all jobs; the expected wait by powers of two; also how much longer the wait
/// is with requested times; also width and requested time by powers of four.
fn classes(question: &Question) -> [ClassKey; 4] {
    let expected = question.expected().0 + GRACE;
    let ratio = ((question.requested.0.max(0) + GRACE).saturating_mul(4) / expected).min(15);
    let (wait, ratio) = (digits(expected), digits(ratio));
    let width = digits(i64::from(question.processors)) / 2;
    let length = digits(question.request.0.max(60) / 60) / 2;
    [ALL, (1, [wait, 0, 0, 0]), (2, [wait, ratio, 0, 0]), (3, [wait, ratio, width, length])]
}

/// Binary digits of a number.
fn digits(number: i64) -> u8 {
    (64 - number.max(0).leading_zeros()) as u8
}
