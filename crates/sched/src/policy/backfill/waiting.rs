//! A job in the queue.

use tradewind_model::{JobId, PoolId, Profile, Span, Time};

use super::shelves::Shelves;
use super::space::QueuedJob;
use crate::policy::availability::Taken;

/// A place in the order of the queue: lower comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::policy) struct Rank {
    pub(in crate::policy) key: i64,
    pub(in crate::policy) job: JobId,
}

/// A job that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) struct Waiting {
    pub(in crate::policy) rank: Rank,
    /// Its key in the order of candidates, if that is not the order of the queue.
    pub(in crate::policy) turn: Option<i64>,
    pub(in crate::policy) processors: u32,
    pub(in crate::policy) estimate: Span,
    /// When its reservation begins.
    pub(in crate::policy) reserved: Option<Time>,
    /// Whether it may have a reservation; if not, it starts where it fits when it is looked at.
    pub(in crate::policy) reserves: bool,
}

impl Waiting {
    /// A job whose place the owner of the queue has worked out.
    pub(in crate::policy) fn keyed(key: i64, job: JobId, processors: u32, length: Span) -> Waiting {
        let (rank, estimate) = (Rank { key, job }, length.max(Span(1)));
        Waiting { rank, turn: None, processors, estimate, reserved: None, reserves: true }
    }

    /// Processors × seconds that it expects to need.
    pub(in crate::policy) fn work(&self) -> i128 {
        i128::from(self.processors) * i128::from(self.estimate.0)
    }

    /// The same, without a reservation, at another place in the order.
    pub(in crate::policy) fn moved(self, key: i64) -> Waiting {
        Waiting { rank: Rank { key, ..self.rank }, reserved: None, ..self }
    }

    /// Where it can move from its reservation at `held`: the earliest start before that.
    pub(in crate::policy) fn earlier(&self, profile: &Profile, held: Time) -> Option<Time> {
        profile.earlier(self.processors, self.estimate, profile.origin(), held)
    }

    /// What it takes of the only pool if it starts at `start`.
    pub(in crate::policy) fn taken(&self, start: Time) -> Taken {
        Taken::new(PoolId(0), self.processors, start, start + self.estimate)
    }
}

impl QueuedJob for Waiting {
    /// Its nodes, and when it has them.
    type Place = Taken;
    type Index = Option<Shelves>;

    fn rank(&self) -> Rank {
        self.rank
    }

    fn turn(&self) -> Rank {
        Rank { key: self.turn.unwrap_or(self.rank.key), ..self.rank }
    }

    fn reserved_start(&self) -> Option<Time> {
        self.reserved
    }

    fn reserves(&self) -> bool {
        self.reserves
    }

    fn set_reservation(&mut self, place: Option<Taken>) {
        self.reserved = place.map(|taken| taken.from);
    }
}
