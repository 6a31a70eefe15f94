//! A grid without a centre: every pool is a site that schedules for itself, and sites pass jobs to
//! each other (paper 004).
//!
//! [`Federation`] joins the sites' own schedulers ([`Local`]), their negotiators
//! ([`tradewind_sched::negotiation`]) and the network between them ([`crate::network`]). A job is
//! submitted at home. If it does not start there at once, or the site would rather be rid of it,
//! the site asks others; the job goes on waiting with full rights until it is sent. A job that
//! its home cannot run at all is asked for until somebody takes it.
//!
//! A job that was passed on runs at the price that was agreed: `Market` settles at it.

mod bells;
mod card;
mod desk;
mod minds;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{
    OutageId, Command, Demand, Event, JobId, Market, Place, Pool, PoolId, Pools, Time,
};
use tradewind_sched::negotiation::{self, Input, Offer, Parcel, Peer, Ticket, Preference};
use tradewind_sched::policy::local::Local;
use tradewind_sched::policy::{Policy, Promise};

use crate::network::{Faults, Links, Network, Traffic};
use bells::Bells;
use card::{Card, Whereabouts, peer};
use minds::Minds;

/// How sites of a federation work together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How they negotiate; `None`: they do not, and every job stays at home. A site alone has
    /// nobody to ask.
    pub negotiation: Option<negotiation::Settings>,
    /// How long messages and jobs take.
    pub links: Links,
    /// What goes wrong.
    pub faults: Faults,
    /// Of all draws.
    pub seed: u64,
}

impl Default for Settings {
    /// They negotiate as the paper says, and nothing goes wrong.
    fn default() -> Settings {
        Settings {
            negotiation: Some(negotiation::Settings::default()),
            links: Links::default(),
            faults: Faults::none(),
            seed: 1,
        }
    }
}

/// The policy; see the module's text.
///
/// A moment costs what the sites and the messages cost at which something happens, O(log n) each
/// beside the sites' own work. Deadlines are not looked at; budgets are, when a job is passed on.
#[derive(Debug)]
pub struct Federation {
    sites: Vec<Box<dyn Local>>,
    minds: Option<Minds>,
    links: Links,
    /// Jobs that are not over.
    cards: BTreeMap<JobId, Card>,
    /// How many of them do not run.
    waiting: usize,
    /// Whose closure it is.
    closures: BTreeMap<OutageId, PoolId>,
    /// Jobs that join at their earliest start.
    later: BTreeSet<(Time, JobId)>,
    /// When each site wants to be asked again.
    wakes: Bells,
    /// When each site expects a job to end.
    ends: Bells,
    passed_on: u64,
}

/// What happens to jobs while the moment lasts.
struct Moment<'a> {
    market: &'a Market,
    now: Time,
    commands: &'a mut Vec<Command>,
    /// Sites at which something happened.
    busy: BTreeSet<PoolId>,
    /// Jobs that joined where they were submitted, and should start there at once.
    fresh: BTreeSet<JobId>,
    /// What negotiators must be told.
    inputs: Vec<(PoolId, Input)>,
}

impl Federation {
    /// The sites that `build` makes of these pools. The policy is for a market of the same.
    pub fn new(
        pools: &Pools,
        settings: Settings,
        build: impl Fn(&Pool) -> Box<dyn Local>,
    ) -> Federation {
        let sites: Vec<_> = pools.as_slice().iter().map(build).collect();
        let Settings { negotiation, links, faults, seed } = settings;
        let minds = negotiation.filter(|_| sites.len() > 1).map(|knobs| {
            let network = Network::new(links, faults.clone(), seed);
            Minds::new(sites.len(), knobs, network, faults.stops, seed)
        });
        Federation {
            wakes: Bells::new(sites.len()),
            ends: Bells::new(sites.len()),
            sites,
            minds,
            links,
            cards: BTreeMap::new(),
            waiting: 0,
            closures: BTreeMap::new(),
            later: BTreeSet::new(),
            passed_on: 0,
        }
    }

    /// The messages of the run so far.
    pub fn traffic(&self) -> Traffic {
        self.minds.as_ref().map_or(Traffic::default(), Minds::traffic)
    }

    /// How often a job arrived at a site that took it in.
    pub fn passed_on(&self) -> u64 {
        self.passed_on
    }

    /// The site in whose queues the job waits, and the scheduler there.
    pub fn waits_at(&self, job: JobId) -> Option<(PoolId, &dyn Local)> {
        let card = self.cards.get(&job)?;
        let waits = card.whereabouts == Whereabouts::Waits;
        waits.then(|| (card.site, &*self.sites[card.site.index()]))
    }

