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
const BEYOND: i64 = WHOLE / 2;
/// Beyond 0 and 1 a bound doubles, or halves, so many times until a level is further by 1.
const DOUBLINGS: i64 = 8;
/// How fast levels move.
const GAIN: i64 = 50;
/// With so many open forecasts levels move half as fast: their results are alike and come together.
const CALM: i64 = 100;
/// With so many open forecasts the share beyond each end is halved: a range that misses all of them
/// takes longer to make good than one that has them all.
const CAUTION: i64 = 300;
/// With so many jobs too many within a range all jobs to come would have to be beyond its ends, if it
/// were not for the next number.
const PATIENCE: i64 = 2_000;
/// Between these the share beyond each end of a range is changed for that, from the narrowest range,
/// in millionths: a range does not become wider than the next one is to be.
const BEYOND_ENDS: [(i64, i64); 3] = [(105_000, 480_000), (28_000, 245_000), (1_000, 98_000)];
const MILLION: i64 = 1_000_000;
/// Far more jobs than there are, in hundredths.
const MOST_EXCESS: i64 = 1_000_000_000_000;
/// Steps through the scores that are equal: the golden ratio, of 2 to the power of 64.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// Equal scores are distinguished where a twentieth of the window is equal, and at least five.
const EQUAL: (usize, usize) = (20, 5);

/// The level of each bound, in billionths. Beyond 0 and 1 a bound lies outside all scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) levels: [i64; BOUNDS],
    /// By range, from the narrowest: jobs within it, less those that were to be, in hundredths.
    pub(super) excess: [i64; 3],
}

/// How a bound is read from scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScoreReading {
    /// Forecasts that are open.
    pub(super) open: usize,
    /// Jobs of the window that waited one after the other.
    pub(super) apart: i64,
    /// Where the job's score would be among equal ones, of [`WHOLE`].
    pub(super) rank: i64,
    /// Nearly all scores are equal: levels that follow single results would leave them.
    pub(super) steady: bool,
}

impl ScoreReading {
    /// The share beyond an end of a range that has to be read where this one is wanted: with `apart`
    /// results, of which the next one is as likely to be the greatest as any other.
    fn beyond(self, share: i64) -> i64 {
        let share = share * CAUTION / (CAUTION + self.open as i64);
        (share - (WHOLE - share) / (2 * self.apart.max(1))).max(0)
    }
}

/// A score, or the next wait on the other side of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quantile {
    pub(super) score: i64,
    /// The range is to leave out waits that have exactly this score.
    pub(super) excluded: bool,
}

/// Where the score of the job of this number is among equal ones: for any jobs in a row the
/// places are spread evenly.
pub(super) fn rank(number: u64) -> i64 {
    let place = number.wrapping_mul(GOLDEN) >> 32;
    (place as i64 * WHOLE) >> 32
}

impl Default for Levels {
    fn default() -> Levels {
        let levels = SHARES.map(|share| i64::from(share) * (WHOLE / 1_000));
        Levels { levels, excess: [0; 3] }
    }
}

impl Levels {
    /// These, as far as levels may be so.
    pub(super) fn of(levels: [i64; BOUNDS], excess: [i64; 3]) -> Levels {
        let levels = levels.map(|level| level.clamp(-BEYOND, WHOLE + BEYOND));
        Levels { levels, excess: excess.map(|excess| excess.clamp(-MOST_EXCESS, MOST_EXCESS)) }
    }

    /// A wait was longer than a bound (of a lower one: at least as long). `open` forecasts are open.
    pub(super) fn exceeded(&mut self, at: usize, open: usize) {
        self.step(at, self.wanted(at), open);
    }

    /// A wait was not longer than a bound (of a lower one: shorter).
    pub(super) fn held(&mut self, at: usize, open: usize) {
        self.step(at, self.wanted(at) - MILLION, open);
    }

    /// The same of a wait that was said to be longer than the bound before.
    pub(super) fn held_after_all(&mut self, at: usize, open: usize) {
        self.step(at, -MILLION, open);
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
    fn step(&mut self, at: usize, miss: i64, open: usize) {
        let share = i64::from(SHARES[at]);
        let step = i128::from(GAIN * share * (1_000 - share)) * i128::from(miss * CALM);
        let step = step / i128::from(MILLION * (CALM + open as i64));
        self.levels[at] = (self.levels[at] + step as i64).clamp(-BEYOND, WHOLE + BEYOND);
    }

    /// The level at which a bound is read.
    fn read(&self, at: usize, reading: ScoreReading) -> i64 {
        if reading.steady {
            return self.wanted(at) * (WHOLE / MILLION);
        }
        match self.levels[at] {
            level if LOWER.contains(&at) && level > 0 => reading.beyond(level),
            level if UPPER.contains(&at) && level < WHOLE => WHOLE - reading.beyond(WHOLE - level),
            level => level,
        }
    }

    /// The score at a bound, if there is any.
    pub(super) fn score(
        &self,
        at: usize,
        window: &Window,
        reading: ScoreReading,
    ) -> Option<Quantile> {
        let (level, count) = (self.read(at, reading), window.len() as i64);
        let place = level * (count + 1);
        // From the median on rounded up: ranges are rather too wide.
        let rounded = match LOWER.contains(&at) {
            true => place.div_euclid(WHOLE),
            false => -(-place).div_euclid(WHOLE),
        };
        let score = window.nth((rounded - 1).clamp(0, (count - 1).max(0)) as usize)?;
        if !(0..=WHOLE).contains(&level) {
            let beyond = if level < 0 { level } else { level - WHOLE };
            return Some(Quantile { score: doubled(score, beyond * DOUBLINGS), excluded: false });
        }
        let equal = window.equal(score);
        let (share, least) = EQUAL;
        let (from, count) = (equal.start as i64 * WHOLE, equal.len());
        let below = (place - from).clamp(0, count as i64 * WHOLE) / count as i64;
        let leaves_out = match LOWER.contains(&at) {
            true => reading.rank < below,
            false => reading.rank > below,
        };
        let many = count >= least && count * share >= window.len();
        Some(Quantile { score, excluded: many && leaves_out })
    }
}

/// The score times 2 to the power of so many billionths, along straight lines between whole powers.
fn doubled(score: i64, billionths: i64) -> i64 {
    let (whole, rest) = (billionths.div_euclid(WHOLE), billionths.rem_euclid(WHOLE));
    let scaled = i128::from(score) * i128::from(WHOLE + rest) / i128::from(WHOLE);
    let scaled = if whole < 0 { scaled >> whole.min(0).unsigned_abs() } else { scaled << whole };
    i64::try_from(scaled).unwrap_or(i64::MAX)
}
