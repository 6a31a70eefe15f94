//! Several markets as one grid: jobs that wait here and could do better at a peer go there.
//!
//! Who takes which job is agreed by the state machine of [`tradewind_sched::negotiation`]. Its
//! durable entries are records of the journal like all others, in the same step as what they mean
//! for the books; its messages leave as [`PeerMessage`]s once the step is written down. What becomes
//! of a job that went, its home asks again and again ([`StatusQuery`], [`StatusReport`]): questions and
//! answers change nothing by being lost, doubled or late, as both name the hand-over.

mod checks;
mod desk;
mod exchange;
mod limits;
mod message;
mod negotiate;
mod settle;
mod silence;
mod status;
#[cfg(test)]
mod tests;
mod trust;

use tradewind_sched::negotiation::Serial;

use crate::live::state::jobs::RemoteProgress;

pub use checks::{CheckSettings, PeerOutput};
pub use limits::{PATIENCE, PeerLimits};
pub use message::{MessageBody, PeerMessage, Traveller};
pub(super) use negotiate::may_travel;
pub use settle::WINDING_UP;
pub use silence::PeerSilence;

/// Whether receipts are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Receipts {
    /// What the peer says counts without.
    #[default]
    Unasked,
    /// What the peer says of starts and ends counts only if it is signed.
    Required,
}

/// A question about a job that went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusQuery {
    /// Its number at home.
    pub job: u64,
    /// By which hand-over it went.
    pub transfer: Serial,
    /// Whether it is to stop.
    pub cancel: bool,
    /// Whether its start and its end are to be signed.
    pub receipt: Receipts,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusReport {
    /// As asked.
    pub job: u64,
    /// As asked.
    pub transfer: Serial,
    /// Its status.
    pub fate: RemoteStatus,
}

/// The status of a job that went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteStatus {
    /// It is not known here.
    Unknown,
    /// It waits, runs or has ended there.
    There(RemoteProgress),
    /// It never began there and never will: its home has it again; why.
    Back(String),
}

/// At most so many searches go on at once.
pub(super) const SEARCHES: usize = 64;
/// At most so many waiting jobs are looked at for one that could go.
const LOOK: usize = 1_000;
/// Jobs that are larger do not travel, bytes: a message must fit into what others take in.
const HEAVIEST: usize = 1 << 20;
/// More jobs than this wait: nothing is offered.
const MOST_WAITING: usize = 200;
