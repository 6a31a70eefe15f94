//! Other markets, and what must not be forgotten of them.

mod standing;

use std::collections::BTreeMap;

use tradewind_model::Time;
use tradewind_sched::negotiation::{Durable, Entry, Peer, Serial};

use super::ApplyError;
use super::jobs::{JobHold, RemoteProgress, Settlement};

pub use standing::{FULL, PeerVerdict, Standing};

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

/// Check jobs that a peer got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerChecks {
    /// The last one.
    pub job: u64,
    /// When it was submitted.
    pub at: Time,
    /// Answers that were right.
    pub right: u64,
    /// Answers that were wrong, and jobs that ended otherwise than they should.
    pub wrong: u64,
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

impl Peers {
    /// The peer of this name.
    pub fn number_of(&self, name: &str) -> Option<Peer> {
        self.directory.iter().find(|(_, known)| known.name == name).map(|(peer, _)| *peer)
    }

    pub(super) fn name_of(&self, peer: Peer) -> Result<String, ApplyError> {
        let known =
            self.directory.get(&peer).ok_or(ApplyError::Other("a peer that is not known"))?;
        Ok(known.name.clone())
    }
}

impl PeerEntry {
    /// A peer of which nothing is known yet.
    pub fn named(name: &str) -> PeerEntry {
        let name = name.to_owned();
        PeerEntry { name, market: None, silent: None, removed: None, standing: None, checks: None }
    }
}
