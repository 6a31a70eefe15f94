//! What records of jobs change: in the jobs, the market, their tasks and the ledger.

use std::sync::Arc;

use tradewind_model::{
    Command, Demand, Event, JobId, LicenceShare, Place, PoolId, Price, Share, SiteId, Span, Time,
};

use crate::live::state::ApplyError;
use crate::live::state::jobs::choice::Choice;
use crate::live::state::jobs::{
    Beginning, HeldLicences, JobEnd, JobRecord, LastStage, Run, RunNotice, Stage, StartBarrier,
};
use crate::live::state::{
    BookedPart, Booking, Finish, Happening, Job, JobHold, Part, Setback, State,
};

/// A part that has its nodes, for so long at most.
fn part_of(share: Share, limit: Span, price: Price) -> Part {
    let Share { pool, nodes } = share;
    Part { pool, nodes, price, limit, staging: None, names: Vec::new(), since: None, exit: None }
}

fn booked_part(booking: &Booking, part: &BookedPart) -> Part {
    part_of(part.share, part.end - booking.start, part.price)
}

impl State {
    pub(super) fn apply_to_job(&mut self, record: &JobRecord) -> Result<(), ApplyError> {
        use JobRecord as R;
        let at = self.now();
        match record {
            R::Submitted { job, user, submission, array, key } => {
                self.jobs.submit(at, *job, user, submission, (*array, key.as_ref()))
            }
            R::Element { job, first, index } => self.jobs.element(at, *job, *first, *index),
            R::Held { job, hold } => self.jobs.hold(at, *job, hold),
            R::Joined { job, demand, processors, foreseen } => {
                self.join(*job, demand, *processors)?;
                self.job(*job)?.foreseen = *foreseen;
                Ok(())
            }
            R::Started { job } => self.start_booked(*job),
            R::Lined { job, pool, start } => self.line_up(*job, *pool, *start),
            R::TurnCame { job } => self.turn_came(*job),
            R::TurnLost { job } => {
                let id = self.running(*job)?;
                Ok(self.market.apply(&Event::Interrupted { job: id })?)
            }
            R::TurnExpected { job, at } => self.expect_turn(*job, *at),
            R::Chose { job, choice } => self.chose(*job, choice),
            R::Expected { starts } => self.jobs.expect(starts),
            R::Forecast { starts } => self.forecast(starts),
            R::Left { job, hold } => self.leave(*job, hold),
            R::Released { job, pool } => self.released(*job, *pool),
            R::Settled { job } => self.running(*job).and_then(|_| self.settle(*job)),
            R::Interrupted { job, setback } => self.interrupt(*job, setback),
            R::Stopping { job } => self.stop_tasks(*job),
            R::Recalling { job } => self.recall_tasks(*job),
            R::Cancelling { job, by } => self.cancelling(*job, by),
            R::Requeueing { job, by } => self.requeueing(*job, by),
            R::NoticeGiven { job, ends, why } => self.notice_given(*job, *ends, why),
            R::Updated { job, submission, by } => self.jobs.update(at, *job, submission, by),
            R::Unbegun { tag } => self.jobs.unbegun(tag),
            R::BarrierReached { job, at } => self.gathered(*job, *at),
            R::BarrierTimedOut { job, pool, why } => self.scattered(*job, *pool, why),
            R::Launched { job, began } => self.launched(*job, began),
            R::Ended { job, finish } => self.end(*job, finish),
            R::Unkept { job, site, why } => {
                self.note(*job, Happening::Unkept(SiteId(*site), why.clone()))
            }
            R::Redacted { job, last, hash } => self.jobs.redact(*job, *last, hash),
            R::Dropped { job } => self.forget(*job),
            R::Skipped { job } => {
                self.jobs.last = self.jobs.last.max(*job);
                Ok(())
            }
        }
    }

    pub(super) fn job(&mut self, number: u64) -> Result<&mut Job, ApplyError> {
        self.jobs.job(number)
    }

