//! What a run adds to the campaign's pictures and report, kept in its folder: so a report can be
//! made of runs that were done before or elsewhere.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tradewind_io::chart::{Distribution, Trace};

/// Name of the file of a report.
pub(super) const FILE: &str = "report.json";

/// `report.json` of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Part {
    /// Of all jobs that ran, in seconds.
    pub(super) waits: Distribution,
    /// Number of jobs that ran.
    pub(super) jobs: usize,
    /// Deadlines missed over applications; empty without deadlines.
    #[serde(default)]
    pub(super) misses: Trace,
    /// Along the log's clock; empty for fewer than two sites.
    #[serde(default)]
    pub(super) load_deviation: Trace,
    /// What is odd about the logs, or was repaired.
    pub(super) notes: Vec<String>,
}

impl Part {
    /// That of the run in `folder`; `None` if it has none.
    pub(super) fn read(folder: &Path) -> Option<Part> {
        Part::of(&std::fs::read(folder.join(FILE)).ok()?)
    }

    /// Of the text of its file; `None` if it is none.
    pub(super) fn of(text: &[u8]) -> Option<Part> {
        serde_json::from_slice(text).ok()
    }
}
