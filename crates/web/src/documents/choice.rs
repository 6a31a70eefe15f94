//! Why a job is where it is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;

/// What else a job could have used when it was given its nodes: whole pools, beside what ran and
/// was promised then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "at": 1_800_000_020, "policy": "easy",
    "why": "no other pool could have begun it as soon, and none would have cost less",
    "others": [{
        "pool": "beta/slow", "price": 0.5, "length": 900, "cost": 450.0,
        "start": 1_800_000_620, "verdict": "10 min later, 150 credits more expensive"
    }]
}))]
pub struct Choice {
    /// When it was decided.
    pub at: i64,
    /// Name of the policy.
    pub policy: String,
    /// What speaks for what the job got.
    pub why: String,
    /// The other pools: first those that could have used it, by start and cost.
    pub others: Vec<OtherPool>,
    /// So many more there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

/// A pool that could have used all of a job, or why it could not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OtherPool {
    /// Name of the pool, `SITE/POOL`.
    pub pool: String,
    /// What it asked per node and second.
    pub price: Credits,
    /// How long the job may take there, seconds.
    pub length: i64,
    /// All of it there, for that long.
    pub cost: Credits,
    /// When it could have begun there; left out if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// How that differs from what the job got, or why it could not.
    pub verdict: String,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
