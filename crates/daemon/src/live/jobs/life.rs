//! The life of a job: into the queue, off its nodes, to its end.

use std::collections::BTreeSet;
use std::sync::Arc;

use tradewind_io::submission::OnLost;
use tradewind_model::{Demand, Money, Span, Time};

use super::dependencies::DependencyState;
use crate::live::answer::{Refusal, RefusalKind};
use crate::live::demand::{Chosen, RESOURCES};
use crate::live::peers::may_travel;
use crate::live::record::JobRecord;
use crate::live::state::{Finish, Job, JobHold, Part, Phase, Promise, Setback, TaskGoal};
use crate::live::{ApplyError, Live};
use crate::site::Exit;

impl Live {
    /// A held job joins the queue, if nothing else holds it.
    pub(in crate::live) fn enqueue(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        if self.state.is_check(number) {
            return self.held(at, number, JobHold::Nowhere);
        }
        if let Some(why) = self.state.barred(job) {
            return self.shelve(at, number, JobHold::Rejected(why));
        }
        match self.waits(job) {
            DependencyState::InVain(other) => {
                return self.finish(at, number, Finish::Dependency(other));
            }
            DependencyState::Still => {
                self.remember_dependencies(number);
                return self.held(at, number, JobHold::Dependency);
            }
            DependencyState::No => {}
        }
        if self.is_behind(job) || self.array_is_full(number) {
            self.index.awaited.wait_behind(number, job.array);
            return self.held(at, number, JobHold::Array);
        }
        if job.awaits_window() {
            return self.held(at, number, JobHold::Window);
        }
        let within = match self.demand_within(number) {
            Ok(within) => within,
            Err(hold) => return self.held(at, number, hold),
        };
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        match within.and_then(|chosen| within_budget(job, chosen)) {
            Ok(Chosen { demand, processors }) => match self.lacks(job, &demand) {
                Some(needed) => self.wait_for_funds(at, number, needed),
                None if self.is_for_others(&demand) && self.may_leave(number) => {
                    self.held(at, number, JobHold::Nowhere)
                }
                None => {
                    let (demand, foreseen) = self.foresee(at, number, demand);
                    let job = number;
                    self.put(at, JobRecord::Joined { job, demand, processors, foreseen })
                }
            },
            Err(refusal) => match self.may_leave(number) || self.may_be_smaller(&job.submission) {
                true => self.held(at, number, JobHold::Nowhere),
                false => self.shelve(at, number, JobHold::Rejected(refusal.message)),
            },
        }
    }

    /// Whether the policy would refuse such a job, because none of its sites is wide enough.
    fn is_for_others(&self, demand: &Demand) -> bool {
        let exchange = self.policy.exchange();
        exchange.is_some_and(|exchange| !exchange.can_run(&self.state.market, demand))
    }

    /// Whether peers may be asked to take the job.
    fn may_leave(&self, number: u64) -> bool {
        let Some(job) = self.state.jobs.get(&number).filter(|_| self.has_peers()) else {
            return false;
        };
        let often = job.setbacks() >= self.settings.max_refusals;
        job.origin.is_none() && !often && may_travel(&job.submission)
    }

