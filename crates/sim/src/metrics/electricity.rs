//! Energy, emissions and the price of electricity, on pools whose electricity is described.

use tradewind_model::{Consumption, Energy, Pool, Pools, Power, Time, thousandths};

use super::stays::{self, Stay};
use super::{Better, Entry, Unit, Value, Window, entry};
use crate::result::Run;
use crate::workload::Workload;

/// What each job consumed in all its runs, the interrupted ones included, by index in the
/// workload's jobs. All zero where nothing is known of electricity.
pub fn consumption(workload: &Workload, run: &Run) -> Vec<Consumption> {
    let mut all = vec![Consumption::default(); run.jobs.len()];
    let Some(power) = workload.pools.power() else { return all };
    let of = |stay: Stay| used(power, &workload.pools, Energy::BUSY, stay);
    for (job, used) in all.iter_mut().enumerate() {
        *used += stays::of_job(workload, run, job).map(of).sum();
    }
    for lost in &run.lost {
        all[lost.job] += stays::of_lost(workload, lost).map(of).sum();
    }
    all
}

/// What jobs consumed at each site, by site, and how many ran there.
pub fn consumption_by_site(workload: &Workload, run: &Run) -> Vec<(u64, Consumption)> {
    let mut all = vec![(0, Consumption::default()); workload.pools.sites().len()];
    let Some(power) = workload.pools.power() else { return all };
    for job in 0..run.jobs.len() {
        let mut sites: Vec<usize> = Vec::new();
        for stay in stays::of_job(workload, run, job) {
            let site = workload.pools.pool(stay.pool).site.0 as usize;
            all[site].1 += used(power, &workload.pools, Energy::BUSY, stay);
            if !sites.contains(&site) {
                sites.push(site);
            }
        }
        sites.into_iter().for_each(|site| all[site].0 += 1);
    }
    for stay in run.lost.iter().flat_map(|lost| stays::of_lost(workload, lost)) {
        let site = workload.pools.pool(stay.pool).site.0 as usize;
        all[site].1 += used(power, &workload.pools, Energy::BUSY, stay);
    }
    all
}

/// What the nodes of a stay consume by the watts in `attribute`.
fn used(power: &Power, pools: &Pools, attribute: &str, stay: Stay) -> Consumption {
    let pool = pools.pool(stay.pool);
    let watts = thousandths(&pool.attributes, attribute);
    power.of_nodes(pool.site, (watts, stay.nodes), (stay.start, stay.end))
}

/// The measures, over all jobs; none where nothing is known of electricity.
///
/// Idle is what nodes consume at their idle power while no job holds them, within the window;
/// missing nodes count as idle.
pub(super) fn entries(workload: &Workload, run: &Run, window: Window) -> Vec<Entry> {
    let Some(power) = workload.pools.power() else { return Vec::new() };
    let jobs = EnergySums::of(consumption(workload, run).into_iter());
    let within = |stay: Stay| {
        let (start, end) = (stay.start.max(window.from), stay.end.min(window.until));
        (start < end).then_some(Stay { start, end, ..stay })
    };
    let held = stays::all(workload, run).filter_map(within);
    let held = EnergySums::of(held.map(|it| used(power, &workload.pools, Energy::IDLE, it)));
    let whole = |pool: &Pool| whole(power, pool, (window.from, window.until));
    let idle = EnergySums::of(workload.pools.as_slice().iter().map(whole)).minus(&held);
    let lower = |name: &str, unit: Unit, value: i128| {
        entry(name, unit, Better::Lower, Value::Credits(value))
    };
    let kwh =
        |mj: i128| (mj + i128::from(Energy::MICRO_KWH) / 2).div_euclid(Energy::MICRO_KWH.into());
    vec![
        lower("energy_kwh", Unit::KilowattHours, kwh(jobs.energy)),
        lower("carbon_g", Unit::Grams, jobs.carbon * 1_000),
        lower("energy_price", Unit::Credits, jobs.price),
        lower("idle_energy_kwh", Unit::KilowattHours, kwh(idle.energy)),
        lower("idle_carbon_g", Unit::Grams, idle.carbon * 1_000),
        lower("idle_energy_price", Unit::Credits, idle.price),
    ]
}

/// All nodes of the pool at idle power.
fn whole(power: &Power, pool: &Pool, interval: (Time, Time)) -> Consumption {
    let watts = thousandths(&pool.attributes, Energy::IDLE);
    power.of_nodes(pool.site, (watts, pool.nodes), interval)
}

/// Sums of many, which may be beyond the range of one.
#[derive(Default)]
struct EnergySums {
    energy: i128,
    carbon: i128,
    price: i128,
}

impl EnergySums {
    fn of(all: impl Iterator<Item = Consumption>) -> EnergySums {
        all.fold(EnergySums::default(), |sum, it| EnergySums {
            energy: sum.energy + i128::from(it.energy.0),
            carbon: sum.carbon + i128::from(it.carbon.0),
            price: sum.price + i128::from(it.price.0),
        })
    }

    /// Rounding of many small parts may exceed that of the whole; never below zero.
    fn minus(&self, other: &EnergySums) -> EnergySums {
        EnergySums {
            energy: (self.energy - other.energy).max(0),
            carbon: (self.carbon - other.carbon).max(0),
            price: (self.price - other.price).max(0),
        }
    }
}
