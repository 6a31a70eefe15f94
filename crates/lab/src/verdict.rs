//! How well a measured number agrees with a published one: one rule for all of them.
//!
//! | verdict | when |
//! |---|---|
//! | `reproduced` | within 5 % of the published number, and the interval's half-width is at most 5 % of it |
//! | `inconclusive` | else, if the interval is wider than that and reaches into those 5 % |
//! | `trend` | else, if it has the same sign and lies within a factor of two |
//! | `not reproduced` | else |
//! | `fitted` | the number calibrated a parameter, so that it proves nothing |
//!
//! A total of numbers that are printed, too, is no better than the worst of them, because misfits
//! may cancel.
//!
//! Of a published zero, 5 % are nothing: within half a unit of its last printed place counts
//! instead. Wall-clock times are `trend` at best.

use crate::tally::Estimate;

/// How far from a published number is near enough, as a part of it.
pub const TOLERANCE: f64 = 0.05;

/// How well a number agrees, or whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The same within the tolerance; of a claim: it holds.
    Reproduced,
    /// The number was used to calibrate a parameter.
    Fitted,
    /// The same sign and order; of a claim: it holds in the main.
    Trend,
    /// There is too little data to tell.
    Inconclusive,
    /// The result differs from the paper.
    NotReproduced,
}

impl Verdict {
    /// The name in files and documents.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Fitted => "fitted",
            Verdict::Trend => "trend",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotReproduced => "not reproduced",
        }
    }

    /// Of something that is so in `held` of `all` cases: all of them, most (two of three), or not.
    pub fn of(held: f64, all: f64) -> Verdict {
        match () {
            () if held == all => Verdict::Reproduced,
            () if 3.0 * held >= 2.0 * all => Verdict::Trend,
            () => Verdict::NotReproduced,
        }
    }

    /// All of them, best first.
    pub const ALL: [Verdict; 5] = [
        Verdict::Reproduced,
        Verdict::Fitted,
        Verdict::Trend,
        Verdict::Inconclusive,
        Verdict::NotReproduced,
    ];
}

/// How far the measured number may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ceiling {
    /// As far as its interval says.
    Open,
    /// It is wall-clock time, on another machine in another decade.
    Trend,
}

/// The rule of this module. `slack` is half a unit of the last place that was printed.
pub fn judge(published: f64, slack: f64, measured: &Estimate, ceiling: Ceiling) -> Verdict {
    let near = match published {
        0.0 => slack,
        _ => TOLERANCE * published.abs(),
    };
    let (low, high) = (published - near, published + near);
    let verdict = if !measured.mean.is_finite() {
        Verdict::Inconclusive
    } else if measured.half_width() > near {
        match measured.low <= high && measured.high >= low {
            true => Verdict::Inconclusive,
            false => roughly(published, measured.mean),
        }
    } else if (low..=high).contains(&measured.mean) {
        Verdict::Reproduced
    } else {
        roughly(published, measured.mean)
    };
    match (verdict, ceiling) {
        (Verdict::Reproduced, Ceiling::Trend) => Verdict::Trend,
        (verdict, _) => verdict,
    }
}

fn roughly(published: f64, measured: f64) -> Verdict {
    let ratio = measured / published;
    match (0.5..=2.0).contains(&ratio) {
        true => Verdict::Trend,
        false => Verdict::NotReproduced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(low: f64, high: f64) -> Estimate {
        Estimate { mean: f64::midpoint(low, high), low, high, count: 9 }
    }

    fn of_100(low: f64, high: f64) -> Verdict {
        judge(100.0, 0.5, &between(low, high), Ceiling::Open)
    }

    #[test]
    fn the_rule_at_its_borders() {
        assert_eq!(of_100(96.0, 104.0), Verdict::Reproduced);
        assert_eq!(of_100(105.0, 105.0), Verdict::Reproduced);
        assert_eq!(of_100(105.1, 105.1), Verdict::Trend);
        assert_eq!(of_100(94.0, 106.0), Verdict::Inconclusive);
        assert_eq!(of_100(104.0, 130.0), Verdict::Inconclusive);
        assert_eq!(of_100(106.0, 130.0), Verdict::Trend);
        assert_eq!(of_100(201.0, 202.0), Verdict::NotReproduced);
        assert_eq!(of_100(49.0, 49.5), Verdict::NotReproduced);
        assert_eq!(of_100(-100.0, -100.0), Verdict::NotReproduced);
        assert_eq!(judge(100.0, 0.5, &Estimate::none(), Ceiling::Open), Verdict::Inconclusive);
    }

    #[test]
    fn zero_has_its_last_place() {
        let zero = |mean| judge(0.0, 0.0005, &Estimate::exact(mean), Ceiling::Open);
        assert_eq!(zero(0.0004), Verdict::Reproduced);
        assert_eq!(zero(0.0006), Verdict::NotReproduced);
    }

    #[test]
    fn clocks_are_no_proof() {
        let measured = Estimate::exact(100.0);
        assert_eq!(judge(100.0, 0.5, &measured, Ceiling::Trend), Verdict::Trend);
    }
}