    /// A job that cannot go on by itself is held; a peer's goes home.
    pub(in crate::live) fn shelve(
        &mut self,
        at: Time,
        number: u64,
        hold: JobHold,
    ) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        if job.origin.is_some() {
            let why = match hold {
                JobHold::Rejected(why) => why,
                JobHold::Funds(_) => "its market has too little money here".to_owned(),
                _ => "it cannot go on here".to_owned(),
            };
            return self.finish(at, number, Finish::Returned(why));
        }
        match job.phase() {
            Phase::Held(_) => self.held(at, number, hold),
            _ => self.put(at, JobRecord::Left { job: number, hold }),
        }
    }

    fn held(&mut self, at: Time, number: u64, hold: JobHold) -> Result<(), ApplyError> {
        match self.state.jobs.get(&number).map(|job| job.phase()) {
            Some(Phase::Held(now)) if *now == hold && hold != JobHold::User => Ok(()),
            _ => self.put(at, JobRecord::Held { job: number, hold }),
        }
    }

    /// Whether as many jobs of the job's array are in the queue or run as may.
    fn array_is_full(&self, number: u64) -> bool {
        let Some(job) = self.state.jobs.get(&number) else { return false };
        let Some((first, _)) = job.array else { return false };
        let Some(max) = job.submission.array.as_ref().and_then(|it| it.at_once) else {
            return false;
        };
        let open = self.index.awaited.array(first).into_iter().flat_map(|array| &array.open);
        let is_busy = |number: &&u64| {
            let phase = self.state.jobs.get(number).map(Job::phase);
            matches!(phase, Some(Phase::Waiting | Phase::Running))
        };
        open.filter(is_busy).take(max as usize).count() >= max as usize
    }

    /// What follows from how a running job's parts are.
    pub(in crate::live) fn judge(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        if job.phase() != Phase::Running {
            return Ok(());
        }
        if let Some(by) = self.taken_away(job) {
            self.put(at, JobRecord::Cancelling { job: number, by })?;
        }
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let is_over = job.parts().iter().all(|part| part.exit.is_some());
        let gathers = job.is_gathering() && self.may_go_on(number);
        match is_over {
            true => return self.conclude(at, number),
            // Parts of a job that is stopped give their nodes back one by one: others may be at a site
            // that does not answer.
            false if gathers => self.gather(at, number)?,
            false => self.part_over(at, number)?,
        }
        self.let_others_go(at, number)
    }

    /// Who has cancelled a task of the job at its site, though the market wanted it to run.
    fn taken_away(&self, job: &Job) -> Option<String> {
        // A part whose start barrier timed out ends like this, too.
        if job.cancelled_by.is_some() || job.is_gathering() {
            return None;
        }
        let is_withdrawn = |part: &Part| matches!(part.exit, Some((_, Exit::Withdrawn)));
        let counts = |part: &Part| part.since.is_some() || job.barrier().is_none();
        let mut parts = job.parts().iter().enumerate();
        let (_, part) = parts.find(|(place, part)| {
            let task = self.state.tasks.get(&job.tag(&self.state.name, *place));
            let was_wanted = task.is_some_and(|task| task.wanted == TaskGoal::Run);
            is_withdrawn(part) && counts(part) && was_wanted
        })?;
        Some(format!("a user at {}", self.state.site_name(part.pool)))
    }

    /// The job is to be planned again, if that is possible without harm: what has begun runs on.
    /// The work of parts that still gather runs nowhere, so they are stopped.
    pub(in crate::live) fn take_back(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let gathers = self.state.jobs.get(&number).is_some_and(|job| job.barrier().is_some());
        match gathers {
            true => self.put(at, JobRecord::Stopping { job: number }),
            false => self.put(at, JobRecord::Recalling { job: number }),
        }
    }

    /// Some parts may be over while others run: good ones give their nodes back, a bad one stops
    /// the others.
    fn part_over(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let Some(id) = job.id() else { return Ok(()) };
        let exits = job.parts().iter().filter_map(|part| Some((part.pool, &part.exit.as_ref()?.1)));
        let exits: Vec<_> = exits.map(|(pool, exit)| (pool, exit.is_good())).collect();
        let stopping = !self.runs_on(number);
        // A pool may have parts of several groups of tasks.
        let runs_in = |pool| job.parts().iter().any(|it| it.pool == pool && it.exit.is_none());
        let held = |pool| self.state.market.holds(id, pool) && !runs_in(pool);
        let free: BTreeSet<_> =
            exits.iter().map(|(pool, _)| *pool).filter(|pool| held(*pool)).collect();
        for pool in free {
            self.put(at, JobRecord::Released { job: number, pool })?;
        }
        match stopping || exits.iter().all(|(_, good)| *good) {
            true => Ok(()),
            false => self.put(at, JobRecord::Stopping { job: number }),
        }
    }

    /// All parts are over.
    fn conclude(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        if job.cancelled_by.is_some() {
            return self.finish(at, number, Finish::Cancelled);
        }
        if let Some(by) = job.requeued_by() {
            let setback = Setback::Requeued(by.to_owned());
            return self.interrupted(at, number, setback, OnLost::Rerun);
        }
        if job.is_gathering() || job.parts().iter().all(|part| part.since.is_none()) {
            return self.never_ran(at, number);
        }
        if job.gave_way() {
            return self.preempted(at, number);
        }
        let is_preempted = |part: &Part| matches!(part.exit, Some((_, Exit::Preempted)));
        if job.parts().iter().any(is_preempted) {
            return self.preempted(at, number);
        }
        match verdict(job.parts()) {
            Finish::NodeFail => self.lost(at, number),
            // Others began and were stopped, and this one never heard that it should.
            Finish::Completed if job.is_incomplete() => self.lost(at, number),
            // The job was not cancelled: it was stopped because a part of it could not run.
            Finish::Cancelled => self.lost(at, number),
            finish => self.finish(at, number, finish),
        }
    }

    /// No part has begun, as far as sites say, or none was told to.
    fn never_ran(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let exits: Vec<&Exit> =
            job.parts().iter().filter_map(|part| Some(&part.exit.as_ref()?.1)).collect();
        let sure =
            |exit: &&Exit| matches!(exit, Exit::Withdrawn | Exit::NotStarted(_) | Exit::Refused(_));
        if !job.is_gathering() && !exits.iter().all(sure) {
            return self.lost(at, number);
        }
        let hopeless = exits.iter().find_map(|exit| match exit {
            Exit::NotStarted(why) => Some(why.clone()),
            _ => None,
        });
        if let Some(limit) = self.met_by(job).filter(|_| hopeless.is_none()) {
            return self.set_back_by_limit(at, number, limit);
        }
        let refused = exits.iter().find_map(|exit| match exit {
            Exit::Refused(why) => Some(why.clone()),
            _ => None,
        });
        // A peer's job goes home at once: it has other choices there.
        let often = job.origin.is_some() || job.setbacks() + 1 >= self.settings.max_refusals;
        let said = hopeless.clone().or(refused).or(self.state.was_held(job));
        let setback = match job.barrier_timeout().or(said.map(Setback::Refused)) {
            Some(setback) => setback,
            None if self.is_stopping(number) => Setback::Displaced,
            None => match job.vanished() {
                Some(setback) => setback,
                // It was not cancelled.
                None => return self.lost(at, number),
            },
        };
        let said = match &setback {
            Setback::Refused(why) | Setback::BarrierTimedOut(_, why) => Some(why.clone()),
            _ => None,
        };
        self.lose_window(at, number, &setback)?;
        self.put(at, JobRecord::Interrupted { job: number, setback })?;
        match hopeless.or(said.clone().filter(|_| often)) {
            Some(why) => self.shelve(at, number, JobHold::Rejected(why)),
            None => said.map_or(Ok(()), |why| self.reconsider(at, number, why)),
        }
    }

    /// A job that was refused joins the queue again if it would ask for other pools now: what nodes
    /// have may have become known since it joined.
    fn reconsider(&mut self, at: Time, number: u64, why: String) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let pools = |demand: &Demand| {
            (demand.processors, demand.terms().attributes.get(RESOURCES).cloned())
        };
        let before = job.id().and_then(|id| self.state.market.demand(id)).map(pools);
        let now = self.wish_of(&job.user, &job.submission).ok().as_ref().map(pools);
        if before == now {
            return Ok(());
        }
        self.shelve(at, number, JobHold::Rejected(why))?;
        self.enqueue(at, number)
    }

    /// Nodes died, or it is not known how the job ended: what follows is its user's choice.
    fn lost(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let then = job.submission.on_lost;
        self.interrupted(at, number, Setback::Lost, then)
    }

    /// A site took nodes away for a job of higher priority.
    fn preempted(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let then = job.submission.on_preempted.unwrap_or(job.submission.on_lost);
        self.interrupted(at, number, Setback::Preempted, then)
    }

    /// A job that has begun has lost its nodes: it pays for what it has used, and `then` says what
    /// becomes of it.
    fn interrupted(
        &mut self,
        at: Time,
        number: u64,
        setback: Setback,
        then: OnLost,
    ) -> Result<(), ApplyError> {
        self.lose_window(at, number, &setback)?;
        if then == OnLost::Fail {
            return self.finish(at, number, Finish::NodeFail);
        }
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        // A job that is lost here may run again at home: it pays once.
        let rules = self.state.ledger.rules;
        let has_used = job.parts().iter().any(|part| job.charged(part, at, rules) > Span(0));
        if has_used && job.origin.is_none() {
            self.put(at, JobRecord::Settled { job: number })?;
            self.mind_budgets_of(at, number)?;
        }
        self.put(at, JobRecord::Interrupted { job: number, setback })?;
        match then {
            OnLost::Hold => self.shelve(at, number, JobHold::Lost),
            _ => self.spend_less(at, number),
        }
    }

    /// A job with a budget that has paid joins the queue again with what is left of it.
    fn spend_less(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        if job.paid <= Money::ZERO || job.submission.terms.budget.is_none() {
            return Ok(());
        }
        let why = "what it has paid counts for its budget".to_owned();
        self.shelve(at, number, JobHold::Rejected(why))?;
        self.enqueue(at, number)
    }

    /// Whether sites were told to stop the job's parts, or to take them back.
    pub(in crate::live) fn is_stopping(&self, number: u64) -> bool {
        let Some(job) = self.state.jobs.get(&number) else { return false };
        (0..job.parts().len()).any(|part| {
            let task = self.state.tasks.get(&job.tag(&self.state.name, part));
            task.is_some_and(|task| task.wanted != TaskGoal::Run)
        })
    }

    pub(in crate::live) fn finish(
        &mut self,
        at: Time,
        number: u64,
        finish: Finish,
    ) -> Result<(), ApplyError> {
        self.put(at, JobRecord::Ended { job: number, finish })?;
        self.is_over(at, number)
    }

    /// What waited for the job's end goes on.
    pub(in crate::live) fn is_over(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let limit = job.submission.array.as_ref().and_then(|it| it.at_once);
        // Without a limit none of its array waits for its end.
        let array = job.array.filter(|_| limit.is_some());
        self.index.awaited.note(job);
        self.index.active.remove(job);
        self.index.grouped.remove(&number);
        self.index.runs.add(job);
        self.index.over.insert((job.ended().unwrap_or(at), number));
        self.index.redactable.insert((job.ended().unwrap_or(at), number));
        if let Some(booking) = &job.booking {
            self.index.booked.remove(&(booking.start, number));
        }
        self.index.short.remove(&number);
        self.decide_promise(at, number)?;
        self.lines.left.remove(&number);
        self.forget_beginnings(number);
        self.names_no_more(number);
        self.call_off(at, number)?;
        self.mind_budgets_of(at, number)?;
        self.over_for_peers(at, number)?;
        self.let_others_go(at, number)?;
        if let Some((first, _)) = array {
            self.next_of_array(at, first)?;
        }
        self.afford(at)
    }

    pub(super) fn settle_if(
        &mut self,
        at: Time,
        number: u64,
        hold: &JobHold,
    ) -> Result<(), ApplyError> {
        let phase = self.state.jobs.get(&number).map(|job| job.phase());
        match phase == Some(Phase::Held(hold)) {
            true => self.enqueue(at, number),
            false => Ok(()),
        }
    }

    /// The first one that waits for a place in its array takes it. Those that no longer do are
    /// passed over once.
    fn next_of_array(&mut self, at: Time, first: u64) -> Result<(), ApplyError> {
        while let Some(next) = self.index.awaited.first_behind(first) {
            let phase = self.state.jobs.get(&next).map(Job::phase);
            if phase == Some(Phase::Held(&JobHold::Array)) {
                return self.enqueue(at, next);
            }
            self.index.awaited.is_not_behind(first, next);
        }
        Ok(())
    }
}

