//! What users and sites did.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;
use super::consumed::Consumed;

/// What users and sites did, by the jobs that are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Report {
    /// The first submission that is looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// End of the time reported, which is now, in Unix seconds.
    pub until: i64,
    /// By name: the caller alone, unless an administrator asks.
    pub users: Vec<UserReport>,
    /// In the order of the configuration; what they earned only for who may see it.
    pub sites: Vec<SiteReport>,
    /// Peers that jobs were passed on to; left out if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerReport>,
    /// Jobs whose parts began together; left out if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<TogetherReport>,
    /// Jobs whose parts began each by themselves; left out if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<TogetherReport>,
}

/// How far apart the parts of jobs began.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"starts": 12, "mean_skew_ms": 8.5, "max_skew_ms": 37}))]
pub struct TogetherReport {
    /// Jobs that are counted.
    pub starts: u64,
    /// Milliseconds from the first part's beginning to the last one's, on average.
    pub mean_skew_ms: f64,
    /// The same at most.
    pub max_skew_ms: i64,
}

/// What a user did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "user": "ana", "jobs": 12, "completed": 9, "failed": 1, "active": 2, "mean_wait": 31,
    "node_seconds": 5400, "spent": 2700
}))]
pub struct UserReport {
    /// Name of the user.
    pub user: String,
    /// Number of jobs submitted.
    pub jobs: u64,
    /// Over with exit code 0.
    pub completed: u64,
    /// Number of jobs that ended without success.
    pub failed: u64,
    /// Number of jobs that wait or run.
    pub active: u64,
    /// Seconds from submission to start, of those that started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_wait: Option<i64>,
    /// Node-seconds that they ran.
    pub node_seconds: i64,
    /// What they paid.
    pub spent: Credits,
    /// What nodes consumed for them; left out where they do not say what they consume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed: Option<Consumed>,
}

/// What a site did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "site": "alpha", "owner": "olga", "parts": 12, "node_seconds": 5400, "utilisation": 0.31, "earned": 2700
}))]
pub struct SiteReport {
    /// Name of the site.
    pub site: String,
    /// Name of the owner.
    pub owner: String,
    /// Parts of jobs that ran there.
    pub parts: u64,
    /// Node-seconds that they ran.
    pub node_seconds: i64,
    /// The same, as a part of all nodes' time since `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// What the owner has been paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earned: Option<Credits>,
    /// What its nodes consumed for jobs; left out where they do not say what they consume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed: Option<Consumed>,
}

/// What happened to jobs that were passed on to a peer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "peer": "vega", "jobs": 12, "active": 1, "completed": 8, "failed": 1, "lost": 2, "broken": 2,
    "paid": 4.5
}))]
pub struct PeerReport {
    /// Name of the peer.
    pub peer: String,
    /// Jobs that were passed on to it.
    pub jobs: u64,
    /// Those that are there, or on their way.
    pub active: u64,
    /// Those that it ran to a good end.
    pub completed: u64,
    /// Those that ended otherwise there, and are not lost.
    pub failed: u64,
    /// Those that were lost there.
    pub lost: u64,
    /// How often it did not keep its offer for one of them.
    pub broken: u64,
    /// What these jobs have paid to it.
    pub paid: Credits,
}
