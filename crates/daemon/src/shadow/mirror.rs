//! An observed cluster as a market, as a policy sees it.
//!
//! The market follows the surveys. What a policy starts is applied, so that it cannot start what does
//! not fit, and taken back in the same second: the cluster's own manager decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{
    Admission, Attribute, Cause, Command, Demand, Event, JobId, Market, MarketError, Outage,
    OutageId, Performance, Place, Pool, PoolId, Pools, Price, Share, Site, SiteId, Span, Terms,
    Time, Times,
};

use super::record::{is_job, queue_name};
use crate::site::queued::QueuedJob;
use crate::site::{PoolSetup, Survey};

/// The attribute by which a job names the pools that it may use, if these are not all.
const POOL: &str = "pool";

/// The market that a policy sees.
#[derive(Debug)]
pub(super) struct Mirror {
    market: Market,
    /// Jobs that wait or run, by their names in the queue.
    jobs: BTreeMap<String, JobId>,
    /// By pool: nodes that are down or reserved.
    missing: Vec<Option<(OutageId, u32)>>,
    /// What the policy was not told yet.
    events: Vec<Event>,
}

/// A running job, as the survey lists it.
struct ListedRun {
    shares: Vec<Share>,
    until: Time,
}

impl Mirror {
    /// An empty cluster.
    ///
    /// # Errors
    /// If its pools make no market.
    pub(super) fn new(site: &str, pools: &[PoolSetup], at: Time) -> Result<Mirror, String> {
        let pool = |setup: &PoolSetup| {
            let name = (POOL.to_owned(), Attribute::Text(setup.name.clone()));
            Pool {
                name: setup.name.clone(),
                site: SiteId(0),
                nodes: setup.nodes,
                // Limits of time are of the clock, whatever a node does in it.
                performance: Performance::REFERENCE,
                price: Price(0),
                attributes: setup.attributes.clone().into_iter().chain([name]).collect(),
                admission: Admission::NONE,
                times: Times::Wall,
            }
        };
        let sites = vec![Site { name: site.to_owned() }];
        let made = Pools::new(sites, pools.iter().map(pool).collect());
        let made = made.map_err(|wrong| wrong.to_string())?;
        Ok(Mirror {
            market: Market::new(Arc::new(made), at),
            jobs: BTreeMap::new(),
            missing: vec![None; pools.len()],
            events: Vec::new(),
        })
    }

    #[cfg(test)]
    pub(super) fn market(&self) -> &Market {
        &self.market
    }

    pub(super) fn pools(&self) -> &Pools {
        self.market.pools()
    }

    /// Lets happen what the survey shows: ends, outages, starts, then submissions.
    ///
    /// # Errors
    /// If that cannot have happened.
    pub(super) fn follow(&mut self, at: Time, survey: &Survey) -> Result<(), MarketError> {
        // A clock that was set back stands still.
        self.market.pass_to(at.max(self.market.now()))?;
        let begun = begun(at, survey);
        let waiting = waiting(at, survey, self.market.pools());
        self.leave(&begun, &waiting, survey.queue_beyond > 0)?;
        self.close(at, survey)?;
        for (name, job) in &begun {
            self.start(name, job)?;
        }
        for (name, job) in waiting {
            if !self.jobs.contains_key(name) {
                self.submit(name, demand(job, self.market.pools()))?;
            }
        }
        Ok(())
    }

    /// What `decide` says of the market and of what it was not told; names of jobs that it starts.
    ///
    /// # Errors
    /// If it does not answer, or starts what cannot start.
    pub(super) fn ask(
        &mut self,
        decide: impl FnOnce(&Market, &[Event]) -> Result<Vec<Command>, String>,
    ) -> Result<BTreeSet<String>, String> {
        let commands = decide(&self.market, &self.events)?;
        self.events.clear();
        let mut started = Vec::new();
        for command in commands {
            if let Command::Start { job, place } = command {
                self.try_start(job, place)?;
                started.push(job);
            }
        }
        for job in &started {
            self.happen(Event::Interrupted { job: *job }).map_err(|wrong| wrong.to_string())?;
        }
        let named = self.jobs.iter().filter(|(_, job)| started.contains(job));
        Ok(named.map(|(name, _)| name.clone()).collect())
    }

