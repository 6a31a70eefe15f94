//! Prices by demand, counted plainly at each of their moments.

use tradewind_model::{Demand, LoadPrice, Pool, Price};

/// The last price of a pool that was made.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Posted {
    used: u32,
    raised: bool,
    rests: bool,
    /// Whether a job started in the pool since.
    pub(crate) sold: bool,
}

/// Whether the job would pay `price` for all of its tasks in the pool.
fn pays(demand: &Demand, pool: &Pool, price: Price) -> bool {
    let cost = price.0 * pool.length_of(demand).0 * i64::from(demand.processors);
    pool.suits_at(price, demand) && demand.terms().budget.is_none_or(|budget| cost <= budget.0)
}

impl Posted {
    /// The price from now on.
    pub(crate) fn make(
        &mut self,
        (price, pool): (&LoadPrice, &Pool),
        used: u32,
        waiting: &[Demand],
    ) -> i64 {
        let highest = |counts: bool| {
            let reached = price.steps().iter().filter(|(share, price)| {
                let paying = waiting.iter().filter(|it| counts && pays(it, pool, *price));
                let tasks: u32 = paying.map(|it| it.processors.min(pool.nodes)).sum();
                (used + tasks) * 1_000 >= share * pool.nodes
            });
            reached.map(|(_, price)| price.0).max().unwrap()
        };
        let quiet = !self.sold && used == self.used;
        let (low, high) = (highest(false), highest(true));
        let fits = |it: &&Demand| {
            pays(it, pool, Price(high)) && it.processors.min(pool.nodes) + used <= pool.nodes
        };
        let unsold = self.raised && high > low && waiting.iter().any(|it| fits(&it));
        let rests = quiet && (self.rests || unsold);
        let asks = if rests { low } else { high };
        *self = Posted { used, raised: asks > low, rests, sold: false };
        asks
    }
}

/// The moments of a price are those `every` seconds after the first submission.
pub(crate) fn is_made(price: &LoadPrice, from: i64, now: i64) -> bool {
    price.every().is_some_and(|every| now > from && (now - from) % every.0 == 0)
}
