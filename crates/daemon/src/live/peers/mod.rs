//! Several markets as one grid: jobs that wait here and could do better at a peer go there.
//!
//! Who takes which job is agreed by the state machine of [`tradewind_sched::negotiation`]. Its
//! durable entries are records of the journal like all others, in the same step as what they mean
//! for the books; its messages leave as [`PeerMessage`]s once the step is written down. What becomes
//! of a job that went, its home asks again and again ([`StatusQuery`], [`StatusReport`]): questions and
//! answers change nothing by being lost, doubled or late, as both name the hand-over.

mod apply;
mod checks;
mod desk;
mod exchange;
mod message;
mod negotiate;
mod settle;
mod silence;
mod standing;
mod status;
#[cfg(test)]
mod tests;
mod trust;

use std::collections::BTreeMap;

use tradewind_model::{Money, Time};
use tradewind_sched::negotiation::{Durable, Entry, Offer, Peer, Serial};

use super::state::{Finish, JobHold};
pub use checks::{CheckSettings, PeerChecks, PeerOutput};
pub use message::{MessageBody, PeerMessage, Traveller};
pub(super) use negotiate::may_travel;
pub use settle::{Settlement, WINDING_UP};
pub use silence::PeerSilence;
pub use standing::{BrokenOffer, FULL, PATIENCE, PeerLimits, PeerVerdict, Standing};

/// What must not be forgotten of peers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Peers {
    /// By their numbers here, from 1: this market is 0.
    pub directory: BTreeMap<Peer, PeerEntry>,
    /// What the negotiation must not forget.
    pub durable: Durable,
    /// Jobs that were taken in: whose, by which hand-over, and their numbers here.
    pub taken: BTreeMap<(Peer, Serial), u64>,
}

/// A peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerEntry {
    /// As the configuration calls it; its token's user.
    pub name: String,
    /// The market that it said to be, at first.
    pub market: Option<String>,
    /// It does not answer, since this moment.
    pub silent: Option<Time>,
    /// It is not in the configuration any more, since this moment.
    pub removed: Option<Time>,
    /// Offers that it kept and did not keep; `None`: none yet.
    pub standing: Option<Standing>,
    /// Check jobs that it got; `None`: none yet.
    pub checks: Option<PeerChecks>,
}

/// Where a job came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteOrigin {
    /// From whom.
    pub peer: Peer,
    /// What it is called.
    pub name: String,
    /// The job's number there.
    pub job: u64,
    /// By which hand-over.
    pub transfer: Serial,
    /// Of an array there: its first job's number, and this one's index.
    pub array: Option<(u64, u32)>,
    /// On which terms.
    pub offer: Offer,
    /// When its user submitted it, on its home's clock; `None`: an earlier release took it in.
    pub submitted: Option<Time>,
}

/// Where a job went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Away {
    /// To whom.
    pub peer: Peer,
    /// What it is called.
    pub name: String,
    /// By which hand-over.
    pub transfer: Serial,
    /// On which terms.
    pub offer: Offer,
    /// Its last known progress.
    pub news: Option<RemoteProgress>,
    /// It is to come back, since this moment: the peer did not keep its offer.
    pub recalled: Option<Time>,
    /// What the peer says of it is not believed, and it is not paid; why.
    pub doubtful: Option<BrokenOffer>,
}

/// How a job is that went, as far as it is not here again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteProgress {
    /// Since when it runs, on the peer's clock.
    pub since: Option<Time>,
    /// Where: sites and pools, and the nodes' names.
    pub nodes: Vec<String>,
    /// How it ended.
    pub finish: Option<Finish>,
    /// What the peer was paid for it.
    pub charged: Money,
    /// What the peer has signed of this; `None`: nothing, or its signature is not good.
    pub receipt: Option<Receipt>,
}

/// What a peer signs of the start or the end of a job: the statement of
/// [`statement`](crate::codec::peers::statement).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// When the job ended, on the peer's clock; `None`: it runs.
    pub until: Option<Time>,
    /// The signature of the statement, as text; empty before it is signed.
    pub signature: String,
}

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

/// What is written down of peers, and of jobs that go to them and come from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerRecord {
    /// A peer has a number here; or it has said which market it is.
    Peered {
        /// The next number, or that of before.
        peer: Peer,
        /// What is known of it.
        known: PeerEntry,
    },
    /// A durable change of the negotiation with peers, and what it means for its job.
    Negotiated {
        /// What.
        entry: Entry,
        /// Of a job that came in: its number here, just submitted; and of an array at its home,
        /// its first job's number and its index.
        guest: Option<(u64, Option<(u64, u32)>)>,
    },
    /// A peer has told something new of a job that went there.
    Heard {
        /// Which.
        job: u64,
        /// What.
        news: RemoteProgress,
    },
    /// A job that went to a peer is here again.
    CameBack {
        /// Which.
        job: u64,
        /// Why, for people.
        why: String,
        /// Why it does not wait in the queue yet.
        hold: JobHold,
    },
    /// A job that went to a peer was judged by what the peer says of it.
    Judged {
        /// Which.
        job: u64,
        /// How.
        verdict: PeerVerdict,
    },
    /// A job that is at a peer is to come back; the peer did not keep its offer.
    Recalled {
        /// Which.
        job: u64,
    },
    /// An administrator has said what happened to a job that is at a peer.
    SettledByHand {
        /// Which.
        job: u64,
        /// Who.
        by: String,
        /// What.
        outcome: Settlement,
    },
}

/// At most so many searches go on at once.
pub(super) const SEARCHES: usize = 64;
/// At most so many waiting jobs are looked at for one that could go.
const LOOK: usize = 1_000;
/// Jobs that are larger do not travel, bytes: a message must fit into what others take in.
const HEAVIEST: usize = 1 << 20;
/// More jobs than this wait: nothing is offered.
const MOST_WAITING: usize = 200;
