//! Shadow mode: clusters that are only observed, and how good forecasts of their starts are.
//!
//! Each observed cluster has a thread that surveys it ([`Watch`]). A look-ahead at its queue says when
//! each waiting job will start; the forecast at the first sight of a job is kept, with that of the
//! manager, and both are compared with the start that came ([`Shadow`]). The market knows nothing
//! of these clusters: they are not among its pools, and [`Observed`](crate::site::observed::Observed)
//! takes no orders.
//!
//! A policy of the user's own may say what it would start at a survey ([`SitePolicy`]). It is asked in
//! the same thread, about a market that follows the surveys, and what it says is compared with the
//! starts, too.
//!
//! It is an observation and no part of the journal: it is kept in a file of its own, which is bounded.

mod advice;
mod ahead;
mod file;
mod mirror;
mod record;
mod summary;
#[cfg(test)]
mod tests;
mod times;
mod usage;
mod watch;

/// What is kept of observed clusters, as a damaged disk has it: for the fuzz targets.
#[cfg(feature = "fuzzing")]
pub fn read(bytes: &[u8]) {
    if let Ok(mut shadow) = file::read(bytes) {
        shadow.bound();
        let _ = shadow.summary();
    }
}

pub use advice::{Adviser, PolicyState, SitePolicy, StartAdviser};
pub use record::{Counts, MAX_SCORED, Shadow};
pub use summary::{Advised, Compared, Errors, SiteSummary, Summary, WaitSummary};
pub use usage::Hour;
pub use watch::{ObservedSite, Pricing, Records, Watch};
