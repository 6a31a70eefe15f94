//! What nodes cost now and by the hour, and what a job pays.

use std::sync::Arc;

use super::{Cause, Market, MarketError, Outage};
use crate::{
    Demand, JobId, LoadPrice, Money, PoolId, Price, Series, Share, Span, Time, preemption,
};

impl Market {
    /// What the job agreed to pay in a pool per node and second.
    fn agreed(&self, job: JobId, pool: PoolId) -> Option<Price> {
        self.trade(job).filter(|trade| trade.pool == pool).map(|trade| trade.price)
    }

    /// What the job pays in a pool per node and second, if it starts at `start`, is expected to take
    /// `length` there, and the prices stay: what was agreed, or else what the pool asks, less the
    /// site's discount.
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn asked(&self, job: JobId, pool: PoolId, (start, length): (Time, Span)) -> Price {
        let list = || {
            let (list, terms) = (self.pools.asked(pool, start, length), self.preemption(job, pool));
            terms.map_or(list, |terms| Price(terms.reduced(list.0)))
        };
        self.agreed(job, pool).unwrap_or_else(list)
    }

    /// What a node of the pool costs now.
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn price_now(&self, pool: PoolId) -> Price {
        self.pools.price_at(pool, self.now)
    }

    /// Nodes of the pool with jobs of the market or of its owner. Those that are withheld, broken or under
    /// maintenance are not in use.
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn nodes_in_use(&self, pool: PoolId) -> u32 {
        let missing = self.missing().filter(|what| what.pool == pool).map(|what| what.nodes);
        self.in_use(pool, missing.sum())
    }

    /// The prices that follow load (not demand) and are others now than what the pools ask. Nothing
    /// where none does; else linear in pools and outages.
    pub fn prices_by_load(&self) -> Vec<(PoolId, Price)> {
        if !self.pools.follow_load() {
            return Vec::new();
        }
        let mut missing = vec![0; self.free.len()];
        self.missing().for_each(|what| missing[what.pool.index()] += what.nodes);
        let by_load = self.pools.load_prices().filter(|(_, _, price)| price.every().is_none());
        let all = by_load.map(|(id, pool, price)| {
            (id, pool.price, price.at(self.in_use(id, missing[id.index()]), pool.nodes))
        });
        all.filter(|(_, before, now)| before != now).map(|(id, _, now)| (id, now)).collect()
    }

    /// The price of a pool by demand: the highest whose share of the pool's nodes is in use, or asked
    /// for by waiting jobs that would pay this price for all of their tasks there. So a price that no
    /// job pays is not asked. A job that agreed with a queue counts there, whatever the price. With it
    /// the fewest tasks of a waiting job that would pay it. O(w log s) for w waiting jobs and s steps.
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn price_by_demand(&self, pool: PoolId, price: &LoadPrice) -> (Price, Option<u32>) {
        let steps = price.steps();
        // By the number of steps that they would pay: all tasks, and the fewest of a job.
        let mut asked = vec![(0u64, None::<u32>); steps.len() + 1];
        let waiting = self.queue().chain(self.lined().map(|(job, _)| job));
        for (job, demand) in waiting.filter_map(|job| Some((job, self.demand(job)?))) {
            let paid = match self.trade(job) {
                Some(trade) if trade.pool == pool => steps.len(),
                Some(_) => 0,
                None => steps.partition_point(|(_, price)| self.would_pay(demand, pool, *price)),
            };
            let tasks = self.pools.tasks_in(pool, demand).min(demand.processors);
            if tasks == 0 {
                continue; // too little memory
            }
            let (all, fewest) = &mut asked[paid];
            *all += u64::from(tasks);
            *fewest = Some(fewest.map_or(tasks, |fewest| fewest.min(tasks)));
        }
        let nodes = u64::from(self.pools.pool(pool).nodes);
        let (mut demanded, mut fewest) = (u64::from(self.nodes_in_use(pool)), None);
        for (step, (share, price)) in steps.iter().enumerate().rev() {
            demanded += asked[step + 1].0;
            fewest = fewest.into_iter().chain(asked[step + 1].1).min();
            // The first step is one of no share.
            if step == 0 || demanded * 1_000 >= u64::from(*share) * nodes {
                return (*price, fewest);
            }
        }
        (price.idle(), None)
    }

    /// Whether the job could pay this price for all of its tasks in the pool, which suits it.
    fn would_pay(&self, demand: &Demand, id: PoolId, price: Price) -> bool {
        let pool = self.pools.pool(id);
        let cost =
            || i128::from((price * pool.length_of(demand)).0) * i128::from(demand.processors);
        pool.suits_at(price, demand)
            && demand.terms().budget.is_none_or(|budget| cost() <= i128::from(budget.0))
    }

    /// Outages that have begun, of nodes that are not in use.
    fn missing(&self) -> impl Iterator<Item = Outage> + '_ {
        let begun = self.outages.values().filter(|it| it.has_begun).map(|it| it.what);
        begun.filter(|what| what.cause != Cause::Local)
    }

    fn in_use(&self, pool: PoolId, missing: u32) -> u32 {
        self.pools.pool(pool).nodes.saturating_sub(self.free_in(pool)).saturating_sub(missing)
    }

    pub(super) fn rate(
        &mut self,
        pool: PoolId,
        rate: Option<Arc<Series>>,
    ) -> Result<(), MarketError> {
        match Arc::make_mut(&mut self.pools).set_rate(pool, rate) {
            true => Ok(()),
            false => Err(MarketError::Price { pool }),
        }
    }

    /// What a share costs that the job has since `start`, for so long: the price of its start, or
    /// the integral of a price that changes with time and was not agreed.
    pub(super) fn due(
        &self,
        job: JobId,
        (share, price): (Share, Price),
        (start, span): (Time, Span),
    ) -> Money {
        let changes = self.pools.rate(share.pool).is_some() && !self.pools.agrees_at_start();
        match changes && self.agreed(job, share.pool).is_none() {
            true => preemption::amount(
                self.preemption(job, share.pool),
                self.pools.cost(share, start, span),
            ),
            false => price.of(share.nodes, span),
        }
    }

    pub(super) fn reprice(&mut self, pool: PoolId, price: Price) -> Result<(), MarketError> {
        let is_told = self.pools.agrees_at_start() && self.pools.rate(pool).is_some();
        if is_told && price == self.price_now(pool) {
            return Ok(());
        }
        match Arc::make_mut(&mut self.pools).reprice(pool, price) {
            true => Ok(()),
            false => Err(MarketError::Price { pool }),
        }
    }
}
