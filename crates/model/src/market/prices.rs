//! What nodes cost now and by the hour, and what a job pays.

use std::sync::Arc;

use super::{Cause, Market, MarketError, Outage};
use crate::{JobId, Money, PoolId, Price, Series, Share, Span, Time, preemption};

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

    /// The prices that follow load and are others now than what the pools ask. Nothing where none does;
    /// else linear in pools and outages.
    pub fn prices_by_load(&self) -> Vec<(PoolId, Price)> {
        if !self.pools.follow_load() {
            return Vec::new();
        }
        let mut missing = vec![0; self.free.len()];
        self.missing().for_each(|what| missing[what.pool.index()] += what.nodes);
        let all = self.pools.load_prices().map(|(id, pool, price)| {
            (id, pool.price, price.at(self.in_use(id, missing[id.index()]), pool.nodes))
        });
        all.filter(|(_, before, now)| before != now).map(|(id, _, now)| (id, now)).collect()
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
