//! How long a job is expected to run, as given to the policy.

use std::collections::BTreeMap;

use tradewind_model::Span;

use crate::workload::Job;

/// Where estimates come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimate {
    /// The user's request.
    #[default]
    Requested,
    /// How long it will really run: an oracle.
    Exact,
    /// The mean of the last two runs of the same user that ended before the submission, rounded
    /// up and never above the request (Tsafrir, Etsion and Feitelson, 2007); the request, while
    /// there are not two.
    Predicted,
}

/// Remembers the last runs of each user.
#[derive(Debug, Default)]
pub(crate) struct Estimator {
    last: BTreeMap<i64, [Option<Span>; 2]>,
}

impl Estimator {
    /// At least 1 s.
    pub(crate) fn of(&self, job: &Job, estimate: Estimate) -> Span {
        let span = match estimate {
            Estimate::Requested => job.requested,
            Estimate::Exact => job.run,
            Estimate::Predicted => match self.last.get(&job.user) {
                Some([Some(a), Some(b)]) => Span((a.0 + b.0 + 1) / 2).min(job.requested),
                _ => job.requested,
            },
        };
        span.max(Span(1))
    }

    pub(crate) fn ended(&mut self, job: &Job) {
        let last = self.last.entry(job.user).or_default();
        *last = [last[1], Some(job.run)];
    }
}
