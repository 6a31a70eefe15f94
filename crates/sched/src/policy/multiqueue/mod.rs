//! The hybrid multi-queue site (paper 004, section 4; our reading).
//!
//! Large jobs go to the job queue, medium ones to the first and small ones to the second backfill
//! queue; jobs that other sites passed on go to the first one, and stand behind all local jobs.
//! A share α of the job queue's jobs hold a reservation each. A reservation is kept once it is
//! made: no job delays it, and it only moves closer ([`Reserve`] can change that). Every other job, in the order of queues and
//! classes, starts as soon as it fits beside the running jobs and all reservations.
//!
//! One pass, at every moment at which something happened:
//!
//! 1. Jobs with a reservation start or move closer, where something became free. With
//!    [`Reserve::Replanned`] all reservations are withdrawn instead.
//! 2. While fewer than ceil(α·J_n) of the J_n jobs in the job queue hold a reservation, one more
//!    is chosen: the oldest job if it has none ([`Guard`]), else the first in the order. It starts
//!    now if it fits, or gets the earliest place beside all others.
//! 3. All other jobs, in order, start now if they fit.
//! 4. Jobs leave the backfill queues for the job queue: those that have waited while `patience`
//!    others started, then as many as it takes to leave fewer than β in each.
//! 5. Again step 2: the job queue may have grown.
//!
//! Exact with respect to these rules. No job is starved, as long as running jobs and
//! outages end, α > 0, reservations are kept, the guard stands and patience is finite: see
//! `docs/explanation/multiqueue.md`.

mod classes;
mod settings;
mod site;

pub use classes::{Borders, SiteQueues};
pub use settings::{
    Age, Alpha, Guard, MultiQueueSettings, MultiQueueSettingsError, Overflow, OverflowMoves,
    RemoteClasses, Reserve, ShortFirst,
};
pub use site::MultiQueue;