    pub(super) fn note(&mut self, number: u64, what: Happening) -> Result<(), ApplyError> {
        self.jobs.note(self.market.now(), number, what)
    }

    fn waiting(&self, number: u64) -> Result<JobId, ApplyError> {
        match self.jobs.get(&number).map(|job| &job.stage) {
            Some(Stage::Waiting(id)) => Ok(*id),
            _ => Err(ApplyError::Job(number)),
        }
    }

    pub(super) fn running(&self, number: u64) -> Result<JobId, ApplyError> {
        match self.jobs.get(&number).map(|job| &job.stage) {
            Some(Stage::Running(run)) => Ok(run.id),
            _ => Err(ApplyError::Job(number)),
        }
    }

    fn join(
        &mut self,
        number: u64,
        demand: &Demand,
        processors: Option<u32>,
    ) -> Result<(), ApplyError> {
        let id = JobId(self.market.submitted());
        let job = self.job(number)?;
        let Stage::Held(_) = job.stage else { return Err(ApplyError::Job(number)) };
        job.is_as_wide_as(demand.processors, processors);
        job.stage = Stage::Waiting(id);
        self.market.apply(&Event::Submitted { job: id, demand: demand.clone() })?;
        self.jobs.numbers.insert(id, number);
        self.note(number, Happening::Queued)
    }

    fn launched(&mut self, number: u64, began: &[i64]) -> Result<(), ApplyError> {
        self.jobs.launched(number, began)?;
        self.mind_wait(number);
        Ok(())
    }

    fn leave(&mut self, number: u64, hold: &JobHold) -> Result<(), ApplyError> {
        self.end_wait(number);
        let id = self.waiting(number)?;
        self.market.apply(&Event::Cancelled { job: id })?;
        self.jobs.numbers.remove(&id);
        self.job(number)?.stage = Stage::Held(hold.clone());
        self.note(number, Happening::Held(hold.clone()))
    }

    /// A part of the job gives its nodes back.
    fn released(&mut self, number: u64, pool: PoolId) -> Result<(), ApplyError> {
        let job = self.running(number)?;
        Ok(self.market.apply(&Event::Released { job, pool })?)
    }

    /// The parts of the job did not come together in time.
    fn scattered(&mut self, number: u64, pool: PoolId, why: &str) -> Result<(), ApplyError> {
        self.barrier(number)?.timed_out = Some((pool, why.to_owned()));
        self.stop_tasks(number)
    }

    fn forget(&mut self, number: u64) -> Result<(), ApplyError> {
        if let Some(origin) = self.jobs.forget(number)?.origin {
            self.peers.taken.remove(&(origin.peer, origin.transfer));
        }
        Ok(())
    }

    fn recall_tasks(&mut self, number: u64) -> Result<(), ApplyError> {
        self.tasks.recall(&self.name, self.jobs.job(number)?);
        Ok(())
    }

    /// The tasks of the job's present attempt are to stop.
    fn stop_tasks(&mut self, number: u64) -> Result<(), ApplyError> {
        self.tasks.stop(&self.name, self.jobs.job(number)?);
        Ok(())
    }

    pub(super) fn decided(&mut self, command: &Command) -> Result<(), ApplyError> {
        match command {
            Command::Trade { job, trade } => {
                self.market.apply(&Event::Traded { job: *job, trade: Arc::clone(trade) })?;
            }
            Command::Start { job, place } => {
                let number = self.jobs.number(*job)?;
                self.market.apply(&Event::Started { job: *job, place: place.clone() })?;
                let prices = self.prices(number, *job, place, self.now())?;
                let parts = self.parts_at(*job, place, &prices)?;
                self.begin(number, *job, parts)?;
                self.note(number, Happening::Planned(place.clone()))?;
            }
            Command::Refuse { job, reason } => {
                let number = self.jobs.number(*job)?;
                self.market.apply(&Event::Refused { job: *job })?;
                self.over(number, &Finish::Refused(reason.clone()))?;
            }
            Command::Preempt { .. } => {
                return Err(ApplyError::Other("a policy takes no nodes back in a live market"));
            }
            Command::Wake { .. } => {}
        }
        Ok(())
    }

