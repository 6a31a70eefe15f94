//! What sites and negotiators learn of events in the market.

use std::sync::Arc;

use tradewind_model::{
    Command, Demand, Event, JobId, Market, Outage, OutageId, Place, PoolId, Reason, Share, Time,
};

use super::exchange::{Arrival, ArrivalFrom};
use super::home::Reach;
use super::job::{ELSEWHERE, GridJob, JobPhase, length_at, peer};
use super::{AutonomousSites, Moment, Transport};
use crate::negotiation::{Input, Parcel, Ticket};
use crate::policy::inbox;
use crate::policy::local::SiteJob;

impl<N: Transport> AutonomousSites<N> {
    /// Tells sites about one event.
    pub(super) fn tell(&mut self, moment: &mut Moment<'_>, event: &Event) {
        match event {
            Event::Submitted { job, demand } if moment.market.waits(*job) => {
                self.submitted(moment, *job, demand);
            }
            Event::Submitted { .. } | Event::Noticed { .. } => {}
            Event::Traded { job, .. } => self.traded(moment, *job),
            Event::Started { job, .. } => self.started(moment, *job),
            Event::Lined { job } | Event::Cancelled { job } | Event::Refused { job } => {
                self.leave(moment, *job);
                self.forget(moment, *job);
            }
            Event::Released { job, pool } => self.released(moment, *job, *pool),
            Event::Ended { job } => self.ended(moment, *job),
            Event::Interrupted { job } => self.interrupted(moment, *job),
            Event::Priced { pool, .. } | Event::Rated { pool, .. } => self.priced(moment, *pool),
            Event::Announced { closure, what } => self.announced(moment, *closure, *what),
            Event::Closed { closure } => {
                let Some(pool) = self.outages.get(closure).copied() else { return };
                self.sites[pool.index()].closed(*closure, moment.now);
                moment.busy.insert(pool);
            }
            Event::Reopened { closure } => {
                let Some(pool) = self.outages.remove(closure) else { return };
                self.sites[pool.index()].reopened(*closure, moment.now);
                moment.busy.insert(pool);
            }
        }
    }

    fn announced(&mut self, moment: &mut Moment<'_>, outage: OutageId, what: Outage) {
        self.outages.insert(outage, what.pool);
        self.sites[what.pool.index()].announced(outage, what, moment.now);
        moment.busy.insert(what.pool);
    }

    /// A job of which it was said how it would come. One that came back, or from elsewhere, waits
    /// here and is not offered at once.
    fn arrived(&mut self, moment: &mut Moment<'_>, job: JobId, demand: &Demand) -> bool {
        let arrival = self.outside.as_mut().and_then(|outside| outside.arrival(job));
        let Some(Arrival { submitted, from }) = arrival else { return false };
        let ArrivalFrom::Elsewhere(offer) = from else {
            self.submitted_at(moment, (job, demand), submitted);
            if from == ArrivalFrom::Returned {
                moment.fresh.remove(&job);
            }
            return true;
        };
        let ticket = Ticket { home: ELSEWHERE, job };
        let demand = demand.clone();
        let parcel = Arc::new(Parcel { ticket, demand, submitted, data_mb: 0, hops: 1 });
        let site = agreed(moment.market, job);
        let site = site.or_else(|| self.taken_in_at(moment.market, &parcel, &offer));
        match site {
            Some(site) => self.take_in(moment, site, parcel, &offer),
            // Prices have risen since: it waits until another pool suits it.
            None => {
                let home = self.home_at_any_price(moment.market, job, &parcel.demand);
                let site = home.unwrap_or(PoolId(0));
                self.jobs.insert(GridJob { parcel, site, phase: JobPhase::Unplaced });
            }
        }
        true
    }

    fn reach(&self) -> Reach {
        match self.negotiators {
            Some(_) => Reach::Grid,
            None => Reach::Home,
        }
    }

