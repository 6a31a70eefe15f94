//! A number with its unit.

use serde::{Serialize, Serializer};
use tradewind_model::{Carbon, Energy, Money, Price, Quantity, Resource};

use crate::decimal;

/// A number as documents show it. Which unit it has, the field's name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Credits, exact.
    Credits(Money),
    /// Credits per node-second, exact.
    Price(Price),
    /// A time or a length of time.
    Seconds(i64),
    /// Thousandths of the reference node, shown as a decimal.
    Performance(u32),
    /// Thousandths of a criterion's own unit, shown as a decimal.
    Thousandths(i64),
    /// A number of things.
    Count(u32),
    /// Memory in KiB; for people in the largest binary unit that is exact.
    Memory(u64),
    /// Energy, shown in kWh with up to six decimals.
    Energy(Energy),
    /// Emissions, shown in grams with up to three decimals.
    Carbon(Carbon),
}

impl Amount {
    /// An amount of a resource of nodes.
    pub fn of_resource(resource: &Resource, amount: u64) -> Amount {
        match resource {
            Resource::Memory => Amount::Memory(amount),
            _ => Amount::Count(u32::try_from(amount).unwrap_or(u32::MAX)),
        }
    }

    /// A sum of the quantity.
    pub fn of(quantity: &Quantity, sum: i64) -> Amount {
        match quantity {
            Quantity::Cost | Quantity::EnergyPrice => Amount::Credits(Money(sum)),
            Quantity::Energy => Amount::Energy(Energy(sum)),
            Quantity::Carbon => Amount::Carbon(Carbon(sum)),
            Quantity::Sum(_) => Amount::Thousandths(sum),
            _ => Amount::Seconds(sum),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Amount::Credits(money) => decimal::credits(*money).serialize(to),
            Amount::Price(price) => decimal::price(*price).serialize(to),
            Amount::Seconds(seconds) => seconds.serialize(to),
            Amount::Performance(thousandths) => {
                decimal::json(i64::from(*thousandths), 3).serialize(to)
            }
            Amount::Thousandths(number) => decimal::json(*number, 3).serialize(to),
            Amount::Count(count) => count.serialize(to),
            Amount::Memory(kib) => kib.serialize(to),
            Amount::Energy(energy) => decimal::json(energy.micro_kwh(), 6).serialize(to),
            Amount::Carbon(carbon) => decimal::json(carbon.0, 3).serialize(to),
        }
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Amount::Credits(money) => money.fmt(f),
            Amount::Price(price) => price.fmt(f),
            Amount::Seconds(seconds) => seconds.fmt(f),
            Amount::Performance(thousandths) => {
                f.write_str(&decimal::format(i64::from(*thousandths), 3))
            }
            Amount::Thousandths(number) => f.write_str(&decimal::format(*number, 3)),
            Amount::Count(count) => count.fmt(f),
            Amount::Memory(kib) => f.write_str(&Resource::Memory.show(*kib)),
            Amount::Energy(energy) => energy.fmt(f),
            Amount::Carbon(carbon) => carbon.fmt(f),
        }
    }
}

/// Serialises money as an exact number of credits, for `#[serde(serialize_with)]`.
pub(super) fn credits<S: Serializer>(money: &Money, to: S) -> Result<S::Ok, S::Error> {
    Amount::Credits(*money).serialize(to)
}

/// The same for what may be missing (`null`).
pub(super) fn some_credits<S: Serializer>(money: &Option<Money>, to: S) -> Result<S::Ok, S::Error> {
    money.map(Amount::Credits).serialize(to)
}