    /// What the job pays in each share of its place if it starts at `start`.
    fn prices(
        &self,
        number: u64,
        id: JobId,
        place: &Place,
        start: Time,
    ) -> Result<Vec<Price>, ApplyError> {
        let job = self.jobs.get(&number).ok_or(ApplyError::Job(number))?;
        let demand = self.market.demand(id).ok_or(ApplyError::Other("a job without a demand"))?;
        Ok(place
            .shares(demand.processors)
            .map(|share| self.price_for(job, (id, share.pool), start))
            .collect())
    }

    /// What a waiting job pays in the pool per node and second if it starts there at `start`: what it
    /// agreed on, or else the mean of the prices over its expected time, less the site's discount if
    /// it is preemptible. `id` is the job's own in the market.
    pub fn price_for(&self, job: &Job, (id, pool): (JobId, PoolId), start: Time) -> Price {
        let pools = self.market.pools();
        let length = |demand: &Demand| pools.pool(pool).length_of(demand);
        let length = self.market.demand(id).map_or(Span(1), length);
        let asked = self.market.asked(id, pool, (start, length));
        match self.market.trade(id).is_none() && job.is_preemptible() {
            true => Price(pools.preemption(pools.pool(pool).site).reduced(asked.0)),
            false => asked,
        }
    }

    fn start_booked(&mut self, number: u64) -> Result<(), ApplyError> {
        let id = self.waiting(number)?;
        let booking = self.job(number)?.booking.clone().ok_or(ApplyError::Job(number))?;
        self.market.apply(&Event::Started { job: id, place: booking.place.clone() })?;
        let parts = match &booking.groups {
            Some(groups) => groups.iter().map(|it| booked_part(&booking, it)).collect(),
            None => self.parts_at(id, &booking.place, &booking.prices)?,
        };
        self.begin(number, id, parts)?;
        self.jobs.run(number)?.in_window = true;
        self.note(number, Happening::Planned(booking.place))
    }

    /// The job waits in the queue of a site from now on; what it may cost if it starts then is held.
    fn line_up(
        &mut self,
        number: u64,
        pool: PoolId,
        start: Option<Time>,
    ) -> Result<(), ApplyError> {
        // A job whose turn was lost has its task there already.
        if let Ok(job) = self.running(number) {
            self.market.apply(&Event::Lined { job })?;
            return self.note(number, Happening::Lined(pool));
        }
        let id = self.waiting(number)?;
        self.market.apply(&Event::Lined { job: id })?;
        let place = Place::Pool(pool);
        let prices = self.prices(number, id, &place, start.unwrap_or(self.now()))?;
        let parts = self.parts_at(id, &place, &prices)?;
        self.begin(number, id, parts)?;
        self.note(number, Happening::Lined(pool))
    }

    /// When the site's own scheduler is expected to start it.
    fn expect_turn(&mut self, number: u64, at: tradewind_model::Time) -> Result<(), ApplyError> {
        self.jobs.run(number)?.turn = Some(at);
        self.jobs.expect(&[(number, at)])
    }

    /// The site's own scheduler has started it.
    fn turn_came(&mut self, number: u64) -> Result<(), ApplyError> {
        let (now, id) = (self.now(), self.running(number)?);
        let run = self.jobs.run(number)?;
        run.started = now;
        let pool = run.parts.first().map(|part| part.pool).ok_or(ApplyError::Job(number))?;
        Ok(self.market.apply(&Event::Started { job: id, place: Place::Pool(pool) })?)
    }

    /// The parts of a job of equal tasks, one for each share of its place.
    fn parts_at(
        &self,
        id: JobId,
        place: &Place,
        prices: &[Price],
    ) -> Result<Vec<Part>, ApplyError> {
        let demand = self.market.demand(id).ok_or(ApplyError::Other("a job without a demand"))?;
        let shares = place.shares(demand.processors).zip(prices);
        let data = demand.terms().data.as_ref();
        let part = |(share, price): (Share, &Price)| {
            let pool = self.market.pools().pool(share.pool);
            let staging = data.and_then(|data| data.at(pool.site));
            Part { staging, ..part_of(share, pool.length_of(demand), *price) }
        };
        Ok(shares.map(part).collect())
    }

