//! The document of `explain`.

use serde::Serialize;

use super::{Amount, Reason, Window};

/// Why a job has no window, and what would help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The job's name.
    pub job: String,
    /// The window, or `null`.
    pub placed: Option<Window>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The limits that bind: each alone keeps the job out.
    pub binding: Vec<Binding>,
    /// The smallest change of each limit that alone would place the job.
    pub relaxations: Vec<Relaxation>,
    /// Whether the job could be placed without any limit but its width.
    pub possible_without_limits: bool,
}

/// A limit that binds, by its name in the scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Binding {
    /// Such as `budget`.
    pub limit: String,
    /// Its value now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Amount>,
}

/// The smallest change of one limit that places the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Relaxation {
    /// The limit by its name in the scenario, such as `budget`.
    pub limit: String,
    /// The attribute to do without, where the limit is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// By how much it changes, without a sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Amount>,
    /// Its value after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Amount>,
    /// What the job would get.
    pub window: Window,
}
