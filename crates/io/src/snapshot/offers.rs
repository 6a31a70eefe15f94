//! What nodes offer: needed to draw demands that can be met, at prices that are usual.

use std::collections::BTreeSet;

use tradewind_model::{Grid, Performance, Pool, PoolId, Pools, Price, Span, Time};

use super::side::market_price;

/// So many like nodes.
#[derive(Debug, Clone, Copy)]
struct Offer {
    performance: Performance,
    price: Price,
    nodes: usize,
}

/// All nodes of a grid, as buyers see them.
#[derive(Debug, Clone)]
pub(super) struct Offers {
    /// Offers, from the cheapest on.
    offers: Vec<Offer>,
    law: PriceLaw,
}

/// What a node of some performance usually costs.
#[derive(Debug, Clone, Copy)]
enum PriceLaw {
    /// The side model's power of the performance, with this base.
    Power(u32),
    /// The mean over the nodes of that performance.
    Mean,
}

impl Offers {
    /// Of nodes that were priced by the side model with this base.
    pub(super) fn drawn(grid: &Grid, price_base: u32) -> Offers {
        let nodes = grid.nodes().iter();
        let offer =
            nodes.map(|it| Offer { performance: it.performance, price: it.price, nodes: 1 });
        Offers::new(offer.collect(), PriceLaw::Power(price_base))
    }

    /// Of pools that were priced elsewhere.
    pub(super) fn given(pools: &Pools) -> Offers {
        Offers::of_pools(pools, |_, pool| pool.price)
    }

    /// The same to one who wants so much work done from this moment on: prices that change are their
    /// means over its time on each pool.
    pub(super) fn from(pools: &Pools, start: Time, work: Span) -> Offers {
        Offers::of_pools(pools, |id, pool| {
            pools.mean_price(id, start, pool.performance.length_of(work))
        })
    }

    fn of_pools(pools: &Pools, price: impl Fn(PoolId, &Pool) -> Price) -> Offers {
        let offer = |(id, pool): (PoolId, &Pool)| Offer {
            performance: pool.performance,
            price: price(id, pool),
            nodes: pool.nodes as usize,
        };
        Offers::new(pools.iter().map(offer).collect(), PriceLaw::Mean)
    }

    fn new(mut offers: Vec<Offer>, law: PriceLaw) -> Offers {
        offers.sort_by_key(|offer| offer.price);
        Offers { offers, law }
    }

    fn at_least(&self, min: Performance) -> impl Iterator<Item = &Offer> {
        self.offers.iter().filter(move |offer| offer.performance >= min)
    }

    /// How many nodes have at least this performance.
    pub(super) fn count(&self, min: Performance) -> usize {
        self.at_least(min).map(|offer| offer.nodes).sum()
    }

    /// The price of the `tasks`-th cheapest node with at least this performance.
    pub(super) fn price_for(&self, tasks: u32, min: Performance) -> Option<Price> {
        let mut before = 0;
        let enough = |offer: &&Offer| {
            before += offer.nodes;
            tasks > 0 && before >= tasks as usize
        };
        self.at_least(min).find(enough).map(|offer| offer.price)
    }

    /// What a node of this performance usually costs; if there is none, the next faster one.
    pub(super) fn usual(&self, performance: Performance) -> Price {
        match self.law {
            PriceLaw::Power(base) => market_price(base, performance),
            PriceLaw::Mean => {
                let next = self.at_least(performance).map(|offer| offer.performance).min();
                let like = || self.offers.iter().filter(|offer| Some(offer.performance) == next);
                let nodes: i128 = like().map(|offer| offer.nodes as i128).sum();
                let all = like().map(|offer| i128::from(offer.price.0) * offer.nodes as i128);
                Price(i64::try_from(all.sum::<i128>() / nodes.max(1)).unwrap_or(i64::MAX))
            }
        }
    }

    /// The slowest class of performance.
    pub(super) fn slowest(&self, model: &[Performance]) -> Performance {
        let min = self.classes_among(model).into_iter().min();
        min.unwrap_or(Performance::REFERENCE)
    }

    /// The classes of performance: those of the side model if it drew the nodes, else those that
    /// there are.
    pub(super) fn classes_among(&self, model: &[Performance]) -> Vec<Performance> {
        match self.law {
            PriceLaw::Power(_) => model.to_vec(),
            PriceLaw::Mean => {
                let all = self.offers.iter().map(|it| it.performance);
                all.collect::<BTreeSet<Performance>>().into_iter().collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::{Attributes, Site, SiteId, Times};

    use super::*;

    #[test]
    fn prices_follow_the_nodes() {
        let performance = |thousandths| Performance::from_thousandths(thousandths).unwrap();
        let pool = |name: &str, nodes, thousandths, price| Pool {
            name: name.to_owned(),
            site: SiteId(0),
            nodes,
            performance: performance(thousandths),
            price: Price(price),
            attributes: Attributes::new(),
            admission: tradewind_model::Admission::NONE,
            times: Times::Work,
        };
        let pools = vec![pool("a", 3, 2_000, 10), pool("b", 1, 2_000, 30), pool("c", 5, 1_000, 20)];
        let pools = Pools::new(vec![Site { name: "s".to_owned() }], pools).unwrap();
        let offers = Offers::given(&pools);
        assert_eq!(offers.classes_among(&[]), [performance(1_000), performance(2_000)]);
        let usual = [1_000, 1_500, 2_000, 3_000].map(|p| offers.usual(performance(p)).0);
        assert_eq!(usual, [20, 15, 15, 0]);
        let price_for = |tasks, p| offers.price_for(tasks, performance(p)).map(|price| price.0);
        assert_eq!(
            [price_for(3, 1), price_for(4, 1), price_for(9, 1)],
            [Some(10), Some(20), Some(30)]
        );
        assert_eq!(
            [price_for(4, 2_000), price_for(5, 2_000), price_for(0, 1)],
            [Some(30), None, None]
        );
        assert_eq!(offers.count(performance(1_500)), 4);
    }
}
