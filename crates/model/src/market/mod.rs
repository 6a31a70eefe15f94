//! What is waiting, what is running and what is free: the state that policies look at.
//!
//! [`Market::apply`] is the only way to change it.

mod demands;
mod entries;
mod event;
mod ledger;
mod licences;
mod memory;
mod preempt;
mod prices;
mod state;
#[cfg(test)]
mod tests;
mod trade;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Demand, Money, Notice, Place, PoolId, Pools, Price, Share, Span, Time};

use entries::Entries;

pub use event::{Cause, Command, Event, JobId, MarketError, Outage, OutageId};
pub use ledger::{Ledger, cost};
pub use state::{JobState, MarketState, RunningState};
pub use trade::{SkipReason, Trade};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Queued,
    Lined,
    Running,
    Ended,
    Refused,
}

#[derive(Debug, Clone)]
struct Entry {
    demand: Demand,
    phase: Phase,
    paid: Money,
    trade: Option<Arc<Trade>>,
}

/// A running job's books.
#[derive(Debug, Clone)]
struct Held {
    start: Time,
    place: Place,
    /// Pools that it has given back already.
    released: Vec<PoolId>,
    /// What it is expected to cost.
    hold: Money,
    /// What it pays per node and second, by share of its place: the first, and the others; that
    /// of its start where prices change with time.
    price: Price,
    /// Then, by share of what it takes along, the prices of its licences.
    further: Vec<Price>,
    /// Its nodes will be taken.
    notice: Option<Notice>,
}

impl Held {
    /// What it pays in `pool`.
    fn price_in(&self, processors: u32, pool: PoolId) -> Price {
        let at = self.place.shares(processors).position(|share| share.pool == pool).unwrap_or(0);
        at.checked_sub(1).and_then(|at| self.further.get(at)).copied().unwrap_or(self.price)
    }

    /// The shares that it holds still.
    fn shares(&self, processors: u32) -> impl Iterator<Item = Share> + '_ {
        self.place.shares(processors).filter(|share| !self.released.contains(&share.pool))
    }
}

/// A job that holds nodes.
#[derive(Debug, Clone, Copy)]
pub struct Running<'a> {
    /// Id of the job in the market.
    pub job: JobId,
    /// What it asked for.
    pub demand: &'a Demand,
    /// Moment since which this holds.
    pub start: Time,
    /// Pools and numbers of nodes.
    pub place: &'a Place,
    held: &'a Held,
}

impl<'a> Running<'a> {
    /// The shares that it holds still.
    pub fn shares(&self) -> impl Iterator<Item = Share> + use<'a> {
        self.held.shares(self.demand.processors)
    }

    /// What it pays per node and second, by share of its place.
    pub fn prices(&self) -> impl Iterator<Item = Price> + 'a {
        let all = std::iter::once(self.held.price).chain(self.held.further.iter().copied());
        all.take(self.place.shares(self.demand.processors).count())
    }

    /// The nodes of `pool` that it holds.
    pub fn nodes_in(&self, pool: PoolId) -> u32 {
        self.shares().find(|share| share.pool == pool).map_or(0, |share| share.nodes)
    }
}

/// An outage that is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Announced {
    what: Outage,
    /// Whether its nodes are missing by now.
    has_begun: bool,
}

/// The state of all sites and of the queue.
#[derive(Debug, Clone)]
pub struct Market {
    now: Time,
    pools: Arc<Pools>,
    /// Free nodes, by pool.
    free: Vec<u32>,
    free_nodes: u32,
    /// Free memory in KiB, by pool; empty where it is not counted.
    memory: Vec<u32>,
    /// Free licences.
    licences: Vec<u32>,
    jobs: Entries,
    queue: BTreeSet<JobId>,
    /// Jobs in the queue of a site's own scheduler, since when.
    lined: BTreeMap<JobId, Time>,
    running: BTreeMap<JobId, Held>,
    /// Outages that are not over.
    outages: BTreeMap<OutageId, Announced>,
    /// How many outages were announced so far.
    announced: u32,
    ledger: Ledger,
    /// Events so far; of no matter to anything else in here.
    version: u64,
}

