//! Autonomous sites: each pool schedules its own queue, and no scheduler stands above them (paper
//! 004 calls this a decentralised grid).
//!
//! [`AutonomousSites`] joins the sites' own schedulers ([`LocalScheduler`]). Without a [`Migration`] each
//! job stays at the site to which it was submitted. With one, sites pass jobs to each other by
//! their negotiators ([`crate::negotiation`]) over a [`Transport`]: a job that does not start at
//! once where it was submitted, or that its site would rather give away, is offered to others, and
//! waits with full rights until it is sent. A job that its site cannot run at all is offered until
//! another site takes it. A job that was passed on runs at the price that was agreed.
//!
//! A grid may be one member of a larger one ([`AutonomousSites::among_others`]): which jobs are
//! offered, what is promised and how jobs from elsewhere wait is decided here as before, and the
//! caller negotiates ([`Exchange`]).

mod events;
mod exchange;
mod home;
mod host;
mod job;
mod links;
mod migration;
mod recent;
mod transport;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{
    Command, Demand, Event, JobId, Market, OutageId, Place, Pool, PoolId, Pools, Reason, Time,
    Trade,
};

use super::local::{LocalScheduler, Origin, SiteJob, Timers};
use super::{Policy, Promise};
use crate::negotiation::{self, Input, Offer, Parcel, Peer, Preference};
use events::agreed;
use exchange::Outside;
pub use exchange::{Arrival, ArrivalFrom, Exchange};
pub use home::{HomeRule, home};
use job::{ELSEWHERE, GridJob, GridJobs, JobPhase, length_at, peer};
pub use links::Links;
pub use migration::Migration;
use migration::Negotiators;
use recent::RecentSlowdowns;
pub use transport::{NoTransport, Signal, Transport};

/// The policy; see the module's text.
///
/// A job joins the queue of its site at its earliest start, if it states one. Deadlines are not
/// looked at, and budgets only when a job is passed on. When a pool's price rises above what a
/// waiting job accepts, the job looks for another pool, and if there is none it waits until prices
/// change again. A moment costs what the sites and negotiators cost at which something happens,
/// and O(log n) for each event.
#[derive(Debug)]
pub struct AutonomousSites<N> {
    sites: Vec<Box<dyn LocalScheduler>>,
    /// Of the jobs that started last, by site.
    slowdowns: Vec<RecentSlowdowns>,
    home_rule: HomeRule,
    /// `None`: no job is passed on within this grid.
    negotiators: Option<Negotiators<N>>,
    /// `None`: no job is passed on to other grids.
    outside: Option<Outside>,
    jobs: GridJobs,
    /// Since when jobs run, and where.
    runs: BTreeMap<JobId, (Time, Place)>,
    /// Of which pool an outage is.
    outages: BTreeMap<OutageId, PoolId>,
    /// Jobs that join at their earliest start.
    later: BTreeSet<(Time, JobId)>,
    /// Whether the first call is still to come, and continues another policy.
    resumed: bool,
    /// When each site is to be asked again.
    wakes: Timers,
    /// When each site expects a job to end.
    ends: Timers,
    passed_on: u64,
}

/// What happens during one call.
struct Moment<'a> {
    market: &'a Market,
    now: Time,
    commands: &'a mut Vec<Command>,
    /// Sites at which something happened.
    busy: BTreeSet<PoolId>,
    /// Whether sites negotiate.
    migration: Migrates,
    /// Jobs that joined where they were submitted, and should start there at once.
    fresh: BTreeSet<JobId>,
    /// What negotiators must be told.
    inputs: Vec<(PoolId, Input)>,
}

/// Whether jobs are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Migrates {
    /// Between these sites.
    Yes,
    /// To other grids, by the caller.
    Outside,
    No,
}

impl Moment<'_> {
    /// The site's negotiator must be told this, if it has one.
    fn input(&mut self, site: PoolId, input: Input) {
        if self.migration == Migrates::Yes {
            self.inputs.push((site, input));
        }
    }

    /// The job is new to a site, which should start it at once.
    fn joined(&mut self, job: JobId, site: PoolId) {
        self.busy.insert(site);
        if self.migration != Migrates::No {
            self.fresh.insert(job);
        }
    }
}

