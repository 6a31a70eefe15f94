//! Jobs without their scripts and environments.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tradewind_io::submission::{Submission, Surroundings, Work};

use super::{Jobs, Stage};
use crate::live::state::ApplyError;

/// SHA-256 of the script; of a command: of its words, each with a zero byte behind it.
pub(in crate::live) fn hash_of(submission: &Submission) -> [u8; 32] {
    let hash = match &submission.work {
        Work::Script { text, .. } => Sha256::new().chain_update(text),
        Work::Command(words) => {
            words.iter().fold(Sha256::new(), |hash, word| hash.chain_update(word).chain_update([0]))
        }
    };
    hash.finalize().into()
}

/// The submission without script and environment.
pub(in crate::live) fn bare(submission: &Submission) -> Submission {
    let work = match &submission.work {
        Work::Script { arguments, .. } => {
            Work::Script { text: String::new(), arguments: arguments.clone() }
        }
        Work::Command(words) => Work::Command(words.clone()),
    };
    let surroundings =
        Surroundings { environment: BTreeMap::new(), ..submission.surroundings.clone() };
    Submission { work, surroundings, ..submission.clone() }
}

impl Jobs {
    pub(in crate::live::state) fn redact(
        &mut self,
        job: u64,
        last: u64,
        hash: &[u8; 32],
    ) -> Result<(), ApplyError> {
        let shared = self.table.get(&job).map(|job| Arc::clone(&job.submission));
        let shared = shared.ok_or(ApplyError::Job(job))?;
        let less = Arc::new(bare(&shared));
        let numbers = self.table.range(job..=last).map(|(number, _)| *number);
        for number in numbers.collect::<Vec<_>>() {
            let job = self.job(number)?;
            let is_same = Arc::ptr_eq(&job.submission, &shared) || job.submission == shared;
            let Stage::Over(end) = &mut job.stage else { return Err(ApplyError::Job(number)) };
            if !is_same {
                return Err(ApplyError::Job(number));
            }
            end.redacted = Some(*hash);
            job.submission = Arc::clone(&less);
        }
        Ok(())
    }
}
