//! The status of jobs that went: their homes ask, and accept what the markets that have them report.

use std::collections::BTreeMap;

use tradewind_io::submission::OnLost;
use tradewind_model::Time;
use tradewind_sched::negotiation::Peer;

use super::{RemoteProgress, RemoteStatus, StatusQuery, StatusReport};
use crate::live::input::Refusal;
use crate::live::record::{JobRecord, PeerRecord};
use crate::live::rights::Actor;
use crate::live::state::{Finish, Hold, Job, Phase, State};
use crate::live::{ApplyError, Live};

impl Live {
    /// By peer: what is to be asked of jobs that went there. Linear in those.
    pub fn wanted(&self) -> BTreeMap<Peer, Vec<StatusQuery>> {
        let mut wanted = BTreeMap::<Peer, Vec<StatusQuery>>::new();
        for number in &self.index.away {
            let Some(job) = self.state.jobs.get(number) else { continue };
            let Some(away) = job.away().filter(|_| job.phase() == Phase::Away) else {
                continue;
            };
            let cancel = job.cancelled_by.is_some();
            let it = StatusQuery { job: *number, transfer: away.transfer, cancel };
            wanted.entry(away.peer).or_default().push(it);
        }
        wanted
    }

    /// A home asks for its jobs.
    pub(in crate::live) fn report(
        &mut self,
        at: Time,
        actor: &Actor,
        market: &str,
        wanted: &[StatusQuery],
    ) -> Result<Result<Vec<StatusReport>, Refusal>, ApplyError> {
        let peer = match self.recognise(at, actor, market)? {
            Ok(peer) => peer,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let mut reports = Vec::with_capacity(wanted.len());
        for it in wanted {
            let known = self.state.guest(peer, it).map(|job| job.number);
            if let Some(number) = known.filter(|_| it.cancel) {
                self.cancel_guest(at, number, &actor.user)?;
            }
            let fate = self
                .state
                .guest(peer, it)
                .map_or(RemoteStatus::Unknown, |job| self.state.fate(job));
            reports.push(StatusReport { job: it.job, transfer: it.transfer, fate });
        }
        Ok(Ok(reports))
    }

    fn cancel_guest(&mut self, at: Time, number: u64, by: &str) -> Result<(), ApplyError> {
        match self.state.jobs.get(&number).map(Job::phase) {
            Some(Phase::Running) if !self.is_cancelled(number) => {
                self.put(at, JobRecord::Cancelling { job: number, by: by.to_owned() })?;
                self.judge(at, number)
            }
            Some(Phase::Waiting | Phase::Held(_)) => self.finish(at, number, Finish::Cancelled),
            _ => Ok(()),
        }
    }

    fn is_cancelled(&self, number: u64) -> bool {
        self.state.jobs.get(&number).is_some_and(|job| job.cancelled_by.is_some())
    }

    /// A peer has told of jobs that went there. What is about another hand-over than the job's
    /// last is old.
    pub(in crate::live) fn reported(
        &mut self,
        at: Time,
        peer: Peer,
        reports: &[StatusReport],
    ) -> Result<(), ApplyError> {
        for StatusReport { job: number, transfer, fate } in reports {
            let Some(job) = self.state.jobs.get(number) else { continue };
            let Some(away) = job.away().filter(|_| job.phase() == Phase::Away) else {
                continue;
            };
            if away.peer != peer || away.transfer != *transfer {
                continue;
            }
            let known = away.news.clone();
            match fate {
                RemoteStatus::There(news) => {
                    if known.as_ref() != Some(news) {
                        let news = news.clone();
                        self.put(at, PeerRecord::Heard { job: *number, news })?;
                    }
                    if let Some(finish) = news.finish.clone() {
                        self.ended_away(at, *number, finish)?;
                    }
                }
                RemoteStatus::Back(why) => self.came_back(at, *number, why)?,
                RemoteStatus::Unknown => {
                    self.lost_away(at, *number, "the peer does not know it any more")?;
                }
            }
        }
        Ok(())
    }

    fn ended_away(&mut self, at: Time, number: u64, finish: Finish) -> Result<(), ApplyError> {
        self.index.away.remove(&number);
        match finish {
            Finish::NodeFail => self.lost_away(at, number, "the peer lost it"),
            finish => self.finish(at, number, finish),
        }
    }

    /// It may have run in part, and will not go on: as its user wants.
    fn lost_away(&mut self, at: Time, number: u64, why: &str) -> Result<(), ApplyError> {
        self.index.away.remove(&number);
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let cancelled = job.cancelled_by.is_some();
        match job.submission.on_lost {
            _ if cancelled => self.finish(at, number, Finish::Cancelled),
            OnLost::Fail => self.finish(at, number, Finish::NodeFail),
            OnLost::Rerun => self.came_back(at, number, why),
            OnLost::Hold => {
                let (why, hold) = (why.to_owned(), Hold::Lost);
                self.put(at, PeerRecord::CameBack { job: number, why, hold })
            }
        }
    }

    /// It waits here again.
    fn came_back(&mut self, at: Time, number: u64, why: &str) -> Result<(), ApplyError> {
        self.index.away.remove(&number);
        if self.is_cancelled(number) {
            return self.finish(at, number, Finish::Cancelled);
        }
        let (why, hold) = (why.to_owned(), Hold::Nowhere);
        self.put(at, PeerRecord::CameBack { job: number, why, hold })?;
        self.enqueue(at, number)
    }
}

impl State {
    /// The job that the peer of this name asks about, if it is here.
    pub fn guest_of(&self, name: &str, wanted: &StatusQuery) -> Option<&Job> {
        self.guest(self.peers.number_of(name)?, wanted)
    }

    /// The job that the question is about.
    fn guest(&self, peer: Peer, wanted: &StatusQuery) -> Option<&Job> {
        let number = self.peers.taken.get(&(peer, wanted.transfer))?;
        let job = self.jobs.get(number)?;
        job.origin.as_ref().filter(|origin| origin.job == wanted.job).map(|_| job)
    }

    fn fate(&self, job: &Job) -> RemoteStatus {
        let finish = match job.phase() {
            Phase::Over(Finish::Returned(why)) => return RemoteStatus::Back(why.clone()),
            Phase::Over(Finish::Refused(reason)) => return RemoteStatus::Back(reason.to_string()),
            Phase::Over(finish) => Some(finish.clone()),
            _ => None,
        };
        let since = job.parts().iter().filter_map(|part| part.since).min();
        let nodes = job.parts().iter().map(|part| {
            let pool = &self.market.pools().pool(part.pool).name;
            match part.names.is_empty() {
                true => pool.clone(),
                false => format!("{pool}: {}", part.names.join(",")),
            }
        });
        let nodes = if since.is_some() { nodes.collect() } else { Vec::new() };
        RemoteStatus::There(RemoteProgress { since, nodes, finish, charged: job.paid })
    }
}
