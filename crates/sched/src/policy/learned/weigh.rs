//! When a job is due, and when it is protected.

use tradewind_model::{Span, Time};

use super::Basis;
use crate::predict::{RunForecast, Submission};

/// Run times beyond this make no difference: sums stay far from overflow.
const EXPECTED: i64 = 1 << 40;
/// Keys of protected jobs come before all others.
const PROTECTED: i64 = i64::MIN / 4;

/// How jobs are put in order, and from when on they are protected. The defaults were chosen on one
/// log (KTH SP2) and variations of it; other values are for studies of what each of them does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearnedSettings {
    /// By what plans are made as long as no protected job waits.
    pub plans: Basis,
    /// A job is due so many times its expected run time after its submission; 0: in the order of
    /// submission.
    pub patience: i64,
    /// No job is due later than this after its submission.
    pub latest: Span,
    /// A job is protected once it has waited for so long.
    pub long: Span,
    /// A job as wide as the pool is protected so much earlier, a narrower one by its share.
    pub wide: Span,
}

impl Default for LearnedSettings {
    fn default() -> LearnedSettings {
        LearnedSettings {
            plans: Basis::Predictions,
            patience: 20,
            latest: Span(130_000),
            long: Span(190_000),
            wide: Span(130_000),
        }
    }
}

/// What a job's submission and its forecast say of its place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WeighedJob {
    /// Its place among jobs that are not protected.
    pub(super) due: Time,
    /// From when on it is protected.
    pub(super) protected: Time,
}

impl LearnedSettings {
    /// In a pool of so many nodes.
    pub(super) fn weigh(
        &self,
        what: &Submission,
        forecast: &RunForecast,
        nodes: u32,
    ) -> WeighedJob {
        let thousandths = thousandths(what.processors, nodes);
        let expected = forecast.mean.0.min(EXPECTED);
        let patience = expected * self.patience * (1_000 - thousandths * 7 / 10) / 1_000;
        let due = what.at.0 + patience.min(self.latest.0);
        let protected = what.at + self.unprotected(what.processors, nodes);
        WeighedJob { due: Time(due), protected }
    }

    /// How long a job of this width waits in a pool of so many nodes before it is protected.
    pub fn unprotected(&self, processors: u32, nodes: u32) -> Span {
        Span(self.long.0 - self.wide.0 * thousandths(processors, nodes) / 1_000)
    }
}

/// A job's share of a pool.
fn thousandths(processors: u32, nodes: u32) -> i64 {
    (i64::from(processors) * 1_000 / i64::from(nodes.max(1))).min(1_000)
}

/// The key of a job that is protected since then.
pub(super) fn protected_key(since: Time) -> i64 {
    PROTECTED + since.0
}

/// Whether this is a protected job's key.
pub(super) fn is_protected(key: i64) -> bool {
    key < PROTECTED / 2
}
