//! Prices that follow demand are those of the demand.

use std::collections::BTreeMap;

use tradewind_model::{
    Cause, Demand, Event, JobId, LoadPrice, Market, Pool, PoolId, Pools, Price, Span, Time, Trade,
};
use tradewind_sched::policy::Policy;

use super::held::HeldNodes;
use super::{Checker, Violation};

/// Makes each price again at its moments by books of its own, which know what runs and waits, and
/// compares it at each start and trade, and after each pass.
#[derive(Debug)]
pub(super) struct ByDemand {
    used: HeldNodes,
    /// In use or missing.
    held: HeldNodes,
    /// What waits, and what it agreed on.
    waiting: BTreeMap<JobId, (Demand, Option<Trade>)>,
    /// By pool whose price follows demand; made at the first event.
    posted: Option<BTreeMap<PoolId, Posted>>,
}

/// A price that was made.
#[derive(Debug)]
struct Posted {
    every: Span,
    next: Time,
    asks: Price,
    used: u64,
    sold: bool,
    raised: bool,
    rests: bool,
}

impl Default for ByDemand {
    fn default() -> ByDemand {
        let used = HeldNodes::new(|cause| cause == Cause::Local);
        let held = HeldNodes::new(|_| true);
        ByDemand { used, held, waiting: BTreeMap::new(), posted: None }
    }
}

impl ByDemand {
    /// Makes the prices of all moments by now.
    fn roll(&mut self, market: &Market) {
        let (now, pools) = (market.now(), market.pools());
        let begin = |(id, _, price): (PoolId, &Pool, &LoadPrice)| {
            let (every, asks) = (price.every()?, price.idle());
            let (next, used) = (now + every, 0);
            let (sold, raised, rests) = (false, false, false);
            Some((id, Posted { every, next, asks, used, sold, raised, rests }))
        };
        let posted =
            self.posted.get_or_insert_with(|| pools.load_prices().filter_map(begin).collect());
        for (id, it) in posted {
            let Some(price) = pools.load_price(*id) else { continue };
            // When nothing happens for three intervals, the price has become what it stays.
            for _ in 0..4 {
                if it.next <= now {
                    let nodes = (self.used.of(*id), self.held.of(*id));
                    it.make(pools, (*id, price), nodes, &self.waiting);
                    it.next = it.next + it.every;
                }
            }
            let missed = (now - it.next).0.div_euclid(it.every.0) + 1;
            it.next = it.next + Span(missed.max(0) * it.every.0);
        }
    }

    fn look(&self, market: &Market) -> Result<(), Violation> {
        for (id, it) in self.posted.iter().flatten() {
            let pool = market.pools().pool(*id);
            if pool.price != it.asks {
                let (name, asked, due) = (&pool.name, pool.price, it.asks);
                let what = format!("`{name}` asks {asked}, and its price by demand is {due}");
                return Err(Violation { checker: "demand-price", what });
            }
        }
        Ok(())
    }

    fn note(&mut self, market: &Market, event: &Event) {
        self.used.note(event);
        self.held.note(event);
        let job = match event {
            Event::Started { job, place } => {
                let nodes = market.demand(*job).map_or(0, |demand| demand.processors);
                let starts = |id: &PoolId| place.shares(nodes).any(|share| share.pool == *id);
                let posted = self.posted.iter_mut().flatten();
                posted.filter(|(id, _)| starts(id)).for_each(|(_, it)| it.sold = true);
                *job
            }
            Event::Submitted { job, .. }
            | Event::Traded { job, .. }
            | Event::Lined { job }
            | Event::Interrupted { job }
            | Event::Refused { job }
            | Event::Cancelled { job } => *job,
            _ => return,
        };
        let is_lined = || market.lined().any(|(other, _)| other == job);
        match market.demand(job).filter(|_| market.waits(job) || is_lined()) {
            Some(demand) => {
                self.waiting.insert(job, (demand.clone(), market.trade(job).cloned()));
            }
            None => {
                self.waiting.remove(&job);
            }
        }
    }
}

impl Posted {
    fn make(
        &mut self,
        pools: &Pools,
        (id, price): (PoolId, &LoadPrice),
        (used, held): (u64, u64),
        waiting: &BTreeMap<JobId, (Demand, Option<Trade>)>,
    ) {
        let moved = std::mem::take(&mut self.sold) || used != self.used;
        let by = |counts: bool| {
            let asked = |step: &&(u32, Price)| {
                let tasks = waiting.values().map(|it| tasks(pools, id, it, step.1));
                let demanded = used + if counts { tasks.sum() } else { 0 };
                demanded * 1_000 >= u64::from(step.0) * u64::from(pools.pool(id).nodes)
            };
            price.steps().iter().filter(asked).map(|step| step.1).max().unwrap_or(price.idle())
        };
        let (low, high) = (by(false), by(true));
        let free = u64::from(pools.pool(id).nodes).saturating_sub(held);
        let fits = |it| (1..=free).contains(&tasks(pools, id, it, high));
        let unsold = self.raised && high > low && waiting.values().any(fits);
        self.rests = !moved && (self.rests || unsold);
        self.asks = if self.rests { low } else { high };
        (self.used, self.raised) = (used, self.asks > low);
    }
}

/// Tasks of a waiting job that count in the pool at this price.
fn tasks(
    pools: &Pools,
    id: PoolId,
    (demand, trade): &(Demand, Option<Trade>),
    price: Price,
) -> u64 {
    let pool = pools.pool(id);
    let pays = || {
        let each = i128::from(price.0) * i128::from(pool.length_of(demand).0);
        let budget = demand.terms().budget.map(|budget| i128::from(budget.0));
        pool.suits_at(price, demand)
            && budget.is_none_or(|budget| each * i128::from(demand.processors) <= budget)
    };
    match trade.as_ref().map_or_else(pays, |trade| trade.pool == id) {
        true => u64::from(pools.tasks_in(id, demand).min(demand.processors)),
        false => 0,
    }
}

impl Checker for ByDemand {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        if !market.pools().follow_demand() {
            return Ok(());
        }
        self.roll(market);
        let decides = matches!(event, Event::Started { .. } | Event::Traded { .. });
        let looked = if decides { self.look(market) } else { Ok(()) };
        self.note(market, event);
        looked
    }

    fn pass(&mut self, market: &Market, _policy: &dyn Policy) -> Result<(), Violation> {
        match market.pools().follow_demand() {
            true => {
                self.roll(market);
                self.look(market)
            }
            false => Ok(()),
        }
    }
}
