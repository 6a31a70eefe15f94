//! Which part of a replay counts.

use tradewind_model::{Span, Time};

use crate::result::Run;
use crate::workload::{Job, Workload};

/// Spans at both ends of a replay whose submissions are not counted, so that an empty machine at
/// the start and a thinning queue at the end tell nothing. Which jobs count depends on the
/// workload alone, not on the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trim {
    /// From the first submission on.
    pub warm_up: Span,
    /// Up to the last submission.
    pub cool_down: Span,
}

/// The part of a replay that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Submissions from then on count.
    pub from: Time,
    /// Submissions up to then, and then, count.
    pub to: Time,
    /// Measures of time are taken over `[from, until)`: up to `to`, or if nothing is cut off the
    /// end, up to the last end of a job.
    pub until: Time,
}

impl Window {
    /// What `trim` leaves of the run. Submissions are in order in a workload.
    pub fn of(workload: &Workload, run: &Run, trim: Trim) -> Window {
        let submit = |job: Option<&Job>| job.map_or(Time(0), |job| job.submit);
        let from = submit(workload.jobs.first()) + trim.warm_up;
        let to = submit(workload.jobs.last()) - trim.cool_down;
        let ends = run.jobs.iter().filter(|ran| ran.refused.is_none()).map(|ran| ran.end);
        let until = match trim.cool_down {
            Span::ZERO => ends.max().unwrap_or(to),
            _ => to,
        };
        Window { from, to, until: until.max(from) }
    }

    /// Whether a job submitted then counts.
    pub fn has(self, submit: Time) -> bool {
        (self.from..=self.to).contains(&submit)
    }

    /// How long it is.
    pub fn span(self) -> Span {
        self.until - self.from
    }

    /// The seconds of `[start, end)` that lie in it.
    pub fn seconds_of(self, start: Time, end: Time) -> i64 {
        (end.min(self.until) - start.max(self.from)).0.max(0)
    }
}
