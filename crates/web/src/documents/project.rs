//! Projects.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;

/// What a member of a project may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberRole {
    /// Spends, and sees the project's sum and the postings of own jobs.
    Member,
    /// The same; sees all postings, adds and removes members and sets their limits.
    Manager,
}

impl MemberRole {
    /// The name as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            MemberRole::Member => "member",
            MemberRole::Manager => "manager",
        }
    }
}

/// The most that may be spent; without a limit, as much as is on the account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"total": 5000, "month": 800}))]
pub struct SpendingLimits {
    /// Since the project was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Credits>,
    /// In a calendar month, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub month: Option<Credits>,
}

/// A project, as far as it is for the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "project": "flow", "note": "turbulence", "made": 1_800_000_000, "role": "manager",
    "balance": 880, "held": 60, "spent": 60, "spent_this_month": 60,
    "limits": {"total": 1000}, "members": [
        {"user": "ana", "role": "manager", "since": 1_800_000_000, "limits": {}, "spent": 60,
         "spent_this_month": 60}
    ],
    "budgets": [{"limit": "total", "spent": 60, "of": 1000, "percent": 6}],
    "forecast": {"ends": "2027-06-01", "left": 940, "spent": 60, "days": 14, "message": "…"}
}))]
pub struct Project {
    /// Name of the project.
    pub project: String,
    /// Free text, which the program does not read.
    pub note: String,
    /// When it was made.
    pub made: i64,
    /// The caller's role, if a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<MemberRole>,
    /// What is on its account.
    pub balance: Credits,
    /// What was taken from it and is held for jobs.
    pub held: Credits,
    /// What its jobs have paid since it was made.
    pub spent: Credits,
    /// In this calendar month, UTC.
    pub spent_this_month: Credits,
    /// Of all members together.
    pub limits: SpendingLimits,
    /// By name. What others than the caller spend is for managers and administrators.
    pub members: Vec<ProjectMember>,
    /// Limits, and what is used of them; without a limit over all time, what it was ever given.
    pub budgets: Vec<ProjectBudget>,
    /// When its money ends.
    pub forecast: ProjectForecast,
}

/// A member of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"user": "ana", "role": "member", "since": 1_800_000_000}))]
pub struct ProjectMember {
    /// Name of the user.
    pub user: String,
    /// Role in the project.
    pub role: MemberRole,
    /// Moment since which this holds, in Unix seconds.
    pub since: i64,
    /// What this member may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<SpendingLimits>,
    /// What this member's jobs have paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Credits>,
    /// In this calendar month, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent_this_month: Option<Credits>,
}

/// How much of a limit is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"limit": "total", "spent": 500, "of": 1000, "percent": 50}))]
pub struct ProjectBudget {
    /// Whose; left out: the project's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `total` or `month`.
    pub limit: String,
    /// What was spent.
    pub spent: Credits,
    /// The limit, in credits.
    pub of: Credits,
    /// Whole per cent, rounded down. People are warned at 50, 80 and 95.
    pub percent: u32,
}

/// When a project's money ends if it is spent as on the last days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "ends": "2027-06-01", "left": 940, "spent": 60, "days": 14,
    "message": "60 credits were spent in the last 14 days; …"
}))]
pub struct ProjectForecast {
    /// The day on which nothing is left, UTC; left out if nothing was spent recently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<String>,
    /// What is left: of the account with what is held, and of the limit over all time.
    pub left: Credits,
    /// What was spent in the days that were looked at.
    pub spent: Credits,
    /// How many these are, with today: 14 at most.
    pub days: i64,
    /// How it was computed.
    pub message: String,
}

/// The projects that the caller may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectList {
    /// In the order of names.
    pub projects: Vec<Project>,
    /// There are more: ask for those `after` this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A project to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"project": "flow", "note": "turbulence"}))]
pub struct NewProject {
    /// Its name: letters, digits and `_-.@`.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_.@-]+$")]
    pub project: String,
    /// Free text, which the program does not read.
    #[serde(default)]
    #[schema(max_length = 1_000)]
    pub note: String,
}

/// The role that a member gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"role": "member"}))]
pub struct Membership {
    /// Only administrators say who is a manager.
    pub role: MemberRole,
}

/// Limits to be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"user": "ana", "total": 100}))]
pub struct LimitChange {
    /// Of which member; left out: of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The most since the project was made; left out: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Credits>,
    /// The most in a calendar month, UTC; left out: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub month: Option<Credits>,
}
