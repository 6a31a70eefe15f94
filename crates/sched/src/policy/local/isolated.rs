//! Sites that do not know each other: every pool schedules for itself, and no job is passed on.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{
    OutageId, Command, Demand, Event, JobId, Market, Place, Pool, PoolId, Pools, Reason, Share,
    Span, Time,
};

use super::{Local, Origin, Wanted};
use crate::policy::{Policy, Promise, inbox};

/// Which pool a job is submitted to: of its home site (of all sites, if it has none) the first
/// pool that suits it and is wide enough. O(pools).
///
/// # Errors
/// Why there is none.
pub fn home(pools: &Pools, demand: &Demand) -> Result<PoolId, Reason> {
    let terms = demand.terms();
    let here = |pool: &Pool| terms.home.is_none_or(|home| pool.site == home);
    let suits = || pools.iter().filter(|(_, pool)| here(pool) && pool.suits(demand));
    let needed = demand.processors;
    match suits().find(|(_, pool)| pool.nodes >= needed) {
        Some((id, _)) => Ok(id),
        None => match suits().map(|(_, pool)| pool.nodes).max() {
            Some(widest) => Err(Reason::WiderThanQueues { needed, widest }),
            None => {
                let min_performance = terms.min_performance;
                Err(Reason::TooFewNodes { needed, suitable: 0, min_performance })
            }
        },
    }
}

/// A job's pool, and when it was submitted.
#[derive(Debug, Clone, Copy)]
struct Home {
    pool: PoolId,
    submitted: Time,
}

/// A moment for some of the sites.
#[derive(Debug)]
struct Alarms {
    by_time: BTreeSet<(Time, PoolId)>,
    by_site: Vec<Option<Time>>,
}

impl Alarms {
    fn new(sites: usize) -> Alarms {
        Alarms { by_time: BTreeSet::new(), by_site: vec![None; sites] }
    }

    fn set(&mut self, site: PoolId, at: Option<Time>) {
        if let Some(before) = std::mem::replace(&mut self.by_site[site.index()], at) {
            self.by_time.remove(&(before, site));
        }
        self.by_time.extend(at.map(|at| (at, site)));
    }

    fn first(&self) -> Option<Time> {
        self.by_time.first().map(|(at, _)| *at)
    }

    fn until(&self, now: Time) -> impl Iterator<Item = PoolId> + '_ {
        self.by_time.iter().take_while(move |(at, _)| *at <= now).map(|(_, site)| *site)
    }
}

/// A grid without migration: each pool is a site of its own.
///
/// A job goes to its [`home`], or to the pool that it agreed on, and stays there; it is refused if
/// no pool there can run it. It joins at its earliest start, if it states one. Deadlines and budgets
/// are not looked at. When a pool's price rises above what a waiting job would pay, the job looks
/// for a home anew, and if there is none it waits until prices change again.
#[derive(Debug)]
pub struct Isolated {
    sites: Vec<Box<dyn Local>>,
    /// Where jobs are that have not ended.
    homes: BTreeMap<JobId, Home>,
    /// Whose closure it is.
    closures: BTreeMap<OutageId, PoolId>,
    /// Jobs that join at their earliest start.
    later: BTreeSet<(Time, JobId)>,
    /// Jobs that wait until a site of theirs costs less.
    dear: BTreeSet<JobId>,
    /// Since when jobs run, and where.
    runs: BTreeMap<JobId, (Time, Place)>,
    /// Whether the first call is yet to come, and goes on from another policy.
    resumed: bool,
    /// When each site wants to be asked again.
    wakes: Alarms,
    /// When each site expects a job to end.
    ends: Alarms,
}

impl Isolated {
    /// The sites that `build` makes of these pools. The policy is for a market of the same.
    pub fn new(pools: &Pools, build: impl Fn(&Pool) -> Box<dyn Local>) -> Isolated {
        let sites: Vec<_> = pools.as_slice().iter().map(build).collect();
        Isolated {
            wakes: Alarms::new(sites.len()),
            ends: Alarms::new(sites.len()),
            sites,
            homes: BTreeMap::new(),
            closures: BTreeMap::new(),
            later: BTreeSet::new(),
            dear: BTreeSet::new(),
            runs: BTreeMap::new(),
            resumed: false,
        }
    }

