//! Sites.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tradewind_daemon::live::state::site_health;
use utoipa::ToSchema;

use super::amount::{Credits, Thousandths};

/// A site with its pools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Site {
    /// Name of the site.
    pub name: String,
    /// Name of the owner, who sets the prices.
    pub owner: String,
    /// Whether it answers and takes jobs. Nothing is planned at a site that is `joining`,
    /// `never-reached`, `lost`, `hanging` or `refusing`.
    #[serde(default)]
    pub state: SiteState,
    /// Since when it is in this state, or has not answered: seconds since 1970; left out where it
    /// is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Why it is in this state: in the site's own words for administrators and its owner; left out
    /// while all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Requests that its manager got from the market in the last minute; left out where there is no
    /// manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// The same by kind: the manager's own commands.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, u64>,
    /// Since when it does not answer; left out while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_since: Option<i64>,
    /// Pools of the site.
    pub pools: Vec<Pool>,
    /// The jobs of its owners that wait there; left out before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<OwnersQueue>,
    /// How much later than expected its last jobs started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// How the ranges of expected starts held of jobs that started there; left out before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ranges: Option<super::RangeScore>,
}

/// Jobs that wait at a site and are not the market's. The market leaves the nodes free that they
/// are expected to take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"jobs": 12, "foreseen": 10, "max_delay": 300, "longest_delay": 41, "at_bound": 0}))]
pub struct OwnersQueue {
    /// How many jobs, an array counted once.
    pub jobs: u32,
    /// For how many of them a start is expected.
    pub foreseen: u32,
    /// What is not known of the queue, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The bound, in seconds: when jobs of the market have put off one of these jobs for so long in
    /// sum, no further one starts before it. Left out where there is no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<i64>,
    /// The longest that jobs of the market have put off a job there, in seconds, since the start of the
    /// daemon.
    #[serde(default)]
    pub longest_delay: i64,
    /// How many have reached the bound: no job of the market starts in their pools before them.
    #[serde(default)]
    pub at_bound: u32,
}

/// The state of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SiteState {
    /// It answers, and all its nodes work.
    #[default]
    Up,
    /// It was not surveyed since the start of the daemon.
    Joining,
    /// It does not answer, and never did.
    NeverReached,
    /// It does not answer, and did before.
    Lost,
    /// A call does not return.
    Hanging,
    /// It answers, and refuses jobs.
    Refusing,
    /// It answers, and some of its nodes are down or drained.
    PartlyDrained,
    /// It answers, and all its nodes are down or drained.
    Drained,
}

impl SiteState {
    /// The same state as the market knows it: its names and words are there.
    pub fn known(self) -> site_health::SiteState {
        use site_health::SiteState as Known;
        match self {
            SiteState::Up => Known::Up,
            SiteState::Joining => Known::Joining,
            SiteState::NeverReached => Known::NeverReached,
            SiteState::Lost => Known::Lost,
            SiteState::Hanging => Known::Hanging,
            SiteState::Refusing => Known::Refusing,
            SiteState::PartlyDrained => Known::PartlyDrained,
            SiteState::Drained => Known::Drained,
        }
    }

    /// Its name, as documents have it.
    pub fn name(self) -> &'static str {
        self.known().name()
    }

    /// Its name in a sentence, before `since`.
    pub fn words(self) -> &'static str {
        self.known().words()
    }

    /// Whether plans, forecasts, quotes and offers may use its nodes.
    pub fn is_counted_on(self) -> bool {
        self.known().answers() && self != SiteState::Refusing
    }

    /// Whether the site fails, at least in part.
    pub fn is_failure(self) -> bool {
        self.known().is_failure()
    }
}

impl From<site_health::SiteState> for SiteState {
    fn from(known: site_health::SiteState) -> SiteState {
        use site_health::SiteState as Known;
        match known {
            Known::Up => SiteState::Up,
            Known::Joining => SiteState::Joining,
            Known::NeverReached => SiteState::NeverReached,
            Known::Lost => SiteState::Lost,
            Known::Hanging => SiteState::Hanging,
            Known::Refusing => SiteState::Refusing,
            Known::PartlyDrained => SiteState::PartlyDrained,
            Known::Drained => SiteState::Drained,
        }
    }
}

/// A site that fails, and what that means for a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "site": "gamma", "state": "lost", "since": 1_800_000_000, "reason": "Connection timed out",
    "message": "it waits for gamma, lost since 2027-01-15T08:00:00+00:00: Connection timed out"
}))]
pub struct SiteFailure {
    /// Name of the site.
    pub site: String,
    /// Its state.
    pub state: SiteState,
    /// Since when: seconds since 1970.
    pub since: i64,
    /// Why, as far as all users may know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// All of this in a sentence, with what it means for the job.
    pub message: String,
}

/// How much later than expected jobs started: seconds, negative if they were early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"p10": 0, "p50": 3, "p90": 40, "samples": 57}))]
pub struct Delay {
    /// One in ten was below this.
    pub p10: i64,
    /// Half of them were.
    pub p50: i64,
    /// Nine in ten were.
    pub p90: i64,
    /// How many were looked at: the last ones.
    pub samples: u32,
}

/// Like nodes of a site. `down`, `local`, `withheld`, `booked`, `ours` and `free` add up to `nodes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "name": "alpha/fast", "nodes": 8, "performance": 2, "price": 0.5, "down": 1, "local": 2,
    "withheld": 0, "booked": 0, "ours": 3, "free": 2
}))]
pub struct Pool {
    /// `SITE/POOL`.
    pub name: String,
    /// All of them.
    pub nodes: u32,
    /// Of each, relative to the reference node.
    pub performance: Thousandths,
    /// Per node and second.
    pub price: Credits,
    /// Those that do not work, or cannot be counted on because the site does not answer.
    pub down: u32,
    /// Those that the owner's own jobs have.
    pub local: u32,
    /// Those that the owner does not offer now.
    pub withheld: u32,
    /// Those that are set aside for accepted quotes.
    pub booked: u32,
    /// Those that the market's jobs have.
    pub ours: u32,
    /// Free nodes.
    pub free: u32,
    /// Why no node of the site belongs to it, and what there is instead; left out if some do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What each node offers besides.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

/// All sites of the market.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SiteList {
    /// In the order of the configuration.
    pub sites: Vec<Site>,
    /// What jobs may take along wherever they run; most markets have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub licences: Vec<Licence>,
    /// Networks over which data of jobs is brought; most markets know of none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

/// A network between two places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"between": ["alpha", "beta"], "bandwidth": "10 Gbit/s"}))]
pub struct Link {
    /// Sites, or other places where data lies.
    pub between: [String; 2],
    /// What one job gets of it, in decimal units.
    pub bandwidth: String,
}

/// Licences that the market counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"name": "abaqus", "count": 10, "free": 6, "price": 0.001, "site": "alpha"}))]
pub struct Licence {
    /// As jobs ask for it.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// How many no job has.
    pub free: u32,
    /// Per licence and second.
    pub price: Credits,
    /// Whose owner earns what jobs pay for it.
    pub site: String,
}

/// Other prices for a pool: one number, a table, or none, for those of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"price": 0.75}))]
pub struct PriceChange {
    /// Per node and second, at all hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Credits>,
    /// A table in TOML, as in the configuration: by hours and load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tariff: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_called_in_documents_as_in_the_market() {
        for known in site_health::SiteState::ALL {
            let state = SiteState::from(known);
            assert_eq!(state.known(), known);
            let written = serde_json::to_value(state).unwrap();
            assert_eq!(written.as_str(), Some(known.name()));
        }
    }
}
