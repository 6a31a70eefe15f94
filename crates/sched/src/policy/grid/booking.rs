//! Nodes of pools that are set aside for a job.

use tradewind_model::{Place, PoolId, Share, Span, Time};

use super::search::Starts;
use crate::policy::outages::Taken;

/// Nodes of one pool, for as long as a task takes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) pool: PoolId,
    pub(crate) nodes: u32,
    pub(crate) length: Span,
}

impl Part {
    /// What it takes, from its start on.
    pub(super) fn taken(&self, start: Time) -> Taken {
        let Part { pool, nodes, length } = *self;
        Taken { pool, nodes, from: start, until: start + length }
    }
}

/// Where and when a job is to run: all its tasks start together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Booking {
    pub(crate) start: Time,
    /// Each pool once.
    pub(crate) parts: Vec<Part>,
}

impl Booking {
    /// From its start until all its tasks are over.
    pub(super) fn extent(&self) -> Starts {
        let longest = self.parts.iter().map(|part| part.length).max().unwrap_or_default();
        Starts { from: self.start, until: self.start + longest }
    }

    /// As the market wants to know it.
    pub(crate) fn place(&self) -> Place {
        let share = |part: &Part| Share { pool: part.pool, nodes: part.nodes };
        Place::of(self.parts.iter().map(share).collect())
    }
}
