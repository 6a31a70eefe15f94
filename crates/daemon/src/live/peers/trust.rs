//! What is believed of what a peer says, and how much may be at it at once.

use std::collections::BTreeSet;

use tradewind_io::submission::PeerChoice;
use tradewind_model::{Money, Price, Span, Time};
use tradewind_sched::negotiation::Peer;

use super::Receipts;
use super::limits::{PATIENCE, longest};
use crate::live::state::jobs::{Away, BrokenOffer, RemoteProgress};
use crate::live::state::peers::FULL;
use crate::live::state::{Finish, Happening, Job, Phase, State};
use crate::live::{Live, Settings};

/// What is at a peer now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct AtPeer {
    jobs: usize,
    doubt: usize,
    /// What they may cost.
    held: i128,
}

impl State {
    /// Whether the job's user lets it go to the peer.
    pub(super) fn may_leave_for(&self, job: &Job, to: Peer) -> bool {
        let Some(known) = self.peers.directory.get(&to) else { return false };
        match &job.submission.terms.peers {
            None => true,
            Some(PeerChoice::Only(names)) => names.contains(&known.name),
            Some(PeerChoice::Not(names)) => !names.contains(&known.name),
        }
    }

    /// Whether the peer may have one more job, of this cost. Offers that it has not kept, and that are
    /// not forgotten, take up places like jobs that are there: otherwise the place of each job that it
    /// loses would go to another one, until its standing is low enough. Linear in the jobs that are at
    /// peers.
    pub(super) fn may_have(
        &self,
        settings: &Settings,
        at: Time,
        away: &BTreeSet<u64>,
        (to, cost): (Peer, Money),
    ) -> bool {
        let Some(known) = self.peers.directory.get(&to) else { return false };
        let limits = settings.peer_limits.get(&known.name).copied().unwrap_or_default();
        let score = known.standing.map_or(FULL, |standing| standing.score(at));
        let there = self.at_peer(to, away);
        let taken = known.standing.map_or(0, |standing| standing.places(at));
        score >= limits.min_standing
            && there.jobs.saturating_add(taken) < limits.max_jobs
            && there.doubt < limits.max_doubt
            && there.held + i128::from(cost.0) <= i128::from(limits.max_held.0)
    }

    fn at_peer(&self, peer: Peer, away: &BTreeSet<u64>) -> AtPeer {
        let jobs = away.iter().filter_map(|number| self.jobs.get(number));
        let jobs = jobs.filter(|job| job.phase() == Phase::Away);
        let mut there = AtPeer::default();
        for it in jobs.filter_map(Job::away).filter(|away| away.peer == peer) {
            there.jobs += 1;
            there.held += i128::from(it.offer.quote.cost.0);
        }
        for open in self.peers.durable.handing.values().filter(|it| it.to == peer) {
            there.jobs += 1;
            there.doubt += 1;
            there.held += i128::from(open.offer.quote.cost.0);
        }
        there
    }

    /// When the job that is at a peer, or on its way there, must be over by, if the peer keeps to
    /// its offer: its limit, and some patience, after it began or should have begun.
    pub fn due_from_peer(&self, job: &Job) -> Option<Time> {
        let away = job.away()?;
        let limit = longest(&job.submission.time).max(offered_length(job, away));
        let offered = offered_start(job, away);
        // A job may be started again there; but not for ever.
        let last = offered + Span(limit.0.saturating_mul(2)) + Span(4 * PATIENCE.0);
        let since = away.news.as_ref().and_then(|news| news.since);
        Some((since.unwrap_or(offered) + limit + PATIENCE).min(last))
    }
}

/// When the job was to start. Volunteers offer to start jobs when they arrive, or soon after.
fn offered_start(job: &Job, away: &Away) -> Time {
    let handed = handed_at(job);
    away.offer.quote.start.clamp(handed, handed + PATIENCE)
}

