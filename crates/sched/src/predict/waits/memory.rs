//! What a forecaster remembers, as plain numbers: to be written down and read again.

use tradewind_model::{Span, Time};

use super::classes::{ClassKey, ClassScores};
use super::levels::{self, BOUNDS, Levels};
use super::{OpenForecast, Question, Standing, WaitForecaster};

/// More jobs than are counted.
const MOST: i64 = 1_000_000_000_000;

/// The levels of all bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelMemory {
    /// By bound, in billionths.
    pub levels: [i64; BOUNDS],
    /// By range, from the narrowest: jobs within it, less those that were to be, in hundredths.
    pub excess: [i64; 3],
    /// Jobs that started and taught.
    pub started: u64,
}

/// The scores of a class of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreMemory {
    /// How fine the class is, and what its jobs have in common: five numbers as one.
    pub class: u64,
    /// When the last job that waited after another one started.
    pub until: Time,
    /// Scores since that job was submitted.
    pub count: i64,
    /// Jobs that waited one after the other.
    pub apart: i64,
    /// The last scores, oldest first.
    pub scores: Vec<i64>,
}

/// A forecast whose job has not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenMemory {
    /// What was known.
    pub question: Question,
    /// As each level gave them.
    pub bounds: [Span; BOUNDS],
    /// The median of the scores.
    pub centre: Span,
    /// 0: made from too few results; 1: from enough; 2: before a change of the machine.
    pub standing: u8,
    /// Which bounds are over: a bit each, the upper ones first.
    pub over: u8,
}

impl<K: Copy + Ord> WaitForecaster<K> {
    /// The levels.
    pub fn level_memory(&self) -> LevelMemory {
        let Levels { levels, excess } = self.levels.clone();
        LevelMemory { levels, excess, started: self.started }
    }

    /// By class, in ascending order: its scores.
    pub fn score_memory(&self) -> impl Iterator<Item = ScoreMemory> {
        self.classes.windows.iter().map(|(class, ClassScores { window, until, count, apart })| {
            ScoreMemory {
                class: number(*class),
                until: *until,
                count: *count,
                apart: *apart,
                scores: window.last().collect(),
            }
        })
    }

    /// By job, in ascending order: its forecast.
    pub fn open_memory(&self) -> impl Iterator<Item = (K, OpenMemory)> {
        self.open.iter().map(|(job, open)| {
            let OpenForecast { question, bounds, centre, standing } = *open;
            let known = self.exceeded(*job);
            let over = (0..BOUNDS).map(|at| u8::from(known[at]) << bit(at)).sum();
            (*job, OpenMemory { question, bounds, centre, standing: standing as u8, over })
        })
    }

    /// Takes levels back in.
    pub fn restore_levels(&mut self, memory: &LevelMemory) {
        self.levels = Levels::of(memory.levels, memory.excess);
        self.started = memory.started;
    }

    /// Takes the scores of a class back in.
    pub fn restore_scores(&mut self, memory: ScoreMemory) {
        let ScoreMemory { class, until, count, apart, scores } = memory;
        let (count, apart) = (count.clamp(0, MOST), apart.clamp(0, MOST));
        let mut seen = ClassScores { until, count, apart, ..ClassScores::default() };
        scores.into_iter().for_each(|score| seen.window.add(score));
        self.classes.windows.insert(class_of(class), seen);
    }

    /// Takes a forecast back in.
    pub fn restore_open(&mut self, job: K, memory: &OpenMemory) {
        let OpenMemory { question, bounds, centre, standing, over } = *memory;
        let standing = match standing {
            0 => Standing::Guessed,
            1 => Standing::Informed,
            _ => Standing::Outdated,
        };
        let open = OpenForecast { question, bounds, centre, standing };
        for at in (0..BOUNDS).filter(|at| over >> bit(*at) & 1 == 0) {
            self.due.insert((open.over(at), job, at));
        }
        self.open.insert(job, open);
    }
}

/// The place of a bound in [`OpenMemory::over`].
fn bit(at: usize) -> usize {
    (at + BOUNDS - levels::UPPER.start) % BOUNDS
}

/// A class as one number.
fn number((fineness, [wait, ratio, width, length]): ClassKey) -> u64 {
    u64::from_be_bytes([0, 0, 0, fineness, wait, ratio, width, length])
}

fn class_of(number: u64) -> ClassKey {
    let [.., fineness, wait, ratio, width, length] = number.to_be_bytes();
    (fineness, [wait, ratio, width, length])
}