    /// The job has its nodes: what it may cost is held, and sites are to be told.
    fn begin(&mut self, number: u64, id: JobId, parts: Vec<Part>) -> Result<(), ApplyError> {
        let started = self.now();
        let demand = self.market.demand(id).cloned().ok_or(ApplyError::Job(number))?;
        let licences = self.licences_of(&demand);
        let job = self.job(number)?;
        if demand.is_moldable() {
            job.is_as_wide_as(demand.processors, job.processors);
        }
        let beginning = job.beginning_of(parts.len());
        job.stage = Stage::Running(Run {
            id,
            started,
            in_window: false,
            parts,
            beginning,
            turn: None,
            requeued_by: None,
            notice: None,
            licences,
        });
        job.choice = None;
        let (payer, hold) = (job.payer(), job.max());
        if let Some(job) = self.jobs.get(&number) {
            self.tasks.begin(&self.name, job);
        }
        self.hold_for(number, payer, hold)
    }

    /// What such a job takes along, at the prices of now.
    fn licences_of(&self, demand: &Demand) -> Option<Vec<HeldLicences>> {
        let all = self.market.pools().licences();
        let held = |share: &LicenceShare| HeldLicences {
            share: *share,
            price: all[share.licence.index()].price,
        };
        Some(demand.terms().licences.as_deref()?.iter().map(held).collect())
    }

    fn interrupt(&mut self, number: u64, setback: &Setback) -> Result<(), ApplyError> {
        let id = self.running(number)?;
        self.market.apply(&Event::Interrupted { job: id })?;
        match setback {
            // Decided and set back at once: no site knows of it.
            Setback::Funds | Setback::OverBudget => {
                self.tasks.drop_all(&self.name, self.jobs.job(number)?);
            }
            _ => self.stop_tasks(number)?,
        }
        self.refund(number)?;
        if let Setback::BarrierTimedOut(pool, _) = setback {
            self.learn_timeout(number, *pool)?;
        }
        let job = self.job(number)?;
        let was_told = job.run().is_some_and(|run| run.notice.is_some());
        job.stage = Stage::Waiting(id);
        job.attempt += 1;
        let is_refusal = match setback {
            Setback::Capped(..) | Setback::Requeued(_) | Setback::OverBudget => false,
            Setback::Preempted => !was_told,
            _ => true,
        };
        if !is_refusal {
            job.capped = job.capped.saturating_add(1);
        }
        self.note(number, Happening::Setback(setback.clone()))
    }

    fn cancelling(&mut self, number: u64, by: &str) -> Result<(), ApplyError> {
        match self.job(number)?.stage {
            // The market that has it is asked to stop it, as soon as it is known which one has.
            Stage::Handing(_) | Stage::Away(..) => {}
            _ => drop(self.running(number)?),
        }
        self.stop_tasks(number)?;
        self.job(number)?.cancelled_by = Some(by.to_owned());
        self.note(number, Happening::Cancelling(by.to_owned()))
    }

    fn requeueing(&mut self, number: u64, by: &str) -> Result<(), ApplyError> {
        self.jobs.run(number)?.requeued_by = Some(by.to_owned());
        self.stop_tasks(number)?;
        self.note(number, Happening::Requeueing(by.to_owned()))
    }

