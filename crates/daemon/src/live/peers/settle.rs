//! Doubt that does not end by itself: an administrator says what happened to a job at a peer.

use std::collections::BTreeSet;

use tradewind_io::submission::OnLost;
use tradewind_model::{Money, Time};
use tradewind_sched::negotiation::{Body, Envelope, Input, Peer, Serial};

use super::PeerSilence;
use super::limits::PATIENCE;
use crate::live::answer::{Refusal, RefusalKind, Reply};
use crate::live::record::PeerRecord;
use crate::live::rights::Actor;
use crate::live::state::jobs::{RemoteProgress, Settlement};
use crate::live::state::{Finish, Job, Phase};
use crate::live::tick::AT_ONCE;
use crate::live::{ApplyError, Live};

/// Who settles jobs at peers that were taken out of the configuration.
pub const WINDING_UP: &str = "tradewind";

impl Live {
    /// What would follow if the job were settled like this at `at`.
    ///
    /// # Errors
    /// If it cannot be settled.
    pub fn settlement(
        &self,
        at: Time,
        number: u64,
        outcome: Settlement,
    ) -> Result<String, Refusal> {
        let (job, name) = self.unsettled(at, number)?;
        let cost = job.away().map_or(Money::ZERO, |away| away.offer.quote.cost);
        Ok(match outcome {
            Settlement::Ran => format!(
                "job {number} counts as completed, and {cost} credits are paid to {name}; whether \
                 it ran, and how it ended, is not checked"
            ),
            Settlement::Lost => {
                let then = match job.submission.on_lost {
                    _ if job.cancelled_by.is_some() => "it is cancelled".to_owned(),
                    OnLost::Fail => "it ends as NODE_FAIL".to_owned(),
                    OnLost::Hold => "it is held until its user releases it".to_owned(),
                    OnLost::Rerun => format!(
                        "it waits in the queue again: if {name} has it and goes on, it runs twice"
                    ),
                };
                format!(
                    "job {number} is lost: {then}; {name} is not paid, and what it says of this \
                     job later has no effect"
                )
            }
        })
    }

    fn unsettled(&self, at: Time, number: u64) -> Result<(&Job, &str), Refusal> {
        let refuse = |kind, message: String, hint: &str| Err(Refusal::new(kind, message, hint));
        let Some(job) = self.state.jobs.get(&number) else {
            let message = format!("there is no job {number}");
            return refuse(RefusalKind::Unknown, message, "see `jobs --all`");
        };
        let away = job.away().filter(|_| matches!(job.phase(), Phase::Away | Phase::Handing));
        let Some(away) = away else {
            let message = format!("job {number} is not at a peer");
            return refuse(RefusalKind::Conflict, message, "see `jobs`");
        };
        let is_late = self.state.due_from_peer(job).is_some_and(|due| at > due);
        let is_down = self.contacts.get(&away.peer).is_some_and(|(there, _)| !there);
        match self.state.silence_of(job) {
            Some(PeerSilence::Removed(_)) => Ok((job, &away.name)),
            Some(PeerSilence::Silent(since)) if at - since > PATIENCE => Ok((job, &away.name)),
            _ if is_late => Ok((job, &away.name)),
            silence if silence.is_some() || is_down => {
                let message = format!("{} does not answer, but only for a moment", away.name);
                let hint = "a job can be settled after five minutes without an answer";
                refuse(RefusalKind::Conflict, message, hint)
            }
            _ => {
                let message =
                    format!("{} answers: it can say itself how job {number} is", away.name);
                let hint = "`cancel` stops the job there; it can be settled once it should have \
                            ended, or once its peer is taken out of the configuration";
                refuse(RefusalKind::Conflict, message, hint)
            }
        }
    }

    pub(in crate::live) fn settle_by_hand(
        &mut self,
        at: Time,
        actor: &Actor,
        number: u64,
        outcome: Settlement,
    ) -> Result<Result<Reply, Refusal>, ApplyError> {
        if let Err(refusal) = self.unsettled(at, number) {
            return Ok(Err(refusal));
        }
        self.arrived_as_far_as_known(at, number)?;
        let by = actor.user.clone();
        self.put(at, PeerRecord::SettledByHand { job: number, by, outcome })?;
        match outcome {
            Settlement::Lost => {
                self.lost_away(at, number, "an administrator has given it up")?;
            }
            Settlement::Ran => self.completed_by_hand(at, number)?,
        }
        Ok(Ok(Reply::Done))
    }

    /// Jobs at peers that were taken out of the configuration are wound up once they should have been
    /// over for long: no message will say how they are. They are lost; one that its user wants to run
    /// again is held, since it may have run.
    pub(in crate::live) fn wind_up(&mut self, at: Time) -> Result<(), ApplyError> {
        let gone = self.state.peers.directory.values().filter_map(|known| known.removed);
        if gone.min().is_none_or(|removed| at <= removed + PATIENCE) {
            return Ok(());
        }
        let doubt = self.state.peers.durable.handing.values();
        let doubt = doubt.map(|handing| u64::from(handing.parcel.ticket.job.0));
        let all: BTreeSet<u64> = self.index.away.iter().copied().chain(doubt).collect();
        let is_due = |number: &u64| {
            let job = self.state.jobs.get(number)?;
            let Some(PeerSilence::Removed(removed)) = self.state.silence_of(job) else {
                return None;
            };
            let due = self.state.due_from_peer(job)?.max(removed + PATIENCE);
            (at > due).then_some(*number)
        };
        let due: Vec<u64> = all.iter().filter_map(is_due).take(AT_ONCE).collect();
        for number in due {
            self.arrived_as_far_as_known(at, number)?;
            let (by, outcome) = (WINDING_UP.to_owned(), Settlement::Lost);
            self.put(at, PeerRecord::SettledByHand { job: number, by, outcome })?;
            let why = "its peer is not in the configuration any more, and it should be over";
            self.may_have_run(at, number, why)?;
        }
        Ok(())
    }

    /// A job in doubt counts as arrived: what follows is as if the peer had it and lost or ran it.
    fn arrived_as_far_as_known(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let doubt = self.state.jobs.get(&number).filter(|job| job.phase() == Phase::Handing);
        let Some(away) = doubt.and_then(Job::away) else { return Ok(()) };
        let (from, transfer) = (away.peer, away.transfer);
        let settled = Serial::default();
        let done = Envelope { from, to: Peer(0), settled, body: Body::Done { transfer } };
        self.negotiate(at, Input::Heard(done), None)
    }

    fn completed_by_hand(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let job = self.state.jobs.get(&number).ok_or(ApplyError::Job(number))?;
        let away = job.away().ok_or(ApplyError::Job(number))?;
        let known = away.news.clone();
        let news = RemoteProgress {
            since: known.as_ref().and_then(|news| news.since),
            nodes: known.map(|news| news.nodes).unwrap_or_default(),
            finish: Some(Finish::Completed),
            charged: away.offer.quote.cost,
            receipt: None,
        };
        self.put(at, PeerRecord::Heard { job: number, news })?;
        self.index.away.remove(&number);
        self.finish(at, number, Finish::Completed)
    }
}