impl AutonomousSites<NoTransport> {
    /// The sites that `build` makes of these pools; no job is passed on. The policy is for a
    /// market of the same pools.
    pub fn isolated(
        pools: &Pools,
        home_rule: HomeRule,
        build: impl Fn(&Pool) -> Box<dyn LocalScheduler>,
    ) -> AutonomousSites<NoTransport> {
        AutonomousSites::new(pools, home_rule, None, build)
    }

    /// The same; jobs are passed on to other grids by the caller, who asks the policy's
    /// [`Exchange`].
    pub fn among_others(
        pools: &Pools,
        (negotiation, links): (negotiation::NegotiationSettings, Links),
        build: impl Fn(&Pool) -> Box<dyn LocalScheduler>,
    ) -> AutonomousSites<NoTransport> {
        let outside = Some(Outside::new(negotiation, links));
        let home_rule = HomeRule::FirstSuitable;
        AutonomousSites { outside, ..AutonomousSites::isolated(pools, home_rule, build) }
    }
}

impl<N: Transport> AutonomousSites<N> {
    /// The sites that `build` makes of these pools. The policy is for a market of the same pools.
    /// A single site has no other to negotiate with.
    pub fn new(
        pools: &Pools,
        home_rule: HomeRule,
        migration: Option<Migration<N>>,
        build: impl Fn(&Pool) -> Box<dyn LocalScheduler>,
    ) -> AutonomousSites<N> {
        let sites: Vec<_> = pools.as_slice().iter().map(build).collect();
        let migration = migration.filter(|_| sites.len() > 1);
        AutonomousSites {
            negotiators: migration.map(|it| Negotiators::new(sites.len(), it)),
            outside: None,
            wakes: Timers::new(sites.len()),
            ends: Timers::new(sites.len()),
            slowdowns: vec![RecentSlowdowns::default(); sites.len()],
            sites,
            home_rule,
            jobs: GridJobs::default(),
            runs: BTreeMap::new(),
            outages: BTreeMap::new(),
            later: BTreeSet::new(),
            resumed: false,
            passed_on: 0,
        }
    }

    /// The network between the sites, if they negotiate.
    pub fn network(&self) -> Option<&N> {
        self.negotiators.as_ref().map(|negotiators| &negotiators.network)
    }

    /// How often a job arrived at a site that took it.
    pub fn passed_on(&self) -> u64 {
        self.passed_on
    }

    /// The site in whose queues the job waits, and the scheduler there.
    pub fn waits_at(&self, job: JobId) -> Option<(PoolId, &dyn LocalScheduler)> {
        let known = self.jobs.get(job).filter(|known| known.phase == JobPhase::Waiting)?;
        Some((known.site, &*self.sites[known.site.index()]))
    }

