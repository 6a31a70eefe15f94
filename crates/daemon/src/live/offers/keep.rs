//! Accepted offers are kept, or it is stated that they are not.
//!
//! When a window comes, its job starts there as soon as the window's nodes are free, and again if a
//! site sets it back, until the slack of the promise has passed. By then the work has begun, or the
//! breach is written down once, with its reason, and the job's user has chosen what follows.

use tradewind_io::submission::OnBreach;
use tradewind_model::{Cause, Outage, Share, SiteId, Span, Time};

use crate::live::record::{JobRecord, OfferRecord, OutageRecord};
use crate::live::state::jobs::{BreachReason, Promise};
use crate::live::state::{Booking, Finish, Job, JobHold, OfferOutcome, Phase, Setback, Why};
use crate::live::{ApplyError, Live};

/// A survey that arrives so long after a moment was made after it.
const NEWS: Span = Span(10);
/// If no survey arrives, a job counts as not begun so long after the latest start.
const SILENCE: Span = Span(60);
/// Longer rounds of a site's scheduler count as this.
const MAX_ROUND: Span = Span(300);
/// Parts in several pools begin at one moment, which lies so much ahead at most.
const TOGETHER: Span = Span(4);

impl Live {
    /// How much later than its start a window's job may begin: what the market is set to, and one
    /// round of the slowest scheduler among the window's sites, since a manager starts a job up to
    /// one round after its nodes are free.
    pub(in crate::live) fn slack_of(&self, window: &Booking, nodes: u32) -> Span {
        let (mut rounds, mut parts) = (Span::ZERO, 0);
        for share in window.place.shares(nodes) {
            let round = self.caps.round_at(self.state.site_of(share.pool));
            rounds = rounds.max(round.clamp(Span::ZERO, MAX_ROUND));
            parts += 1;
        }
        let together = if parts > 1 { TOGETHER } else { Span::ZERO };
        Span(self.settings.slack.0 + rounds.0 + together.0)
    }

    /// Looks after accepted offers whose windows have come, and after jobs that lost theirs. Linear
    /// in these.
    pub(in crate::live) fn mind_promises(&mut self, at: Time) -> Result<(), ApplyError> {
        let come = self.index.promises.iter().take_while(|(start, _)| *start <= at);
        let come: Vec<u64> = come.map(|(_, number)| *number).collect();
        for number in come {
            self.mind_promise(at, number)?;
        }
        for number in self.index.breached.clone() {
            self.follow_breach(at, number)?;
        }
        Ok(())
    }

    fn mind_promise(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let Some(promise) = job.open_promise() else { return Ok(()) };
        let is_late = at > promise.latest();
        match job.phase() {
            Phase::Running => match job.all_began() {
                Some(began) => self.began_in_window(at, number, began),
                None if is_late && self.is_not_begun(at, job) => self.breach(at, number),
                None => Ok(()),
            },
            Phase::Held(JobHold::Booked) if !is_late => self.start_in_window(at, number),
            Phase::Waiting if !is_late => self.back_to_window(at, number),
            Phase::Held(JobHold::Funds(_)) => self.void(at, number, "its payer has too little"),
            Phase::Held(JobHold::User) => self.void(at, number, "its user holds it"),
            Phase::Held(JobHold::Rejected(_)) => match self.state.barred(job) {
                Some(why) => self.void(at, number, &why),
                None => self.breach(at, number),
            },
            _ if is_late => self.breach(at, number),
            _ => Ok(()),
        }
    }