    fn end(&mut self, number: u64, finish: &Finish) -> Result<(), ApplyError> {
        let job = self.jobs.get(&number).ok_or(ApplyError::Job(number))?;
        match &job.stage {
            Stage::Running(run) => {
                // A job that is lost here may run again at home: it pays once.
                let pays = job.origin.is_none() || *finish != Finish::NodeFail;
                let id = run.id;
                self.market.apply(&match self.market.is_lined(id) {
                    true => Event::Cancelled { job: id },
                    false => Event::Ended { job: id },
                })?;
                if pays {
                    self.settle(number)?;
                }
                self.refund(number)?;
                self.learn(number)?;
            }
            Stage::Waiting(id) => self.market.apply(&Event::Cancelled { job: *id })?,
            Stage::Held(_) => {}
            Stage::Away(..) => {
                self.pay_peer(number)?;
                self.refund(number)?;
            }
            Stage::Handing(_) | Stage::Over(_) => return Err(ApplyError::Job(number)),
        }
        self.over(number, finish)?;
        self.keep_run(number)
    }

    fn over(&mut self, number: u64, finish: &Finish) -> Result<(), ApplyError> {
        self.end_wait(number);
        let now = self.now();
        let job = self.job(number)?;
        // A job that ran ended when its last part did, whenever that was seen.
        let exits = job.parts().iter().filter_map(|part| part.exit.as_ref());
        let at = exits.map(|(at, _)| *at).max().map_or(now, |last| last.min(now));
        let id = job.id();
        let last = match std::mem::replace(&mut job.stage, Stage::Held(JobHold::User)) {
            Stage::Running(run) => LastStage::Ran(run),
            Stage::Waiting(id) => LastStage::Waiting(id),
            Stage::Away(away, since) => LastStage::Away(away, since),
            Stage::Held(_) => LastStage::Held,
            Stage::Handing(_) | Stage::Over(_) => return Err(ApplyError::Job(number)),
        };
        job.stage = Stage::Over(JobEnd { finish: finish.clone(), at, last, redacted: None });
        id.and_then(|id| self.jobs.numbers.remove(&id));
        self.note(number, Happening::Over(finish.clone()))
    }

    /// How much later than expected the job began, for its first part's site.
    fn learn(&mut self, number: u64) -> Result<(), ApplyError> {
        let job = self.job(number)?;
        let (Some(since), Some(expected)) = (job.began(), job.expected) else { return Ok(()) };
        let Some(pool) = job.parts().first().map(|part| part.pool) else { return Ok(()) };
        self.sites.delayed(self.market.pools().pool(pool).site, (since - expected).0);
        Ok(())
    }

    /// A job has just been given its nodes.
    fn chose(&mut self, number: u64, choice: &Choice) -> Result<(), ApplyError> {
        self.running(number)?;
        self.job(number)?.choice = Some(choice.clone());
        Ok(())
    }

    /// A job is to leave its nodes.
    fn notice_given(&mut self, number: u64, ends: Time, why: &str) -> Result<(), ApplyError> {
        let given = self.now();
        let run = self.jobs.run(number)?;
        if run.notice.is_some() {
            return Err(ApplyError::Other("given notice twice"));
        }
        run.notice = Some(RunNotice { given, ends, why: why.to_owned() });
        self.tasks.notify(&self.name, self.jobs.job(number)?, ends);
        self.note(number, Happening::NoticeGiven(ends, why.to_owned()))
    }

    pub(super) fn barrier(&mut self, number: u64) -> Result<&mut StartBarrier, ApplyError> {
        match &mut self.jobs.run(number)?.beginning {
            Beginning::Together(barrier) => Ok(barrier),
            Beginning::Apart(_) => Err(ApplyError::Job(number)),
        }
    }

    fn gathered(&mut self, number: u64, at: Time) -> Result<(), ApplyError> {
        self.barrier(number)?.at = Some(at);
        self.tasks.go(&self.name, self.jobs.job(number)?, at)?;
        self.mind_wait(number);
        self.note(number, Happening::Began)
    }

    /// The job's parts did not come together: by so much its start was late, at least.
    fn learn_timeout(&mut self, number: u64, pool: PoolId) -> Result<(), ApplyError> {
        let now = self.now();
        let started = self.jobs.run(number)?.started;
        let site = self.site_of(pool);
        self.sites.delayed(site, (now - started).0);
        Ok(())
    }
}
