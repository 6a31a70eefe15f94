//! Time limits of jobs, and how much of them they used.

use tradewind_io::submission::{Submission, TimeLimit};
use tradewind_model::{Span, TimeMode};

use super::{Finish, Job, Part, Phase};

/// The one time limit that a submission asks for. `None`: it has limits by class of nodes.
pub fn limit_of(submission: &Submission) -> Option<Span> {
    match submission.time {
        TimeLimit::One { limit, .. } | TimeLimit::Reference(limit) => Some(limit),
        TimeLimit::Classes(_) => None,
    }
}

/// How its one time limit is counted.
pub(in crate::live::state) fn mode_of(submission: &Submission) -> TimeMode {
    match submission.time {
        TimeLimit::One { counted, .. } => counted.mode(),
        TimeLimit::Reference(_) => TimeMode::WORK,
        TimeLimit::Classes(_) => TimeMode::WALL,
    }
}

impl Part {
    /// How long it may run, without the transfer of its data.
    pub fn run_limit(&self) -> Span {
        let staging = self.staging.unwrap_or_default().total();
        Span((self.limit.0 - staging.0).max(1))
    }
}

impl Job {
    /// The part that ran longest, how long that was as a part of its one time limit, and that limit.
    /// `None`: it did not run to an end of its own.
    pub(in crate::live) fn ran(&self) -> Option<(&Part, Span, Span)> {
        let Phase::Over(finish) = self.phase() else { return None };
        let is_own = matches!(
            finish,
            Finish::Completed
                | Finish::Timeout
                | Finish::Failed(_)
                | Finish::Killed(_)
                | Finish::OutOfMemory
        );
        self.used_of_limit().filter(|_| is_own && self.started().is_some())
    }

    pub(in crate::live) fn used_of_limit(&self) -> Option<(&Part, Span, Span)> {
        let (asked, end) = (limit_of(&self.submission)?, self.ended()?);
        let used = |part: &&Part| {
            let worked = i128::from(self.worked(part, end).0) * i128::from(asked.0);
            let limit = i128::from(part.run_limit().0.max(1));
            i64::try_from((worked + limit - 1) / limit).unwrap_or(asked.0)
        };
        let most = self.parts().iter().max_by_key(used)?;
        Some((most, Span(used(&most).clamp(1, asked.0.max(1))), asked))
    }
}