    /// The job's work has begun in its window: in time, or late.
    fn began_in_window(&mut self, at: Time, number: u64, began: Time) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        // A site's clock may be ahead of ours. When parts begin together, the market itself has said:
        // perhaps in a moment, and then their work runs no sooner.
        let began = if job.barrier().is_some() { began } else { began.min(at) };
        let promise = job.open_promise();
        match promise.is_some_and(|it| began <= it.latest()) {
            true => {
                self.forget_promise(number);
                self.put(at, OfferRecord::Kept { job: number, began })
            }
            false => self.breach(at, number),
        }
    }

    /// Whether it is known that the job's work has not begun, after its latest start: the market
    /// itself lets parts begin that wait for each other, and sites report all others. A site that
    /// does not answer is not waited for.
    fn is_not_begun(&self, at: Time, job: &Job) -> bool {
        let Some(latest) = job.promise().map(Promise::latest) else { return false };
        let has_said = |site: SiteId| {
            let seen = self.owners_queue(site).is_some_and(|seen| seen.at >= latest + NEWS);
            seen || self.state.away_since(site).is_some()
        };
        let mut open = job.parts().iter().filter(|part| part.since.is_none());
        job.is_gathering()
            || at > latest + SILENCE
            || open.all(|part| has_said(self.state.site_of(part.pool)))
    }

    /// The window's time has come: the job starts there if its nodes are free.
    fn start_in_window(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        if let Some(share) = self.state.taken_share(job) {
            let accepted = job.promise().map_or(at, |promise| promise.accepted);
            let why = self.state.why_taken(accepted, share);
            self.index.obstacles.insert(number, why);
            return self.clear_window(at, number);
        }
        self.call_off(at, number)?;
        self.enqueue(at, number)?;
        if !self.may_start(number) {
            return self.afford(at);
        }
        self.put(at, JobRecord::Started { job: number })?;
        self.after_decision(at, number)
    }

    /// Jobs that have nodes of the window and have not begun are planned again, the last ones first.
    fn clear_window(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let Some(window) = job.booking.clone() else { return Ok(()) };
        for share in window.place.shares(job.nodes()).collect::<Vec<_>>() {
            let mut room = self.state.market.free_in(share.pool);
            for (other, nodes) in self.state.not_begun_in(share.pool) {
                let is_promised = self.state.jobs.get(&other).is_some_and(Job::in_window);
                if room >= share.nodes || is_promised {
                    continue;
                }
                room += nodes;
                if self.may_go_on(other) {
                    self.take_back(at, other)?;
                }
            }
        }
        Ok(())
    }

    /// A job that a site set back is to start in its window again: its nodes are kept free.
    pub(in crate::live) fn back_to_window(
        &mut self,
        at: Time,
        number: u64,
    ) -> Result<(), ApplyError> {
        self.put(at, JobRecord::Left { job: number, hold: JobHold::Booked })?;
        self.keep_free(at, number)
    }

    /// The nodes of the job's window are kept free from its start on, or from now on.
    pub(in crate::live) fn keep_free(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let Some(window) = job.booking.clone() else { return Ok(()) };
        let late = window.late_by(at);
        let shares: Vec<(Share, Time)> =
            window.place.shares(job.nodes()).zip(window.ends.iter().copied()).collect();
        for (share, end) in shares {
            let (pool, nodes, from) = (share.pool, share.nodes, window.start + late);
            let what = Outage { pool, nodes, from, until: end + late, cause: Cause::Booked };
            let why = Why::Booked(pool, number);
            self.put(at, OutageRecord::Announced { what, why })?;
        }
        Ok(())
    }

    /// The promise cannot be kept any more: that is written down, with the reason.
    fn breach(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let obstacle = self.index.obstacles.get(&number);
        let why = self.state.why_late(job, obstacle);
        self.state_breach(at, number, why)?;
        let job = self.state.jobs.get(&number);
        let waits = job.is_some_and(|job| job.phase() == Phase::Running && job.began().is_none());
        if waits && self.may_go_on(number) {
            self.take_back(at, number)?;
        }
        self.follow_breach(at, number)
    }

    fn state_breach(&mut self, at: Time, number: u64, why: BreachReason) -> Result<(), ApplyError> {
        self.forget_promise(number);
        self.index.breached.insert(number);
        self.put(at, OfferRecord::Breached { job: number, why })
    }

    /// What the user chose for a job that did not get its window. A job whose work runs by now runs
    /// on; one whose parts are being taken back comes later.
    fn follow_breach(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let then = job.promise().map(|it| it.on_breach).unwrap_or_default();
        let phase = job.phase();
        if phase == Phase::Running && job.in_window() && job.began().is_none() {
            return Ok(());
        }
        self.index.breached.remove(&number);
        let waits = matches!(phase, Phase::Waiting | Phase::Held(_));
        let is_free = matches!(phase, Phase::Waiting | Phase::Held(JobHold::Booked));
        let was_booked = phase == Phase::Held(&JobHold::Booked);
        let phase_waits = phase == Phase::Waiting;
        if waits {
            self.call_off(at, number)?;
        }
        match then {
            OnBreach::Cancel if waits => self.finish(at, number, Finish::Cancelled),
            OnBreach::Hold if is_free => self.shelve(at, number, JobHold::Breached),
            OnBreach::Requeue if was_booked => {
                self.enqueue(at, number)?;
                // What was promised for its window can be spent now.
                self.afford(at)
            }
            OnBreach::Requeue if phase_waits => self.plan_otherwise(at, number),
            _ => Ok(()),
        }
    }

    /// A job that waits in the queue asked for the nodes of its window, within its budget: now it
    /// asks for what any job may have.
    fn plan_otherwise(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let submission = &job.submission;
        if submission.terms.budget.is_none() && submission.shape.is_none() {
            return Ok(());
        }
        self.put(at, JobRecord::Left { job: number, hold: JobHold::Breached })?;
        self.enqueue(at, number)
    }

    /// The job's own side gave the window up.
    fn void(&mut self, at: Time, number: u64, why: &str) -> Result<(), ApplyError> {
        self.forget_promise(number);
        self.call_off(at, number)?;
        self.put(at, OfferRecord::Voided { job: number, why: why.to_owned() })
    }

    /// A job is set back or ends that had its nodes in its window: if that was not its own doing,
    /// the window was not kept, even if the job had begun.
    pub(in crate::live) fn lose_window(
        &mut self,
        at: Time,
        number: u64,
        setback: &Setback,
    ) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number).filter(|job| job.in_window()) else {
            return Ok(());
        };
        let has_begun = job.promise().is_some_and(|it| matches!(it.outcome, OfferOutcome::Kept(_)));
        let is_lost = matches!(setback, Setback::Lost | Setback::Preempted);
        let Some(part) = job.parts().first() else { return Ok(()) };
        if !(has_begun || is_lost && job.open_promise().is_some()) {
            return Ok(());
        }
        let pool = job.failed_part().unwrap_or(part).pool;
        let why = match setback {
            Setback::Preempted => BreachReason::Preempted(pool),
            Setback::Refused(why) | Setback::BarrierTimedOut(_, why) | Setback::Capped(_, why) => {
                BreachReason::Refused(why.clone())
            }
            Setback::Lost
            | Setback::Displaced
            | Setback::Funds
            | Setback::OverBudget
            | Setback::Requeued(_) => BreachReason::Lost(pool),
        };
        self.state_breach(at, number, why)?;
        // What happens to a job that was lost, its user has said for all such jobs.
        if is_lost {
            self.index.breached.remove(&number);
        }
        Ok(())
    }

    /// The job is over: its promise is decided, if it was not.
    pub(in crate::live) fn decide_promise(
        &mut self,
        at: Time,
        number: u64,
    ) -> Result<(), ApplyError> {
        self.index.breached.remove(&number);
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let Some(promise) = job.open_promise() else { return Ok(()) };
        let began = job.all_began().or(job.began()).filter(|_| job.in_window());
        let is_own = matches!(
            job.phase(),
            Phase::Over(Finish::Cancelled | Finish::Dependency(_) | Finish::Returned(_))
        );
        match began {
            Some(began) if began <= promise.latest() => {
                self.forget_promise(number);
                self.put(at, OfferRecord::Kept { job: number, began })
            }
            _ if is_own || job.cancelled_by.is_some() => {
                self.void(at, number, "it was cancelled before its work had begun")
            }
            _ => {
                let why = self.state.why_late(job, self.index.obstacles.get(&number));
                self.state_breach(at, number, why)?;
                self.index.breached.remove(&number);
                Ok(())
            }
        }
    }

    fn forget_promise(&mut self, number: u64) {
        let promise = self.state.jobs.get(&number).and_then(Job::promise);
        if let Some(start) = promise.map(|it| it.window.start) {
            self.index.promises.remove(&(start, number));
            self.index.booked.remove(&(start, number));
        }
        self.index.obstacles.remove(&number);
    }
}
