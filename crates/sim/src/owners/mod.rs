//! Sites whose owners have jobs of their own: a log, and a queue with a scheduler of its own.
//!
//! The site's scheduler ([`SiteQueue`]) starts its owners' jobs where nodes are free beside all that
//! runs there, jobs of the market included. It knows time limits; run times are known here only. For
//! the market, owners' jobs are outages: those that run have taken their nodes until their expected
//! end, and the look-ahead of the queue announces nodes for those that wait, at most
//! [`MAX_STEPS`](tradewind_sched::policy::owners::MAX_STEPS) steps for each pool. As the queue
//! changes, announcements are withdrawn and made again, always before the policy decides. So jobs of
//! the market take what the look-ahead leaves, and stand behind the owners' queue.
//!
//! **What owners may rely on**, as long as no job exceeds its time limit:
//!
//! - A job of the market delays no owner's job that waits when it starts, if running jobs end when
//!   expected: each owner's job then starts as if the market's job were not there.
//! - If jobs end early: under FCFS and conservative backfilling no owner's job starts later than
//!   foreseen when it was submitted ([`OwnerRan::foreseen`]), so that it can be delayed only by jobs
//!   of the market that ran already. Under EASY and depths between, an early end may change who is
//!   backfilled, and so delay others, with or without the market.
//! - Under any rule: jobs of the market put it off ([`Delays`]) by no more than [`max_delay`] and
//!   the longest of their time limits.
//! - It may start later than it would without the market: nodes that the market's jobs have come
//!   back when these end, and nothing interrupts them. How much later on the average depends on the
//!   [guard](tradewind_model::Guard): with the usual one less than 1 % in the drawn sites.
//!
//! **In line** ([`Standing::InLine`]) the market's jobs wait in the site's queue. After each pass of the
//! policy, a job for which an outlook of the market's queue finds the earliest place later in a pool
//! of such a site joins the queue of that site ([`Event::Lined`]), behind all that wait there by then,
//! as a job of one account in the order of submission. The policy has no more to decide about it:
//! the site's scheduler starts it. Until then its expected start is part of the announced load. If it
//! could start at once elsewhere, it leaves the queue and waits in the market's again, once at most.
//! While no owner's job waits or runs at a site, no job joins its queue, and the policy alone decides.
//!
//! [`Standing::InLine`]: tradewind_model::Standing::InLine
//! [`SiteQueue`]: tradewind_sched::policy::owners::SiteQueue
//! [`max_delay`]: tradewind_sched::policy::owners::SiteRule::max_delay
//! [`Event::Lined`]: tradewind_model::Event::Lined
//! [`Delays`]: tradewind_sched::policy::owners::Delays
//!
//! **Preemptible jobs** ([`Preemptible`]) are not counted by the site's scheduler. An owner's job that
//! needs their nodes takes them back: as many of these jobs as are needed are given the notice of the
//! site ([`Preemption::notice`]), those that started last first, and the owner's job begins when it has
//! all its nodes. So preemptible jobs delay an owner's job by no more than the notice, if no node
//! breaks meanwhile. Not where the market's jobs are in line.
//!
//! [`Preemptible`]: tradewind_model::Preemptible
//! [`Preemption::notice`]: tradewind_model::Preemption::notice
//!
//! `tests/owners` checks the first two and measures the third on drawn sites.

mod lines;
mod replayed;
mod site;
mod tenants;

use tradewind_model::{PoolId, Time};

pub(crate) use replayed::Owners;

/// What happened to an owner's job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerRan {
    /// When the look-ahead expected it to start, when it was submitted; `None` if that was beyond its
    /// bounds.
    pub foreseen: Option<Time>,
    /// When it started.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Where it ran.
    pub pool: PoolId,
}

/// What happened to the jobs of an [`OwnersLoad`](crate::workload::OwnersLoad): by index in its jobs;
/// `None` for one that never started, as its nodes were missing until the end of the replay.
pub type OwnersRun = Vec<Option<OwnerRan>>;
