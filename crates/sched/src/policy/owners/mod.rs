//! A site's own queue, and a look ahead at it: when the owners' waiting jobs are expected to start,
//! and the load that they will be for the pools of the site.
//!
//! A site's scheduler has one queue of its owners' jobs. Each pool of the site has a backfilling
//! queue of its own ([`Plain`](super::local::Plain), the same code that schedules autonomous sites);
//! a job that may use several pools waits in each of them, starts where it fits first, and leaves
//! the others, as in Slurm.
//!
//! The look-ahead ([`SiteQueue::look_ahead`], or [`forecast`] for a queue that was read from a
//! manager) lets that scheduler run in virtual time, as if every running job ended at its expected
//! end, every started job after its time limit, and no further job were submitted. It is exact for
//! the rule ([`SiteRule`]) under these assumptions, which are those on which the site's scheduler bases
//! its own reservations.
//!
//! **Order is preserved.** Let further jobs take only nodes that the look-ahead leaves over, beside
//! what is taken and the future load. Then a second look-ahead gives every owner's job the same
//! start. The reason: at every step each job that started before still fits at its start, and no job
//! finds a place earlier than before. This holds for jobs that may use one pool each, and while the
//! horizon is not reached. A job that may use several pools has reservations in all of them, and
//! those that it will not use are not part of the future load; a further job there may change which
//! owners' jobs are backfilled.
//!
//! **Bounds.** At most [`SiteRule::MAX_TESTED`] entries are in the queue at a time, at most
//! [`MAX_ENTRIES`] are looked at, at most [`SiteRule::MAX_HORIZON`] ahead; a time limit counts as
//! [`MAX_LIMIT`] at most, and the load of a pool is given in at most [`MAX_STEPS`] steps. With e
//! entries, r running jobs and outages, and w entries in the queue at a time, a look-ahead makes
//! O(e + r) passes, each with the cost of a pass of
//! [`Backfill`](super::backfill::Backfill) over w jobs.
//!
//! Deviations from Slurm's backfilling: a reservation that lies beyond the horizon is kept, while
//! Slurm drops it; passes happen at every change and not every `bf_interval` seconds; jobs that would
//! interrupt others (preemption), and limits of users and accounts (QOS), are not modelled.

mod ahead;
mod delays;
mod giving;
mod guard;
mod load;
mod queue;
mod survey;
#[cfg(test)]
mod tests;
mod usual;

use tradewind_model::{Guard, JobId, PoolId, Span, Time};

use super::backfill::Depth;
use super::local::QueueOrder;
pub use delays::{DelayChange, Delays, JobDelay, close};
pub use giving::{MAX_CANDIDATES, giving_way};
pub use load::{MAX_STEPS, future_load};
pub use queue::{SiteQueue, SiteQueueEntry};
pub use survey::{
    Eligible, Expected, OwnersJob, QueueForecast, Survey, Unforeseen, forecast, forecast_of,
    forecast_with, put_off,
};
pub use usual::{Habits, Usual, WHOLE, WORLDS};

/// The most entries of a queue that are looked at; an array job counts as its entries.
pub const MAX_ENTRIES: usize = 10_000;

/// A longer time limit, or none at all, counts as this: 366 days.
pub const MAX_LIMIT: Span = Span(366 * 86_400);

/// How a site's own scheduler works, as far as expected starts depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteRule {
    /// How many waiting jobs of a pool have a reservation: 0 is FCFS, 1 is EASY.
    pub depth: Depth,
    /// Which job is first: in the given order (that of [`JobId`]), or the shortest.
    pub turn: QueueOrder,
    /// How many waiting entries the scheduler examines at a time, counted from the first one
    /// (Slurm's `bf_max_job_test`); at most [`SiteRule::MAX_TESTED`].
    pub tested: u32,
    /// How far ahead starts are foreseen (Slurm's `bf_window`); at most [`SiteRule::MAX_HORIZON`].
    pub horizon: Span,
    /// So long before an expected start other jobs have to leave its nodes, in the load that a
    /// [`forecast`] gives; at most [`SiteRule::MAX_MARGIN`].
    pub margin: Span,
    /// How much is left to waiting jobs, in the load that a [`forecast`] gives.
    pub guard: Guard,
    /// When jobs of the market have [put off](Delays) a waiting job for so long, no further one
    /// starts in its pools before it. [`MAX_LIMIT`] is no bound.
    pub max_delay: Span,
}

impl SiteRule {
    /// The longest margin: a minute.
    pub const MAX_MARGIN: Span = Span(60);

    /// The most waiting entries that are examined at a time.
    pub const MAX_TESTED: u32 = 10_000;

    /// The furthest that starts are foreseen: 366 days.
    pub const MAX_HORIZON: Span = Span(366 * 86_400);

    /// A rule without limits of its own, in the given order.
    pub fn new(depth: Depth) -> SiteRule {
        let (tested, horizon) = (SiteRule::MAX_TESTED, SiteRule::MAX_HORIZON);
        let (guard, max_delay) = (Guard::Limits, MAX_LIMIT);
        SiteRule {
            depth,
            turn: QueueOrder::Arrival,
            tested,
            horizon,
            margin: Span::ZERO,
            guard,
            max_delay,
        }
    }

    /// The same, within the bounds; at least one job is tested.
    fn bounded(self) -> SiteRule {
        let tested = self.tested.clamp(1, SiteRule::MAX_TESTED);
        let horizon = self.horizon.clamp(Span::ZERO, SiteRule::MAX_HORIZON);
        let margin = self.margin.clamp(Span::ZERO, SiteRule::MAX_MARGIN);
        SiteRule { tested, horizon, margin, ..self }
    }
}

/// An owner's job that is expected to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedStart {
    /// Which entry of the queue.
    pub job: JobId,
    /// Where.
    pub pool: PoolId,
    /// On how many nodes.
    pub nodes: u32,
    /// When it starts.
    pub start: Time,
    /// When its time limit is over.
    pub end: Time,
}
