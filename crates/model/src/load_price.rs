//! Prices that follow the load of their pools.

use std::sync::Arc;

use crate::{Pool, PoolId, Pools, Price};

/// What a node of a pool costs, by the share of the pool's nodes that is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadPrice {
    /// Thousandths in use from which on a price holds, and that price: ascending, the first from 0.
    steps: Vec<(u32, Price)>,
}

/// Why steps do not make a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoadPriceError {
    /// Nothing holds for an idle pool.
    #[error("no price holds for an idle pool")]
    NotFromIdle,
    /// A load is not above the one before, or above 1,000 thousandths.
    #[error("the load of a step is not between that of the step before and 1")]
    Load,
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
        if steps.first().is_none_or(|(load, _)| *load != 0) {
            return Err(LoadPriceError::NotFromIdle);
        }
        if steps.iter().any(|(_, price)| price.0 < 0) {
            return Err(LoadPriceError::Falls);
        }
        for pair in steps.windows(2) {
            let [(load, price), (next_load, next_price)] = [pair[0], pair[1]];
            if next_load <= load || next_load > 1_000 {
                return Err(LoadPriceError::Load);
            }
            if next_price < price {
                return Err(LoadPriceError::Falls);
            }
        }
        Ok(LoadPrice { steps })
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

    /// The price of a pool that is full.
    pub fn full(&self) -> Price {
        self.steps[self.steps.len() - 1].1
    }

    /// The steps: thousandths in use from which on a price holds, and that price.
    pub fn steps(&self) -> &[(u32, Price)] {
        &self.steps
    }
}

/// The prices that follow load, by pool.
pub(crate) type LoadPrices = Arc<[Option<LoadPrice>]>;

impl Pools {
    /// The same pools, of which some have prices that follow their load; by pool, at most as many as
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

    /// Whether the price of any pool follows its load.
    pub fn follow_load(&self) -> bool {
        self.load_prices.is_some()
    }

    /// The price of this pool by its load, if it follows it.
    pub fn load_price(&self, pool: PoolId) -> Option<&LoadPrice> {
        self.load_prices.as_ref()?.get(pool.index())?.as_ref()
    }

    /// Pools whose prices follow their load.
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
        assert_eq!(made(&[(0, 2), (0, 3)]), Some(LoadPriceError::Load));
        assert_eq!(made(&[(0, 2), (1_001, 3)]), Some(LoadPriceError::Load));
        assert_eq!(made(&[(0, 2), (500, 1)]), Some(LoadPriceError::Falls));
        assert_eq!(made(&[(0, -1)]), Some(LoadPriceError::Falls));
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