/// The demand with what is left of the job's budget: earlier attempts may have cost something. A job
/// whose accepted offer was not kept pays no more than that, whatever its window costs.
pub(in crate::live) fn within_budget(job: &Job, chosen: Chosen) -> Result<Chosen, Refusal> {
    let Some(budget) = job.submission.terms.budget else { return Ok(chosen) };
    if job.promise().is_some_and(Promise::is_breached) {
        let mut terms = chosen.demand.terms().clone();
        terms.budget = None;
        let demand = Demand { terms: Some(Arc::new(terms)), ..chosen.demand };
        return Ok(Chosen { demand, ..chosen });
    }
    if job.paid <= Money::ZERO {
        return Ok(chosen);
    }
    let rest = budget - job.paid;
    if rest <= Money::ZERO && budget > Money::ZERO {
        let message = format!("its earlier attempts have used its budget of {budget} credits");
        return Err(Refusal::new(RefusalKind::Conflict, message, ""));
    }
    let mut terms = chosen.demand.terms().clone();
    terms.budget = Some(rest);
    let demand = Demand { terms: Some(Arc::new(terms)), ..chosen.demand };
    Ok(Chosen { demand, ..chosen })
}

/// The worst of what the parts say: what was lost, then what failed, in the order of parts.
fn verdict(parts: &[Part]) -> Finish {
    let exits = || parts.iter().filter_map(|part| part.exit.as_ref().map(|(_, exit)| exit));
    let lost = |exit: &Exit| {
        matches!(exit, Exit::NodeFailed | Exit::Lost | Exit::NotStarted(_) | Exit::Refused(_))
    };
    if exits().any(lost) {
        return Finish::NodeFail;
    }
    // A part that was stopped because another failed says nothing of the job.
    let told = exits().filter(|exit| **exit != Exit::Withdrawn);
    let bad = told.clone().find(|exit| !exit.is_good());
    match bad {
        None if told.count() == 0 => Finish::Cancelled,
        None => Finish::Completed,
        Some(Exit::Code(code)) => Finish::Failed(*code),
        Some(Exit::Signal(signal)) => Finish::Killed(*signal),
        Some(Exit::TimeLimit) => Finish::Timeout,
        Some(Exit::OutOfMemory) => Finish::OutOfMemory,
        Some(_) => Finish::NodeFail,
    }
}
