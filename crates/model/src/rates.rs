//! Prices that change with time, and what a task or a share costs then.
//!
//! The cost is the integral of the price over the task's own interval: in whole micro-credits,
//! because prices, seconds and so their products are whole.

use std::sync::Arc;

use crate::{Grid, LoadPrice, Money, NodeId, PoolId, Pools, Price, Series, Share, Span, Time};

/// The prices over time of those nodes of a [`Grid`], or pools of [`Pools`], whose price changes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Rates {
    /// By index; `None`, and every index beyond the end, has its one price.
    of: Vec<Option<Arc<Series>>>,
    /// See [`Rates::agreed_at_start`].
    agreed: bool,
}

impl Rates {
    /// By index: micro-credits per node-second over time, or `None` for one price at all times.
    pub fn new(of: Vec<Option<Arc<Series>>>) -> Rates {
        Rates { of, agreed: false }
    }

    /// The same prices, of owners who may change them at any time: a job agrees at its start on one
    /// price for all of its run, the [mean](Series::mean_within) over its expected time.
    #[must_use]
    pub fn agreed_at_start(self) -> Rates {
        Rates { agreed: true, ..self }
    }

    /// Whether jobs [agree at their start](Rates::agreed_at_start) on the mean.
    pub fn is_agreed_at_start(&self) -> bool {
        self.agreed
    }

    /// The prices of every index that has some.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Arc<Series>)> {
        self.of.iter().enumerate().filter_map(|(index, rate)| Some((index, rate.as_ref()?)))
    }

    /// The same prices, with others for one index.
    fn with(mut self, index: usize, rate: Option<Arc<Series>>) -> Rates {
        if self.of.len() <= index {
            self.of.resize(index + 1, None);
        }
        self.of[index] = rate;
        self
    }

    /// The price over time of this index, if it changes.
    pub fn get(&self, index: usize) -> Option<&Arc<Series>> {
        self.of.get(index)?.as_ref()
    }

    /// Whether no price changes.
    pub fn is_empty(&self) -> bool {
        self.of.iter().all(Option::is_none)
    }

    /// The next moment after `time` at which any price changes.
    pub fn next(&self, time: Time) -> Option<Time> {
        self.of.iter().flatten().filter_map(|rate| rate.next(time)).map(|(from, _)| from).min()
    }

    /// A moment, `from` or later, by which the prices of all starts from `from` on have come once:
    /// whatever happens later has happened before. Where periods have no common multiple of
    /// [`Rates::LONGEST`] or less, after that time.
    pub fn settled(&self, from: Time) -> Time {
        let last = |rate: &Arc<Series>| match rate.period() {
            Some(_) => None,
            None => rate.values().last().map(|(at, _)| at),
        };
        let once = self.of.iter().flatten().filter_map(last).fold(from, Time::max);
        let periods = self.of.iter().flatten().filter_map(|rate| rate.period());
        once + periods.fold(Span(1), common)
    }

    /// The longest common period that is looked at: two years.
    pub const LONGEST: Span = Span(2 * 366 * 86_400);
}

/// The lowest common multiple of two periods, at most [`Rates::LONGEST`].
fn common(one: Span, other: Span) -> Span {
    let (mut a, mut b) = (one.0.max(1), other.0.max(1));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let multiple = i128::from(one.0.max(1)) / i128::from(a) * i128::from(other.0.max(1));
    Span(multiple.min(i128::from(Rates::LONGEST.0)) as i64)
}

impl Pools {
    /// The same pools with prices that change, by pool. A pool's own price is then the lowest that
    /// it ever has.
    pub fn with_rates(mut self, rates: Rates) -> Pools {
        for index in 0..self.as_slice().len() {
            if let Some(rate) = rates.get(index) {
                self.set_price(index, Price(rate.least()));
            }
        }
        self.rates = (!rates.is_empty()).then(|| Arc::new(rates));
        self
    }

    /// Prices that one pool asks from now on, [agreed at start](Rates::agreed_at_start): its price over
    /// time, or `None` for the price that it has. Whether there is such a pool.
    pub(crate) fn set_rate(&mut self, pool: PoolId, rate: Option<Arc<Series>>) -> bool {
        let is_known = pool.index() < self.as_slice().len();
        if is_known {
            let rates = self.rates.take().map(Arc::unwrap_or_clone).unwrap_or_default();
            let rates = rates.with(pool.index(), rate).agreed_at_start();
            if let Some(rate) = rates.get(pool.index()) {
                self.set_price(pool.index(), Price(rate.least()));
            }
            self.rates = (!rates.is_empty()).then(|| Arc::new(rates));
        }
        is_known
    }

    /// The same pools with the prices of this moment, at all times.
    #[must_use]
    pub fn at_prices_of(mut self, time: Time) -> Pools {
        for index in 0..self.as_slice().len() {
            let price = self.price_at(PoolId(index as u32), time);
            self.set_price(index, price);
        }
        self.rates = None;
        self
    }

    /// Whether prices change with time as they will for ever: no owner sets others.
    pub fn has_final_rates(&self) -> bool {
        self.rates().is_some() && !self.agrees_at_start()
    }

    /// Whether jobs [agree at their start](Rates::agreed_at_start) on what they pay.
    pub fn agrees_at_start(&self) -> bool {
        self.rates().is_some_and(|rates| rates.is_agreed_at_start())
    }

