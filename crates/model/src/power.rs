//! What nodes consume, and what that means at the site where they stand.
//!
//! Power is in milliwatts, energy in millijoules, the carbon intensity of a site's electricity in
//! milligrams of CO₂e per kWh, emissions in milligrams, the price of electricity in micro-credits
//! per kWh. A task's emissions and its electricity cost are integrals over the task's own
//! interval, computed exactly and rounded once, half up, to a whole milligram or micro-credit.

use std::fmt;
use std::ops::{Add, AddAssign};
use std::sync::Arc;

use crate::{
    Attribute, Attributes, Grid, Money, Place, Pools, Series, Share, SiteId, Span, Time, Window,
};

/// Millijoules of a kilowatt-hour.
const KWH: i128 = 3_600_000_000;

/// Energy in millijoules.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Energy(pub i64);

/// Emissions in milligrams of CO₂ equivalent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Carbon(pub i64);

impl Energy {
    /// The attribute of a node that says how many watts it consumes while a task runs on it.
    pub const BUSY: &str = "watts";
    /// The attribute of a node that says how many watts it consumes while none does.
    pub const IDLE: &str = "idle_watts";
    /// Millijoules of a millionth of a kWh, the unit in which amounts are read and written.
    pub const MICRO_KWH: i64 = 3_600;

    /// Millionths of a kWh, rounded half up.
    pub fn micro_kwh(self) -> i64 {
        halves_up(i128::from(self.0), i128::from(Self::MICRO_KWH))
    }
}

/// Kilowatt-hours with up to six decimals.
impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Money(self.micro_kwh()).fmt(f)
    }
}

/// Grams with up to three decimals.
impl fmt::Display for Carbon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Attribute::Number(self.0).fmt(f)
    }
}

/// The electricity of one site.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SitePower {
    /// Milligrams of CO₂e per kWh; `None` is not known and counts as zero.
    pub carbon: Option<Series>,
    /// Micro-credits per kWh; `None` is not known and counts as zero.
    pub price: Option<Series>,
}

/// The electricity of all sites, by site.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Power {
    /// By [`SiteId`]; sites beyond the end have no series.
    pub sites: Vec<SitePower>,
}

/// What was consumed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Consumption {
    /// Energy.
    pub energy: Energy,
    /// Emissions.
    pub carbon: Carbon,
    /// What the electricity costs the site.
    pub price: Money,
}

impl Add for Consumption {
    type Output = Consumption;
    fn add(self, rhs: Consumption) -> Consumption {
        Consumption {
            energy: Energy(self.energy.0.saturating_add(rhs.energy.0)),
            carbon: Carbon(self.carbon.0.saturating_add(rhs.carbon.0)),
            price: Money(self.price.0.saturating_add(rhs.price.0)),
        }
    }
}

impl AddAssign for Consumption {
    fn add_assign(&mut self, rhs: Consumption) {
        *self = *self + rhs;
    }
}

impl std::iter::Sum for Consumption {
    fn sum<I: Iterator<Item = Consumption>>(iter: I) -> Consumption {
        iter.fold(Consumption::default(), Add::add)
    }
}

impl Power {
    /// What `nodes` nodes of the site consume at `milliwatts` each during `[start, end)`: rounded
    /// for one node, then multiplied, so that the sum over tasks is the sum over nodes. Saturates.
    pub fn of_nodes(
        &self,
        site: SiteId,
        (milliwatts, nodes): (i64, u32),
        (start, end): (Time, Time),
    ) -> Consumption {
        let site = self.sites.get(site.0 as usize);
        let watts = i128::from(milliwatts.clamp(0, Series::MAX));
        let integral = |series: Option<&Series>| -> i64 {
            let sum = series.map_or(0, |series| series.integral(start, end));
            times(halves_up(sum.saturating_mul(watts), KWH), nodes)
        };
        let energy = saturated(watts * i128::from((end - start).0.max(0)));
        Consumption {
            energy: Energy(times(energy, nodes)),
            carbon: Carbon(integral(site.and_then(|site| site.carbon.as_ref()))),
            price: Money(integral(site.and_then(|site| site.price.as_ref()))),
        }
    }
}

