//! Events.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;

/// Something that was written down. Fields that do not apply are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"seq": 310, "at": 1_800_000_020, "kind": "planned", "job": 7, "user": "ana", "pools": ["alpha/fast"]}))]
pub struct Event {
    /// The row of the journal.
    pub seq: u64,
    /// The moment, in Unix seconds.
    pub at: i64,
    /// `submitted`, `held`, `queued`, `planned`, `running`, `part_over`, `set_back`, `cancelling`, `requeueing`, `updated`, `notice`,
    /// `over`, `dropped`, `expected`, `priced`, `tariff`, `missing`, `back`, `site_away`,
    /// `site_back`, `site_state`, `policy`, `moved`, `quoted`, `quote_gone`, `admitted`, `expelled`, `rotated`,
    /// `arrived`, `slipped`, `launched`, `unkept`, `in_line`, `kept` and
    /// `breached` (an accepted offer), `project` (members and limits), `budget` (a
    /// project or a member has spent 50, 80 or 95 % of a limit), or `reset`: events were missed,
    /// look again.
    pub kind: String,
    /// About which job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// Name of the user whose job it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The job's state, if it is over; of `site_state`, the site's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// More, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// About which site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Names of the pools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<String>,
    /// Number of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// A moment: of a start, or until when nodes are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<i64>,
    /// About which project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Per cent of a budget that were spent when people were warned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
    /// A price or an amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Credits>,
}