    /// The pool to which a job is submitted that could not pay for any pool now, but waited
    /// before.
    ///
    /// # Errors
    /// Why no pool can run it.
    fn home_at_any_price(
        &self,
        market: &Market,
        job: JobId,
        demand: &Demand,
    ) -> Result<PoolId, Reason> {
        let demand = inbox::without_limits(demand);
        self.home_rule.pool(market.pools(), (job, &demand), self.reach())
    }

    fn submitted(&mut self, moment: &mut Moment<'_>, job: JobId, demand: &Demand) {
        if !self.arrived(moment, job, demand) {
            self.submitted_at(moment, (job, demand), moment.now);
        }
    }

    fn submitted_at(
        &mut self,
        moment: &mut Moment<'_>,
        (job, demand): (JobId, &Demand),
        submitted: Time,
    ) {
        let market = moment.market;
        let home = match agreed(market, job) {
            Some(pool) => Ok(pool),
            None => self.home_rule.pool(market.pools(), (job, demand), self.reach()),
        };
        let home = match home {
            Err(_) if self.resumed => self.home_at_any_price(market, job, demand),
            home => home,
        };
        match home {
            Ok(site) => self.enter(moment, (job, demand), (site, submitted)),
            Err(reason) => moment.commands.push(Command::Refuse { job, reason }),
        }
    }

    /// A job that is new to the grid waits at this site, from its earliest start on.
    fn enter(
        &mut self,
        moment: &mut Moment<'_>,
        (job, demand): (JobId, &Demand),
        (site, submitted): (PoolId, Time),
    ) {
        let ticket = self.note((job, demand), (site, submitted));
        moment.input(site, Input::Joined(ticket));
        match demand.terms().earliest_start.filter(|from| *from > moment.now) {
            Some(from) => _ = self.later.insert((from, job)),
            None => self.join(moment, job),
        }
    }

    /// Writes down that a new job belongs to this site.
    fn note(
        &mut self,
        (job, demand): (JobId, &Demand),
        (site, submitted): (PoolId, Time),
    ) -> Ticket {
        let ticket = Ticket { home: peer(site), job };
        let network = self.negotiators.as_ref().map(|negotiators| &negotiators.network);
        let data_mb = network.map_or(0, |network| network.data_mb(demand.processors));
        let demand = demand.clone();
        let parcel = Arc::new(Parcel { ticket, demand, submitted, data_mb, hops: 0 });
        self.jobs.insert(GridJob { parcel, site, phase: JobPhase::Early });
        ticket
    }

    /// The job has agreed on a pool. If it is not there, it goes there.
    fn traded(&mut self, moment: &mut Moment<'_>, job: JobId) {
        let Some(pool) = agreed(moment.market, job) else { return };
        let Some(known) = self.jobs.get(job).filter(|known| known.site != pool) else { return };
        let (phase, before) = (known.phase, known.site);
        self.sites[before.index()].leave(job, moment.now);
        moment.busy.insert(before);
        self.jobs.set(job, pool, phase);
        if phase != JobPhase::Early && moment.market.waits(job) {
            self.join(moment, job);
        }
    }

    /// A job runs that this policy did not start.
    fn started(&mut self, moment: &mut Moment<'_>, job: JobId) {
        if self.runs.contains_key(&job) {
            return;
        }
        self.leave(moment, job);
        let Some(run) = moment.market.run_of(job) else { return };
        for Share { pool, nodes: processors } in run.shares() {
            let length = length_at(moment.market, job, pool);
            let wanted = SiteJob { job, processors, length, submitted: run.start };
            self.sites[pool.index()].adopt(wanted, run.start, moment.now);
            moment.busy.insert(pool);
        }
        self.runs.insert(job, (run.start, Place::of(run.shares().collect())));
        if let Some(known) = self.jobs.get(job) {
            let (site, ticket) = (known.site, known.ticket());
            self.jobs.set(job, site, JobPhase::Running);
            moment.input(site, Input::Started(ticket));
        }
    }

