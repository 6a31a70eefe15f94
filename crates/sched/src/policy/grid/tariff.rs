//! Pools in the order of what a task costs on them, without looking at all of them.
//!
//! What a task costs depends on its length, which is rounded up to seconds, so that no order holds
//! for all tasks. But the cost is at most a second's price above price × time, and pools in the
//! order of that are kept; [`CheapestPools`] puts the few in order that could change places.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use tradewind_model::{Demand, Market, Pool, PoolId, Pools, Span, Times};

use super::wish::PoolOffer;

/// Fraction digits of rates, in bits.
const SHIFT: u32 = 16;

/// With so many pools or fewer, looking at all of them costs less.
pub(in crate::policy) const FEW: usize = if cfg!(test) { 3 } else { 32 };

/// Pools by what a second of a task costs, at the prices that they had when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::policy) struct Tariff {
    pools: Arc<Pools>,
    /// By the price of a second of the reference node's work.
    by_work: Vec<(u128, PoolId)>,
    /// By the price of a second of the clock.
    by_clock: Vec<(u128, PoolId)>,
    /// The slowest first.
    by_speed: Vec<PoolId>,
}

impl Tariff {
    /// Of a market with many pools, where prices do not change with time. O(p log p) for p pools.
    pub(in crate::policy) fn of(market: &Market) -> Option<Tariff> {
        let pools = market.shared_pools();
        let pays = pools.as_slice().len() > FEW && pools.rates().is_none();
        pays.then(|| Tariff::new(pools))
    }

    /// O(p log p) for p pools.
    pub(in crate::policy) fn new(pools: &Arc<Pools>) -> Tariff {
        let price = |pool: &Pool| u128::from(pool.price.0.unsigned_abs());
        let work = |pool: &Pool| {
            ((price(pool) * 1_000) << SHIFT) / u128::from(pool.performance.thousandths())
        };
        let order = |rate: &dyn Fn(&Pool) -> u128| {
            let mut all: Vec<(u128, PoolId)> =
                pools.iter().map(|(id, pool)| (rate(pool), id)).collect();
            all.sort_unstable();
            all
        };
        let mut by_speed: Vec<PoolId> = pools.iter().map(|(id, _)| id).collect();
        by_speed.sort_by_key(|id| pools.pool(*id).performance);
        let by_clock = order(&|pool| price(pool) << SHIFT);
        Tariff { pools: Arc::clone(pools), by_work: order(&work), by_clock, by_speed }
    }

    /// Whether the market has the pools and prices that it was made for.
    pub(in crate::policy) fn is_of(&self, market: &Market) -> bool {
        Arc::ptr_eq(&self.pools, market.shared_pools())
    }

    /// The pools that it was made for.
    pub(super) fn pools(&self) -> &Arc<Pools> {
        &self.pools
    }

    /// The pools that `suits` admits in the order of (cost, length, pool) of a task.
    pub(in crate::policy) fn cheapest<'t, F: Fn(PoolId, &Pool) -> bool>(
        &'t self,
        demand: &'t Demand,
        suits: F,
    ) -> CheapestPools<'t, F> {
        CheapestPools { tariff: self, demand, suits, at: [0, 0], ready: BinaryHeap::new() }
    }

    /// How long a task takes on the slowest pool that suits. `None` if none does.
    pub(in crate::policy) fn longest(&self, demand: &Demand) -> Option<Span> {
        let pools = &self.pools;
        if demand.terms().data.is_some() {
            let suitable = pools.as_slice().iter().filter(|pool| pool.suits(demand));
            return suitable.map(|pool| pool.length_of(demand)).max();
        }
        let slowest = |times: Times| {
            let counts = |pool: &&Pool| demand.mode().at(pool.times) == times && pool.suits(demand);
            self.by_speed.iter().map(|id| pools.pool(*id)).find(counts)
        };
        let both = [slowest(Times::Work), slowest(Times::Wall)];
        both.into_iter().flatten().map(|pool| pool.length_of(demand)).max()
    }
}

/// See [`Tariff::cheapest`].
pub(in crate::policy) struct CheapestPools<'t, F> {
    tariff: &'t Tariff,
    demand: &'t Demand,
    suits: F,
    /// How far each order was read: by work, by the clock.
    at: [usize; 2],
    /// Pools that were read, until none that was not could come before them.
    ready: BinaryHeap<Reverse<(i64, Span, PoolId)>>,
}