/// How long the job was to run at most, by the cost and the price that were offered.
fn offered_length(job: &Job, away: &Away) -> Span {
    let (Money(cost), Price(price)) = (away.offer.quote.cost, away.offer.quote.price);
    let rate = price.saturating_mul(i64::from(job.submission.tasks.max(1)));
    // A peer does not get longer by naming no price.
    let most = longest(&job.submission.time).0.saturating_mul(4);
    Span(cost.checked_div(rate).unwrap_or(0).clamp(0, most.max(0)))
}

/// When the job was last passed on.
pub(super) fn handed_at(job: &Job) -> Time {
    let last = job.history.iter().rfind(|(_, what)| matches!(what, Happening::Handing(_)));
    last.map_or(job.submitted, |(at, _)| *at)
}

/// What the peer has not kept to at `at`, of a job that it says has not ended.
pub(super) fn overdue(state: &State, job: &Job, at: Time) -> Option<BrokenOffer> {
    let away = job.away()?;
    let has_begun = away.news.as_ref().is_some_and(|news| news.since.is_some());
    let start = offered_start(job, away) + Span(2 * PATIENCE.0);
    if !has_begun && at > start {
        return Some(BrokenOffer::NotStarted);
    }
    state.due_from_peer(job).filter(|due| at > *due).map(|_| BrokenOffer::NotEnded)
}

/// What cannot be true of what a peer says of the end of a job, heard at `at`; the peer's clock is
/// `ahead` of this market's.
pub(super) fn implausible(
    job: &Job,
    away: &Away,
    (news, finish): (&RemoteProgress, &Finish),
    (at, ahead): (Time, Span),
) -> Option<BrokenOffer> {
    let handed = handed_at(job);
    let charged = news.charged.min(away.offer.quote.cost);
    let Some(since) = news.since else {
        return (has_run(finish) || charged > Money::ZERO).then_some(BrokenOffer::NoStart);
    };
    let had = (at - handed) + PATIENCE;
    let limit = longest(&job.submission.time);
    if since - ahead + PATIENCE < handed {
        return Some(BrokenOffer::TooEarly);
    }
    // Of limits that count work it is not known how long they are there.
    let is_exact = job.submission.time.wall() == Some(limit);
    if *finish == Finish::Timeout && is_exact && had < limit {
        return Some(BrokenOffer::TooShort);
    }
    let Price(price) = away.offer.quote.price;
    let most = i128::from(price) * i128::from(job.submission.tasks.max(1)) * i128::from(had.0);
    (i128::from(charged.0) > most).then_some(BrokenOffer::Overcharged)
}

/// Whether a job that ended like this has run.
pub(super) fn has_run(finish: &Finish) -> bool {
    matches!(
        finish,
        Finish::Completed
            | Finish::Failed(_)
            | Finish::Killed(_)
            | Finish::Timeout
            | Finish::OutOfMemory
    )
}

impl Live {
    /// Which peers the job's user has named that are not there; for people.
    pub fn unknown_peers(&self, number: u64) -> Option<String> {
        let job = self.state.jobs.get(&number)?;
        let (PeerChoice::Only(named) | PeerChoice::Not(named)) =
            job.submission.terms.peers.as_ref()?;
        let unknown = named.iter().filter(|name| !self.settings.peers.contains(name));
        let unknown: Vec<&str> = unknown.map(String::as_str).collect();
        (!unknown.is_empty()).then(|| format!("no peer here is called {}", unknown.join(", ")))
    }

    /// Whether the peer must sign the starts and ends of jobs.
    pub(super) fn receipts_of(&self, peer: Peer) -> Receipts {
        let known = self.state.peers.directory.get(&peer);
        let limits = known.and_then(|known| self.settings.peer_limits.get(&known.name));
        limits.copied().unwrap_or_default().receipts
    }

    /// Whether the peer should have signed the end of a job that it wants to be paid for, or that ran
    /// there as it says, and has not.
    pub(super) fn without_receipt(
        &self,
        away: &Away,
        news: &RemoteProgress,
        finish: &Finish,
    ) -> Option<BrokenOffer> {
        let is_due = has_run(finish) || news.charged > Money::ZERO;
        let is_asked = self.receipts_of(away.peer) == Receipts::Required;
        (is_asked && is_due && news.receipt.is_none()).then_some(BrokenOffer::NoReceipt)
    }
}