    fn try_start(&mut self, job: JobId, place: Place) -> Result<(), String> {
        let demand = self.market.demand(job);
        let suits = demand.is_none_or(|demand| {
            place.shares(demand.processors).all(|share| {
                let pool = self.market.pools().as_slice().get(share.pool.index());
                pool.is_some_and(|pool| pool.suits(demand))
            })
        });
        if !suits {
            return Err(format!("it starts job {} in a pool that the job may not use", job.0));
        }
        let wrong = |wrong| format!("it starts what cannot start: {wrong}");
        self.market.apply(&Event::Started { job, place }).map_err(wrong)
    }

    /// Jobs that are gone, or do not run any more.
    fn leave(
        &mut self,
        begun: &BTreeMap<&str, ListedRun>,
        waiting: &BTreeMap<&str, &QueuedJob>,
        is_cut: bool,
    ) -> Result<(), MarketError> {
        for (name, job) in self.jobs.clone() {
            let (runs, waits) = (self.market.run_of(job).is_some(), self.market.waits(job));
            let event = match (begun.get(&*name), waiting.contains_key(&*name)) {
                (Some(begun), _) if self.has_moved(job, begun) => Event::Interrupted { job },
                (Some(_), _) => continue,
                (None, true) if runs => Event::Interrupted { job },
                (None, true) => continue,
                // What is not listed may still wait where the list is cut.
                (None, false) if waits && is_cut => continue,
                (None, false) if runs => Event::Ended { job },
                (None, false) => Event::Cancelled { job },
            };
            let is_over = !matches!(event, Event::Interrupted { .. });
            self.happen(event)?;
            if is_over {
                self.jobs.remove(&name);
                self.market.forget(job);
            }
        }
        Ok(())
    }

    /// Whether the job holds nodes of a pool where it does not run any more.
    fn has_moved(&self, job: JobId, begun: &ListedRun) -> bool {
        let held = self.market.run_of(job).into_iter().flat_map(|run| run.shares());
        held.into_iter().any(|held| begun.shares.iter().all(|share| share.pool != held.pool))
    }

    /// Nodes that are down or reserved, as far as no job holds them.
    fn close(&mut self, at: Time, survey: &Survey) -> Result<(), MarketError> {
        for ((pool, seen), place) in (0..).map(PoolId).zip(&survey.pools).zip(0..self.missing.len())
        {
            let reserved =
                seen.local.iter().filter(|(name, task)| !is_job(name) && task.from <= at);
            let reserved = reserved.fold(0, |sum: u32, (_, task)| sum.saturating_add(task.nodes));
            let down = self.market.pools().pool(pool).nodes.saturating_sub(seen.up);
            let known = self.missing[place];
            let held = known.map_or(0, |(_, nodes)| nodes);
            let nodes = down.saturating_add(reserved).min(self.market.free_in(pool) + held);
            if nodes == held {
                continue;
            }
            if let Some((closure, _)) = known {
                self.happen(Event::Reopened { closure })?;
                self.missing[place] = None;
            }
            if nodes > 0 {
                let closure = OutageId(self.market.announced());
                let (from, until) = (self.market.now(), Time::MAX);
                let what = Outage { pool, nodes, from, until, cause: Cause::Local };
                self.happen(Event::Announced { closure, what })?;
                self.happen(Event::Closed { closure })?;
                self.missing[place] = Some((closure, nodes));
            }
        }
        Ok(())
    }

