//! Bounds on waits from the waits of similar jobs alone, without any look at the queue: after QBETS
//! (Nurmi, Brevik and Wolski, "QBETS: queue bounds estimation from time series", JSSPP 2007), to
//! compare with.

use std::collections::BTreeMap;

use tradewind_model::Span;

use super::WaitRange;
use super::window::Window;

/// So many waits in a row beyond a bound are a change: an event of probability 0.001 for bounds that
/// nine waits of ten keep. QBETS reads the number from a table by the autocorrelation of waits.
const CHANGE: u32 = 3;
/// Waits that are kept then: with fewer there is no bound for nine of ten with a confidence of 95 %.
const LEAST: usize = 29;

/// The waits of a class of width, and how many of the last ones were beyond the bounds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Past {
    waits: Window,
    beyond: u32,
}

/// Ranges for 80 of 100 waits: a lower bound for the 10 % quantile and an upper one for the 90 %
/// quantile, each with a confidence of 95 % (binomial), from up to 1,000 waits of jobs of similar
/// width. The history is cut when the bounds fail several times in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BinomialBounds {
    classes: BTreeMap<u32, Past>,
}

impl BinomialBounds {
    /// The range for a job of this width; `None` as long as too few waits are known.
    pub fn range(&self, processors: u32) -> Option<WaitRange> {
        self.classes.get(&class(processors))?.range()
    }

    /// A job of this width, which was given this range, waited for so long.
    pub fn waited(&mut self, processors: u32, given: Option<WaitRange>, wait: Span) {
        let past = self.classes.entry(class(processors)).or_default();
        past.waits.add(wait.0);
        let beyond = given.is_some_and(|range| wait > range.high);
        past.beyond = if beyond { past.beyond + 1 } else { 0 };
        if past.beyond >= CHANGE {
            past.waits.keep(LEAST);
            past.beyond = 0;
        }
    }
}

impl Past {
    fn range(&self) -> Option<WaitRange> {
        let count = self.waits.len();
        let from_end = below(count)?;
        let (low, high) = (self.waits.nth(from_end)?, self.waits.nth(count - 1 - from_end)?);
        Some(WaitRange { low: Span(low), high: Span(high) })
    }
}

/// Of so many waits: how many of the smallest are certainly (95 %) among the smallest tenth of all
/// waits, less one: the greatest k for which at most k of them are below the quantile with a
/// probability of 5 % or less.
fn below(count: usize) -> Option<usize> {
    const DOUBT: f64 = 0.05;
    let n = count as f64;
    let mut term = 0.9_f64.powi(i32::try_from(count).ok()?);
    let mut sum = term;
    let mut greatest = None;
    for k in 0..count {
        if sum > DOUBT {
            break;
        }
        greatest = Some(k);
        term *= (n - k as f64) / (k as f64 + 1.0) / 9.0;
        sum += term;
    }
    greatest
}

/// One processor, up to 4, up to 16, and so on.
fn class(processors: u32) -> u32 {
    (32 - processors.saturating_sub(1).leading_zeros()).div_ceil(2)
}
