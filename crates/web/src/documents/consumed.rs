//! Energy and carbon beside credits.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tradewind_model::{Carbon, Energy};
use utoipa::ToSchema;

use super::amount::{Credits, Thousandths};

/// Energy in kWh, exact to six decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ToSchema)]
#[schema(value_type = f64, example = 2.5)]
pub struct Kwh(pub i64);

impl From<Energy> for Kwh {
    fn from(energy: Energy) -> Kwh {
        Kwh(energy.micro_kwh())
    }
}

impl Kwh {
    /// As energy, if it is an amount from 0 up.
    pub fn energy(self) -> Option<Energy> {
        self.0.checked_mul(Energy::MICRO_KWH).filter(|it| *it >= 0).map(Energy)
    }
}

/// With up to six decimals: `2.5`.
impl std::fmt::Display for Kwh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Credits(self.0.into()).fmt(f)
    }
}

impl Serialize for Kwh {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Credits(self.0.into()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Kwh {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Kwh, D::Error> {
        let Credits(micro) = Credits::deserialize(deserializer)?;
        Ok(Kwh(i64::try_from(micro).unwrap_or(i64::MAX)))
    }
}

impl From<Carbon> for Thousandths {
    fn from(carbon: Carbon) -> Thousandths {
        Thousandths(carbon.0)
    }
}

/// What nodes have consumed while jobs had them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"energy_kwh": 1.25, "carbon_g": 431.5, "energy_price": 0.31}))]
pub struct Consumed {
    /// Energy.
    pub energy_kwh: Kwh,
    /// Emissions in grams of CO2 equivalent.
    pub carbon_g: Thousandths,
    /// What the electricity costs the site, in credits: no part of what users pay.
    pub energy_price: Credits,
}

/// The most that may be consumed; what is left out has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"energy_kwh": 500, "carbon_g_month": 20000}))]
pub struct BudgetLimits {
    /// Energy since the budget was first set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_kwh: Option<Kwh>,
    /// Energy in a calendar month, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_kwh_month: Option<Kwh>,
    /// Grams of CO2 equivalent since the budget was first set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carbon_g: Option<Thousandths>,
    /// Grams of CO2 equivalent in a calendar month, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carbon_g_month: Option<Thousandths>,
}

/// A budget of energy and carbon: of a user for all own jobs, of a project for those it pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Budget {
    /// The most.
    pub limits: BudgetLimits,
    /// Consumed since it was first set.
    pub used: Consumed,
    /// In this calendar month, UTC.
    pub used_this_month: Consumed,
    /// What jobs that have nodes or windows may consume until their limits.
    pub held: Consumed,
}

/// A limit of a budget, and what is used and held of it; with their units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetLine {
    /// The most.
    pub limit: String,
    /// What was consumed of it.
    pub used: String,
    /// What is held of it for jobs.
    pub held: String,
    /// `in all` or `this month`.
    pub span: &'static str,
}

impl Budget {
    /// A line for each limit that is set.
    pub fn lines(&self) -> Vec<BudgetLine> {
        let Budget { limits, used, used_this_month: month, held } = self;
        let kwh = |it: Kwh| format!("{it} kWh");
        let grams = |it: Thousandths| format!("{it} gCO2e");
        let energy = |limit: Option<Kwh>, used: Kwh, span| {
            let held = kwh(held.energy_kwh);
            limit.map(|it| BudgetLine { limit: kwh(it), used: kwh(used), held, span })
        };
        let carbon = |limit: Option<Thousandths>, used: Thousandths, span| {
            let held = grams(held.carbon_g);
            limit.map(|it| BudgetLine { limit: grams(it), used: grams(used), held, span })
        };
        let all = [
            energy(limits.energy_kwh, used.energy_kwh, "in all"),
            energy(limits.energy_kwh_month, month.energy_kwh, "this month"),
            carbon(limits.carbon_g, used.carbon_g, "in all"),
            carbon(limits.carbon_g_month, month.carbon_g, "this month"),
        ];
        all.into_iter().flatten().collect()
    }
}

/// The columns of what was consumed, as CSV.
pub const CONSUMED_COLUMNS: [&str; 3] = ["energy_kwh", "carbon_g", "energy_price"];

impl Consumed {
    /// What was consumed; nothing where no node says what it consumes.
    pub fn of(consumed: tradewind_model::Consumption) -> Option<Consumed> {
        (consumed != tradewind_model::Consumption::default()).then(|| Consumed::from(consumed))
    }

    /// Under [`CONSUMED_COLUMNS`]; empty where nothing is known.
    pub fn cells(consumed: Option<Consumed>) -> [String; 3] {
        consumed.map_or([const { String::new() }; 3], |it| {
            [it.energy_kwh.to_string(), it.carbon_g.to_string(), it.energy_price.to_string()]
        })
    }
}

impl From<tradewind_model::Consumption> for Consumed {
    fn from(it: tradewind_model::Consumption) -> Consumed {
        Consumed {
            energy_kwh: it.energy.into(),
            carbon_g: it.carbon.into(),
            energy_price: it.price.into(),
        }
    }
}

/// As in `1.25 kWh, 431.5 gCO2e, electricity 0.31 credits`.
impl std::fmt::Display for Consumed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Consumed { energy_kwh, carbon_g, energy_price } = self;
        write!(f, "{energy_kwh} kWh, {carbon_g} gCO2e, electricity {energy_price} credits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_exact_both_ways() {
        let read: Kwh = serde_json::from_str("2.000001").unwrap();
        assert_eq!(read.energy().map(Kwh::from), Some(read));
        assert_eq!(serde_json::to_string(&read).unwrap(), "2.000001");
        assert_eq!((Kwh(-1).energy(), Kwh(i64::MAX).energy()), (None, None));
    }
}
