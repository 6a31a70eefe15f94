//! The status of jobs that went: their homes ask, and accept what the markets that have them report.

use std::collections::BTreeMap;

use tradewind_io::submission::OnLost;
use tradewind_model::{Span, Time};
use tradewind_sched::negotiation::Peer;

use super::trust::{has_run, implausible, overdue};
use super::{PATIENCE, Receipts, RemoteStatus, StatusQuery, StatusReport};
use crate::live::answer::Refusal;
use crate::live::record::{JobRecord, PeerRecord};
use crate::live::rights::Actor;
use crate::live::state::jobs::{BrokenOffer, Receipt, RemoteProgress};
use crate::live::state::peers::PeerVerdict;
use crate::live::state::{Finish, Job, JobHold, Phase, State};
use crate::live::{ApplyError, Live};

/// Between two rows of the journal with news of the same job at a peer, but for its start and its end.
pub(super) const BETWEEN_NEWS: Span = Span(60);

impl Live {
    /// By peer: what is to be asked of jobs that went there. Linear in those.
    pub fn wanted(&self) -> BTreeMap<Peer, Vec<StatusQuery>> {
        let mut wanted = BTreeMap::<Peer, Vec<StatusQuery>>::new();
        for number in &self.index.away {
            let Some(job) = self.state.jobs.get(number) else { continue };
            let Some(away) = job.away().filter(|_| job.phase() == Phase::Away) else {
                continue;
            };
            let cancel = job.cancelled_by.is_some() || away.recalled.is_some();
            let receipt = self.receipts_of(away.peer);
            let it = StatusQuery { job: *number, transfer: away.transfer, cancel, receipt };
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
            let guest = self.state.guest(peer, it);
            let fate = guest.map_or(RemoteStatus::Unknown, |job| self.state.fate(job, it.receipt));
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
            match fate {
                RemoteStatus::There(news) => self.learn_of(at, *number, news)?,
                RemoteStatus::Back(why) => self.came_back(at, *number, why)?,
                RemoteStatus::Unknown => {
                    let verdict = PeerVerdict::Broken(BrokenOffer::Forgotten);
                    self.put(at, PeerRecord::Judged { job: *number, verdict })?;
                    self.lost_away(at, *number, "the peer does not know it any more")?;
                }
            }
        }
        self.heard.retain(|number, _| self.index.away.contains(number));
        Ok(())
    }

    /// A peer has told how a job is that it has.
    fn learn_of(&mut self, at: Time, number: u64, news: &RemoteProgress) -> Result<(), ApplyError> {
        let Some(away) = self.state.jobs.get(&number).and_then(Job::away) else { return Ok(()) };
        let (known, peer) = (away.news.clone(), away.peer);
        let mut news = news.clone();
        news.nodes = in_short(news.nodes);
        // A start that is not signed is none.
        let is_signed = news.receipt.is_some() || self.receipts_of(peer) == Receipts::Unasked;
        if news.since.is_some() && news.finish.is_none() && !is_signed {
            return self.mind_overdue(at, number);
        }
        // No clock is so far ahead.
        if news.since.is_some_and(|since| since > at + self.ahead_of(peer) + PATIENCE) {
            let before = known.as_ref().and_then(|known| known.since);
            news.since = Some(before.unwrap_or(at));
        }
        if known.as_ref() != Some(&news) && self.is_written_now(at, number, &news) {
            self.heard.insert(number, at);
            self.put(at, PeerRecord::Heard { job: number, news: news.clone() })?;
        }
        match news.finish.clone() {
            Some(finish) => self.ended_away(at, number, &news, finish),
            None => self.mind_overdue(at, number),
        }
    }

    /// A first start and an end are written down at once, other news once in a while: a peer may say
    /// something else each second.
    fn is_written_now(&self, at: Time, number: u64, news: &RemoteProgress) -> bool {
        let has_begun = self.state.jobs.get(&number).is_some_and(|job| job.started().is_some());
        let begins = news.since.is_some() && !has_begun;
        let is_late = self.heard.get(&number).is_none_or(|last| at >= *last + BETWEEN_NEWS);
        news.finish.is_some() || begins || is_late
    }

    fn ahead_of(&self, peer: Peer) -> Span {
        self.negotiator.as_ref().map_or(Span::ZERO, |it| it.clock_ahead_of(peer))
    }

