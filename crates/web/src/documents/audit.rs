//! Rows of the audit log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditList {
    /// In the order in which they were written.
    pub rows: Vec<AuditRow>,
    /// To be sent as `after` for what follows; left out at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// An action of a user, or a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "seq": 7, "at": 1_800_000_000, "kind": "refusal", "user": "ana",
    "subject": "POST /v1/tokens", "outcome": "403 forbidden"
}))]
pub struct AuditRow {
    /// Number of the row.
    pub seq: u64,
    /// When it was written.
    pub at: i64,
    /// `refusal`, `sign-in`, `read`, `rights`, `price`, `policy`, `money`, `job` or `lost`.
    pub kind: String,
    /// Name of the user; `@ADDRESS` if unknown.
    pub user: String,
    /// Job, user, token or site that the entry concerns.
    pub subject: String,
    /// The outcome.
    pub outcome: String,
    /// How often, if it was more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// When it happened first of these times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
}

/// The columns of the log as a table.
pub const AUDIT_COLUMNS: [&str; 8] =
    ["seq", "at", "kind", "user", "subject", "outcome", "count", "since"];

impl AuditRow {
    /// The row under [`AUDIT_COLUMNS`].
    pub fn cells(&self) -> [String; 8] {
        let text = |number: Option<String>| number.unwrap_or_default();
        [
            self.seq.to_string(),
            self.at.to_string(),
            self.kind.clone(),
            self.user.clone(),
            self.subject.clone(),
            self.outcome.clone(),
            text(self.count.map(|it| it.to_string())),
            text(self.since.map(|it| it.to_string())),
        ]
    }
}
