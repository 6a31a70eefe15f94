//! Which part of a replay counts.

use tradewind_model::{Span, Time};

use crate::result::Run;
use crate::workload::{Job, Workload};

/// Spans at both ends of a replay whose submissions are not counted, so that an empty machine at
/// the start and a thinning queue at the end show nothing. Which jobs count depends on the
/// workload alone, not on the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trim {
    /// From the first submission on.
    pub warm_up: Span,
    /// Up to the last submission.
    pub cool_down: Span,
}

/// The submissions that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The first moment.
    pub from: Time,
    /// The last moment.
    pub to: Time,
}

impl Counted {
    /// What `trim` leaves of the workload. Submissions are in order there.
    pub fn of(workload: &Workload, trim: Trim) -> Counted {
        let submit = |job: Option<&Job>| job.map_or(Time(0), |job| job.submit);
        let from = submit(workload.jobs.first()) + trim.warm_up;
        Counted { from, to: submit(workload.jobs.last()) - trim.cool_down }
    }

    /// Whether a job submitted then counts.
    pub fn has(self, submit: Time) -> bool {
        (self.from..=self.to).contains(&submit)
    }
}

/// The time over which use and queue are measured: `[from, until)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first submission that counts.
    pub from: Time,
    /// The last submission that counts, or if nothing is cut off the end, the last end of a job.
    pub until: Time,
}

impl Window {
    /// What `trim` leaves of the run.
    pub fn of(workload: &Workload, run: &Run, trim: Trim) -> Window {
        let Counted { from, to } = Counted::of(workload, trim);
        let ends = run.jobs.iter().filter(|ran| ran.refused.is_none()).map(|ran| ran.end);
        let until = match trim.cool_down {
            Span::ZERO => ends.max().unwrap_or(to),
            _ => to,
        };
        Window { from, until: until.max(from) }
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
