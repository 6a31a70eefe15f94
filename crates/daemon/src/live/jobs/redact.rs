//! Scripts and environments of jobs that are over leave the state after a while; the journal keeps
//! them. They are most of what a job takes, and they are not needed any more.

use std::sync::Arc;

use tradewind_io::submission::{Submission, Work};
use tradewind_model::Time;

use crate::live::record::JobRecord;
use crate::live::state::Job;
use crate::live::state::jobs::redact::hash_of;
use crate::live::tick::AT_ONCE;
use crate::live::{ApplyError, Live};

fn is_bare(submission: &Submission) -> bool {
    let has_script = matches!(&submission.work, Work::Script { text, .. } if !text.is_empty());
    !has_script && submission.surroundings.environment.is_empty()
}

/// Whether they are jobs of one array with one submission.
fn belong_together(one: &Job, other: &Job) -> bool {
    let array = |job: &Job| job.array.map(|(first, _)| first);
    array(one).is_some()
        && array(one) == array(other)
        && Arc::ptr_eq(&one.submission, &other.submission)
}

impl Live {
    /// Drops scripts and environments of jobs that have been over for long enough.
    pub(in crate::live) fn drop_scripts(&mut self, at: Time) -> Result<(), ApplyError> {
        let Some(keep) = self.settings.keep_scripts else { return Ok(()) };
        for _ in 0..AT_ONCE {
            let Some(&(end, number)) = self.index.redactable.first() else { return Ok(()) };
            if end >= at - keep {
                return Ok(());
            }
            self.index.redactable.pop_first();
            if let Some((job, last, hash)) = self.redactable_with(number, at - keep) {
                self.put(at, JobRecord::Redacted { job, last, hash })?;
            }
        }
        Ok(())
    }

    /// The jobs that share this one's submission, from the first to the last, if all of them ended
    /// before `limit`: or else the one that ends last will ask again.
    fn redactable_with(&self, number: u64, limit: Time) -> Option<(u64, u64, [u8; 32])> {
        let jobs = &self.state.jobs;
        let job = jobs.get(&number)?;
        if job.redacted().is_some() || is_bare(&job.submission) {
            return None;
        }
        let (mut first, mut last) = (number, number);
        // Most arrays end in the order of their numbers: the later ones are asked first.
        let later = jobs.range(number + 1..).map(|(_, other)| other);
        for other in later.take_while(|other| belong_together(job, other)) {
            last = other.number;
            other.ended().filter(|ended| *ended < limit)?;
        }
        let earlier = jobs.range(..number).rev().map(|(_, other)| other);
        for other in earlier.take_while(|other| belong_together(job, other)) {
            first = other.number;
            other.ended().filter(|ended| *ended < limit)?;
        }
        Some((first, last, hash_of(&job.submission)))
    }
}
