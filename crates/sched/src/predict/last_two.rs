//! The mean of the user's last two runs.

use std::collections::BTreeMap;

use tradewind_model::{JobId, Span, Time};

use super::{Learner, Submission};

/// Predicts the mean of the last two runs of the same user that ended before the submission,
/// rounded down; the request, while there are not two (Tsafrir, Etsion and Feitelson, 2007).
#[derive(Debug, Default)]
pub struct LastTwo {
    users: BTreeMap<i64, [Option<Span>; 2]>,
    /// Whose jobs have not ended.
    active: BTreeMap<JobId, i64>,
}

impl Learner for LastTwo {
    fn submitted(&mut self, job: JobId, what: Submission) -> Span {
        self.active.insert(job, what.user);
        let mean = match self.users.get(&what.user) {
            Some([Some(one), Some(other)]) => Span((one.0 + other.0) / 2),
            _ => what.requested,
        };
        mean.min(what.requested).max(Span(1))
    }

    fn left(&mut self, job: JobId) {
        self.active.remove(&job);
    }

    fn ended(&mut self, job: JobId, run: Span, _: Time) {
        let Some(user) = self.active.remove(&job) else { return };
        let last = self.users.entry(user).or_default();
        *last = [last[1], Some(run)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_make_a_mean_that_never_exceeds_the_request() {
        let mut learner = LastTwo::default();
        let mut next = 0;
        let mut submit = |learner: &mut LastTwo, user, requested| {
            let (requested, at, traits) = (Span(requested), Time(0), Default::default());
            let what = Submission { user, processors: 1, requested, at, traits };
            next += 1;
            (JobId(next), learner.submitted(JobId(next), what).0)
        };
        let (first, predicted) = submit(&mut learner, 7, 100);
        assert_eq!(predicted, 100);
        learner.ended(first, Span(10), Time(10));
        let (second, predicted) = submit(&mut learner, 7, 100);
        assert_eq!(predicted, 100, "one run is not enough");
        learner.ended(second, Span(13), Time(30));
        assert_eq!(submit(&mut learner, 7, 100).1, 11);
        assert_eq!(submit(&mut learner, 7, 5).1, 5);
        assert_eq!(submit(&mut learner, 8, 100).1, 100, "another user's");
    }
}
