//! What pools have earned, by month: to see what each one brings, long after its jobs are forgotten.

use std::collections::BTreeMap;

use tradewind_model::{Consumption, Money, PoolId, Span};

use super::projects::month_of;
use super::used::{Used, Uses};
use crate::live::state::State;

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

impl State {
    /// What pools have earned in the months that are kept, as many as of [`Uses`]. Empty of the time
    /// before this was counted.
    pub fn income(&self) -> &Income {
        &self.ledger.income
    }

    /// A part of a job has paid the owner of this pool.
    pub(in crate::live) fn count_income(
        &mut self,
        pool: PoolId,
        Used { nodes, time, consumed }: Used,
        income: Money,
    ) {
        // A replay of what older releases wrote counts none, either.
        let is_counted = self.has_rules(2);
        if !is_counted || (time <= Span(0) && income <= Money::ZERO) {
            return;
        }
        let month = month_of(self.now());
        let pool = self.market.pools().pool(pool).name.clone();
        let all = &mut self.ledger.income.0;
        let is_new_month = all.last_key_value().is_none_or(|(it, _)| it.month < month);
        let sum = all.entry(PoolMonth { month, pool }).or_default();
        sum.node_seconds += i128::from(nodes) * i128::from(time.0);
        sum.income += income;
        sum.consumed += consumed;
        if is_new_month {
            all.retain(|it, _| it.month > month - Uses::MONTHS);
        }
    }
}
