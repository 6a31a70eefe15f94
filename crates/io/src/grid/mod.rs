//! Sites to simulate on, as a file: pools of like nodes and their queues, the owners' own load,
//! maintenance and failures. JSON or TOML; `docs/reference/grid.md` has the format.

mod data;
mod distributions;
mod load_price;
mod node_memory;
mod owners;
mod pools;
mod queues;
mod read;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tradewind_model::random::{stream, within};
use tradewind_model::{
    LicenceId, LicenceShare, LicenceShares, Pool, PoolId, Pools, Price, Series, SiteId, Span,
    Staging, Time,
};

use crate::diagnostics::Diagnostics;
use crate::digest;
use crate::input::{self, Input};
use crate::kind::{self, FileKind};
use crate::outages::{Planned, TargetKind, Targets};
pub use owners::{OwnersQueue, Wider};

/// What a grid file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridFile {
    /// What it is about.
    pub title: Option<String>,
    /// Sites and pools, in the order of the file; drawn prices are at their lowest.
    pools: Pools,
    /// Pools whose prices are drawn, and from what: both ends included.
    drawn: Vec<(PoolId, (Price, Price))>,
    /// What outages may name.
    pub targets: Targets,
    /// When nodes are missing, as far as the file says so itself.
    pub planned: Vec<Planned>,
    /// Failures to be drawn, for all pools of a site.
    pub failures: Vec<(SiteId, Failures)>,
    /// Owners' load to be drawn, for all pools of a site.
    pub loads: Vec<(SiteId, OwnerLoad)>,
    /// Owners' jobs with queues of their own; no pool has two.
    pub owners: Vec<OwnersQueue>,
    /// The logs that name a site as theirs.
    logs: Vec<(String, SiteId)>,
    /// By licence: which jobs take it along, if any do.
    uses: Vec<Option<LicenceUse>>,
    /// Which jobs have data, if any do.
    data: Option<data::DataUse>,
}

impl GridFile {
    /// What the job of this number takes along: each licence is drawn with a stream of its own.
    pub fn licences_of(&self, seed: u64, job: u64) -> LicenceShares {
        let share = |(id, it): (LicenceId, &Option<LicenceUse>)| {
            let LicenceUse { share, each } = (*it)?;
            let mut lots = stream(seed, &format!("licence {}", id.0), job);
            let takes = within(&mut lots, 1, 1_000) <= i64::from(share);
            let count = within(&mut lots, i64::from(each.0), i64::from(each.1));
            takes.then_some(LicenceShare { licence: id, count: u32::try_from(count).ok()? })
        };
        let all: Vec<_> = (0..).map(LicenceId).zip(&self.uses).filter_map(share).collect();
        (!all.is_empty()).then(|| all.into())
    }

    /// Whether any job takes licences along.
    pub fn uses_licences(&self) -> bool {
        self.uses.iter().any(Option::is_some)
    }

    /// The data of the job of this number.
    pub fn data_of(&self, seed: u64, job: u64) -> Option<Arc<Staging>> {
        self.data.as_ref()?.of((seed, job), &self.pools)
    }

    /// Whether any job has data.
    pub fn uses_data(&self) -> bool {
        self.data.is_some()
    }

    /// Sites and pools, in the order of the file. A pool that is cut is there as its queues.
    /// Prices are drawn from the seed, every micro-credit as likely; all pools of a site draw
    /// with one lot, so that like ranges give like prices.
    pub fn pools(&self, seed: u64) -> Pools {
        let mut pools: Vec<Pool> = self.pools.as_slice().to_vec();
        for (pool, (low, high)) in &self.drawn {
            let pool = &mut pools[pool.index()];
            let mut lot = stream(seed, "site-price", pool.site.0.into());
            pool.price = Price(within(&mut lot, low.0, high.0));
        }
        // They made a grid before, and only prices have changed.
        let Ok(mut pools) = Pools::new(self.pools.sites().to_vec(), pools) else {
            return self.pools.clone();
        };
        if let Some(power) = self.pools.power() {
            pools = pools.with_power(power.clone());
        }
        let sites = (0..pools.sites().len()).map(|at| SiteId(at as u32));
        let pools = pools.with_preemption(sites.map(|site| self.pools.preemption(site)).collect());
        let factors = self.pools.iter().map(|(id, _)| self.pools.ask_factor(id)).collect();
        let pools = pools.with_ask_factors(factors);
        let load_prices = self.pools.iter().map(|(id, _)| self.pools.load_price(id).cloned());
        let pools = pools.with_load_prices(load_prices.collect());
        let licences = (0..).map(LicenceId).zip(self.pools.licences());
        let owned = licences.map(|(id, licence)| (licence.clone(), self.pools.licence_owner(id)));
        // They were right before.
        let Ok(pools) = pools.with_licences(owned.collect()) else { return self.pools.clone() };
        let pools = pools.with_links(self.pools.links().cloned().unwrap_or_default());
        match self.pools.rates() {
            Some(rates) => pools.with_rates(rates.as_ref().clone()),
            None => pools,
        }
    }

