//! Users, projects, members and budgets as a table, and what was used.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;
use super::consumed::Consumed;

/// The columns of the table as CSV.
pub const IMPORT_COLUMNS: [&str; 8] =
    ["kind", "project", "user", "role", "credits", "total", "month", "note"];

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportKind {
    /// A user.
    User,
    /// A project.
    Project,
    /// A member of a project.
    Member,
}

/// What a member is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportRole {
    /// May spend the credits of the project.
    Member,
    /// Manages as well.
    Manager,
    /// No member any more.
    None,
}

/// Limits that can be lifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitName {
    /// The one over all time.
    Total,
    /// The one of a month.
    Month,
}

/// A row. What is left out stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "kind": "member", "project": "flow", "user": "ana", "role": "manager", "month": 100
}))]
pub struct ImportRow {
    /// What it is about.
    pub kind: ImportKind,
    /// The project; not of a `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The user; not of a `project`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Of a `member`; one who is new is a `member` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<ImportRole>,
    /// Of a `project`: all that it is ever given. Of a `user`: what a new one begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<Credits>,
    /// The most that may be spent since the project was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Credits>,
    /// The most that may be spent in a calendar month, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub month: Option<Credits>,
    /// Limits that there are no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lift: Vec<LimitName>,
    /// Of a `project`, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_000)]
    pub note: Option<String>,
}

/// A table. A second time it changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"rows": [{"kind": "project", "project": "flow", "credits": 1000}]}))]
pub struct ImportTable {
    /// In their order: a project stands before its members.
    pub rows: Vec<ImportRow>,
}

/// What a table changed, or would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"dry_run": true, "changes": ["project flow is new"]}))]
pub struct Imported {
    /// Nothing was changed.
    pub dry_run: bool,
    /// A sentence for each change; none if all was so already.
    pub changes: Vec<String>,
}

/// What was used and charged, summed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "month": "2027-01", "project": "flow", "user": "ana", "site": "alpha", "parts": 12,
    "node_seconds": 4800, "charged": 9.6
}))]
pub struct Usage {
    /// As in `2027-01`, UTC: when it was charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub month: Option<String>,
    /// The project that paid; empty: the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Name of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Where: a site, or `peer:NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Parts of jobs that were charged; a job in one pool has one, and one more each time that it
    /// was interrupted after it had begun.
    pub parts: u64,
    /// Nodes times seconds that were charged.
    pub node_seconds: i64,
    /// What was paid.
    pub charged: Credits,
    /// What nodes consumed in that time; left out where they do not say what they consume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed: Option<Consumed>,
}

/// What was used and charged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageList {
    /// By the columns that were asked for.
    pub usage: Vec<Usage>,
}
