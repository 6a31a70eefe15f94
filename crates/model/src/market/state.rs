//! A market as plain data, for callers that store one and restore it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::entries::Entries;
use super::{Announced, Entry, Held, Phase};
use crate::{
    Demand, Event, JobId, Ledger, Market, MarketError, Money, Notice, Outage, OutageId, Place,
    PoolId, Pools, Price, Share, Time, Trade,
};

/// All that matters of a market from now on. Of jobs that are over, only their number is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarketState {
    /// The moment of the last event.
    pub now: Time,
    /// Sites and pools, with the prices of now.
    pub pools: Arc<Pools>,
    /// Jobs submitted so far.
    pub submitted: u32,
    /// Those that wait, stand in the queue of a site or run, in the order of submission.
    pub jobs: Vec<JobState>,
    /// Outages announced so far.
    pub announced: u32,
    /// Those that are not over, in the order of announcement, and whether they have begun.
    pub closures: Vec<(OutageId, Outage, bool)>,
    /// Micro-credits that users have paid.
    pub paid: i128,
    /// By site: micro-credits that its owner has earned.
    pub income: Vec<i128>,
}

/// A job that waits or runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobState {
    /// Id of the job in the market.
    pub job: JobId,
    /// What it asks for.
    pub demand: Demand,
    /// What it has paid so far.
    pub paid: Money,
    /// What it last agreed on with a queue.
    pub trade: Option<Arc<Trade>>,
    /// Its nodes, if it runs.
    pub running: Option<RunningState>,
    /// Since when it is in the queue of a site's own scheduler, if it is.
    pub lined: Option<Time>,
}

/// A running job's books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningState {
    /// Moment since which this holds.
    pub start: Time,
    /// Pools and numbers of nodes.
    pub place: Place,
    /// Pools that it has given back already.
    pub released: Vec<PoolId>,
    /// Micro-credits that are held for it.
    pub hold: Money,
    /// What it pays per node and second, by share of its place: at least one; then per licence and
    /// second, by share of what it takes along.
    pub prices: Vec<Price>,
    /// That its nodes will be taken, if it was told so.
    pub notice: Option<Notice>,
}

impl Market {
    /// The market as plain data. Linear in all jobs ever submitted.
    pub fn state(&self) -> MarketState {
        let live = self.jobs.iter().enumerate();
        let live = live.filter(|(_, e)| !matches!(e.phase, Phase::Ended | Phase::Refused));
        MarketState {
            now: self.now,
            pools: Arc::clone(&self.pools),
            submitted: self.jobs.len() as u32,
            jobs: live.map(|(index, entry)| self.job_state(index, entry)).collect(),
            announced: self.announced,
            closures: self.outages.iter().map(|(&id, it)| (id, it.what, it.has_begun)).collect(),
            paid: self.ledger.paid(),
            income: self.ledger.income().to_vec(),
        }
    }

    fn job_state(&self, index: usize, entry: &Entry) -> JobState {
        let job = JobId(index as u32);
        let running = self.running.get(&job).map(|held| RunningState {
            start: held.start,
            place: held.place.clone(),
            released: held.released.clone(),
            hold: held.hold,
            prices: std::iter::once(held.price).chain(held.further.iter().copied()).collect(),
            notice: held.notice,
        });
        let (demand, trade) = (entry.demand.clone(), entry.trade.clone());
        let lined = self.lined.get(&job).copied();
        JobState { job, demand, paid: entry.paid, trade, running, lined }
    }

    /// What led to this market, as far as it matters from now on: for a policy that begins here.
    /// Outages first, then every job that waits or runs, in the order of submission. Jobs in queues
    /// of sites are left out: nothing is to be decided about them.
    ///
    /// A policy that gets [`Event::Started`] like this did not decide it. When a job started, and
    /// which of its shares it has given back, is in [`Market::running`].
    pub fn history(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for (&closure, it) in &self.outages {
            events.push(Event::Announced { closure, what: it.what });
            if it.has_begun {
                events.push(Event::Closed { closure });
            }
        }
        for job in self.queue.iter().chain(self.running.keys()).copied().collect::<BTreeSet<_>>() {
            let entry = &self.jobs[job.index()];
            events.push(Event::Submitted { job, demand: entry.demand.clone() });
            let trade = entry.trade.clone();
            events.extend(trade.map(|trade| Event::Traded { job, trade }));
            let place = self.running.get(&job).map(|held| held.place.clone());
            events.extend(place.map(|place| Event::Started { job, place }));
            let notice = self.running.get(&job).and_then(|held| held.notice);
            events.extend(notice.map(|it| Event::Noticed { job, leaves: it.leaves }));
        }
        events
    }

