//! What an accepted offer promises, and whether it was kept.

use tradewind_io::submission::OnBreach;
use tradewind_model::{Money, PoolId, SiteId, Span, Time};

use super::{Booking, Job};

/// An accepted offer: a window, its price, and whether it was kept. It stays with its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// The number of the quote.
    pub quote: u64,
    /// When it was accepted.
    pub accepted: Time,
    /// Nodes of the window.
    pub nodes: u32,
    /// Pools, prices, start and ends.
    pub window: Booking,
    /// The job pays no more than this, whatever window it gets in the end.
    pub cost: Money,
    /// The job's work begins so much after the window's start at the latest.
    pub slack: Span,
    /// What happens with the job if the promise is broken.
    pub on_breach: OnBreach,
    /// Whether it was kept.
    pub outcome: OfferOutcome,
}

/// Whether a promise was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferOutcome {
    /// It is not decided yet.
    Open,
    /// The job's work began in its window, at this moment.
    Kept(Time),
    /// It was broken: when that was stated, and why.
    Breached(Time, BreachReason),
    /// The job's own side gave the window up; why.
    Void(String),
}

/// Why a promise was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreachReason {
    /// The site does not answer since this moment.
    Away(SiteId, Time),
    /// So many nodes of the pool do not work.
    Down(PoolId, u32),
    /// The owner's job of this name has nodes of the pool.
    OwnersJob(PoolId, String),
    /// The same, and it runs longer than its time limit.
    Overdue(PoolId, String),
    /// The owner does not offer nodes of the pool at that time.
    Withheld(PoolId),
    /// This job of the market still has nodes of the pool.
    Occupied(PoolId, u64),
    /// A site did not start the job; its words.
    Refused(String),
    /// The pool's site has the job and has not started it in time.
    NotStarted(PoolId),
    /// The nodes failed or were lost while the job had them.
    Lost(PoolId),
    /// The nodes were taken away for a job of higher priority.
    Preempted(PoolId),
    /// The nodes of the pool were not free; nothing more is known.
    NotFree(PoolId),
}

impl Promise {
    /// The job's work begins by then, or the promise is broken.
    pub fn latest(&self) -> Time {
        self.window.start + self.slack
    }

    /// Whether it is not decided yet.
    pub fn is_open(&self) -> bool {
        self.outcome == OfferOutcome::Open
    }

    /// Whether it was broken.
    pub fn is_breached(&self) -> bool {
        matches!(self.outcome, OfferOutcome::Breached(..))
    }

    fn is_void(&self) -> bool {
        matches!(self.outcome, OfferOutcome::Void(_))
    }
}

impl Job {
    /// The offer that it accepted last, if it accepted one.
    pub fn promise(&self) -> Option<&Promise> {
        self.promises.last()
    }

    /// The offer that it accepted, if it is not decided yet whether that is kept.
    pub(in crate::live) fn open_promise(&self) -> Option<&Promise> {
        self.promise().filter(|promise| promise.is_open())
    }

    /// Whether its window counts no more: the promise was broken, or its own side gave it up.
    pub(in crate::live) fn lost_window(&self) -> bool {
        self.promise().is_some_and(|promise| promise.is_breached() || promise.is_void())
    }

    /// The most that it may still pay, if an offer that it accepted limits that.
    pub fn still_pays(&self) -> Option<Money> {
        let costs = self.promises.iter().filter(|it| !it.is_void()).map(|it| it.cost);
        costs.min().map(|cost| Money((cost - self.paid).0.max(0)))
    }

    /// How much of `cost` it pays itself; the market pays the rest.
    pub fn own_share(&self, cost: Money) -> Money {
        self.still_pays().map_or(cost, |most| cost.min(most))
    }

    /// When the work of all its parts had begun, if it has: in its window, or wherever it runs.
    pub(in crate::live) fn all_began(&self) -> Option<Time> {
        match self.barrier() {
            Some(barrier) => barrier.at,
            None => {
                let since = self.parts().iter().map(|part| part.since);
                since.collect::<Option<Vec<Time>>>()?.into_iter().max()
            }
        }
    }
}
