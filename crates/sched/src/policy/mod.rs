//! Queue + grid → decisions. A policy is a pure function of what it is given: no clock, no files.
//!
//! [`backfill`] decides instant by instant on one pool, [`gridfill`] on several; [`cyclic`] plans a
//! batch from a snapshot, cycle by cycle in a market; [`bsf`] is both together. [`local`] is the
//! scheduler of one site, and [`autonomous`] a grid of such sites. What is free for all of them is
//! kept in [`availability`]. [`owners`] looks ahead the queue of a site's own scheduler, and
//! [`learned`] is backfilling that learns run times itself; [`expecting`] lets any policy plan by
//! run times that others have learned. [`gapfill`] gives preemptible jobs what any policy leaves to
//! owners.

pub mod autonomous;
pub mod availability;
pub mod backfill;
pub mod bsf;
pub mod cyclic;
pub mod dispatch;
pub mod evaluate;
pub mod expecting;
pub mod gapfill;
pub(crate) mod grid;
pub mod gridfill;
mod inbox;
pub mod learned;
pub mod local;
pub mod multiqueue;
mod order;
pub mod outlook;
pub mod owners;
mod share;
pub mod tail;

pub use autonomous::Exchange;
pub use grid::Spread;

use std::collections::BTreeMap;

use tradewind_model::{Command, Event, JobId, Market, Time};

use availability::Taken;

pub use order::Order;
pub use share::UserShare;

/// Decides what to start, instant by instant.
///
/// A policy may remember what it derived from earlier calls, as long as the same calls lead to
/// the same answers.
pub trait Policy: Send {
    /// Adds what to do now to `commands`. `events` is what happened since the last call, and
    /// `market` is the state after it. No events: a wake-up that the policy asked for.
    ///
    /// Commands to start a job are carried out at once and in order, and succeed.
    ///
    /// A policy may begin with a market that is not empty: its first call then has the events of
    /// [`Market::history`], among them starts that it did not decide. Later, too, it may learn of
    /// a start that was decided elsewhere, in the same call as of the job's submission.
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>);

    /// The policy inside, of one that stands around another: all that it does not say itself is said
    /// by that.
    fn inner(&self) -> Option<&dyn Policy> {
        None
    }

    /// The same, to be told something.
    fn inner_mut(&mut self) -> Option<&mut dyn Policy> {
        None
    }

    /// To be called before the first [`Policy::decide`] of a policy that goes on where another one
    /// stopped: `usage` is what [`Policy::standing`] said then, in processor-seconds by user. Jobs of
    /// the first call waited before, and none is refused for the prices of the moment.
    fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        if let Some(inner) = self.inner_mut() {
            inner.resume(usage);
        }
    }

    /// What the policy promises to jobs that wait.
    fn promise(&self) -> Promise {
        self.inner().map_or(Promise::Nothing, Policy::promise)
    }

    /// Whether what queues want in trades ([`Trade::reserve`](tradewind_model::Trade::reserve)) is what
    /// their owners' lists say, on the mean of the job's expected time there. If not, demand may have
    /// changed it.
    fn trades_at_list(&self) -> bool {
        self.inner().is_some_and(Policy::trades_at_list)
    }

    /// When a waiting job is to start, if the policy has set that down. Under
    /// [`Promise::Reservations`] it is a promise.
    fn reservation(&self, job: JobId) -> Option<Time> {
        self.inner()?.reservation(job)
    }

    /// All nodes that the policy has set aside for waiting jobs, from when until when. Empty: none, or
    /// the policy does not say.
    fn reserved(&self) -> Vec<(JobId, Taken)> {
        self.inner().map(Policy::reserved).unwrap_or_default()
    }

    /// What users have used up to `now`, the user who has used least first: where the order is by
    /// fair share. Others have used nothing. Jobs that ran at the last call are taken to run still.
    fn standing(&self, now: Time) -> Vec<UserShare> {
        self.inner().map(|inner| inner.standing(now)).unwrap_or_default()
    }

    /// If the policy decides for one member of a larger grid: what it tells those who negotiate with
    /// the others.
    fn exchange(&self) -> Option<&dyn Exchange> {
        self.inner()?.exchange()
    }

    /// The same, to be told how jobs come.
    fn exchange_mut(&mut self) -> Option<&mut dyn Exchange> {
        self.inner_mut()?.exchange_mut()
    }

    /// What the policy has counted so far and no other part can, under names of measures: messages
    /// between sites, say.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.inner().map(Policy::counts).unwrap_or_default()
    }
}

/// All methods as the policy behind a pointer has them.
macro_rules! behind_pointer {
    () => {
        fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
            (**self).decide(market, events, commands);
        }

        fn inner(&self) -> Option<&dyn Policy> {
            (**self).inner()
        }

        fn inner_mut(&mut self) -> Option<&mut dyn Policy> {
            (**self).inner_mut()
        }

        fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
            (**self).resume(usage);
        }

        fn promise(&self) -> Promise {
            (**self).promise()
        }

        fn trades_at_list(&self) -> bool {
            (**self).trades_at_list()
        }

        fn reservation(&self, job: JobId) -> Option<Time> {
            (**self).reservation(job)
        }

        fn reserved(&self) -> Vec<(JobId, Taken)> {
            (**self).reserved()
        }

        fn standing(&self, now: Time) -> Vec<UserShare> {
            (**self).standing(now)
        }

        fn exchange(&self) -> Option<&dyn Exchange> {
            (**self).exchange()
        }

        fn exchange_mut(&mut self) -> Option<&mut dyn Exchange> {
            (**self).exchange_mut()
        }

        fn counts(&self) -> Vec<(&'static str, u64)> {
            (**self).counts()
        }
    };
}

/// Another one's policy, for as long as it is lent.
impl<P: Policy + ?Sized> Policy for &mut P {
    behind_pointer!();
}

/// A policy in a box.
impl<P: Policy + ?Sized> Policy for Box<P> {
    behind_pointer!();
}

/// What a policy promises the head of the queue, for checkers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// The policy promises nothing about starts.
    Nothing,
    /// Jobs start in the order of submission.
    Order,
    /// No job delays the head beyond the moment at which enough processors are expected to be
    /// free for it.
    Head,
    /// No job starts later than its first [`Policy::reservation`] said.
    Reservations,
}
