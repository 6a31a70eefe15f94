//! What the live market answers to a request.

use tradewind_model::Time;

use super::ApplyError;
use super::peers::StatusReport;

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The numbers of the jobs: of an array, all of them.
    Jobs(Vec<u64>),
    /// The number of the quote or of the token.
    Number(u64),
    /// The status of jobs, in the order of the questions.
    Reports(Vec<StatusReport>),
    /// Which jobs were given notice, and when the owner has the nodes.
    Reclaimed {
        /// Those that started last first.
        jobs: Vec<u64>,
        /// The moment.
        from: Time,
    },
    /// What an import has changed, for people.
    Changes(Vec<String>),
    /// As asked.
    Done,
}

/// Why nothing was done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Of which kind.
    pub kind: RefusalKind,
    /// What is wrong, for people.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Which limit was met, for [`RefusalKind::Limit`].
    pub usage: Option<Box<Usage>>,
}

/// How much of a limit is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{used} of {allowed} are used (`{limit}`)")]
pub struct Usage {
    /// Its name, as configurations have it where they can set it.
    pub limit: String,
    /// What is used: requests, jobs or bytes.
    pub used: u64,
    /// What is allowed.
    pub allowed: u64,
    /// Seconds after which the same request may succeed; 0: it never will.
    pub wait: u64,
}

/// Of a [`Refusal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalKind {
    /// It makes no sense as it is.
    Invalid,
    /// There is no such thing, or it is not for the one who asks to know.
    Unknown,
    /// The one who asks may not do that.
    Forbidden,
    /// It does not fit what is there now.
    Conflict,
    /// There are too many already.
    Limit,
    /// Not now: the journal cannot be written, or the market has stopped.
    Unavailable,
    /// Not here: another daemon owns the market.
    Standby,
}

impl Refusal {
    /// A refusal of this kind.
    pub fn new(kind: RefusalKind, message: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into(), hint: hint.into(), usage: None }
    }

    /// A limit is met.
    pub fn limit(message: impl Into<String>, hint: impl Into<String>, usage: Usage) -> Refusal {
        Refusal { usage: Some(Box::new(usage)), ..Refusal::new(RefusalKind::Limit, message, hint) }
    }
}

/// What a step comes to that answers a request.
pub(super) type StepResult = Result<Result<Reply, Refusal>, ApplyError>;

/// A step that changes nothing, and says why.
pub(super) fn refused(
    kind: RefusalKind,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> StepResult {
    Ok(Err(Refusal::new(kind, message, hint)))
}
