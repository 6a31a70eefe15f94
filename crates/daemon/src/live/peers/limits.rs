//! What may be at one peer at once, and how long.

use tradewind_io::submission::{Counted, TimeLimit};
use tradewind_model::{Money, Span, Times};

use super::Receipts;

/// Clocks and messages of two markets may be so far apart, and a peer has so long for what should
/// be done by now.
pub const PATIENCE: Span = Span(300);

/// What may be at one peer at once, and whom nothing is passed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerLimits {
    /// Jobs that are there, or on their way.
    pub max_jobs: usize,
    /// Of these, jobs of which it is not known whether they have arrived.
    pub max_doubt: usize,
    /// What these jobs may cost together.
    pub max_held: Money,
    /// A peer whose standing is below this gets nothing: thousandths.
    pub min_standing: u32,
    /// Whether it must sign the starts and ends of jobs.
    pub receipts: Receipts,
}

impl Default for PeerLimits {
    fn default() -> PeerLimits {
        PeerLimits {
            max_jobs: 1_000,
            max_doubt: 64,
            max_held: Money(1_000_000_000_000),
            min_standing: 500,
            receipts: Receipts::Unasked,
        }
    }
}

/// Limits that count work may be longer on slow nodes: by so much at most.
const SLOWEST: i64 = 4;

/// How long a job with this limit runs at most at a peer, seconds of wall-clock time.
pub(super) fn longest(limit: &TimeLimit) -> Span {
    let slowly = |limit: Span| Span(limit.0.saturating_mul(SLOWEST));
    match limit {
        TimeLimit::One { limit, counted } => match counted {
            Counted::Job(Times::Work) | Counted::Project(Times::Work) => slowly(*limit),
            _ => *limit,
        },
        TimeLimit::Reference(limit) => slowly(*limit),
        TimeLimit::Classes(limits) => slowly(limits.values().copied().max().unwrap_or(Span::ZERO)),
    }
}
