//! Why a request was not met.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every answer that is not a good one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Failure {
    /// What is wrong.
    pub error: Problem,
}

/// What is wrong, and what to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "kind": "invalid",
    "message": "needs 9 nodes, and 4 suit",
    "hint": "ask for fewer nodes, or for less of each: performance, attributes, sites, price",
    "field": "nodes"
}))]
pub struct Problem {
    /// `malformed`, `invalid`, `unauthorized`, `forbidden`, `unknown`, `conflict`, `limit`,
    /// `too_large`, `method`, `media_type`, `timeout`, `unavailable` or `internal`.
    pub kind: String,
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    #[serde(default)]
    pub hint: String,
    /// Which field of the request, as in `attributes.gpu` or `after[0].job`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Which limit was met, as in `jobs_per_user`; `docs/reference/api.md` has a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// How much of the limit is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// How much the limit allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<u64>,
    /// Seconds after which the same request may succeed, as in the header `Retry-After`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// What else is wrong with the same request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    pub also: Vec<Problem>,
}
