//! Prices that follow the load of their pools, or the demand for them.

use std::sync::Arc;

use crate::{Pool, PoolId, Pools, Price, Span};

/// What a node of a pool costs, by the share of the pool's nodes that is in use, or asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadPrice {
    /// Thousandths of the pool's nodes from which on a price holds, and that price: ascending, the
    /// first from 0.
    steps: Vec<(u32, Price)>,
    /// Where waiting jobs count, too: after how many seconds the price is made again.
    every: Option<Span>,
}

/// Why steps do not make a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoadPriceError {
    /// Nothing holds for an idle pool.
    #[error("no price holds for an idle pool")]
    NotFromIdle,
    /// A load is not above the one before, or above the greatest that there is.
    #[error("the share of a step is not between that of the step before and {}", .most / 1_000)]
    Load {
        /// Thousandths.
        most: u32,
    },
    /// A price falls with the load, or is negative.
    #[error("the price of a step is below that of the step before")]
    Falls,
}

impl LoadPrice {
    /// These steps: from so many thousandths in use on, this price. Prices may not fall with the load:
    /// a job that cannot pay on an idle pool then never can.
    ///
    /// # Errors
    /// The first thing that is wrong with them.
    pub fn new(steps: Vec<(u32, Price)>) -> Result<LoadPrice, LoadPriceError> {
        LoadPrice::made(steps, None)
    }

    /// These steps, by the nodes in use and those that waiting jobs ask for, which may be more than
    /// there are: [`Market::price_by_demand`](crate::Market::price_by_demand). The price is made again
    /// every so many seconds, at least 1.
    ///
    /// # Errors
    /// The first thing that is wrong with the steps.
    pub fn by_demand(steps: Vec<(u32, Price)>, every: Span) -> Result<LoadPrice, LoadPriceError> {
        LoadPrice::made(steps, Some(every.max(Span(1))))
    }

    /// The greatest demand that a step can have, in thousandths of a pool's nodes.
    pub const MAX_DEMAND: u32 = 1_000_000;

    fn made(steps: Vec<(u32, Price)>, every: Option<Span>) -> Result<LoadPrice, LoadPriceError> {
        let most = every.map_or(1_000, |_| LoadPrice::MAX_DEMAND);
        if steps.first().is_none_or(|(load, _)| *load != 0) {
            return Err(LoadPriceError::NotFromIdle);
        }
        if steps.iter().any(|(_, price)| price.0 < 0) {
            return Err(LoadPriceError::Falls);
        }
        for pair in steps.windows(2) {
            let [(load, price), (next_load, next_price)] = [pair[0], pair[1]];
            if next_load <= load || next_load > most {
                return Err(LoadPriceError::Load { most });
            }
            if next_price < price {
                return Err(LoadPriceError::Falls);
            }
        }
        Ok(LoadPrice { steps, every })
    }

    /// The price while so many of the pool's nodes are in use.
    pub fn at(&self, used: u32, nodes: u32) -> Price {
        let holds = |(load, _): &(u32, Price)| {
            u64::from(used) * 1_000 >= u64::from(*load) * u64::from(nodes)
        };
        let after = self.steps.partition_point(holds);
        self.steps[after.saturating_sub(1)].1
    }

    /// The price of an idle pool: the lowest.
    pub fn idle(&self) -> Price {
        self.steps[0].1
    }

    /// After how many seconds it is made again, if it follows the demand of waiting jobs, too.
    pub fn every(&self) -> Option<Span> {
        self.every
    }

    /// The highest price.
    pub fn highest(&self) -> Price {
        self.steps[self.steps.len() - 1].1
    }

    /// The steps: thousandths of the pool's nodes from which on a price holds, and that price.
    pub fn steps(&self) -> &[(u32, Price)] {
        &self.steps
    }
}

/// The prices that follow load or demand, by pool.
pub(crate) type LoadPrices = Arc<[Option<LoadPrice>]>;