impl Market {
    /// Empty sites at `now`.
    pub fn new(pools: Arc<Pools>, now: Time) -> Market {
        Market {
            now,
            free: pools.as_slice().iter().map(|pool| pool.nodes).collect(),
            free_nodes: pools.nodes(),
            memory: memory::of(&pools),
            licences: licences::of(&pools),
            jobs: Entries::default(),
            queue: BTreeSet::new(),
            lined: BTreeMap::new(),
            running: BTreeMap::new(),
            outages: BTreeMap::new(),
            announced: 0,
            ledger: Ledger::new(pools.sites().len()),
            version: 0,
            pools,
        }
    }

    /// The moment of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Counts the events of this market since it was made or restored: two copies of one market
    /// with the same count differ at most in [`Market::now`].
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Sites and pools.
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// The same, to be kept: they do not change when prices do.
    pub fn shared_pools(&self) -> &Arc<Pools> {
        &self.pools
    }

    /// Nodes of all pools.
    pub fn processors(&self) -> u32 {
        self.pools.nodes()
    }

    /// Nodes that neither a job nor an outage holds.
    pub fn free(&self) -> u32 {
        self.free_nodes
    }

    /// The same of one pool. Panics if there is no such pool.
    pub fn free_in(&self, pool: PoolId) -> u32 {
        self.free[pool.index()]
    }

