//! What pools have earned, by month: to see what each one brings, long after its jobs are forgotten.

use std::collections::BTreeMap;

use tradewind_model::{Consumption, Money};

/// What was earned in each month.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Income(pub BTreeMap<PoolMonth, Earned>);

/// Of what a sum is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolMonth {
    /// Months since January 1970, UTC: that in which it was charged.
    pub month: i64,
    /// Name of the pool, with its site.
    pub pool: String,
}

/// A sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Earned {
    /// Nodes times seconds that were charged.
    pub node_seconds: i128,
    /// What the owner got.
    pub income: Money,
    /// What nodes consumed in that time, where that is known.
    pub consumed: Consumption,
}