    /// Tells sites about one event, and notes which they are.
    fn tell(
        &mut self,
        market: &Market,
        event: &Event,
        busy: &mut BTreeSet<PoolId>,
        commands: &mut Vec<Command>,
    ) {
        let now = market.now();
        match event {
            Event::Submitted { job, demand } if market.waits(*job) => {
                let found = agreed(market, *job).map_or_else(|| home(market.pools(), demand), Ok);
                let any = || home(market.pools(), &inbox::without_limits(demand));
                match found.or_else(|reason| if self.resumed { any() } else { Err(reason) }) {
                    Ok(pool) => self.submit((*job, pool), market, busy),
                    Err(reason) => commands.push(Command::Refuse { job: *job, reason }),
                }
            }
            Event::Traded { job, trade } => self.move_to((*job, trade.pool), market, busy),
            Event::Started { job, .. } => self.adopt(market, *job, busy),
            Event::Cancelled { job } | Event::Refused { job } => {
                self.leave(*job, now, busy);
                self.homes.remove(job);
            }
            Event::Released { job, pool } => self.release(market, *job, *pool, busy),
            Event::Ended { job } => {
                let Some((start, places)) = self.places(market, *job) else { return };
                for pool in places {
                    self.sites[pool.index()].ended(*job, now - start, now);
                    busy.insert(pool);
                }
                self.homes.remove(job);
            }
            Event::Interrupted { job } => self.interrupt(market, *job, busy, commands),
            Event::Priced { pool, .. } => self.reprice(market, *pool, busy),
            Event::Announced { closure, what } => {
                self.closures.insert(*closure, what.pool);
                self.sites[what.pool.index()].announced(*closure, *what, now);
                busy.insert(what.pool);
            }
            Event::Closed { closure } => {
                let Some(pool) = self.closures.get(closure) else { return };
                self.sites[pool.index()].closed(*closure, now);
                busy.insert(*pool);
            }
            Event::Reopened { closure } => {
                let Some(pool) = self.closures.remove(closure) else { return };
                self.sites[pool.index()].reopened(*closure, now);
                busy.insert(pool);
            }
            Event::Submitted { .. } => {}
        }
    }

    fn submit(
        &mut self,
        (job, pool): (JobId, PoolId),
        market: &Market,
        busy: &mut BTreeSet<PoolId>,
    ) {
        let now = market.now();
        self.homes.insert(job, Home { pool, submitted: now });
        let from = market.demand(job).and_then(|demand| demand.terms().earliest_start);
        match from.filter(|from| *from > now) {
            Some(from) => drop(self.later.insert((from, job))),
            None => self.join(market, job, busy),
        }
    }

    /// The job waits at its home from now on; if that costs too much now, at another one, or at
    /// none.
    fn join(&mut self, market: &Market, job: JobId, busy: &mut BTreeSet<PoolId>) {
        let Some(Home { pool, submitted }) = self.homes.get(&job).copied() else { return };
        let Some(demand) = market.demand(job) else { return };
        let stays = agreed(market, job) == Some(pool) || market.pools().pool(pool).suits(demand);
        let pool = if stays { Ok(pool) } else { home(market.pools(), demand) };
        let Ok(pool) = pool else {
            self.dear.insert(job);
            return;
        };
        self.homes.insert(job, Home { pool, submitted });
        let wanted = wanted(market, (job, pool), demand.processors, submitted);
        let site = &mut self.sites[pool.index()];
        site.leave(job, market.now());
        site.join(wanted, Origin::Local, market.now());
        busy.insert(pool);
    }

    /// The job waits nowhere any more.
    fn leave(&mut self, job: JobId, now: Time, busy: &mut BTreeSet<PoolId>) {
        self.dear.remove(&job);
        self.later.retain(|(_, other)| *other != job);
        if let Some(Home { pool, .. }) = self.homes.get(&job) {
            self.sites[pool.index()].leave(job, now);
            busy.insert(*pool);
        }
    }

    /// The job has agreed with a pool.
    fn move_to(
        &mut self,
        (job, pool): (JobId, PoolId),
        market: &Market,
        busy: &mut BTreeSet<PoolId>,
    ) {
        let home = self.homes.get_mut(&job).filter(|home| home.pool != pool);
        let Some(before) = home.map(|home| std::mem::replace(&mut home.pool, pool)) else { return };
        self.sites[before.index()].leave(job, market.now());
        busy.insert(before);
        let later = self.later.iter().any(|(_, other)| *other == job);
        if !later && market.waits(job) {
            self.dear.remove(&job);
            self.join(market, job, busy);
        }
    }

    /// A job runs that somebody else started.
    fn adopt(&mut self, market: &Market, job: JobId, busy: &mut BTreeSet<PoolId>) {
        if self.runs.contains_key(&job) {
            return;
        }
        let now = market.now();
        self.leave(job, now, busy);
        let Some(run) = market.run_of(job) else { return };
        for share in run.shares() {
            let wanted = wanted(market, (job, share.pool), share.nodes, run.start);
            self.sites[share.pool.index()].adopt(wanted, run.start, now);
            busy.insert(share.pool);
        }
        self.runs.insert(job, (run.start, Place::of(run.shares().collect())));
    }

    /// A job gave back what it had in one of its pools.
    fn release(&mut self, market: &Market, job: JobId, pool: PoolId, busy: &mut BTreeSet<PoolId>) {
        let processors = market.demand(job).map_or(0, |demand| demand.processors);
        let Some((start, place)) = self.runs.get_mut(&job) else { return };
        let (gone, rest): (Vec<Share>, Vec<Share>) =
            place.shares(processors).partition(|share| share.pool == pool);
        if gone.is_empty() {
            return;
        }
        *place = Place::of(rest);
        let ran = market.now() - *start;
        self.sites[pool.index()].ended(job, ran, market.now());
        busy.insert(pool);
    }

