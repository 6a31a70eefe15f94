//! Sites that do not know each other: every pool schedules for itself, and no job is passed on.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{
    ClosureId, Command, Demand, Event, JobId, Market, Place, Pool, PoolId, Pools, Reason, Time,
};

use super::{Local, Origin, Wanted};
use crate::policy::{Policy, Promise};

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
/// A job goes to its [`home`] and stays there; it is refused if no pool there can run it. It joins
/// at its earliest start, if it states one. Deadlines and budgets are not looked at.
#[derive(Debug)]
pub struct Isolated {
    sites: Vec<Box<dyn Local>>,
    /// Where jobs are that have not ended.
    homes: BTreeMap<JobId, Home>,
    /// Whose closure it is.
    closures: BTreeMap<ClosureId, PoolId>,
    /// Jobs that join at their earliest start.
    later: BTreeSet<(Time, JobId)>,
    /// When jobs that run began.
    starts: BTreeMap<JobId, Time>,
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
            starts: BTreeMap::new(),
        }
    }

    /// Tells the site about one event; returns which site that was.
    fn tell(
        &mut self,
        market: &Market,
        event: &Event,
        commands: &mut Vec<Command>,
    ) -> Option<PoolId> {
        let now = market.now();
        match event {
            Event::Submitted { job, demand } => match home(market.pools(), demand) {
                Ok(pool) => {
                    self.homes.insert(*job, Home { pool, submitted: now });
                    let from = demand.terms().earliest_start.unwrap_or(now);
                    if from <= now {
                        return self.join(market, *job);
                    }
                    self.later.insert((from, *job));
                    None
                }
                Err(reason) => {
                    commands.push(Command::Refuse { job: *job, reason });
                    None
                }
            },
            Event::Ended { job } => {
                let pool = self.homes.remove(job)?.pool;
                let ran = now - self.starts.remove(job)?;
                self.sites[pool.index()].ended(*job, ran, now);
                Some(pool)
            }
            Event::Interrupted { job } => {
                let pool = self.homes.get(job)?.pool;
                self.starts.remove(job);
                self.sites[pool.index()].interrupted(*job, now);
                self.join(market, *job)
            }
            Event::Announced { closure, what } => {
                self.closures.insert(*closure, what.pool);
                self.sites[what.pool.index()].announced(*closure, *what, now);
                Some(what.pool)
            }
            Event::Reopened { closure } => {
                let pool = self.closures.remove(closure)?;
                self.sites[pool.index()].reopened(*closure, now);
                Some(pool)
            }
            _ => None,
        }
    }

    fn join(&mut self, market: &Market, job: JobId) -> Option<PoolId> {
        let Home { pool, submitted } = *self.homes.get(&job)?;
        let demand = market.demand(job)?;
        let length = market.pools().pool(pool).length_of(demand.estimate);
        let wanted = Wanted { job, processors: demand.processors, length, submitted };
        self.sites[pool.index()].join(wanted, Origin::Local, market.now());
        Some(pool)
    }

    fn ask(&mut self, pool: PoolId, now: Time, commands: &mut Vec<Command>) {
        let site = &mut self.sites[pool.index()];
        let mut starts = Vec::new();
        site.decide(now, &mut starts, &mut Vec::new());
        self.wakes.set(pool, site.wake());
        self.ends.set(pool, site.next_end());
        for job in starts {
            self.starts.insert(job, now);
            commands.push(Command::Start { job, place: Place::Pool(pool) });
        }
    }
}

impl Policy for Isolated {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let now = market.now();
        let mut busy = BTreeSet::new();
        for event in events {
            busy.extend(self.tell(market, event, commands));
        }
        while let Some(&(from, job)) = self.later.first()
            && from <= now
        {
            self.later.pop_first();
            busy.extend(self.join(market, job));
        }
        busy.extend(self.wakes.until(now).chain(self.ends.until(now)));
        for pool in busy {
            self.ask(pool, now, commands);
        }
        let later = self.later.first().map(|(from, _)| *from);
        let wake = self.wakes.first().into_iter().chain(later).min();
        commands.extend(wake.map(|at| Command::Wake { at }));
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
