//! How Slurm is given a job.

use tradewind_io::settings::cluster::{Members, Mode};

use super::sbatch::{self, BeginTime, SbatchTerms};
use super::{Controller, caps, is_unanswered, pools, reserve};
use crate::site::SiteError;
use crate::site::clock::now;
use crate::site::limits::Cap;
use crate::site::managed::bundle::{Words, ahead};
use crate::site::managed::driver::Base;
use crate::site::managed::driver::manager::{SubmitAnswer, TaskSubmission};
use crate::site::managed::tool::{Call, Purpose, Who};

/// The largest script that Slurm takes, bytes, unless it is told otherwise.
const LARGEST: usize = 4_000_000;

/// How Slurm calls things on a node.
pub(super) const WORDS: Words = Words {
    id: "echo \"$SLURM_JOB_ID\"",
    nodes: "case $SLURM_JOB_NODELIST in *[[,]*) \
            scontrol show hostnames \"$SLURM_JOB_NODELIST\" 2>/dev/null && return ;; esac; \
            echo \"$SLURM_JOB_NODELIST\"",
    // To steps alone: without `--batch` or `--full` the script is left out.
    signal: "scancel --signal=\"$1\" \"$SLURM_JOB_ID\"",
};

/// The script, unless it is too long.
pub(super) fn script(script: String) -> Result<String, SiteError> {
    match script.len() {
        length if length > LARGEST => Err(SiteError::Refused(format!(
            "the script is too long: packed, {length} bytes; Slurm takes {LARGEST}"
        ))),
        _ => Ok(script),
    }
}

/// The answer with the limit that it names, if it names one.
fn answered(said: Result<(), SiteError>, cap: Option<Cap>) -> SubmitAnswer {
    match (said, cap) {
        (Err(SiteError::Refused(why)), Some(cap)) => {
            // The first line says nothing but this word, and the second is the same for all.
            let why = match why.contains(&cap.word) {
                true => why,
                false => format!("{}: {why}", cap.word),
            };
            (Err(SiteError::Capped(why)), Some(cap))
        }
        other => other,
    }
}

impl Controller {
    /// Submits a job; the limit that it met, if that is why it was not taken.
    pub(super) fn sbatch(&self, base: &Base, one: &TaskSubmission<'_>) -> SubmitAnswer {
        let mut complaint = String::new();
        let said = self.run_sbatch(base, one, &mut complaint);
        let cap = said.as_ref().err().and_then(|_| caps::of_refusal(&complaint));
        answered(said, cap)
    }

    fn run_sbatch(
        &self,
        base: &Base,
        one: &TaskSubmission<'_>,
        complaint: &mut String,
    ) -> Result<(), SiteError> {
        let TaskSubmission { order, pool, ticket, script, .. } = one;
        let begin = self.begin(base, one)?;
        let none = Members::default();
        let members = base.members.get(*pool).unwrap_or(&none);
        let excluded = self.excluded(members);
        let terms = SbatchTerms {
            members,
            excluded: &excluded,
            unit: base.cluster.unit,
            options: &base.cluster.options,
            begin: &begin,
            now: now(),
        };
        let words = sbatch::words(order, &ticket.mark(), &terms);
        let (who, input) = (Who::User(&ticket.account), script.as_bytes());
        let call = Call { who, words, input, purpose: Purpose::Order };
        let answer = base.tool.run(&call).inspect_err(|trouble| {
            // `sbatch` may have been trying again until it was killed.
            let said = trouble.to_string();
            complaint.push_str(said.rsplit_once("; it said: ").map_or("", |(_, said)| said));
        });
        let answer = answer.map_err(SiteError::from)?;
        if answer.is_good() {
            return Ok(());
        }
        complaint.push_str(&answer.err);
        let why = base.tool.failure(&call, &answer);
        if is_unanswered(&answer.err) || answer.code == Some(255) {
            return Err(SiteError::Unknown(why));
        }
        if let BeginTime::Within(name) = &begin
            && !order.aside
        {
            reserve::give_back(base, name);
        }
        Err(SiteError::Refused(why))
    }

    /// Nodes of the pool's partition that are not its own: only where hosts are named.
    fn excluded(&self, members: &Members) -> Vec<String> {
        if members.hosts.is_none() {
            return Vec::new();
        }
        let whole = Members { hosts: None, ..members.clone() };
        let own: Vec<&str> =
            pools::belonging(&self.nodes, members).iter().map(|node| node.name.as_str()).collect();
        let all = pools::belonging(&self.nodes, &whole).into_iter();
        all.map(|node| node.name.clone()).filter(|name| !own.contains(&name.as_str())).collect()
    }

    /// How the order's start is kept.
    fn begin(&self, base: &Base, one: &TaskSubmission<'_>) -> Result<BeginTime, SiteError> {
        let TaskSubmission { order, pool, ticket, .. } = one;
        match (base.cluster.mode, ahead(order, now())) {
            (Mode::Reservation, _) => {
                self.reserve_for(base, order, *pool, &ticket.account).map(BeginTime::Within)
            }
            _ if ticket.is_held => Ok(BeginTime::Held),
            (Mode::Begin, Some(start)) => Ok(BeginTime::After((start - now()).0)),
            _ => Ok(BeginTime::Now),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::site::limits::Holds;

    use super::*;

    #[test]
    fn a_refusal_that_names_a_limit_is_an_answer_of_its_own() {
        let refused = |why: &str| Err(SiteError::Refused(why.to_owned()));
        let cap = Cap { holds: Holds::ForNow, word: "MaxJobCount".to_owned() };
        let capped = |why: &str| (Err(SiteError::Capped(why.to_owned())), Some(cap.clone()));
        assert_eq!(
            answered(refused("job queue full"), Some(cap.clone())),
            capped("MaxJobCount: job queue full")
        );
        assert_eq!(answered(refused("MaxJobCount"), Some(cap.clone())), capped("MaxJobCount"));
        assert_eq!(answered(refused("no such option"), None), (refused("no such option"), None));
        let silent = Err(SiteError::Unknown("no answer".to_owned()));
        assert_eq!(answered(silent.clone(), Some(cap.clone())), (silent, Some(cap.clone())));
    }
}
