//! What owners ask for their nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_model::{PoolId, Price, Series, Time};

use super::{ApplyError, Live};
use crate::live::sites::SiteRecord;

impl Live {
    /// What owners ask from now on: the prices of now, and of pools whose price changes with the hours
    /// all of it. Only what is new is written down.
    pub(super) fn prices(
        &mut self,
        at: Time,
        prices: &[(PoolId, Price)],
        rates: &BTreeMap<PoolId, Arc<Series>>,
    ) -> Result<(), ApplyError> {
        let mut is_other = false;
        for &(pool, price) in prices {
            is_other |= match rates.get(&pool) {
                Some(rate) => self.rate(at, pool, rate)?,
                None => self.price(at, pool, price)?,
            };
        }
        if is_other { self.recheck_all_funds(at) } else { Ok(()) }
    }

    /// A pool's price changes with the hours. Whether that is new, or its price is another than before.
    fn rate(&mut self, at: Time, pool: PoolId, rate: &Arc<Series>) -> Result<bool, ApplyError> {
        let Some(known) = self.known(pool) else { return Ok(false) };
        let is_other = !known.is_some_and(|known| known.is_same(rate));
        if is_other {
            self.put(at, SiteRecord::Rated { pool, rate: Some(Arc::clone(rate)) })?;
        }
        // The next hours have come: policies learn of it.
        let price = Price(rate.at(at));
        let is_told = self.state.outages.past.price(pool, at) == Some(price);
        if !is_told {
            self.put(at, SiteRecord::Priced { pool, price })?;
        }
        Ok(is_other || !is_told)
    }

    /// A pool has one price, whatever the hour. Whether it is another than before.
    fn price(&mut self, at: Time, pool: PoolId, price: Price) -> Result<bool, ApplyError> {
        let Some(known) = self.known(pool) else { return Ok(false) };
        let has_rate = known.is_some();
        if has_rate {
            self.put(at, SiteRecord::Rated { pool, rate: None })?;
        }
        let is_other = self.state.market.price_now(pool) != price;
        if is_other {
            self.put(at, SiteRecord::Priced { pool, price })?;
        }
        Ok(has_rate || is_other)
    }

    /// The prices over time of a pool, if there is such a pool.
    fn known(&self, pool: PoolId) -> Option<Option<&Arc<Series>>> {
        let pools = self.state.market.pools();
        (pool.index() < pools.as_slice().len()).then(|| pools.rate(pool))
    }
}
