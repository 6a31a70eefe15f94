//! States of jobs.

use crate::diagnostics;

/// What a state means for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It ended, with this status in the log.
    Ended(Status),
    /// It holds its nodes, or will again.
    Running,
    /// It waits.
    Waiting,
}

/// Field 11 of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Failed,
    /// The run ended because the job was queued again, or had to make room.
    Interrupted,
    Completed,
    Cancelled,
    Unknown,
}

impl Status {
    pub(super) fn number(self) -> i64 {
        match self {
            Status::Failed | Status::Interrupted => 0,
            Status::Completed => 1,
            Status::Cancelled => 5,
            Status::Unknown => -1,
        }
    }
}

const FAILED: Stage = Stage::Ended(Status::Failed);
const INTERRUPTED: Stage = Stage::Ended(Status::Interrupted);
const CANCELLED: Stage = Stage::Ended(Status::Cancelled);

/// Names of Slurm's states.
const STATES: [(&str, Stage); 29] = [
    ("COMPLETED", Stage::Ended(Status::Completed)),
    ("FAILED", FAILED),
    ("TIMEOUT", FAILED),
    ("CANCELLED", CANCELLED),
    ("NODE_FAIL", FAILED),
    ("OUT_OF_MEMORY", FAILED),
    ("PREEMPTED", INTERRUPTED),
    ("REQUEUED", INTERRUPTED),
    ("REQUEUE_FED", INTERRUPTED),
    ("REQUEUE_HOLD", INTERRUPTED),
    ("SPECIAL_EXIT", FAILED),
    ("BOOT_FAIL", FAILED),
    ("LAUNCH_FAILED", FAILED),
    ("RECONFIG_FAIL", FAILED),
    ("DEADLINE", FAILED),
    ("EXPEDITING", Stage::Waiting),
    ("REVOKED", CANCELLED),
    ("RUNNING", Stage::Running),
    ("COMPLETING", Stage::Running),
    ("CONFIGURING", Stage::Running),
    ("POWER_UP_NODE", Stage::Running),
    ("RESIZING", Stage::Running),
    ("SIGNALING", Stage::Running),
    ("STAGE_OUT", Stage::Running),
    ("STOPPED", Stage::Running),
    ("SUSPENDED", Stage::Running),
    ("UPDATE_DB", Stage::Running),
    ("PENDING", Stage::Waiting),
    ("RESV_DEL_HOLD", Stage::Waiting),
];

/// A column `State`: a name, maybe with words behind it (`CANCELLED by 1000`).
///
/// # Errors
/// What to do about a state that is not known.
pub(super) fn stage(text: &str) -> Result<Stage, String> {
    let name = text.split_ascii_whitespace().next().unwrap_or_default();
    let name = name.trim_end_matches('+');
    let found = STATES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    found.map(|(_, stage)| *stage).ok_or_else(|| {
        let known: Vec<String> = STATES.iter().map(|(known, _)| known.to_lowercase()).collect();
        match diagnostics::suggestion(name, known.iter().map(String::as_str)) {
            Some(best) => format!("did you mean `{}`?", best.to_uppercase()),
            None => "a state is one of Slurm's long names, such as `COMPLETED`".to_owned(),
        }
    })
}
