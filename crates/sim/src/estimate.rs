//! How long a job is expected to run, as given to the policy.

use tradewind_model::{Correction, Event, JobId, Span, Time};
use tradewind_sched::predict::{JobTraits, LastTwo, Learned, Learner, PublishedLinear, Submission};

use crate::workload::Job;

/// Where estimates come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimate {
    /// The user's request.
    #[default]
    Requested,
    /// How long it will really run: an oracle.
    Exact,
    /// The mean of the user's last two runs ([`LastTwo`]), corrected by [`Correction::Stepped`].
    Predicted,
    /// The online linear learner of a published study ([`PublishedLinear`]), corrected by
    /// [`Correction::Requested`].
    PublishedLinear,
    /// Our own learner ([`Learned`]), corrected by [`Correction::Stepped`].
    Learned,
}

/// The estimates that policies get.
#[derive(Debug)]
pub(crate) struct Estimator {
    estimate: Estimate,
    learner: Option<Box<dyn Learner>>,
}

impl Estimator {
    pub(crate) fn new(estimate: Estimate) -> Estimator {
        let learner: Option<Box<dyn Learner>> = match estimate {
            Estimate::Requested | Estimate::Exact => None,
            Estimate::Predicted => Some(Box::<LastTwo>::default()),
            Estimate::PublishedLinear => Some(Box::<PublishedLinear>::default()),
            Estimate::Learned => Some(Box::<Learned>::default()),
        };
        Estimator { estimate, learner }
    }

    /// Whether estimates may be too short for jobs that keep to their requests.
    pub(crate) fn may_fall_short(&self) -> bool {
        self.learner.is_some()
    }

    /// Of a job that is submitted at `now`: at least 1 s, and what is expected after that.
    pub(crate) fn of(&mut self, id: JobId, job: &Job, now: Time) -> (Span, Correction) {
        let requested = job.requested.max(Span(1));
        let Some(learner) = &mut self.learner else {
            let exact = self.estimate == Estimate::Exact;
            return (if exact { job.run.max(Span(1)) } else { requested }, Correction::Doubled);
        };
        let Job { user, processors, .. } = *job;
        let what =
            Submission { user, processors, requested, at: now, traits: JobTraits::default() };
        let correction = match self.estimate {
            Estimate::PublishedLinear => Correction::Requested(requested),
            _ => Correction::Stepped(requested),
        };
        (learner.submitted(id, what), correction)
    }

    /// Anything but a submission or an end.
    pub(crate) fn happened(&mut self, event: &Event, now: Time) {
        let Some(learner) = &mut self.learner else { return };
        match event {
            Event::Started { job, .. } => learner.started(*job, now),
            Event::Interrupted { job } => learner.interrupted(*job),
            Event::Refused { job } | Event::Cancelled { job } => learner.left(*job),
            _ => {}
        }
    }

    /// A job ended.
    pub(crate) fn ended(&mut self, id: JobId, job: &Job, now: Time) {
        self.learner.iter_mut().for_each(|learner| learner.ended(id, job.run, now));
    }
}
