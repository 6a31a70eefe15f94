//! Check jobs: small jobs with known answers that peers get now and then.
//!
//! A check job is a job like others, of a user whose account pays for it, and goes to one peer only. It
//! computes a number from its arguments, and so does the home. There is at most one for each peer.

use std::sync::Arc;

use tradewind_io::submission::{Conditions, PeerChoice, Submission, TimeLimit, Work};
use tradewind_model::{Money, Span, Time, Times};
use tradewind_sched::negotiation::Peer;

use super::trust::has_run;
use crate::live::money::Account;
use crate::live::record::{JobRecord, Record};
use crate::live::state::jobs::BrokenOffer;
use crate::live::state::peers::{PeerChecks, PeerEntry};
use crate::live::state::{Finish, Job, JobHold, Phase, State};
use crate::live::{ApplyError, Live};

/// How a peer is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSettings {
    /// From one check job to the next.
    pub every: Span,
    /// What one may cost.
    pub most: Money,
    /// Whose jobs they are: this account pays.
    pub user: String,
}

impl CheckSettings {
    /// The user of check jobs, unless another is named.
    pub const USER: &str = "tradewind";
    /// What one may cost, unless it is said: a credit.
    pub const MOST: Money = Money(1_000_000);
}

/// What a peer shows of the output of a job that has ended there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerOutput {
    /// It knows of no output.
    Unknown,
    /// There is one, and it cannot be read now.
    Unreadable,
    /// Its end.
    Tail(String),
}

