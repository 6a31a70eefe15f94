//! The local scheduler of an autonomous site: one pool, its own queues, no view of other sites.
//!
//! The owner of the scheduler reports what happened and then asks it to decide. Jobs that it
//! starts run at once. Nothing here knows how sites find each other: a job that should be passed
//! on is named, and stays until [`LocalScheduler::leave`] is called for it.

mod ahead;
mod plain;
mod timers;

use std::fmt::Debug;

use tradewind_model::{JobId, Outage, OutageId, PoolId, Share, Span, Time};

use super::Promise;
pub use ahead::{ExpectedJob, LookAhead, Moments};
pub use plain::{Plain, PlainSettings, QueueOrder};
pub use timers::Timers;

/// Whose job it is, seen from the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Submitted here.
    Local,
    /// Passed on by another site.
    Remote,
}

/// A job as one site sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteJob {
    /// Which. Ids follow the order of submission in the whole grid.
    pub job: JobId,
    /// Processors, at least 1.
    pub processors: u32,
    /// How long it is expected to run on this site's processors, at least 1 s.
    pub length: Span,
    /// When its user submitted it, wherever that was.
    pub submitted: Time,
}

impl SiteJob {
    /// What it takes of the site's only pool.
    pub(super) fn share(&self) -> Share {
        Share { pool: PoolId(0), nodes: self.processors }
    }
}

/// How busy a site is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Jobs that wait in the job queue.
    pub queued: u32,
    /// Jobs that wait to be backfilled: in the first and in the second backfill queue.
    pub backfill: [u32; 2],
    /// Processors × seconds that all these jobs expect to need.
    pub work: i128,
    /// Processors that are free now.
    pub free: u32,
}

impl Load {
    /// All jobs that wait.
    pub fn waiting(&self) -> u32 {
        self.queued + self.backfill[0] + self.backfill[1]
    }
}

/// The scheduler of an autonomous site.
///
/// Calls are made in the order of time; `now` never goes back. At every moment at which something
/// happened: first all that happened, ends before joins; then one [`LocalScheduler::decide`]. Questions
/// ([`LocalScheduler::promise`], [`LocalScheduler::load`], [`LocalScheduler::reservation`]) change nothing, and their answers
/// hold after a `decide` at the same moment.
pub trait LocalScheduler: Debug + Send {
    /// The job waits here from now on. A job that lost its nodes joins again.
    fn join(&mut self, wanted: SiteJob, origin: Origin, now: Time);

    /// A waiting job goes elsewhere or was withdrawn; its reservation is free for others. Nothing
    /// happens if it does not wait here.
    fn leave(&mut self, job: JobId, now: Time);

    /// A job runs here since `start`, by another scheduler's decision. It does not wait here.
    fn adopt(&mut self, wanted: SiteJob, start: Time, now: Time);

    /// A job that ran here for so long has ended, perhaps before or after its expected end.
    fn ended(&mut self, job: JobId, ran: Span, now: Time);

    /// A running job lost its nodes. It does not wait here until it joins again.
    fn interrupted(&mut self, job: JobId, now: Time);

    /// Nodes of this site will be missing (or are from now on). The outage's pool is not looked
    /// at. Reservations that stand in its way are made again.
    fn announced(&mut self, closure: OutageId, what: Outage, now: Time);

    /// The announced nodes are gone, perhaps sooner or later than announced: they are missing from
    /// now on until the outage is over.
    fn closed(&mut self, closure: OutageId, now: Time);

    /// The outage is over, perhaps sooner or later than announced.
    fn reopened(&mut self, closure: OutageId, now: Time);

    /// Adds the jobs that start now, in order, to `starts`: they count as running from now on.
    /// Adds to `surplus` the waiting jobs that the site would rather pass on, in order, each
    /// once; they go on waiting here, with full rights, until they leave.
    fn decide(&mut self, now: Time, starts: &mut Vec<JobId>, surplus: &mut Vec<JobId>);

    /// When to ask again, even if nothing happens.
    fn wake(&self) -> Option<Time>;

    /// The first moment at which a running job is expected to have ended. If it runs on, the next
    /// `decide` makes reservations again; so call `decide` before asking what is promised at a
    /// later moment.
    fn next_end(&self) -> Option<Time>;

    /// When such a job could start here if it joined at `from`, `from` not before `now`, without
    /// delaying any reservation; `None` if that is not foreseeable (it is wider than the site, or
    /// has to wait behind jobs whose starts are not known). O(log n), exact as things stand, and
    /// not binding, because nothing is set aside. But at `from == now` a remote job that gets the
    /// answer `now` is started by [`LocalScheduler::join`] and [`LocalScheduler::decide`] at this moment, and one
    /// that gets another answer is not. A local job nearly so: its coming may be what gives an
    /// older one a reservation. For a job with another answer the site is overloaded.
    fn promise(&self, wanted: &SiteJob, origin: Origin, now: Time, from: Time) -> Option<Time>;

    /// How busy the site is.
    fn load(&self) -> Load;

    /// When a waiting job is to start, if that is set down.
    fn reservation(&self, job: JobId) -> Option<Time>;

    /// What the site promises to jobs that wait, as long as no job exceeds its estimate and no node
    /// is missing.
    fn guarantee(&self) -> Promise {
        Promise::Nothing
    }
}