    /// A digest of the electricity of all sites and of prices over time, which other files may
    /// describe; `None` where the file says nothing of either.
    pub fn power_digest(&self) -> Option<String> {
        let text = |series: &Option<Series>| -> Vec<(Time, i64)> {
            series.iter().flat_map(Series::values).collect()
        };
        let power = self.pools.power().map(|power| {
            let sites = power.sites.iter().map(|site| (text(&site.carbon), text(&site.price)));
            format!("{:?}", sites.collect::<Vec<_>>())
        });
        let rates = self.pools.rates().map(|rates| {
            let of = |pool: usize| match rates.get(pool) {
                Some(rate) => format!("{:?} {:?};", text(&Some((**rate).clone())), rate.period()),
                None => ";".to_owned(),
            };
            (0..self.pools.as_slice().len()).map(of).collect::<String>()
        });
        let all = [power, rates].into_iter().flatten().collect::<String>();
        (!all.is_empty()).then(|| digest::sha256(all.as_bytes()))
    }

    /// Whether any pool is cut into queues.
    pub fn has_queues(&self) -> bool {
        self.targets.0.iter().any(|target| target.kind == TargetKind::Queue)
    }

    /// The site at which the jobs of a log are submitted: the one that names it, or if no site
    /// names any, the one at the log's place among the logs. `log` is its name without folders
    /// and endings.
    pub fn home(&self, log: &str, index: usize) -> Option<SiteId> {
        if !self.logs.is_empty() {
            return self.logs.iter().find(|(name, _)| name == log).map(|(_, site)| *site);
        }
        let site = u32::try_from(index).ok()?;
        (index < self.pools.sites().len()).then_some(SiteId(site))
    }
}

/// Parameters of failures; thousandths where a number has decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures {
    /// Mean time between failures of one node.
    pub mtbf: Span,
    /// Of the Weibull law between failures, in thousandths; 1,000 is the exponential law.
    pub shape: u32,
    /// Mean time to repair.
    pub repair: Span,
    /// If the repair is lognormal: the standard deviation of its logarithm, in thousandths.
    /// `None`: it is exponential.
    pub repair_sigma: Option<u32>,
    /// The fewest and the most nodes that break at once.
    pub burst: (u32, u32),
}

/// Which jobs take a licence along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LicenceUse {
    /// How many of a thousand.
    pub share: u32,
    /// The fewest and the most that one of them takes.
    pub each: (u32, u32),
}

/// Parameters of an owner's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerLoad {
    /// The minimum and the greatest share of a period, in thousandths.
    pub share: (u32, u32),
    /// Steps between them.
    pub steps: u32,
    /// The shortest and the longest task.
    pub tasks: (Span, Span),
    /// How long a load stays, and is known ahead.
    pub period: Span,
}

/// Reads the grid file `path`; `-` is standard input.
///
/// # Errors
/// All that is wrong with it.
pub fn load(path: &str) -> Result<(GridFile, Diagnostics), Diagnostics> {
    parse(&input::read(path)?)
}

/// Reads a grid file and the warnings about it.
///
/// # Errors
/// All that is wrong with it, by line.
pub fn parse(input: &Input) -> Result<(GridFile, Diagnostics), Diagnostics> {
    kind::expect(FileKind::Grid, input, read::parse(input))
}
