//! Prices that follow demand, made again at fixed moments.

use tradewind_model::{Event, Market, PoolId, Pools, Price, Span, Time};

use crate::engine::earlier;

/// When the prices by demand of all pools are made again, and which of them count waiting jobs. Without
/// such prices it does nothing.
#[derive(Debug, Default)]
pub(crate) struct Postings(Vec<Posting>);

/// The price of one pool. Waiting jobs raise it. If for a whole interval nothing starts or ends there,
/// though one of them would fit into what is free, they do not count until something does: so a price
/// falls at which nothing is sold.
#[derive(Debug)]
struct Posting {
    pool: PoolId,
    every: Span,
    next: Time,
    /// Whether anything has changed since the last time: if not, the price stays.
    is_due: bool,
    /// Whether a job started in the pool since the last time.
    sold: bool,
    /// Nodes in use at the last time.
    used: u32,
    /// Whether the price is above that of the nodes in use.
    raised: bool,
    /// Whether waiting jobs do not count.
    rests: bool,
}

impl Postings {
    /// First `every` seconds after the beginning.
    pub(crate) fn new(pools: &Pools, from: Time) -> Postings {
        let posting = |(pool, _, price): (PoolId, _, &tradewind_model::LoadPrice)| {
            let every = price.every()?;
            let (next, is_due) = (from + every, false);
            let (sold, used, raised, rests) = (false, 0, false, false);
            Some(Posting { pool, every, next, is_due, sold, used, raised, rests })
        };
        Postings(pools.load_prices().filter_map(posting).collect())
    }

    /// The next moment at which a price may change.
    pub(crate) fn next(&self) -> Option<Time> {
        self.0
            .iter()
            .filter(|it| it.is_due)
            .map(|it| it.next)
            .fold(None, |one, at| earlier(one, Some(at)))
    }

    /// The prices that change now, by what ran and waited until now; `None` if it is not the moment of
    /// any. Linear in such pools, times waiting jobs.
    pub(crate) fn post(&mut self, market: &Market) -> Option<Vec<(PoolId, Price)>> {
        let is_now = |it: &Posting| it.is_due && it.next <= market.now();
        self.0.iter().any(is_now).then(|| {
            let due = self.0.iter_mut().filter(|it| is_now(it));
            due.filter_map(|it| it.post(market)).collect()
        })
    }

    /// Something has happened in the market.
    pub(crate) fn happened(&mut self, market: &Market, event: &Event) {
        if matches!(event, Event::Priced { .. }) {
            return;
        }
        for it in &mut self.0 {
            it.due_after(market.now());
            it.sold |= matches!(event, Event::Started { job, .. } if market.holds(*job, it.pool));
        }
    }
}

impl Posting {
    fn due_after(&mut self, now: Time) {
        if self.is_due {
            return;
        }
        self.is_due = true;
        let missed = (now - self.next).0.div_euclid(self.every.0) + 1;
        self.next = self.next + Span(missed.max(0) * self.every.0);
    }

    fn post(&mut self, market: &Market) -> Option<(PoolId, Price)> {
        let pools = market.pools();
        let (pool, price) = (pools.pool(self.pool), pools.load_price(self.pool)?);
        let used = market.nodes_in_use(self.pool);
        let moved = std::mem::take(&mut self.sold) || used != self.used;
        let of_use = price.at(used, pool.nodes);
        let (of_demand, fewest) = market.price_by_demand(self.pool, price);
        let fits = fewest.is_some_and(|tasks| tasks <= market.free_in(self.pool));
        let unsold = self.raised && of_demand > of_use && fits;
        let rests = !moved && (self.rests || unsold);
        let asks = if rests { of_use } else { of_demand };
        let changes = asks != pool.price || rests != self.rests || moved;
        (self.used, self.rests, self.raised) = (used, rests, asks > of_use);
        (self.is_due, self.next) = (changes, self.next + self.every);
        (asks != pool.price).then_some((self.pool, asks))
    }
}