impl<F: Fn(PoolId, &Pool) -> bool> CheapestPools<'_, F> {
    /// The next pool of each order that is counted like this, and the minimum cost of it and all
    /// behind it.
    fn next_of(&mut self, times: Times) -> Option<(u128, PoolId)> {
        let (order, at) = match times {
            Times::Work => (&self.tariff.by_work, &mut self.at[0]),
            Times::Wall => (&self.tariff.by_clock, &mut self.at[1]),
        };
        let mode = self.demand.mode();
        if mode.at(Times::Work) != times && mode.at(Times::Wall) != times {
            return None;
        }
        while let Some(&(rate, id)) = order.get(*at) {
            if mode.at(self.tariff.pools.pool(id).times) == times {
                let span = u128::from(self.demand.estimate.0.unsigned_abs());
                return Some((rate.saturating_mul(span) >> SHIFT, id));
            }
            *at += 1;
        }
        None
    }

    fn read(&mut self, id: PoolId, times: Times) {
        self.at[usize::from(times == Times::Wall)] += 1;
        let pool = self.tariff.pools.pool(id);
        if (self.suits)(id, pool) {
            let length = pool.length_of(self.demand);
            self.ready.push(Reverse(((pool.price * length).0, length, id)));
        }
    }
}

impl<F: Fn(PoolId, &Pool) -> bool> Iterator for CheapestPools<'_, F> {
    type Item = PoolOffer;

    fn next(&mut self) -> Option<PoolOffer> {
        loop {
            let work = self.next_of(Times::Work).map(|(least, id)| (least, id, Times::Work));
            let wall = self.next_of(Times::Wall).map(|(least, id)| (least, id, Times::Wall));
            let unread = work.into_iter().chain(wall).min_by_key(|(least, ..)| *least);
            let first =
                self.ready.peek().map(|Reverse((cost, ..))| u128::from(cost.unsigned_abs()));
            match (first, unread) {
                (None, None) => return None,
                (Some(cost), Some((least, id, times))) if least <= cost => self.read(id, times),
                (None, Some((_, id, times))) => self.read(id, times),
                (Some(_), _) => {
                    let Reverse((cost, length, pool)) = self.ready.pop()?;
                    let nodes = self.tariff.pools.pool(pool).nodes;
                    return Some(PoolOffer { pool, nodes, length, cost });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tradewind_model::{
        Admission, Attributes, Performance, Price, Site, SiteId, Terms, TimeMode,
    };

    use super::*;

    fn pools(drawn: &[(u32, i64, bool)]) -> Pools {
        let pool = |(at, &(speed, price, wall)): (usize, &(u32, i64, bool))| Pool {
            name: format!("pool{at}"),
            site: SiteId(0),
            nodes: 1 + at as u32 % 3,
            performance: Performance::from_thousandths(speed).unwrap(),
            price: Price(price),
            attributes: Attributes::new(),
            admission: Admission::NONE,
            times: if wall { Times::Wall } else { Times::Work },
        };
        let all = drawn.iter().enumerate().map(pool).collect();
        Pools::new(vec![Site { name: "site".to_owned() }], all).unwrap()
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_sort(
            drawn in prop::collection::vec((900u32..1_100, 0i64..40, any::<bool>()), 1..40),
            estimate in 1i64..50, slowest in 900u32..1_050,
            mode in prop::sample::select(vec![TimeMode::WORK, TimeMode::WALL, TimeMode::Owner]),
        ) {
            let pools = Arc::new(pools(&drawn));
            let min_performance = Performance::from_thousandths(slowest);
            let terms = Terms { min_performance, times: mode, ..Terms::NONE };
            let demand = Demand { terms: Some(terms.into()), ..Demand::new(1, Span(estimate)) };
            let tariff = Tariff::new(&pools);
            let found: Vec<PoolOffer> =
                tariff.cheapest(&demand, |_, pool| pool.suits(&demand)).collect();
            let suitable = pools.iter().filter(|(_, pool)| pool.suits(&demand));
            let mut plain: Vec<PoolOffer> = suitable
                .map(|(id, pool)| {
                    let length = pool.length_of(&demand);
                    let cost = (pool.price * length).0;
                    PoolOffer { pool: id, nodes: pool.nodes, length, cost }
                })
                .collect();
            plain.sort_by_key(|it| (it.cost, it.length, it.pool));
            prop_assert_eq!(tariff.longest(&demand), plain.iter().map(|it| it.length).max());
            prop_assert_eq!(found, plain);
        }
    }
}