    /// Whether each job that is not over is owned by one negotiator, that of the site which the
    /// policy believes, and no other may run it. Counts all again, for tests. O(jobs + sites).
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self) -> Result<(), String> {
        let Some(negotiators) = &self.negotiators else { return Ok(()) };
        let mut may_run: BTreeMap<JobId, Vec<Peer>> = BTreeMap::new();
        let mut sent: BTreeSet<JobId> = BTreeSet::new();
        for (peer, durable) in negotiators.durables() {
            durable.here.iter().for_each(|t| may_run.entry(t.job).or_default().push(peer));
            sent.extend(durable.handing.values().map(|handing| handing.parcel.ticket.job));
        }
        for (id, GridJob { site, phase, .. }) in self.jobs.iter() {
            let owners = may_run.remove(&id).unwrap_or_default();
            let holds = match phase {
                JobPhase::InTransit => owners.is_empty() && sent.contains(&id),
                _ => owners == [peer(*site)],
            };
            if !holds {
                return Err(format!("job {} {phase:?} at {site:?}: {owners:?}", id.0));
            }
        }
        let over = may_run.first_key_value();
        over.map_or(Ok(()), |(job, owners)| Err(format!("job {} is over: {owners:?}", job.0)))
    }

    /// Whether a job may run in the pool at present prices, or at the highest of those that change with
    /// time, since its site starts it whenever there are nodes. Where users pay, by a caller that
    /// negotiates, their budgets count.
    fn suits(&self, pools: &Pools, id: PoolId, demand: &Demand) -> bool {
        let affords = || {
            let pool = pools.pool(id);
            let cost = pools.highest_price(id).of(demand.processors, pool.length_of(demand));
            demand.terms().budget.is_none_or(|budget| cost <= budget)
        };
        home::suits(pools, id, demand) && (self.outside.is_none() || affords())
    }

    /// The first pool at its home site in which the job may run and that is wide enough.
    fn home_for(&self, market: &Market, demand: &Demand) -> Result<PoolId, Reason> {
        if self.outside.is_none() {
            return home(market.pools(), demand);
        }
        let fits = |(id, pool): &(PoolId, &Pool)| {
            pool.nodes >= demand.processors && self.suits(market.pools(), *id, demand)
        };
        let fitting = market.pools().iter().find(fits).map(|(id, _)| id);
        fitting.ok_or(Reason::TooFewNodes {
            needed: demand.processors,
            suitable: 0,
            min_performance: demand.terms().min_performance,
        })
    }

    /// The job waits at its site from now on. If that cannot run it (now costs too much, say), it
    /// waits for another site.
    fn join(&mut self, moment: &mut Moment<'_>, job: JobId) {
        let market = moment.market;
        let Some(known) = self.jobs.get(job) else { return };
        let Some(demand) = market.demand(job) else { return };
        let pool = market.pools().pool(known.site);
        let suits = agreed(market, job) == Some(known.site)
            || self.suits(market.pools(), known.site, demand);
        let site = match (suits && pool.nodes >= demand.processors, &self.negotiators) {
            (true, _) => known.site,
            (false, None) => match self.home_for(market, demand) {
                Ok(site) => site,
                Err(_) => return self.jobs.set(job, known.site, JobPhase::Unplaced),
            },
            (false, Some(_)) => {
                let site = known.site;
                let wish = Input::PassOn(Arc::clone(&known.parcel), Preference::Must);
                moment.inputs.push((site, wish));
                return self.jobs.set(job, site, JobPhase::Unplaced);
            }
        };
        self.jobs.set(job, site, JobPhase::Waiting);
        self.enqueue(moment, job, site);
    }

    fn enqueue(&mut self, moment: &mut Moment<'_>, job: JobId, site: PoolId) {
        let Some(known) = self.jobs.get(job) else { return };
        let Some(demand) = moment.market.demand(job) else { return };
        let origin = match (moment.migration, known.parcel.ticket.home) {
            (Migrates::Yes, _) => known.origin(),
            (Migrates::Outside, ELSEWHERE) => Origin::Remote,
            (Migrates::Outside | Migrates::No, _) => Origin::Local,
        };
        let length = length_at(moment.market, job, site);
        let submitted = known.submitted();
        let wanted = SiteJob { job, processors: demand.processors, length, submitted };
        let local = &mut self.sites[site.index()];
        local.leave(job, moment.now);
        local.join(wanted, origin, moment.now);
        moment.joined(job, site);
    }

    /// A job came from another site, and has agreed on its price here.
    fn take_in(
        &mut self,
        moment: &mut Moment<'_>,
        site: PoolId,
        parcel: Arc<Parcel>,
        offer: &Offer,
    ) {
        let job = parcel.ticket.job;
        if !moment.market.waits(job) {
            moment.inputs.push((site, Input::Over(parcel.ticket)));
            return;
        }
        self.passed_on += 1;
        let mut trade = Trade::at(site, offer.quote.price, offer.quote.start.max(moment.now));
        trade.ask = Some(offer.quote.cost);
        moment.commands.push(Command::Trade { job, trade: Arc::new(trade) });
        self.jobs.insert(GridJob { parcel, site, phase: JobPhase::Waiting });
        self.join(moment, job);
        moment.fresh.remove(&job);
    }

    /// A job is sent to another site.
    fn send_away(&mut self, moment: &mut Moment<'_>, job: JobId) {
        let Some(site) = self.jobs.get(job).map(|known| known.site) else { return };
        self.jobs.set(job, site, JobPhase::InTransit);
        self.sites[site.index()].leave(job, moment.now);
        moment.busy.insert(site);
    }

    /// A job that was sent was not taken.
    fn take_back(&mut self, moment: &mut Moment<'_>, job: JobId) {
        self.join(moment, job);
        moment.fresh.remove(&job);
    }

    fn decide_all(&mut self, moment: &mut Moment<'_>) {
        while let Some(site) = moment.busy.pop_first() {
            self.decide_at(moment, site);
        }
    }

    /// Lets a site decide, and asks its negotiator to pass on what does not start.
    fn decide_at(&mut self, moment: &mut Moment<'_>, site: PoolId) {
        let local = &mut self.sites[site.index()];
        let (mut starts, mut surplus) = (Vec::new(), Vec::new());
        local.decide(moment.now, &mut starts, &mut surplus);
        self.wakes.set(site.index(), local.wake());
        self.ends.set(site.index(), local.next_end());
        for job in starts {
            let place = Place::Pool(site);
            self.runs.insert(job, (moment.now, place.clone()));
            moment.commands.push(Command::Start { job, place });
            moment.fresh.remove(&job);
            let Some(known) = self.jobs.get(job) else { continue };
            let waited = moment.now - known.submitted();
            self.slowdowns[site.index()].started(waited, length_at(moment.market, job, site));
            moment.input(site, Input::Started(known.ticket()));
            self.jobs.set(job, site, JobPhase::Running);
        }
        if moment.migration == Migrates::No {
            return;
        }
        let at = |job: &JobId| self.jobs.get(*job).is_some_and(|known| known.site == site);
        let late: Vec<JobId> = moment.fresh.iter().copied().filter(at).collect();
        for job in late.into_iter().chain(surplus) {
            moment.fresh.remove(&job);
            if let Some(known) = self.jobs.get(job) {
                let wish = Input::PassOn(Arc::clone(&known.parcel), Preference::Better);
                moment.inputs.push((site, wish));
            }
        }
    }

    /// The next moment at which something happens for which jobs may wait.
    fn wake(&self) -> Option<Time> {
        if !self.jobs.any_waiting() {
            return None;
        }
        let later = self.later.first().map(|(from, _)| *from);
        let message = self.negotiators.as_ref().and_then(Negotiators::next);
        [later, message, self.wakes.next()].into_iter().flatten().min()
    }
}