impl Pools {
    /// The same pools, of which some have prices that follow their load or demand; by pool, at most as many as
    /// there are. A pool's own price is then that of the moment, at first that of an idle pool.
    pub fn with_load_prices(mut self, mut prices: Vec<Option<LoadPrice>>) -> Pools {
        prices.truncate(self.as_slice().len());
        for (index, price) in prices.iter().enumerate() {
            if let Some(price) = price {
                self.set_price(index, price.idle());
            }
        }
        self.load_prices = prices.iter().any(Option::is_some).then(|| prices.into());
        self
    }

    /// Whether the price of any pool follows its load, or demand.
    pub fn follow_load(&self) -> bool {
        self.load_prices.is_some()
    }

    /// Whether the price of any pool follows the demand of waiting jobs.
    pub fn follow_demand(&self) -> bool {
        self.load_prices().any(|(_, _, price)| price.every().is_some())
    }

    /// The price of this pool by its load or demand, if it follows it.
    pub fn load_price(&self, pool: PoolId) -> Option<&LoadPrice> {
        self.load_prices.as_ref()?.get(pool.index())?.as_ref()
    }

    /// Pools whose prices follow their load or demand.
    pub fn load_prices(&self) -> impl Iterator<Item = (PoolId, &Pool, &LoadPrice)> {
        let all = self.load_prices.iter().flat_map(|prices| prices.iter().enumerate());
        all.filter_map(|(index, price)| {
            let id = PoolId(index as u32);
            Some((id, self.pool(id), price.as_ref()?))
        })
    }

    /// The same pools with the prices that they have while nothing is in use, if any follows its load.
    pub fn idle(&self) -> Option<Pools> {
        self.load_prices.as_ref()?;
        let mut idle = self.clone();
        for (id, _, price) in self.load_prices() {
            idle.set_price(id.index(), price.idle());
        }
        Some(idle)
    }

    /// Whether a price that follows load is above that of an idle pool now.
    pub fn cost_less_idle(&self) -> bool {
        self.load_prices().any(|(_, pool, price)| pool.price > price.idle())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steps_that_make_no_price() {
        let made = |steps: &[(u32, i64)]| {
            let steps = steps.iter().map(|(load, price)| (*load, Price(*price))).collect();
            LoadPrice::new(steps).err()
        };
        assert_eq!(made(&[(0, 2), (750, 2), (1_000, 6)]), None);
        assert_eq!(made(&[]), Some(LoadPriceError::NotFromIdle));
        assert_eq!(made(&[(1, 2)]), Some(LoadPriceError::NotFromIdle));
        assert_eq!(made(&[(0, 2), (0, 3)]), Some(LoadPriceError::Load { most: 1_000 }));
        assert_eq!(made(&[(0, 2), (1_001, 3)]), Some(LoadPriceError::Load { most: 1_000 }));
        assert_eq!(made(&[(0, 2), (500, 1)]), Some(LoadPriceError::Falls));
        assert_eq!(made(&[(0, -1)]), Some(LoadPriceError::Falls));
        let by_demand =
            |load| LoadPrice::by_demand(vec![(0, Price(1)), (load, Price(2))], Span(60));
        let most = LoadPrice::MAX_DEMAND;
        assert!(by_demand(most).is_ok());
        assert_eq!(by_demand(most + 1), Err(LoadPriceError::Load { most }));
    }

    proptest! {
        #[test]
        fn the_price_is_that_of_the_last_step_that_is_reached(
            loads in prop::collection::btree_set(1u32..=1_000, 0..5),
            nodes in 1u32..400,
            share in 0.0f64..=1.0,
        ) {
            let steps: Vec<_> = std::iter::once(0).chain(loads).zip(1..).map(|(load, price)| (load, Price(price))).collect();
            let used = (f64::from(nodes) * share) as u32;
            let mut plain = Price(0);
            for (load, price) in &steps {
                if f64::from(used) / f64::from(nodes) >= f64::from(*load) / 1_000.0 - 1e-12 {
                    plain = *price;
                }
            }
            prop_assert_eq!(LoadPrice::new(steps).unwrap().at(used, nodes), plain);
        }
    }
}
