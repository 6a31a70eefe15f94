//! Nodes that an owner takes back from preemptible jobs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the owner of a site wants back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"nodes": 16, "length": 28_800}))]
pub struct ReclaimOrder {
    /// How many nodes.
    #[schema(minimum = 1)]
    pub nodes: u32,
    /// The pool's name at its site; needed where the site has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// How long before jobs learn of it, in seconds: at least as long as the site promises, which is
    /// the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 86_400)]
    pub notice: Option<i64>,
    /// For how many seconds the market then leaves the nodes to the owner: an hour if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_592_000)]
    pub length: Option<i64>,
    /// Nothing is done: the answer says what would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// What it comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"jobs": [7], "from": 1_800_000_120, "until": 1_800_028_920}))]
pub struct Reclaimed {
    /// Jobs that are given notice, those that started last first.
    pub jobs: Vec<u64>,
    /// When the owner has the nodes: Unix seconds.
    pub from: i64,
    /// Until when the market leaves them alone.
    pub until: i64,
}
