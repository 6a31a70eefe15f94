//! Jobs of workload logs in SWF.

use tradewind_sim::workload::LogJob;
use tradewind_swf as swf;

/// A job of a log; its width is what it got, or else what it asked for.
pub(crate) fn log_job(job: &swf::Record) -> LogJob {
    LogJob {
        number: job.number,
        submit: Some(job.submit),
        run: job.run,
        processors: job.held(),
        requested: job.requested_time,
        user: job.user,
        terms: None,
    }
}