    /// The market of this state. Linear in all jobs ever submitted.
    ///
    /// # Errors
    /// If the state does not add up.
    pub fn restore(state: MarketState) -> Result<Market, MarketError> {
        let MarketState { now, pools, submitted, jobs, announced, closures, paid, income } = state;
        let mut market = Market::new(pools, now);
        if income.len() != market.pools.sites().len() {
            return Err(MarketError::Books("income of other sites"));
        }
        market.ledger = Ledger { held: 0, paid, income };
        let over = Entry {
            demand: Demand::new(1, crate::Span(1)),
            phase: Phase::Ended,
            paid: Money::ZERO,
            trade: None,
        };
        market.jobs = Entries::of(&over, submitted as usize);
        jobs.into_iter().try_for_each(|job| market.put_back(job))?;
        market.announced = announced;
        for (id, what, has_begun) in closures {
            market.put_outage_back(id, Announced { what, has_begun })?;
        }
        market.memory = market.memory_left().ok_or(MarketError::Books("memory held"))?;
        market.licences = market.licences_left().ok_or(MarketError::Books("licences held"))?;
        market.check()?;
        Ok(market)
    }

    fn put_back(&mut self, state: JobState) -> Result<(), MarketError> {
        let JobState { job, demand, paid, trade, running, lined } = state;
        let fits = demand.processors <= self.processors();
        let entry = self.jobs.get_mut(job.index()).filter(|e| e.phase == Phase::Ended && fits);
        let entry = entry.ok_or(MarketError::State { job })?;
        let phase = match (&running, lined) {
            (Some(_), _) => Phase::Running,
            (None, Some(_)) => Phase::Lined,
            (None, None) => Phase::Queued,
        };
        let processors = demand.processors;
        *entry = Entry { demand, phase, paid, trade };
        let Some(running) = running else {
            match lined {
                Some(since) => drop(self.lined.insert(job, since)),
                None => drop(self.queue.insert(job)),
            }
            return Ok(());
        };
        let RunningState { start, place, released, hold, prices, notice } = running;
        let mut prices = prices.into_iter();
        let price = prices.next().ok_or(MarketError::Place { job })?;
        let further = prices.collect();
        let held = Held { start, place, released, hold, price, further, notice };
        for share in held.shares(processors) {
            self.claim(share).ok_or(MarketError::Place { job })?;
        }
        self.ledger.hold(hold);
        self.running.insert(job, held);
        Ok(())
    }

    fn put_outage_back(&mut self, outage: OutageId, it: Announced) -> Result<(), MarketError> {
        let wrong = MarketError::Outage { closure: outage };
        if outage.0 >= self.announced {
            return Err(wrong);
        }
        self.outages.insert(outage, it);
        match it.has_begun {
            true => self.claim(Share { pool: it.what.pool, nodes: it.what.nodes }).ok_or(wrong),
            false => Ok(()),
        }
    }

    /// Takes the nodes if they are there.
    fn claim(&mut self, share: Share) -> Option<()> {
        let free = self.free.get(share.pool.index())?;
        (*free >= share.nodes).then(|| self.take(share))
    }

    /// Continues with other pools: those of before, in their order and of the same sites, perhaps
    /// with more nodes or other properties, and new ones (and new sites) behind them. For the
    /// start of a policy: one that runs does not learn of it.
    ///
    /// # Errors
    /// If a pool or site of before is missing, has fewer nodes, or belongs to another site.
    pub fn regrid(&mut self, pools: Arc<Pools>) -> Result<(), MarketError> {
        let before = Arc::clone(&self.pools);
        let sites = before.sites().len();
        if pools.sites().get(..sites) != Some(before.sites()) {
            return Err(MarketError::Pools("a site is missing or has another place"));
        }
        for (id, old) in before.iter() {
            let new = pools.as_slice().get(id.index());
            let new = new.filter(|new| new.name == old.name && new.site == old.site);
            let new = new.ok_or(MarketError::Pools("a pool is missing or has another place"))?;
            if new.nodes < old.nodes {
                return Err(MarketError::Pools("a pool has fewer nodes"));
            }
        }
        let names = |pools: &Pools| pools.licences().iter().map(|it| it.name.clone()).collect();
        let (old, new): (Vec<String>, Vec<String>) = (names(&before), names(&pools));
        if !new.starts_with(&old) {
            return Err(MarketError::Pools("a licence is missing or has another place"));
        }
        self.free = pools.iter().map(|(id, pool)| self.grown(&before, id, pool.nodes)).collect();
        self.free_nodes = self.free.iter().sum();
        self.ledger.income.resize(pools.sites().len(), 0);
        self.pools = pools;
        self.memory = self.memory_left().ok_or(MarketError::Pools("a pool has less memory"))?;
        let lacks = MarketError::Pools("there are fewer licences than jobs hold");
        self.licences = self.licences_left().ok_or(lacks)?;
        Ok(())
    }

    fn grown(&self, before: &Pools, id: PoolId, nodes: u32) -> u32 {
        match before.as_slice().get(id.index()) {
            Some(old) => self.free[id.index()] + (nodes - old.nodes),
            None => nodes,
        }
    }
}