    /// A job that the cluster has started, on as many nodes as the market has free: clusters may
    /// give a node to several jobs.
    fn start(&mut self, name: &str, begun: &ListedRun) -> Result<(), MarketError> {
        let known = self.jobs.get(name).copied();
        if known.is_some_and(|job| self.market.run_of(job).is_some()) {
            return Ok(());
        }
        let free = |share: &Share| {
            let free = self.market.free_in(share.pool);
            Share { nodes: share.nodes.min(free), ..*share }
        };
        let shares: Vec<Share> = begun.shares.iter().map(free).filter(|it| it.nodes > 0).collect();
        let nodes = shares.iter().map(|share| share.nodes).sum();
        // What waited for other nodes than it got is another job.
        let fits = |job| self.market.demand(job).is_some_and(|it| it.processors == nodes);
        let known = known.filter(|job| fits(*job));
        if known.is_none()
            && let Some(job) = self.jobs.remove(name)
        {
            self.happen(Event::Cancelled { job })?;
            self.market.forget(job);
        }
        if nodes == 0 {
            return Ok(());
        }
        let left = Span((begun.until.0 - self.market.now().0).max(1));
        let job = match known {
            Some(job) => job,
            None => self.submit(name, Demand::new(nodes, left))?,
        };
        self.happen(Event::Started { job, place: Place::of(shares) })
    }

    fn submit(&mut self, name: &str, demand: Demand) -> Result<JobId, MarketError> {
        let job = JobId(self.market.submitted());
        self.happen(Event::Submitted { job, demand })?;
        self.jobs.insert(name.to_owned(), job);
        Ok(job)
    }

    fn happen(&mut self, event: Event) -> Result<(), MarketError> {
        self.market.apply(&event)?;
        self.events.push(event);
        Ok(())
    }
}

/// Jobs that run, by their names in the queue, and what they hold.
fn begun(at: Time, survey: &Survey) -> BTreeMap<&str, ListedRun> {
    let mut all: BTreeMap<&str, ListedRun> = BTreeMap::new();
    for (pool, seen) in (0..).map(PoolId).zip(&survey.pools) {
        let begun = seen.local.iter().filter(|(name, task)| is_job(name) && task.from <= at);
        for (name, task) in begun {
            let job = all.entry(queue_name(name));
            let job = job.or_insert_with(|| ListedRun { shares: Vec::new(), until: task.until });
            job.until = job.until.max(task.until);
            job.shares.push(Share { pool, nodes: task.nodes });
        }
    }
    all
}

/// Jobs that would start now if there were nodes, and fit into one of their pools. Arrays are left
/// out, as in all comparisons.
fn waiting<'a>(at: Time, survey: &'a Survey, pools: &Pools) -> BTreeMap<&'a str, &'a QueuedJob> {
    let widest = |job: &QueuedJob| {
        let pools = job.pools.iter().filter_map(|pool| pools.as_slice().get(*pool));
        pools.map(|pool| pool.nodes).max().unwrap_or(0)
    };
    let is_due = |job: &&QueuedJob| {
        job.tasks == 1
            && job.blocked.is_eligible()
            && job.earliest.is_none_or(|earliest| earliest <= at)
            && job.nodes <= widest(job)
    };
    survey.queue.iter().filter(is_due).map(|job| (job.name.as_str(), job)).collect()
}

/// What a waiting job asks for; all of it in one pool.
fn demand(job: &QueuedJob, pools: &Pools) -> Demand {
    let name = |pool: &usize| pools.as_slice().get(*pool).map(|pool| pool.name.clone());
    let names: Vec<String> = job.pools.iter().filter_map(name).collect();
    let demand = Demand::new(job.nodes, job.limit);
    if names.len() == pools.as_slice().len() {
        return demand;
    }
    let attributes = [(POOL.to_owned(), Attribute::OneOf(names))].into();
    Demand { terms: Some(Arc::new(Terms { attributes, ..Terms::NONE })), ..demand }
}