    /// What a job of `length` that starts at `start` agrees to pay per node and second where prices
    /// are [agreed at start](Rates::agreed_at_start), and what it pays at first elsewhere.
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn asked(&self, pool: PoolId, start: Time, length: Span) -> Price {
        match self.rate(pool) {
            Some(rate) if self.agrees_at_start() => rate.mean_within(start, length),
            _ => self.price_at(pool, start),
        }
    }

    /// Prices that change, if any does.
    pub fn rates(&self) -> Option<&Arc<Rates>> {
        self.rates.as_ref()
    }

    /// The price over time of this pool, if it changes.
    pub fn rate(&self, pool: PoolId) -> Option<&Arc<Series>> {
        self.rates()?.get(pool.index())
    }

    /// What the pool asks per node and second for a job of `length` that starts at `start`: its price,
    /// or the mean of a price that changes with time over that interval.
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn mean_price(&self, pool: PoolId, start: Time, length: Span) -> Price {
        self.rate(pool).map_or(self.pool(pool).price, |rate| rate.mean_price(start, length))
    }

    /// What the pool asks per node and second at this moment.
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn price_at(&self, pool: PoolId, time: Time) -> Price {
        self.rate(pool).map_or(self.pool(pool).price, |rate| Price(rate.at(time)))
    }

    /// The highest price that the pool ever has.
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn highest_price(&self, pool: PoolId) -> Price {
        let of_load = || self.load_price(pool).map_or(self.pool(pool).price, LoadPrice::highest);
        self.rate(pool).map_or_else(of_load, |rate| Price(rate.most()))
    }

    /// The highest price of any second of a job of `length` that starts at `start`.
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn highest_within(&self, pool: PoolId, start: Time, length: Span) -> Price {
        let highest = |rate: &Arc<Series>| Price(rate.most_within(start, start + length));
        self.rate(pool).map_or(self.pool(pool).price, highest)
    }

    /// What the nodes of a share cost during `[start, start + length)`: the integral of the pool's
    /// price, at most [`Money::MAX`].
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn cost(&self, share: Share, start: Time, length: Span) -> Money {
        match self.rate(share.pool) {
            None => self.pool(share.pool).price.of(share.nodes, length),
            Some(rate) => {
                let all = rate.integral(start, start + length) * i128::from(share.nodes);
                Money(all.clamp(0, i128::from(Money::MAX.0)) as i64)
            }
        }
    }
}

impl Series {
    /// What one node costs during `[start, start + length)` at this price per second. Saturates.
    pub fn cost(&self, start: Time, length: Span) -> Money {
        let sum = self.integral(start, start + length);
        Money(sum.clamp(0, i128::from(i64::MAX)) as i64)
    }

    /// The mean of this price per second during `[start, start + length)`, rounded up to a
    /// micro-credit. A length below a second counts as a second.
    pub fn mean_price(&self, start: Time, length: Span) -> Price {
        let length = length.max(Span(1));
        let (sum, seconds) = (self.integral(start, start + length), i128::from(length.0));
        Price(i64::try_from((sum + seconds - 1).div_euclid(seconds)).unwrap_or(i64::MAX))
    }

    /// The same mean rounded down: what a job agrees to pay per second, so that all of its time costs
    /// no more than the integral.
    pub fn mean_within(&self, start: Time, length: Span) -> Price {
        let length = length.max(Span(1));
        let (sum, seconds) = (self.integral(start, start + length), i128::from(length.0));
        Price(i64::try_from(sum.div_euclid(seconds)).unwrap_or(i64::MAX))
    }

    /// A moment, `from` or later, by which the prices of all starts at `from` and whole multiples of
    /// `every` after it have come once. Where that is no sooner than after [`Rates::LONGEST`], after
    /// that time.
    pub fn settled(&self, from: Time, every: Span) -> Time {
        match self.period() {
            Some(period) => from + common(period, every),
            None => self.values().last().map_or(from, |(last, _)| from.max(last)),
        }
    }
}

impl Grid {
    /// The same grid with prices that change. A node's own price is then what it costs at the
    /// moment that the grid was made for, and decides nothing.
    pub fn with_rates(mut self, rates: Rates) -> Grid {
        self.rates = (!rates.is_empty()).then(|| Arc::new(rates));
        self
    }

    /// Prices that change, if any does.
    pub fn rates(&self) -> Option<&Rates> {
        self.rates.as_deref()
    }

    /// The price over time of this node, if it changes.
    pub fn rate(&self, node: NodeId) -> Option<&Arc<Series>> {
        self.rates()?.get(node.0 as usize)
    }

    /// What a task costs that runs on the node during `[start, start + length)`.
    ///
    /// # Panics
    /// If the node is from another grid.
    pub fn cost(&self, node: NodeId, start: Time, length: Span) -> Money {
        match self.rate(node) {
            Some(rate) => rate.cost(start, length),
            None => self.node(node).price * length,
        }
    }

    /// The largest price that the node ever has.
    ///
    /// # Panics
    /// If the node is from another grid.
    pub fn highest_price(&self, node: NodeId) -> Price {
        self.rate(node).map_or(self.node(node).price, |rate| Price(rate.most()))
    }

    /// The smallest price that the node ever has.
    ///
    /// # Panics
    /// If the node is from another grid.
    pub fn lowest_price(&self, node: NodeId) -> Price {
        self.rate(node).map_or(self.node(node).price, |rate| Price(rate.least()))
    }

    /// The largest price of any node.
    pub fn dearest(&self) -> Price {
        self.iter().map(|(id, _)| self.highest_price(id)).max().unwrap_or_default()
    }
}