impl<N: Transport> Policy for AutonomousSites<N> {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let now = market.now();
        let (busy, fresh, inputs) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let migration = match (&self.negotiators, &self.outside) {
            (Some(_), _) => Migrates::Yes,
            (None, Some(_)) => Migrates::Outside,
            (None, None) => Migrates::No,
        };
        let mut moment = Moment { market, now, commands, busy, migration, fresh, inputs };
        for event in events {
            self.tell(&mut moment, event);
        }
        self.resumed = false;
        while let Some(&(from, job)) = self.later.first()
            && from <= now
        {
            self.later.pop_first();
            self.join(&mut moment, job);
        }
        let due = self.wakes.until(now).chain(self.ends.until(now));
        moment.busy.extend(due.map(|site| PoolId(site as u32)));
        self.decide_all(&mut moment);
        match &mut self.outside {
            Some(outside) => outside.note(std::mem::take(&mut moment.inputs)),
            None if self.negotiators.is_some() => self.negotiate(&mut moment),
            None => {}
        }
        let wake = self.wake().map(|at| at.max(Time(now.0 + 1)));
        commands.extend(wake.map(|at| Command::Wake { at }));
    }

    fn resume(&mut self, _usage: &BTreeMap<i64, u64>) {
        self.resumed = true;
    }

    /// Of one site what it promises; of several that keep their jobs reservations, if all make
    /// them. A job that is passed on gives up its reservation.
    fn promise(&self) -> Promise {
        if self.outside.is_some() {
            return Promise::Nothing;
        }
        let mut kinds = self.sites.iter().map(|site| site.guarantee());
        match (&self.negotiators, &self.sites[..]) {
            (None, [site]) => site.guarantee(),
            (None, [_, ..]) if kinds.all(|kind| kind == Promise::Reservations) => {
                Promise::Reservations
            }
            _ => Promise::Nothing,
        }
    }

    fn exchange(&self) -> Option<&dyn Exchange> {
        self.outside.as_ref().map(|_| self as &dyn Exchange)
    }

    fn exchange_mut(&mut self) -> Option<&mut dyn Exchange> {
        match self.outside {
            Some(_) => Some(self),
            None => None,
        }
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.waits_at(job)?.1.reservation(job)
    }

    /// What the network counts, and how many jobs were passed on, if sites negotiate.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        let Some(negotiators) = &self.negotiators else { return Vec::new() };
        let mut counts = negotiators.network.counts();
        counts.push(("migrations", self.passed_on));
        counts
    }
}
