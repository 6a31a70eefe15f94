//! Nodes of pools that are set aside for a job.

use tradewind_model::{Place, PoolId, Share, Span, Time};

/// Nodes of one pool, for as long as a task takes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) struct Part {
    pub(in crate::policy) pool: PoolId,
    pub(in crate::policy) nodes: u32,
    pub(in crate::policy) length: Span,
}

/// Where and when a job is to run: all its tasks start together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::policy) struct Booking {
    pub(in crate::policy) start: Time,
    /// Each pool once.
    pub(in crate::policy) parts: Vec<Part>,
}

impl Booking {
    /// As the market wants to know it.
    pub(in crate::policy) fn place(&self) -> Place {
        let share = |part: &Part| Share { pool: part.pool, nodes: part.nodes };
        Place::of(self.parts.iter().map(share).collect())
    }
}
