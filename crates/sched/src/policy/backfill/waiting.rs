//! A job in the queue, and who comes first.

use tradewind_model::{Demand, JobId, Profile, Span, Time};

/// Who comes first in the queue; ties go to the job that was submitted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The job that was submitted first.
    #[default]
    Arrival,
    /// The least estimate.
    Shortest,
    /// The greatest estimate.
    Longest,
    /// The most processors.
    Widest,
    /// The fewest processors.
    Narrowest,
    /// The least estimate × processors.
    Smallest,
}

impl Order {
    /// Every order, with its name on the command line.
    pub const ALL: [(Order, &'static str); 6] = [
        (Order::Arrival, "arrival"),
        (Order::Shortest, "shortest"),
        (Order::Longest, "longest"),
        (Order::Widest, "widest"),
        (Order::Narrowest, "narrowest"),
        (Order::Smallest, "smallest"),
    ];

    /// Lower comes first.
    fn key(self, demand: &Demand) -> i64 {
        let processors = i64::from(demand.processors);
        match self {
            Order::Arrival => 0,
            Order::Shortest => demand.estimate.0,
            Order::Longest => -demand.estimate.0,
            Order::Widest => -processors,
            Order::Narrowest => processors,
            Order::Smallest => demand.estimate.0.saturating_mul(processors),
        }
    }
}

/// A place in the order of the queue: lower comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    key: i64,
    pub(super) job: JobId,
}

/// A job that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) rank: Rank,
    pub(super) processors: u32,
    pub(super) estimate: Span,
    /// When its reservation begins.
    pub(super) reserved: Option<Time>,
}

impl Waiting {
    pub(super) fn new(job: JobId, demand: &Demand, order: Order) -> Waiting {
        let Demand { processors, estimate, .. } = *demand;
        Waiting { rank: Rank { key: order.key(demand), job }, processors, estimate, reserved: None }
    }

    /// Where it goes: the earliest start from `from` on at which it fits for its whole estimate.
    pub(super) fn earliest(&self, profile: &Profile, from: Time) -> Option<Time> {
        profile.earliest(self.processors, self.estimate, from)
    }

    /// Whether it fits now for its whole estimate.
    pub(super) fn fits(&self, profile: &Profile) -> bool {
        profile.fits(self.processors, profile.origin(), self.estimate)
    }

    /// Whether it has a reservation that is not due and cannot move closer.
    pub(super) fn stays(&self, profile: &Profile) -> bool {
        let now = profile.origin();
        let fixed = |held| profile.earlier(self.processors, self.estimate, now, held).is_none();
        self.reserved.is_some_and(|held| held > now && fixed(held))
    }

    /// Takes its processors from `start` on.
    pub(super) fn take(&self, profile: &mut Profile, start: Time) {
        profile.take(self.processors, start, start + self.estimate);
    }

    /// Gives its reservation, which began at `start`, back.
    pub(super) fn give(&self, profile: &mut Profile, start: Time) {
        profile.give(self.processors, start, start + self.estimate);
    }
}
