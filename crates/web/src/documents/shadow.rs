//! Observed clusters: forecasts of starts, and what came of them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;

/// What clusters that are only observed have shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Shadow {
    /// Jobs that have started after they were seen waiting: the last 50,000.
    pub jobs: u64,
    /// Our forecast at the first sight of each job, compared with its start.
    pub ours: StartErrors,
    /// Slurm's own forecast at submission, compared with the start.
    pub slurm: StartErrors,
    /// Both, of the jobs that have both, each made at the same moment.
    pub same: ComparedErrors,
    /// Observed clusters.
    pub sites: Vec<ObservedSite>,
    /// Waits by user; those who would have saved most first, at most 200.
    pub users: Vec<ObservedWaits>,
    /// The same by project (Slurm's account).
    pub projects: Vec<ObservedWaits>,
}

/// How far starts were from a forecast: seconds, without sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"jobs": 120, "median": 35, "p90": 900}))]
pub struct StartErrors {
    /// Jobs that had a forecast.
    pub jobs: u64,
    /// Half of the jobs had no larger error; left out without jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median: Option<i64>,
    /// Nine of ten jobs had no larger error; left out without jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90: Option<i64>,
}

/// Two forecasts of the same jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ComparedErrors {
    /// Our forecast.
    pub ours: StartErrors,
    /// Slurm's.
    pub slurm: StartErrors,
}

/// A cluster that is only observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObservedSite {
    /// Its name.
    pub name: String,
    /// When it was surveyed first; left out before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// When it was surveyed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surveyed: Option<i64>,
    /// Why the last survey failed; left out if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What the last survey could not see, such as jobs of others (`PrivateData`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Jobs that have started.
    pub jobs: u64,
    /// Our forecasts here.
    pub ours: StartErrors,
    /// Slurm's forecasts here.
    pub slurm: StartErrors,
    /// Jobs that wait now, with their forecasts.
    pub waiting: u64,
    /// Jobs that ran and were never seen waiting: they started between two surveys, or are tasks of
    /// an array. They are in no other number.
    pub unpredicted: u64,
    /// Of `jobs`, those that were seen only after their end: their waits are known, and nothing was
    /// predicted for them.
    #[serde(default)]
    pub brief: u64,
    /// Seconds of which it is not known which jobs came and went: longer ago than Slurm lists jobs that
    /// are over, and without an accounting that answered.
    #[serde(default)]
    pub unwatched: u64,
    /// Jobs that left the queue, and were seen neither running nor over: cancelled, or no longer listed
    /// at the next survey.
    pub gone: u64,
    /// Arrays of several waiting tasks, which are not compared.
    pub arrays: u64,
    /// The share of the nodes in use in the hours below; left out if nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// What the jobs of these hours would have paid at the configured prices.
    pub value: Credits,
    /// What the nodes that were not in use would have cost.
    pub idle_value: Credits,
    /// The last eight days, hour by hour.
    pub hours: Vec<ObservedHour>,
    /// Waits of all jobs here; `name` is left out.
    #[serde(default)]
    pub waits: ObservedWaits,
    /// The same by user; those who would have saved most first, at most 200.
    #[serde(default)]
    pub users: Vec<ObservedWaits>,
    /// The same by project (Slurm's account).
    #[serde(default)]
    pub projects: Vec<ObservedWaits>,
    /// What the site's policy would have done; left out if the configuration names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<ObservedPolicy>,
}

/// What a policy of the user's would have done at an observed cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "name": "python:mine:Mine", "outages": 0, "jobs": 40, "earlier": 12, "saved": 5400, "later": 3,
    "built_in": 0
}))]
pub struct ObservedPolicy {
    /// As the configuration has it.
    pub name: String,
    /// Why it does not answer; left out if it does. The built-in look-ahead decides meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Since when it does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem_since: Option<i64>,
    /// How often it has stopped to answer since the daemon was started.
    pub outages: u64,
    /// Jobs that have started after it was asked about them.
    pub jobs: u64,
    /// Of these, jobs that it would have started earlier.
    pub earlier: u64,
    /// Seconds by which earlier, together.
    pub saved: i64,
    /// Of these, jobs that the cluster started while the policy left them waiting.
    pub later: u64,
    /// Jobs about which the built-in look-ahead decided, since the policy did not answer; in no other
    /// number here.
    pub built_in: u64,
}

/// An hour of an observed cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObservedHour {
    /// First second.
    pub from: i64,
    /// Node-seconds of jobs.
    pub used: i64,
    /// Node-seconds of nodes that were up, as far as they were observed.
    pub up: i64,
    /// What the jobs would have paid.
    pub value: Credits,
}

/// Waits of a user's or project's jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "name": "eve", "jobs": 12, "waited": 7200, "examined": 9, "saved": 3600,
    "examined_later": 11, "saved_later": 5400, "cheaper_later": 1.25
}))]
pub struct ObservedWaits {
    /// User or project; left out if Slurm does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Jobs that have started.
    pub jobs: u64,
    /// Their waits together, seconds.
    pub waited: i64,
    /// Jobs for which a start at another observed cluster was foreseen.
    pub examined: u64,
    /// Seconds by which these would have started earlier there, together.
    pub saved: i64,
    /// Jobs for which it is known what jobs of their width that were submitted in one of the next
    /// 24 hours waited.
    #[serde(default)]
    pub examined_later: u64,
    /// Seconds that these would have waited less in the best of these hours, together.
    #[serde(default)]
    pub saved_later: i64,
    /// What jobs would have cost less, up to their time limits, if they had started in the cheapest
    /// of the 24 hours after that of their start, together.
    #[serde(default)]
    pub cheaper_later: Credits,
}
