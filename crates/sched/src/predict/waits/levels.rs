//! Which quantile of the scores each bound is.

use super::LEVELS;
use super::window::Window;

/// Bounds of a forecast: the lower ends of the ranges from the widest inwards, the median, the upper
/// ends outwards.
pub(super) const BOUNDS: usize = 7;
/// Waits of 1,000 that are to be no longer than each bound.
pub(super) const SHARES: [u32; BOUNDS] = [25, 100, 250, 500, 750, 900, 975];
/// The lower ends.
pub(super) const LOWER: std::ops::Range<usize> = 0..3;
/// The upper ends.
pub(super) const UPPER: std::ops::Range<usize> = 4..7;

/// A level of 1.
pub(super) const WHOLE: i64 = 1_000_000_000;
/// How far a level may leave the range from 0 to 1.
const BEYOND: i64 = WHOLE / 4;
/// How fast levels move: the slowest of a few values with which whole logs are covered as stated.
const GAIN: i64 = 25;
/// With so many jobs too many within a range all jobs to come would have to be beyond its ends, if it
/// were not for the next number.
const PATIENCE: i64 = 2_000;
/// Between these the share beyond each end of a range is changed for that, from the narrowest range,
/// in millionths: a range does not become wider than the next one is to be.
const BEYOND_ENDS: [(i64, i64); 3] = [(105_000, 480_000), (28_000, 245_000), (1_000, 98_000)];
const MILLION: i64 = 1_000_000;

/// The level of each bound, in billionths. Beyond 0 and 1 a bound lies outside all scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) levels: [i64; BOUNDS],
    /// By range, from the narrowest: jobs within it, less those that were to be, in hundredths.
    pub(super) excess: [i64; 3],
}

impl Default for Levels {
    fn default() -> Levels {
        let levels = SHARES.map(|share| i64::from(share) * (WHOLE / 1_000));
        Levels { levels, excess: [0; 3] }
    }
}

impl Levels {
    /// A wait was longer than a bound (of a lower one: at least as long).
    pub(super) fn exceeded(&mut self, at: usize) {
        self.step(at, self.wanted(at));
    }

    /// A wait was not longer than a bound (of a lower one: shorter).
    pub(super) fn held(&mut self, at: usize) {
        self.step(at, self.wanted(at) - MILLION);
    }

    /// The same of a wait that was said to be longer than the bound before.
    pub(super) fn held_after_all(&mut self, at: usize) {
        self.step(at, -MILLION);
    }

    /// A job has started: whether it was within each range, from the narrowest.
    pub(super) fn ranged(&mut self, within: [bool; 3]) {
        for ((excess, within), level) in self.excess.iter_mut().zip(within).zip(LEVELS) {
            *excess += if within { 100 } else { 0 } - i64::from(level);
        }
    }

    /// Waits of a million that are to be no longer than a bound. Where too many jobs were within a
    /// range so far, more are to be beyond both of its ends, and the reverse.
    fn wanted(&self, at: usize) -> i64 {
        let beyond = |range: usize| {
            let share = i64::from(SHARES[LOWER.end - 1 - range]) * 1_000;
            let (least, most) = BEYOND_ENDS[range];
            (share + self.excess[range] * MILLION / 100 / PATIENCE).clamp(least, most)
        };
        match at {
            at if LOWER.contains(&at) => beyond(LOWER.end - 1 - at),
            at if UPPER.contains(&at) => MILLION - beyond(at - UPPER.start),
            _ => i64::from(SHARES[at]) * 1_000,
        }
    }

    /// `miss` in millionths. Extreme levels move in small steps, or they would leave the scores at
    /// the first surprise.
    fn step(&mut self, at: usize, miss: i64) {
        let share = i64::from(SHARES[at]);
        let step = GAIN * share * (1_000 - share) * miss / MILLION;
        self.levels[at] = (self.levels[at] + step).clamp(-BEYOND, WHOLE + BEYOND);
    }

    /// The score at a bound, if there is any.
    pub(super) fn score(&self, at: usize, window: &Window) -> Option<i64> {
        let (level, count) = (self.levels[at], window.len() as i64);
        let place = level * (count + 1);
        // From the median on rounded up: ranges are rather too wide.
        let place = match LOWER.contains(&at) {
            true => place.div_euclid(WHOLE),
            false => -(-place).div_euclid(WHOLE),
        };
        let score = window.nth((place - 1).clamp(0, count - 1) as usize)?;
        Some(match level {
            level if level > WHOLE => scaled(score, WHOLE + 4 * (level - WHOLE), WHOLE),
            level if level < 0 => scaled(score, WHOLE, WHOLE - 4 * level),
            _ => score,
        })
    }
}

fn scaled(score: i64, by: i64, over: i64) -> i64 {
    let scaled = i128::from(score) * i128::from(by) / i128::from(over);
    i64::try_from(scaled).unwrap_or(i64::MAX)
}