    /// Jobs that wait, in the order of submission.
    pub fn queue(&self) -> impl ExactSizeIterator<Item = JobId> + '_ {
        self.queue.iter().copied()
    }

    /// The job that was submitted first of those that wait.
    pub fn head(&self) -> Option<JobId> {
        self.queue.first().copied()
    }

    /// Whether the job waits. O(1).
    pub fn waits(&self, job: JobId) -> bool {
        self.jobs.get(job.index()).is_some_and(|entry| entry.phase == Phase::Queued)
    }

    /// Jobs in the queue of a site's own scheduler, and since when, in the order of submission.
    pub fn lined(&self) -> impl ExactSizeIterator<Item = (JobId, Time)> + '_ {
        self.lined.iter().map(|(&job, &since)| (job, since))
    }

    /// Whether the job is in the queue of a site's own scheduler. Logarithmic in those that are.
    pub fn is_lined(&self, job: JobId) -> bool {
        self.lined.contains_key(&job)
    }

    /// Jobs that run, in the order of submission.
    pub fn running(&self) -> impl DoubleEndedIterator<Item = Running<'_>> + '_ {
        self.running.iter().map(|(&job, held)| self.as_running(job, held))
    }

    /// The job, if it runs. Logarithmic in the jobs that run.
    pub fn run_of(&self, job: JobId) -> Option<Running<'_>> {
        self.running.get(&job).map(|held| self.as_running(job, held))
    }

    fn as_running<'a>(&'a self, job: JobId, held: &'a Held) -> Running<'a> {
        let demand = &self.jobs[job.index()].demand;
        Running { job, demand, start: held.start, place: &held.place, held }
    }

    /// Jobs submitted so far: the next one's id.
    pub fn submitted(&self) -> u32 {
        self.jobs.len() as u32
    }

    /// Outages announced so far: the next one's id.
    pub fn announced(&self) -> u32 {
        self.announced
    }

    /// What the job asked for, once it was submitted.
    pub fn demand(&self, job: JobId) -> Option<&Demand> {
        self.jobs.get(job.index()).map(|entry| &entry.demand)
    }

    /// What the job has paid so far.
    pub fn paid(&self, job: JobId) -> Money {
        self.jobs.get(job.index()).map_or(Money::ZERO, |entry| entry.paid)
    }

    /// What the job last agreed on with a queue, if anything.
    pub fn trade(&self, job: JobId) -> Option<&Trade> {
        self.jobs.get(job.index()).and_then(|entry| entry.trade.as_deref())
    }

    /// Outages that are not over, in the order of announcement.
    pub fn outages(&self) -> impl Iterator<Item = (OutageId, Outage)> + '_ {
        self.outages.iter().map(|(&id, it)| (id, it.what))
    }

    /// An outage that is not over, and whether it has begun.
    pub fn closure_state(&self, closure: OutageId) -> Option<(Outage, bool)> {
        self.outages.get(&closure).map(|it| (it.what, it.has_begun))
    }

    /// Whether the job runs and has not given its nodes of `pool` back.
    pub fn holds(&self, job: JobId, pool: PoolId) -> bool {
        let (Some(held), Some(demand)) = (self.running.get(&job), self.demand(job)) else {
            return false;
        };
        held.shares(demand.processors).any(|share| share.pool == pool)
    }

    /// Where the money is.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// If `at` is in the past.
    pub fn pass_to(&mut self, at: Time) -> Result<(), MarketError> {
        if at < self.now {
            return Err(MarketError::Past { at, now: self.now });
        }
        self.now = at;
        Ok(())
    }

    /// Writes down what happened now. Logarithmic in the jobs that wait and run, linear in the
    /// pools of the job's place.
    ///
    /// # Errors
    /// If it cannot have happened; the market is unchanged.
    pub fn apply(&mut self, event: &Event) -> Result<(), MarketError> {
        match event {
            Event::Submitted { job, demand } => self.submit(*job, demand),
            Event::Traded { job, trade } => self.agree(*job, trade),
            Event::Lined { job } => self.line_up(*job),
            Event::Started { job, place } => self.start(*job, place),
            Event::Released { job, pool } => self.give_back(*job, *pool),
            Event::Ended { job } => self.end(*job),
            Event::Noticed { job, leaves } => self.give_notice(*job, *leaves),
            Event::Interrupted { job } => self.interrupt(*job),
            Event::Refused { job } | Event::Cancelled { job } => self.refuse(*job),
            Event::Priced { pool, price } => self.reprice(*pool, *price),
            Event::Rated { pool, rate } => self.rate(*pool, rate.clone()),
            Event::Announced { closure, what } => self.announce(*closure, *what),
            Event::Closed { closure } => self.close(*closure),
            Event::Reopened { closure } => self.reopen(*closure),
        }?;
        self.version += 1;
        Ok(())
    }

    /// The job has ended or was refused, and nothing will ask again what it was or paid: its memory
    /// may be used for others. From then on [`Market::demand`] and [`Market::paid`] of it say
    /// nothing. A job that has not ended is not affected. Constant time.
    pub fn forget(&mut self, job: JobId) {
        let is_over = |entry: &Entry| matches!(entry.phase, Phase::Ended | Phase::Refused);
        let demand = Demand::new(1, Span(1));
        let over = Entry { demand, phase: Phase::Ended, paid: Money::ZERO, trade: None };
        self.jobs.forget(job.index(), &over, is_over);
    }

    fn submit(&mut self, job: JobId, demand: &Demand) -> Result<(), MarketError> {
        if job.index() != self.jobs.len() {
            return Err(MarketError::State { job });
        }
        if demand.processors > self.processors() {
            let (wanted, free) = (demand.processors, self.processors());
            return Err(MarketError::Full { job, wanted, free });
        }
        self.knows_licences(job, demand)?;
        let demand = demand.clone();
        self.jobs.push(Entry { demand, phase: Phase::Queued, paid: Money::ZERO, trade: None });
        self.queue.insert(job);
        Ok(())
    }

    fn agree(&mut self, job: JobId, trade: &Arc<Trade>) -> Result<(), MarketError> {
        let known = trade.pool.index() < self.free.len() && trade.price.0 >= 0;
        self.entry(job, Phase::Queued)?;
        if !known {
            return Err(MarketError::Place { job });
        }
        self.jobs[job.index()].trade = Some(Arc::clone(trade));
        Ok(())
    }

    fn line_up(&mut self, job: JobId) -> Result<(), MarketError> {
        self.entry(job, Phase::Queued)?.phase = Phase::Lined;
        self.queue.remove(&job);
        self.lined.insert(job, self.now);
        Ok(())
    }

    /// In which phase a job is that has no nodes and may get some.
    fn before_start(&self, job: JobId) -> Phase {
        if self.is_lined(job) { Phase::Lined } else { Phase::Queued }
    }

    fn start(&mut self, job: JobId, place: &Place) -> Result<(), MarketError> {
        let demand = &self.entry(job, self.before_start(job))?.demand;
        let shape = demand.shape_at(place);
        let demand = shape.as_ref().unwrap_or(demand);
        let (processors, estimate, mode) = (demand.processors, demand.estimate, demand.mode());
        let data = demand.terms().data.clone();
        self.check_place(job, place, processors)?;
        self.check_licences(job)?;
        shape.into_iter().for_each(|demand| self.jobs[job.index()].demand = demand);
        let (mut hold, mut price, mut further) = (Money::ZERO, None, Vec::new());
        let mut longest = Span(0);
        for share in place.shares(processors) {
            self.take(share);
            self.take_memory(job, share);
            let pool = self.pools.pool(share.pool);
            let staging = data.as_ref().map_or(Span::ZERO, |it| it.total(pool.site));
            let length = pool.length_in(mode, estimate) + staging;
            longest = longest.max(length);
            let asked = self.asked(job, share.pool, (self.now, length));
            hold = hold.plus(self.due(job, (share, asked), (self.now, length)));
            match price {
                None => price = Some(asked),
                Some(_) => further.push(asked),
            }
        }
        let price = price.unwrap_or(Price(0));
        let (of_licences, prices) = self.take_licences(job, longest);
        hold = hold.plus(of_licences);
        further.extend(prices);
        self.ledger.hold(hold);
        self.jobs[job.index()].phase = Phase::Running;
        self.queue.remove(&job);
        self.lined.remove(&job);
        let (start, place, released) = (self.now, place.clone(), Vec::new());
        let notice = None;
        self.running.insert(job, Held { start, place, released, hold, price, further, notice });
        Ok(())
    }

    fn check_place(&self, job: JobId, place: &Place, processors: u32) -> Result<(), MarketError> {
        let (mut sum, mut last) = (0u64, None);
        let agreed = self.trade(job).map(|trade| trade.pool);
        for Share { pool, nodes } in place.shares(processors) {
            let free = self.free.get(pool.index()).copied();
            let free = free.filter(|_| nodes > 0 && last.is_none_or(|last| last < pool));
            let free = free.filter(|_| agreed.is_none_or(|agreed| agreed == pool));
            let free = free.ok_or(MarketError::Place { job })?;
            if nodes > free {
                return Err(MarketError::Full { job, wanted: nodes, free });
            }
            self.check_memory(job, Share { pool, nodes })?;
            sum += u64::from(nodes);
            last = Some(pool);
        }
        match sum == u64::from(processors) {
            true => Ok(()),
            false => Err(MarketError::Place { job }),
        }
    }

    fn take(&mut self, share: Share) {
        self.free[share.pool.index()] -= share.nodes;
        self.free_nodes -= share.nodes;
    }

    fn free_up(&mut self, share: Share) {
        self.free[share.pool.index()] += share.nodes;
        self.free_nodes += share.nodes;
    }

    /// The job pays for so much of the time that it had the share: `price`, or what the share's own
    /// was from second to second.
    fn settle(&mut self, job: JobId, (share, price): (Share, Price), (start, span): (Time, Span)) {
        let amount = self.due(job, (share, price), (start, span));
        self.ledger.settle(self.pools.pool(share.pool).site.0 as usize, amount);
        let paid = &mut self.jobs[job.index()].paid;
        *paid = paid.plus(amount);
    }

    fn give_back(&mut self, job: JobId, pool: PoolId) -> Result<(), MarketError> {
        let processors = self.entry(job, Phase::Running)?.demand.processors;
        let held = self.running.get_mut(&job).ok_or(MarketError::State { job })?;
        let rest = || held.shares(processors);
        let share = rest().find(|share| share.pool == pool).filter(|_| rest().count() > 1);
        let share = share.ok_or(MarketError::State { job })?;
        held.released.push(pool);
        let (start, price) = (held.start, held.price_in(processors, pool));
        self.free_up(share);
        self.give_memory(job, share);
        self.settle(job, (share, price), (start, self.now - start));
        Ok(())
    }

    /// Takes a running job off its nodes; returns its width and its books.
    fn leave(&mut self, job: JobId, phase: Phase) -> Result<(u32, Held), MarketError> {
        let entry = self.entry(job, Phase::Running)?;
        entry.phase = phase;
        let processors = entry.demand.processors;
        let Some(held) = self.running.remove(&job) else { return Err(MarketError::State { job }) };
        for share in held.shares(processors) {
            self.free_up(share);
            self.give_memory(job, share);
        }
        self.give_licences(job);
        self.ledger.release(held.hold);
        Ok((processors, held))
    }

    fn end(&mut self, job: JobId) -> Result<(), MarketError> {
        let (processors, held) = self.leave(job, Phase::Ended)?;
        self.settle_all(job, processors, &held, self.now - held.start);
        Ok(())
    }

    /// The job pays for so long of all the shares that it holds still.
    fn settle_all(&mut self, job: JobId, processors: u32, held: &Held, span: Span) {
        for share in held.shares(processors) {
            let price = held.price_in(processors, share.pool);
            self.settle(job, (share, price), (held.start, span));
        }
        self.settle_licences(job, (held, processors), span);
    }

    fn refuse(&mut self, job: JobId) -> Result<(), MarketError> {
        self.entry(job, self.before_start(job))?.phase = Phase::Refused;
        self.queue.remove(&job);
        self.lined.remove(&job);
        Ok(())
    }

    fn announce(&mut self, closure: OutageId, what: Outage) -> Result<(), MarketError> {
        let known = self.pools.as_slice().get(what.pool.index());
        let fits = known.is_some_and(|pool| what.nodes <= pool.nodes);
        if closure.0 != self.announced || !fits {
            return Err(MarketError::Outage { closure });
        }
        self.announced += 1;
        self.outages.insert(closure, Announced { what, has_begun: false });
        Ok(())
    }

    fn close(&mut self, closure: OutageId) -> Result<(), MarketError> {
        let wrong = MarketError::Outage { closure };
        let ahead = self.outages.get_mut(&closure).filter(|it| !it.has_begun).ok_or(wrong)?;
        let Outage { pool, nodes, .. } = ahead.what;
        if self.free[pool.index()] < nodes {
            return Err(wrong);
        }
        ahead.has_begun = true;
        self.take(Share { pool, nodes });
        Ok(())
    }

    fn reopen(&mut self, closure: OutageId) -> Result<(), MarketError> {
        let over = self.outages.remove(&closure).ok_or(MarketError::Outage { closure })?;
        if over.has_begun {
            self.free_up(Share { pool: over.what.pool, nodes: over.what.nodes });
        }
        Ok(())
    }

    fn entry(&mut self, job: JobId, phase: Phase) -> Result<&mut Entry, MarketError> {
        let entry = self.jobs.get_mut(job.index()).filter(|entry| entry.phase == phase);
        entry.ok_or(MarketError::State { job })
    }

    /// Adds the books up again: linear in all jobs, for tests and checked runs.
    ///
    /// # Errors
    /// What does not add up.
    pub fn check(&self) -> Result<(), MarketError> {
        let in_phase = |phase| self.jobs.iter().filter(move |entry| entry.phase == phase).count();
        let mut held: Vec<u64> = vec![0; self.free.len()];
        let closed = self.outages.values().filter(|it| it.has_begun);
        let closed = closed.map(|it| Share { pool: it.what.pool, nodes: it.what.nodes });
        for share in self.running().flat_map(|job| job.shares().collect::<Vec<_>>()).chain(closed) {
            held[share.pool.index()] += u64::from(share.nodes);
        }
        for ((pool, held), free) in self.pools.as_slice().iter().zip(held).zip(&self.free) {
            if held + u64::from(*free) != u64::from(pool.nodes) {
                return Err(MarketError::Books("nodes held and free"));
            }
        }
        if self.memory_left().as_ref() != Some(&self.memory) {
            return Err(MarketError::Books("memory held and free"));
        }
        if self.licences_left().as_ref() != Some(&self.licences) {
            return Err(MarketError::Books("licences held and free"));
        }
        if in_phase(Phase::Queued) != self.queue.len() {
            return Err(MarketError::Books("jobs in the queue"));
        }
        if in_phase(Phase::Lined) != self.lined.len() {
            return Err(MarketError::Books("jobs in queues of sites"));
        }
        if in_phase(Phase::Running) != self.running.len() {
            return Err(MarketError::Books("running jobs"));
        }
        let hold = self.running.values().map(|held| i128::from(held.hold.0)).sum();
        match self.ledger.balances(hold) {
            true => Ok(()),
            false => Err(MarketError::Books("money")),
        }
    }
}