    /// Whether every job that is not over is owned by one site, the one that the federation thinks,
    /// and nobody else may run it: adds everything up anew, for tests. O(jobs + sites).
    ///
    /// # Errors
    /// What does not add up.
    pub fn check(&self) -> Result<(), String> {
        let Some(minds) = &self.minds else { return Ok(()) };
        let mut may_run: BTreeMap<JobId, Vec<Peer>> = BTreeMap::new();
        let mut sent: BTreeSet<JobId> = BTreeSet::new();
        for (peer, durable) in minds.durables() {
            durable.here.iter().for_each(|t| may_run.entry(t.job).or_default().push(peer));
            sent.extend(durable.handing.values().map(|handing| handing.parcel.ticket.job));
        }
        for (job, Card { site, whereabouts, .. }) in &self.cards {
            let there = may_run.remove(job).unwrap_or_default();
            let holds = match whereabouts {
                Whereabouts::Travels => there.is_empty() && sent.contains(job),
                _ => there == [peer(*site)],
            };
            if !holds {
                return Err(format!("job {} {whereabouts:?} at {site:?}: {there:?}", job.0));
            }
        }
        let over = may_run.first_key_value();
        over.map_or(Ok(()), |(job, there)| Err(format!("job {} is over: {there:?}", job.0)))
    }

    fn happened(&mut self, moment: &mut Moment<'_>, event: &Event) {
        let now = moment.now;
        match event {
            Event::Submitted { job, demand } => self.submit(moment, *job, demand),
            Event::Ended { job } => {
                let Some(Card { site, whereabouts: Whereabouts::Runs(start), .. }) =
                    self.cards.get(job)
                else {
                    return;
                };
                let (site, ran) = (*site, now - *start);
                self.sites[site.index()].ended(*job, ran, now);
                self.over(moment, *job);
                moment.busy.insert(site);
            }
            Event::Interrupted { job } => {
                let Some(card) = self.cards.get(job) else { return };
                self.sites[card.site.index()].interrupted(*job, now);
                self.waiting += 1;
                self.join(moment, *job);
            }
            Event::Announced { closure, what } => {
                self.closures.insert(*closure, what.pool);
                self.sites[what.pool.index()].announced(*closure, *what, now);
                moment.busy.insert(what.pool);
            }
            Event::Closed { closure } => {
                let Some(pool) = self.closures.get(closure) else { return };
                self.sites[pool.index()].closed(*closure, now);
            }
            Event::Reopened { closure } => {
                let Some(pool) = self.closures.remove(closure) else { return };
                self.sites[pool.index()].reopened(*closure, now);
                moment.busy.insert(pool);
            }
            _ => {}
        }
    }

    fn submit(&mut self, moment: &mut Moment<'_>, job: JobId, demand: &Demand) {
        let pools = moment.market.pools();
        let site = card::home(pools, job, demand);
        let migrates = self.minds.is_some();
        if let Some(reason) = card::nowhere(pools, demand, |pool| migrates || pool == site) {
            moment.commands.push(Command::Refuse { job, reason });
            return;
        }
        let ticket = Ticket { home: peer(site), job };
        let data_mb = self.links.data_mb(demand.processors);
        let submitted = moment.now;
        let parcel = Parcel { ticket, demand: demand.clone(), submitted, data_mb, hops: 0 };
        let whereabouts = Whereabouts::Early;
        self.cards.insert(job, Card { parcel: Arc::new(parcel), site, whereabouts });
        self.waiting += 1;
        moment.inputs.push((site, Input::Joined(ticket)));
        match demand.terms().earliest_start.filter(|from| *from > moment.now) {
            Some(from) => {
                self.later.insert((from, job));
            }
            None => self.join(moment, job),
        }
    }

    fn over(&mut self, moment: &mut Moment<'_>, job: JobId) {
        if let Some(card) = self.cards.remove(&job) {
            moment.inputs.push((card.site, Input::Over(card.ticket())));
        }
    }

