//! Exact decimals on the wire.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;
use tradewind_io::decimal;
use tradewind_model::{Money, Performance, Price};
use utoipa::ToSchema;

/// An amount or a price in credits, exact to six decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ToSchema)]
#[schema(value_type = f64, example = 12.5)]
pub struct Credits(pub i128);

/// A number exact to three decimals, such as a performance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ToSchema)]
#[schema(value_type = f64, example = 1.5)]
pub struct Thousandths(pub i64);

const MICRO: u128 = 1_000_000;

impl Credits {
    fn text(self) -> String {
        let (whole, micro) = (self.0.unsigned_abs() / MICRO, self.0.unsigned_abs() % MICRO);
        let sign = if self.0 < 0 { "-" } else { "" };
        if micro == 0 {
            return format!("{sign}{whole}");
        }
        format!("{sign}{whole}.{micro:06}").trim_end_matches('0').to_owned()
    }

    /// As an amount, if it fits.
    pub fn money(self) -> Option<Money> {
        let money = i64::try_from(self.0).ok().map(Money);
        money.filter(|money| (0..=Money::MAX.0).contains(&money.0))
    }

    /// As a price, if it is one.
    pub fn price(self) -> Option<Price> {
        self.money().map(|money| Price(money.0))
    }
}

impl From<Money> for Credits {
    fn from(money: Money) -> Credits {
        Credits(money.0.into())
    }
}

impl From<Price> for Credits {
    fn from(price: Price) -> Credits {
        Credits(price.0.into())
    }
}

impl From<Performance> for Thousandths {
    fn from(performance: Performance) -> Thousandths {
        Thousandths(performance.thousandths().into())
    }
}

/// Credits with up to six decimals: `12.5`.
impl std::fmt::Display for Credits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text())
    }
}

/// With up to three decimals: `431.5`.
impl std::fmt::Display for Thousandths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&decimal::format(self.0, 3))
    }
}

fn write<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let number: Number = text.parse().map_err(serde::ser::Error::custom)?;
    number.serialize(serializer)
}

fn read<'de, D: Deserializer<'de>>(deserializer: D, decimals: u32) -> Result<i64, D::Error> {
    let number = Number::deserialize(deserializer)?;
    decimal::parse(&number.to_string(), decimals).map_err(D::Error::custom)
}

impl Serialize for Credits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(&self.text(), serializer)
    }
}

impl<'de> Deserialize<'de> for Credits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Credits, D::Error> {
        read(deserializer, 6).map(|micro| Credits(micro.into()))
    }
}

impl Serialize for Thousandths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(&decimal::format(self.0, 3), serializer)
    }
}

impl<'de> Deserialize<'de> for Thousandths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Thousandths, D::Error> {
        read(deserializer, 3).map(Thousandths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_both_ways() {
        for text in ["0", "12.5", "-0.000001", "9223372036854.775807"] {
            let read: Credits = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        assert!(serde_json::from_str::<Credits>("0.0000001").is_err());
        assert!(serde_json::from_str::<Credits>("\"1\"").is_err());
    }
}