    /// A job gave back its nodes in one of its pools.
    fn released(&mut self, moment: &mut Moment<'_>, job: JobId, pool: PoolId) {
        let processors = moment.market.demand(job).map_or(0, |demand| demand.processors);
        let Some((start, place)) = self.runs.get_mut(&job) else { return };
        let (gone, rest): (Vec<Share>, Vec<Share>) =
            place.shares(processors).partition(|share| share.pool == pool);
        if gone.is_empty() {
            return;
        }
        *place = Place::of(rest);
        let ran = moment.now - *start;
        self.sites[pool.index()].ended(job, ran, moment.now);
        moment.busy.insert(pool);
    }

    fn ended(&mut self, moment: &mut Moment<'_>, job: JobId) {
        let Some((start, pools)) = self.strike(moment.market, job) else { return };
        for pool in pools {
            self.sites[pool.index()].ended(job, moment.now - start, moment.now);
            moment.busy.insert(pool);
        }
        self.forget(moment, job);
    }

    fn interrupted(&mut self, moment: &mut Moment<'_>, job: JobId) {
        for pool in self.strike(moment.market, job).map(|(_, pools)| pools).unwrap_or_default() {
            self.sites[pool.index()].interrupted(job, moment.now);
            moment.busy.insert(pool);
        }
        if !moment.market.waits(job) {
            return;
        }
        let Some(demand) = moment.market.demand(job) else { return };
        if self.jobs.get(job).is_none() {
            match self.home_at_any_price(moment.market, job, demand) {
                Ok(site) => {
                    let ticket = self.note((job, demand), (site, moment.now));
                    moment.input(site, Input::Joined(ticket));
                }
                Err(reason) => return moment.commands.push(Command::Refuse { job, reason }),
            }
        }
        self.join(moment, job);
    }

    /// Removes a job from the running ones; since when it ran, and where.
    fn strike(&mut self, market: &Market, job: JobId) -> Option<(Time, Vec<PoolId>)> {
        let (start, place) = self.runs.remove(&job)?;
        let processors = market.demand(job)?.processors;
        Some((start, place.shares(processors).map(|share| share.pool).collect()))
    }

    /// Jobs that would pay too much look for another pool; those that found none look again.
    fn priced(&mut self, moment: &mut Moment<'_>, pool: PoolId) {
        let market = moment.market;
        let unsuited = |job| {
            let demand = market.demand(job);
            demand.is_some_and(|demand| !self.suits(market.pools(), pool, demand))
        };
        let looks = |(id, job): &(JobId, &GridJob)| match job.phase {
            JobPhase::Unplaced => true,
            JobPhase::Waiting => job.site == pool && unsuited(*id) && agreed(market, *id).is_none(),
            JobPhase::Early | JobPhase::InTransit | JobPhase::Running => false,
        };
        let moved: Vec<JobId> = self.jobs.iter().filter(looks).map(|(id, _)| id).collect();
        moved.iter().for_each(|job| self.leave(moment, *job));
        moved.into_iter().for_each(|job| self.join(moment, job));
    }

    /// The job waits at no site any more.
    fn leave(&mut self, moment: &mut Moment<'_>, job: JobId) {
        let Some(known) = self.jobs.get(job) else { return };
        if known.phase == JobPhase::Early {
            self.later.retain(|(_, other)| *other != job);
        }
        let site = known.site;
        self.sites[site.index()].leave(job, moment.now);
        moment.busy.insert(site);
    }

    /// The job is over.
    fn forget(&mut self, moment: &mut Moment<'_>, job: JobId) {
        if let Some(gone) = self.jobs.remove(job) {
            moment.input(gone.site, Input::Over(gone.ticket()));
        }
    }
}

/// The pool on which a job has agreed.
pub(super) fn agreed(market: &Market, job: JobId) -> Option<PoolId> {
    market.trade(job).map(|trade| trade.pool)
}