    /// Strikes a running job out; since when it ran, and where.
    fn places(&mut self, market: &Market, job: JobId) -> Option<(Time, Vec<PoolId>)> {
        let (start, place) = self.runs.remove(&job)?;
        let processors = market.demand(job)?.processors;
        Some((start, place.shares(processors).map(|share| share.pool).collect()))
    }

    fn interrupt(
        &mut self,
        market: &Market,
        job: JobId,
        busy: &mut BTreeSet<PoolId>,
        commands: &mut Vec<Command>,
    ) {
        let now = market.now();
        for pool in self.places(market, job).map(|(_, places)| places).unwrap_or_default() {
            self.sites[pool.index()].interrupted(job, now);
            busy.insert(pool);
        }
        if !market.waits(job) {
            return;
        }
        let Some(demand) = market.demand(job) else { return };
        if let Entry::Vacant(entry) = self.homes.entry(job) {
            match home(market.pools(), &inbox::without_limits(demand)) {
                Ok(pool) => drop(entry.insert(Home { pool, submitted: now })),
                Err(reason) => return commands.push(Command::Refuse { job, reason }),
            }
        }
        self.join(market, job, busy);
    }

    /// Jobs that would pay too much look for another home; those that found none look again.
    fn reprice(&mut self, market: &Market, pool: PoolId, busy: &mut BTreeSet<PoolId>) {
        let now = market.now();
        let unsuited = |job: &JobId| {
            let demand = market.demand(*job);
            demand.is_some_and(|demand| !market.pools().pool(pool).suits(demand))
        };
        let here = self.homes.iter().filter(|(_, home)| home.pool == pool);
        let waits = here.map(|(job, _)| *job).filter(|job| market.waits(*job));
        let late = |job: &JobId| self.later.iter().any(|(_, other)| other == job);
        let mut moved: Vec<JobId> = waits
            .filter(|job| unsuited(job) && agreed(market, *job).is_none() && !late(job))
            .collect();
        moved.iter().for_each(|job| self.leave(*job, now, busy));
        moved.extend(std::mem::take(&mut self.dear));
        moved.sort_unstable();
        moved.dedup();
        moved.into_iter().for_each(|job| self.join(market, job, busy));
    }

    fn ask(&mut self, pool: PoolId, now: Time, commands: &mut Vec<Command>) {
        let site = &mut self.sites[pool.index()];
        let mut starts = Vec::new();
        site.decide(now, &mut starts, &mut Vec::new());
        self.wakes.set(pool, site.wake());
        self.ends.set(pool, site.next_end());
        for job in starts {
            self.runs.insert(job, (now, Place::Pool(pool)));
            commands.push(Command::Start { job, place: Place::Pool(pool) });
        }
    }
}

/// The pool that a job agreed on.
fn agreed(market: &Market, job: JobId) -> Option<PoolId> {
    market.trade(job).map(|trade| trade.pool)
}

/// The job, or the part of it that is in this pool, as the site sees it.
fn wanted(
    market: &Market,
    (job, pool): (JobId, PoolId),
    processors: u32,
    submitted: Time,
) -> Wanted {
    let length = market.demand(job).map(|demand| market.pools().pool(pool).length_of(demand));
    Wanted { job, processors, length: length.unwrap_or(Span(1)), submitted }
}

impl Policy for Isolated {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let now = market.now();
        let mut busy = BTreeSet::new();
        for event in events {
            self.tell(market, event, &mut busy, commands);
        }
        self.resumed = false;
        while let Some(&(from, job)) = self.later.first()
            && from <= now
        {
            self.later.pop_first();
            self.join(market, job, &mut busy);
        }
        busy.extend(self.wakes.until(now).chain(self.ends.until(now)));
        for pool in busy {
            self.ask(pool, now, commands);
        }
        let later = self.later.first().map(|(from, _)| *from);
        let wake = self.wakes.first().into_iter().chain(later).min();
        commands.extend(wake.map(|at| Command::Wake { at }));
    }

    fn resume(&mut self, _usage: &BTreeMap<i64, u64>) {
        self.resumed = true;
    }

    /// Of one site what it promises; of several, reservations, if all give them.
    fn promise(&self) -> Promise {
        let mut kinds = self.sites.iter().map(|site| site.guarantee());
        match (kinds.next(), self.sites.len()) {
            (Some(kind), 1) => kind,
            (Some(Promise::Reservations), _) if kinds.all(|it| it == Promise::Reservations) => {
                Promise::Reservations
            }
            _ => Promise::Nothing,
        }
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.sites.get(self.homes.get(&job)?.pool.index())?.reservation(job)
    }
}
