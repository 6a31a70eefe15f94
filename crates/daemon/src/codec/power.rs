//! Electricity: series of sites, what was consumed, and budgets of it.

use serde_json::Value;
use tradewind_model::{Carbon, Consumption, Energy, Money, Power, Series, SitePower, Span, Time};

use super::wire::{Decode, DecodeFault, Encode, Fields, Object, choice, object};
use crate::live::budgets::{Budget, BudgetHolder, Budgets, PowerLimits};

object!(SitePower { carbon, price });
object!(Power { sites });
choice!(BudgetHolder { "user" => User(name), "project" => Project(name) });
object!(PowerLimits { energy, energy_month, carbon, carbon_month });
object!(Budget { limits, used, month, used_in_month });

/// Moments and values from each on, and after how long they repeat.
impl Encode for Series {
    fn put(&self, out: &mut Vec<u8>) {
        let values: Vec<(Time, i64)> = self.values().collect();
        let mut object = Object::begin(out);
        object.field("values", &values);
        object.field("every", &self.period());
        object.end();
    }
}

impl Decode for Series {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let mut fields = Fields::of(value)?;
        let values: Vec<(Time, i64)> = fields.take("values")?;
        let every: Option<Span> = fields.take("every")?;
        fields.end()?;
        let wrong = |wrong: tradewind_model::SeriesError| DecodeFault::new(wrong.to_string());
        let far = |at: Time| !(-Time::MAX.0..=Time::MAX.0).contains(&at.0);
        if values.iter().any(|(at, _)| far(*at)) {
            return Err(DecodeFault::new("a time is out of range"));
        }
        let series = Series::new(&values).map_err(wrong)?;
        match every {
            None => Ok(series),
            Some(every) if (1..=Time::MAX.0).contains(&every.0) => {
                series.repeated(every).map_err(wrong)
            }
            Some(_) => Err(DecodeFault::new("a period is out of range")),
        }
    }
}

/// Energy, emissions and price, where there is any of them.
impl Encode for Consumption {
    fn put(&self, out: &mut Vec<u8>) {
        let Consumption { energy, carbon, price } = self;
        (energy.0, carbon.0, price.0).put(out);
    }

    fn is_absent(&self) -> bool {
        *self == Consumption::default()
    }
}

impl Decode for Consumption {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let (energy, carbon, price) = Decode::get(value)?;
        Ok(Consumption { energy: Energy(energy), carbon: Carbon(carbon), price: Money(price) })
    }

    fn absent() -> Option<Self> {
        Some(Consumption::default())
    }
}

impl Encode for Budgets {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }
}

impl Decode for Budgets {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        Decode::get(value).map(Budgets)
    }

    fn absent() -> Option<Self> {
        Some(Budgets::default())
    }
}
