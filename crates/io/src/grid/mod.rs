//! Sites to simulate on, as a file: pools of like nodes, the owners' own load, maintenance and
//! failures. JSON or TOML; `docs/grid.md` has the format.

mod laws;
mod read;
#[cfg(test)]
mod tests;

use tradewind_model::{Pools, SiteId, Span};

use crate::diagnostics::Diagnostics;
use crate::input::{self, Input};
use crate::outages::Planned;

/// What a grid file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridFile {
    /// What it is about.
    pub title: Option<String>,
    /// Sites and pools, in the order of the file.
    pub pools: Pools,
    /// When nodes are missing, as far as the file says so itself.
    pub planned: Vec<Planned>,
    /// Failures to be drawn, for all pools of a site.
    pub failures: Vec<(SiteId, Failures)>,
    /// Owners' load to be drawn, for all pools of a site.
    pub loads: Vec<(SiteId, Load)>,
    /// The logs that name a site as theirs.
    logs: Vec<(String, SiteId)>,
}

impl GridFile {
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

/// Parameters of an owner's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// The least and the greatest share of a period, in thousandths.
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
    read::parse(input)
}