    /// The job waits at its site from now on, or for another one.
    fn join(&mut self, moment: &mut Moment<'_>, job: JobId) {
        let Some(card) = self.cards.get_mut(&job) else { return };
        let pool = moment.market.pools().pool(card.site);
        let demand = &card.parcel.demand;
        if pool.nodes < demand.processors || !pool.suits(demand) {
            card.whereabouts = Whereabouts::Homeless;
            let wish = Input::PassOn(Arc::clone(&card.parcel), Preference::Must);
            moment.inputs.push((card.site, wish));
            return;
        }
        card.whereabouts = Whereabouts::Waits;
        self.sites[card.site.index()].join(card.wanted(pool), card.origin(), moment.now);
        moment.busy.insert(card.site);
        moment.fresh.insert(job);
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
        self.passed_on += 1;
        let price = offer.quote.price;
        let mut trade = tradewind_model::Trade::at(site, price, offer.quote.start.max(moment.now));
        trade.ask = Some(offer.quote.cost);
        moment.commands.push(Command::Trade { job, trade: Arc::new(trade) });
        self.cards.insert(job, Card { parcel, site, whereabouts: Whereabouts::Waits });
        self.join(moment, job);
        moment.fresh.remove(&job);
    }

    /// A job goes out.
    fn hold(&mut self, moment: &mut Moment<'_>, job: JobId) {
        let Some(card) = self.cards.get_mut(&job) else { return };
        card.whereabouts = Whereabouts::Travels;
        self.sites[card.site.index()].leave(job, moment.now);
        moment.busy.insert(card.site);
    }

    /// A job came back unwanted.
    fn release(&mut self, moment: &mut Moment<'_>, job: JobId) {
        self.join(moment, job);
        moment.fresh.remove(&job);
    }

    /// Lets a site decide, and wishes away what it does not start.
    fn ask(&mut self, moment: &mut Moment<'_>, site: PoolId) {
        let local = &mut self.sites[site.index()];
        let (mut starts, mut surplus) = (Vec::new(), Vec::new());
        local.decide(moment.now, &mut starts, &mut surplus);
        self.wakes.set(site.index(), local.wake());
        self.ends.set(site.index(), local.next_end());
        for job in starts {
            let Some(card) = self.cards.get_mut(&job) else { continue };
            card.whereabouts = Whereabouts::Runs(moment.now);
            self.waiting -= 1;
            moment.fresh.remove(&job);
            moment.commands.push(Command::Start { job, place: Place::Pool(site) });
            moment.inputs.push((site, Input::Started(card.ticket())));
        }
        let at = |job: &JobId| self.cards.get(job).is_some_and(|card| card.site == site);
        let late: Vec<JobId> = moment.fresh.iter().copied().filter(at).collect();
        for job in late.into_iter().chain(surplus) {
            moment.fresh.remove(&job);
            if let Some(card) = self.cards.get(&job) {
                let wish = Input::PassOn(Arc::clone(&card.parcel), Preference::Better);
                moment.inputs.push((site, wish));
            }
        }
    }

    fn ask_all(&mut self, moment: &mut Moment<'_>) {
        while let Some(site) = moment.busy.pop_first() {
            self.ask(moment, site);
        }
    }

    /// When something will happen that jobs may wait for.
    fn wake(&self) -> Option<Time> {
        if self.waiting == 0 {
            return None;
        }
        let later = self.later.first().map(|(from, _)| *from);
        let minds = self.minds.as_ref().and_then(Minds::next);
        [later, minds, self.wakes.next()].into_iter().flatten().min()
    }
}

impl Policy for Federation {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let now = market.now();
        let (busy, fresh, inputs) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut moment = Moment { market, now, commands, busy, fresh, inputs };
        for event in events {
            self.happened(&mut moment, event);
        }
        while let Some(&(from, job)) = self.later.first()
            && from <= now
        {
            self.later.pop_first();
            self.join(&mut moment, job);
        }
        let rung = self.wakes.until(now).chain(self.ends.until(now));
        moment.busy.extend(rung.map(|site| PoolId(site as u32)));
        self.ask_all(&mut moment);
        self.negotiate(&mut moment);
        let wake = self.wake().map(|at| at.max(Time(now.0 + 1)));
        commands.extend(wake.map(|at| Command::Wake { at }));
    }

    /// Of a site alone what it promises; of several that keep to themselves reservations, if all
    /// give them; of others nothing, because a job that is passed on leaves its place behind.
    fn promise(&self) -> Promise {
        let mut kinds = self.sites.iter().map(|site| site.guarantee());
        match (&self.minds, &self.sites[..]) {
            (None, [site]) => site.guarantee(),
            (None, _) if kinds.all(|kind| kind == Promise::Reservations) => Promise::Reservations,
            _ => Promise::Nothing,
        }
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.waits_at(job)?.1.reservation(job)
    }

    /// Messages and what they brought about, if the sites negotiate.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        let Some(minds) = &self.minds else { return Vec::new() };
        let traffic = minds.traffic();
        let counts = [("messages", traffic.sent()), ("messages_lost", traffic.lost)];
        [&counts[..], &[("migrations", self.passed_on)]].concat()
    }
}