/// The job computes for a moment, with numbers that fit every shell.
const SCRIPT: &str = "#!/bin/sh
x=$1
n=$2
while [ \"$n\" -gt 0 ]; do
  x=$(( (x * 75 + 74) % 65537 ))
  n=$(( n - 1 ))
done
echo \"answer $x\"
";
/// Its limit.
const LIMIT: Span = Span(60);
/// The generator's modulus.
const MODULUS: u64 = 65_537;

/// The arguments of the check job with this number, another one each time.
fn arguments(job: u64, at: Time) -> [u64; 2] {
    let drawn = job.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at.0.unsigned_abs();
    [drawn % MODULUS, 1_000 + drawn / MODULUS % 4_000]
}

/// What the script prints.
fn answer([start, rounds]: [u64; 2]) -> String {
    let number = (0..rounds).fold(start, |x, _| (x * 75 + 74) % MODULUS);
    format!("answer {number}")
}

fn submission(name: &str, [start, rounds]: [u64; 2], most: Money) -> Submission {
    let terms = Conditions {
        budget: Some(most),
        peers: Some(PeerChoice::Only(vec![name.to_owned()])),
        ..Conditions::default()
    };
    Submission {
        terms,
        ..Submission::new(
            "check",
            Work::Script {
                text: SCRIPT.to_owned(),
                arguments: vec![start.to_string(), rounds.to_string()],
            },
            1,
            TimeLimit::one(LIMIT).counted_by(Times::Wall),
        )
    }
}

impl State {
    /// Whether the job is the last check job of a peer: it runs there or nowhere.
    pub(in crate::live) fn is_check(&self, number: u64) -> bool {
        self.peers.directory.values().any(|it| it.checks.is_some_and(|it| it.job == number))
    }

    /// How a check job failed that the peer says has ended like this, with this output.
    pub(super) fn wrong_answer(
        &self,
        job: &Job,
        finish: &Finish,
        output: Option<&PeerOutput>,
    ) -> Option<BrokenOffer> {
        // One that is called back is judged for that.
        let is_recalled = job.away().is_some_and(|away| away.recalled.is_some());
        let is_wanted = job.cancelled_by.is_none() && !is_recalled && *finish != Finish::NodeFail;
        if !is_wanted || !self.is_check(job.number) {
            return None;
        }
        let checks = self.peers.directory.values().filter_map(|it| it.checks);
        let at = checks.filter(|it| it.job == job.number).map(|it| it.at).next()?;
        let due = answer(arguments(job.number, at));
        let is_right = match output {
            Some(PeerOutput::Tail(text)) => text.lines().any(|line| line == due),
            _ => false,
        };
        (*finish != Finish::Completed || !is_right).then_some(BrokenOffer::WrongAnswer)
    }
}

impl Live {
    /// Sends check jobs that are due to peers that answer. One that its peer did not take until the next
    /// is due is cancelled.
    pub(in crate::live) fn mind_checks(&mut self, at: Time) -> Result<(), ApplyError> {
        let due = |known: &PeerEntry| match self.settings.peer_checks.get(&known.name) {
            Some(check) => known.checks.is_none_or(|last| at - last.at >= check.every),
            None => known.checks.is_some_and(|last| self.is_held(last.job)),
        };
        let all = self.state.peers.directory.iter();
        let due = all.filter(|(_, known)| due(known)).map(|(peer, _)| *peer);
        for peer in due.collect::<Vec<_>>() {
            self.end_check_that_waits(at, peer)?;
            if let Some(check) = self.next_check(at, peer) {
                self.send_check(at, peer, &check)?;
            }
        }
        Ok(())
    }

    fn is_held(&self, number: u64) -> bool {
        let job = self.state.jobs.get(&number);
        job.is_some_and(|job| matches!(job.phase(), Phase::Held(_)))
    }

    fn end_check_that_waits(&mut self, at: Time, peer: Peer) -> Result<(), ApplyError> {
        let last = self.state.peers.directory.get(&peer).and_then(|known| known.checks);
        match last.filter(|last| self.is_held(last.job)) {
            Some(last) => self.finish(at, last.job, Finish::Cancelled),
            None => Ok(()),
        }
    }

    /// The settings for the next check job of a peer that can have one now: it answers, may have more jobs,
    /// and the last one is over.
    fn next_check(&self, at: Time, peer: Peer) -> Option<CheckSettings> {
        let known = self.state.peers.directory.get(&peer)?;
        let check = self.settings.peer_checks.get(&known.name)?;
        let last = known.checks.and_then(|last| self.state.jobs.get(&last.job));
        let is_over = last.is_none_or(|job| matches!(job.phase(), Phase::Over(_)));
        let answers = self.contacts.get(&peer).is_some_and(|(there, _)| *there);
        let may = (peer, check.most);
        let may = self.state.may_have(&self.settings, at, &self.index.away, may);
        (is_over && answers && may && known.removed.is_none()).then(|| check.clone())
    }

    fn send_check(
        &mut self,
        at: Time,
        peer: Peer,
        check: &CheckSettings,
    ) -> Result<(), ApplyError> {
        let Some(known) = self.state.peers.directory.get(&peer) else { return Ok(()) };
        let (name, last) = (known.name.clone(), known.checks);
        let number = self.state.jobs.last + 1;
        let submission = submission(&name, arguments(number, at), check.most);
        if self.index.active.may_come(&check.user, 1, &submission, &self.settings).is_err() {
            return Ok(());
        }
        self.welcome(at, Account::User(check.user.clone()))?;
        self.put(
            at,
            Record::Job(JobRecord::Submitted {
                job: number,
                user: check.user.clone(),
                submission: Arc::new(submission),
                array: None,
                key: None,
            }),
        )?;
        self.count_in(number);
        self.change_peer(at, peer, |known| {
            let (right, wrong) = last.map_or((0, 0), |last| (last.right, last.wrong));
            known.checks = Some(PeerChecks { job: number, at, right, wrong });
        })?;
        self.put(at, JobRecord::Held { job: number, hold: JobHold::Nowhere })
    }

    /// What is not true of the answer of a check job, as far as the peer has shown it.
    pub(super) fn failed_check(&self, number: u64, finish: &Finish) -> Option<BrokenOffer> {
        let job = self.state.jobs.get(&number)?;
        self.state.wrong_answer(job, finish, self.outputs.get(&number))
    }

    /// Whether the peer knows no output of a job that ran there, as it says.
    pub(super) fn without_output(&self, number: u64, finish: &Finish) -> Option<BrokenOffer> {
        let is_unknown = self.outputs.get(&number) == Some(&PeerOutput::Unknown);
        (has_run(finish) && is_unknown).then_some(BrokenOffer::NoOutput)
    }
}