    /// A job that should have begun or ended by now is to come back; if that does not help, it is
    /// lost.
    fn mind_overdue(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let Some(away) = job.away() else { return Ok(()) };
        match away.recalled {
            Some(since) if at > since + PATIENCE => {
                let why = format!("{} does not give it back", away.name);
                self.may_have_run(at, number, &why)
            }
            Some(_) => Ok(()),
            None => match overdue(&self.state, job, at) {
                None => Ok(()),
                Some(why) => {
                    let verdict = PeerVerdict::Broken(why);
                    self.put(at, PeerRecord::Judged { job: number, verdict })?;
                    self.put(at, PeerRecord::Recalled { job: number })
                }
            },
        }
    }

    fn ended_away(
        &mut self,
        at: Time,
        number: u64,
        news: &RemoteProgress,
        finish: Finish,
    ) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let Some(away) = job.away() else { return Ok(()) };
        let is_recalled = away.recalled.is_some() && job.cancelled_by.is_none();
        let name = away.name.clone();
        let ahead = self.ahead_of(away.peer);
        let wrong = implausible(job, away, (news, &finish), (at, ahead));
        let wrong = wrong.or(self.without_receipt(away, news, &finish));
        let wrong = wrong.or_else(|| self.without_output(number, &finish));
        let wrong = wrong.or_else(|| self.failed_check(number, &finish));
        let is_judged = away.doubtful.is_some();
        self.index.away.remove(&number);
        if let Some(why) = wrong {
            let verdict = PeerVerdict::Broken(why);
            self.put(at, PeerRecord::Judged { job: number, verdict })?;
            return self.may_have_run(at, number, &format!("{name} {}", why.words()));
        }
        match finish {
            Finish::NodeFail => {
                let verdict = PeerVerdict::Broken(BrokenOffer::Lost);
                self.put(at, PeerRecord::Judged { job: number, verdict })?;
                self.lost_away(at, number, "the peer lost it")
            }
            Finish::Cancelled if is_recalled && news.since.is_none() => {
                let why = format!("{name} {}", BrokenOffer::NotStarted.words());
                self.came_back(at, number, &why)
            }
            Finish::Cancelled if is_recalled => {
                self.may_have_run(at, number, &format!("{name} {}", BrokenOffer::NotEnded.words()))
            }
            finish => {
                if has_run(&finish) && !is_judged {
                    let verdict = PeerVerdict::Kept;
                    self.put(at, PeerRecord::Judged { job: number, verdict })?;
                }
                self.finish(at, number, finish)
            }
        }
    }

    /// What a peer says of the job is not believed: it is lost, and does not run again by itself.
    pub(super) fn may_have_run(
        &mut self,
        at: Time,
        number: u64,
        why: &str,
    ) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        match job.submission.on_lost {
            OnLost::Rerun if job.cancelled_by.is_none() => {
                self.index.away.remove(&number);
                let (why, hold) = (why.to_owned(), JobHold::Lost);
                self.put(at, PeerRecord::CameBack { job: number, why, hold })
            }
            _ => self.lost_away(at, number, why),
        }
    }

    /// It may have run in part, and will not go on: as its user wants.
    pub(super) fn lost_away(&mut self, at: Time, number: u64, why: &str) -> Result<(), ApplyError> {
        self.index.away.remove(&number);
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let cancelled = job.cancelled_by.is_some();
        match job.submission.on_lost {
            _ if cancelled => self.finish(at, number, Finish::Cancelled),
            OnLost::Fail => self.finish(at, number, Finish::NodeFail),
            OnLost::Rerun => self.came_back(at, number, why),
            OnLost::Hold => {
                let (why, hold) = (why.to_owned(), JobHold::Lost);
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
        let (why, hold) = (why.to_owned(), JobHold::Nowhere);
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

    fn fate(&self, job: &Job, wanted: Receipts) -> RemoteStatus {
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
        let nodes = if since.is_some() { in_short(nodes) } else { Vec::new() };
        let until = finish.as_ref().and_then(|_| job.ended());
        let is_due = wanted == Receipts::Required && (since.is_some() || finish.is_some());
        let receipt = is_due.then(|| Receipt { until, signature: String::new() });
        RemoteStatus::There(RemoteProgress { since, nodes, finish, charged: job.paid, receipt })
    }
}

/// Bytes of the names of a job's nodes that a market tells its home: what it says of all jobs that one
/// question is about fits into what a home reads of an answer.
const PLACES: usize = 8 << 10;

/// The first of these places, as far as there is room for them.
fn in_short(places: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut room = PLACES;
    let mut kept = Vec::new();
    for mut place in places {
        if place.len() > room {
            let cut = (0..=room).rev().find(|at| place.is_char_boundary(*at)).unwrap_or(0);
            place.truncate(cut);
            place.push('…');
            kept.push(place);
            break;
        }
        room -= place.len();
        kept.push(place);
    }
    kept
}
