//! The market as a whole.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;
use super::token::Role;

/// The market as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "name": "k3m9", "version": "0.1.0", "policy": "css", "time": 1_800_000_000, "sites": 2,
    "nodes": 16, "free": 9, "users": 3,
    "jobs": {"held": 1, "waiting": 4, "running": 3, "over": 120},
    "money": {"granted": 3000, "held": 210.5}
}))]
pub struct Market {
    /// Its name, part of every tag at a site.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// The scheduling policy, with its parameters.
    pub policy: String,
    /// The moment of the last change.
    pub time: i64,
    /// By how many seconds the market's time is ahead of the system's clock, since that was set
    /// back; left out while they are the same. All moments of the market that are reported are
    /// ahead by this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead_of_clock: Option<i64>,
    /// `true` while the journal's disk is full: the market can be read and jobs can be cancelled, no
    /// more. It goes on by itself when there is room. Left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// How far this daemon follows the one that owns the market; left out if it owns it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standby: Option<Standby>,
    /// What is damaged of the journal, the audit log and their archive files, as far as looking
    /// at them slowly has shown: file, row and what to do. For administrators; left out if nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<String>,
    /// Number of sites.
    pub sites: u32,
    /// Nodes of all sites.
    pub nodes: u32,
    /// Free nodes.
    pub free: u32,
    /// Who ever submitted a job.
    pub users: u32,
    /// Number of jobs, by phase.
    pub jobs: JobCounts,
    /// Totals of the ledger.
    pub money: MoneyTotals,
    /// How the ranges of expected starts held, at all sites; left out before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ranges: Option<super::RangeScore>,
}

/// How a daemon follows the one that owns the market.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Standby {
    /// Where the owner can be reached; left out if there is none now, or it has not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Rows of the journal that are not in the answers of this daemon yet.
    pub rows_behind: u64,
    /// Seconds since its answers were last complete; left out if they never were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_behind: Option<u64>,
}

/// Jobs by phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobCounts {
    /// Jobs that are held.
    pub held: u64,
    /// Jobs that wait in the queue.
    pub waiting: u64,
    /// Jobs that run.
    pub running: u64,
    /// Jobs at peers of which it is not known whether they wait, run or are over.
    #[serde(default)]
    pub unknown: u64,
    /// Jobs that ended recently.
    pub over: u64,
}

/// Money in the market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MoneyTotals {
    /// All that the bank has given.
    pub granted: Credits,
    /// What is held for jobs.
    pub held: Credits,
}

/// A policy that is to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"policy": "easy[depth=4]"}))]
pub struct PolicyChoice {
    /// As the command line writes it.
    #[schema(min_length = 1, max_length = 500)]
    pub policy: String,
}

/// The user who sent the request, with the role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"user": "ana", "role": "user", "token": 2}))]
pub struct Myself {
    /// Name of the user.
    pub user: String,
    /// Role of the user.
    pub role: Role,
    /// Id of the token.
    pub token: u64,
    /// From when on the secret that was used is no longer valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    /// The projects that the groups of a provider of identities put the user in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<String>,
}

/// Whether all is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"status": "ok"}))]
pub struct Health {
    /// `ok`; from `/readyz` also `read-only`, while the journal's disk is full, and `standby`, while
    /// another daemon owns the market.
    pub status: String,
}