/// What the attribute `name` says in thousandths; 0 where there is no number.
pub fn thousandths(attributes: &Attributes, name: &str) -> i64 {
    match attributes.get(name) {
        Some(Attribute::Number(n)) => *n,
        _ => 0,
    }
}

impl Grid {
    /// The same grid with this electricity.
    pub fn with_power(mut self, power: Power) -> Grid {
        self.power = Some(Arc::new(power));
        self
    }

    /// The electricity of its sites, if any is known.
    pub fn power(&self) -> Option<&Power> {
        self.power.as_deref()
    }

    /// What the tasks of a window consume.
    ///
    /// # Panics
    /// If the window is from another grid.
    pub fn consumption(&self, window: &Window) -> Consumption {
        let none = Power::default();
        let power = self.power().unwrap_or(&none);
        let task = |task: &crate::Task| {
            let node = self.node(task.node);
            let watts = thousandths(&node.attributes, Energy::BUSY);
            let interval = (window.start(), window.start() + task.length);
            power.of_nodes(node.site, (watts, 1), interval)
        };
        window.tasks().iter().map(task).sum()
    }
}

impl Pools {
    /// The same pools with this electricity.
    pub fn with_power(mut self, power: Power) -> Pools {
        self.power = Some(Arc::new(power));
        self
    }

    /// The electricity of its sites, if any is known.
    pub fn power(&self) -> Option<&Power> {
        self.power.as_deref()
    }

    /// Whether any pool says what its nodes consume.
    pub fn has_watts(&self) -> bool {
        self.as_slice().iter().any(|pool| pool.attributes.contains_key(Energy::BUSY))
    }

    /// What a job of `processors` tasks at `place` consumes that runs from `start` for as long as
    /// `length` says for each pool.
    ///
    /// # Panics
    /// If the place is from other pools.
    pub fn consumption(
        &self,
        (place, processors): (&Place, u32),
        start: Time,
        length: impl Fn(crate::PoolId) -> Span,
    ) -> Consumption {
        let share = |share: Share| self.consumption_of(share, (start, start + length(share.pool)));
        place.shares(processors).map(share).sum()
    }

    /// What the nodes of a share consume that are busy during `[start, end)`.
    ///
    /// # Panics
    /// If there is no such pool.
    pub fn consumption_of(&self, share: Share, interval: (Time, Time)) -> Consumption {
        let none = Power::default();
        let (power, pool) = (self.power().unwrap_or(&none), self.pool(share.pool));
        let watts = thousandths(&pool.attributes, Energy::BUSY);
        power.of_nodes(pool.site, (watts, share.nodes), interval)
    }
}

/// `n` / `by`, rounded half up; `n` is at least zero.
fn halves_up(n: i128, by: i128) -> i64 {
    saturated(n.saturating_add(by / 2).div_euclid(by))
}

fn times(n: i64, nodes: u32) -> i64 {
    saturated(i128::from(n) * i128::from(nodes))
}

fn saturated(n: i128) -> i64 {
    n.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[(i64, i64)]) -> Series {
        let values: Vec<(Time, i64)> = values.iter().map(|&(at, it)| (Time(at), it)).collect();
        Series::new(&values).unwrap()
    }

    #[test]
    fn a_kilowatt_for_an_hour_is_a_kilowatt_hour() {
        let sites = vec![SitePower {
            carbon: Some(series(&[(0, 400_000), (1_800, 200_000)])),
            price: Some(series(&[(0, 250_000)])),
        }];
        let used = Power { sites }.of_nodes(SiteId(0), (1_000_000, 1), (Time(0), Time(3_600)));
        assert_eq!(used.energy.to_string(), "1");
        assert_eq!(used.carbon.to_string(), "300");
        assert_eq!(used.price, Money(250_000));
    }

    #[test]
    fn amounts_are_rounded_half_up_once_for_each_node() {
        let sites = vec![SitePower { carbon: Some(series(&[(0, 500)])), price: None }];
        // 0.5 g per kWh, 1 kW, one hour: 500 mg; for 3.6 s half a milligram.
        let of = |milliseconds: i64, nodes| {
            let power = Power { sites: sites.clone() };
            power.of_nodes(SiteId(0), (milliseconds * 1_000, nodes), (Time(0), Time(1))).carbon.0
        };
        assert_eq!((of(3_599, 1), of(3_600, 1), of(3_600, 3)), (0, 1, 3));
    }
}
