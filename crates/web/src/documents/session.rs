//! Browsers that are signed in.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A browser that is signed in on the pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"id": 4, "user": "ana", "token": 2, "since": 1_800_000_000, "ends": 1_800_043_200, "browser": "Mozilla/5.0"}))]
pub struct Session {
    /// Its number, new with every start of the daemon.
    pub id: u64,
    /// Name of the user.
    pub user: String,
    /// Id of the token.
    pub token: u64,
    /// Moment since which this holds, in Unix seconds.
    pub since: i64,
    /// When it ends at the latest.
    pub ends: i64,
    /// What the browser says that it is.
    pub browser: String,
    /// Whether the request came with it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub own: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(it: &bool) -> bool {
    !it
}

/// All sessions that the caller may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionList {
    /// In the order of ids.
    pub sessions: Vec<Session>,
    /// There are more: ask for those `after` this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}
