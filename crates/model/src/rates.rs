//! Prices that change with time, and what a task or a share costs then.
//!
//! The cost is the integral of the price over the task's own interval: in whole micro-credits,
//! because prices, seconds and so their products are whole.

use std::sync::Arc;

use crate::{Grid, Money, NodeId, Price, Series, Span, Time};

/// The prices over time of those nodes of a [`Grid`] whose price changes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Rates {
    /// By index; `None`, and every index beyond the end, has its one price.
    of: Vec<Option<Arc<Series>>>,
}

impl Rates {
    /// By index: micro-credits per node-second over time, or `None` for one price at all times.
    pub fn new(of: Vec<Option<Arc<Series>>>) -> Rates {
        Rates { of }
    }

    /// The price over time of this index, if it changes.
    pub fn get(&self, index: usize) -> Option<&Arc<Series>> {
        self.of.get(index)?.as_ref()
    }

    /// Whether no price changes.
    pub fn is_empty(&self) -> bool {
        self.of.iter().all(Option::is_none)
    }
}

impl Series {
    /// What one node costs during `[start, start + length)` at this price per second. Saturates.
    pub fn cost(&self, start: Time, length: Span) -> Money {
        let sum = self.integral(start, start + length);
        Money(sum.clamp(0, i128::from(i64::MAX)) as i64)
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
