//! Why a job waits.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;

/// Why a job waits, and the minimum that would change it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "job": 7, "reason": "budget-short", "message": "the cheapest window costs 120, the budget is 100",
    "relaxations": [{"limit": "budget", "by": "20", "start": 1_800_000_100, "cost": 120}],
    "fall_backs": []
}))]
pub struct Explanation {
    /// Id of the job in the market.
    pub job: u64,
    /// In a word; left out if it could have a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reason as a sentence.
    pub message: String,
    /// When it is expected to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_start: Option<i64>,
    /// The same with its ranges: as in the job's own document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expectation: Option<super::Expectation>,
    /// What the user's own runs say of its time limit; left out if that is nothing, if it is another
    /// user's job, and by configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<super::LimitAdvice>,
    /// Number of jobs before it in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Single changes that would place it.
    #[serde(default)]
    pub relaxations: Vec<Relaxation>,
    /// The next best windows, if its own is lost; as in quotes, without ids.
    #[serde(default)]
    pub fall_backs: Vec<super::Offer>,
    /// Its user's share of the market, beside its due: what fair-share policies go by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fair_share: Option<String>,
    /// The plan of the waiting jobs that the answer goes by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<super::QueuePlan>,
}

/// The smallest change of one limit that would place the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Relaxation {
    /// The submission's name of it.
    pub limit: String,
    /// Size of the change, with its unit.
    pub by: String,
    /// When it would start then.
    pub start: i64,
    /// What it would cost then.
    pub cost: Credits,
}
