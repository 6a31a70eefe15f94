//! What a site must not forget, and the entries that change it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::message::{Offer, Parcel, Peer, Serial, Ticket};

/// A job that was sent and is not known to have arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handing {
    /// The site that takes the job.
    pub to: Peer,
    /// The search that led there.
    pub inquiry: Serial,
    /// The job, with what it asks for.
    pub parcel: Arc<Parcel>,
    /// What was agreed.
    pub offer: Offer,
}

/// How a hand-over from elsewhere ended here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferVerdict {
    /// The job was accepted.
    Taken,
    /// It was sent back.
    Returned,
}

/// Hand-overs from one site that it may still ask about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tombstones {
    /// Lower serials are settled: messages about them are late and mean nothing.
    pub settled: Serial,
    /// How the others ended that have ended.
    pub closed: BTreeMap<Serial, TransferVerdict>,
}

/// What survives a crash. Only [`Durable::apply`] changes it: a caller that stores the entries can
/// restore it again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Durable {
    /// How often the site was restarted.
    pub epoch: u32,
    /// Jobs that this site owns and may run: waiting or running.
    pub here: BTreeSet<Ticket>,
    /// Jobs in doubt: owned by this site until the other has taken them in. They must not run
    /// here, no matter which site owns them.
    pub handing: BTreeMap<Serial, Handing>,
    /// By the site that transferred.
    pub tombstones: BTreeMap<Peer, Tombstones>,
}

/// One durable change. It must be written down before any message of the same step leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// The site was restarted.
    Restarted,
    /// A job was submitted here.
    Joined(Ticket),
    /// A job of this site has ended, was refused or withdrawn.
    Over(Ticket),
    /// A job goes out.
    Handing {
        /// This and no other hand-over.
        transfer: Serial,
        /// Which job, and to whom.
        handing: Handing,
    },
    /// The other site has it.
    Gave(Serial),
    /// The other site does not want it: it is here again.
    Kept(Serial),
    /// A job came in from another site: from now on it is this site's.
    Took {
        /// The sending site.
        from: Peer,
        /// By which hand-over of theirs.
        transfer: Serial,
        /// The job, with what it asks for.
        parcel: Arc<Parcel>,
        /// On which terms.
        offer: Offer,
    },
    /// A job came in and was sent back.
    Returned {
        /// The sending site.
        from: Peer,
        /// By which hand-over of theirs.
        transfer: Serial,
    },
    /// The other site asks no more about hand-overs below `settled`. The only entry that may be
    /// written down late, or lost.
    Settled {
        /// The site that asks no more.
        from: Peer,
        /// Serial numbers below this one are settled.
        settled: Serial,
    },
}

impl Durable {
    /// Makes one change. Logarithmic, and linear in the tombstones that it drops.
    pub fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Restarted => self.epoch += 1,
            Entry::Joined(ticket) => {
                self.here.insert(*ticket);
            }
            Entry::Over(ticket) => {
                self.here.remove(ticket);
            }
            Entry::Handing { transfer, handing } => {
                self.here.remove(&handing.parcel.ticket);
                self.handing.insert(*transfer, handing.clone());
            }
            Entry::Gave(transfer) => {
                self.handing.remove(transfer);
            }
            Entry::Kept(transfer) => {
                if let Some(handing) = self.handing.remove(transfer) {
                    self.here.insert(handing.parcel.ticket);
                }
            }
            Entry::Took { from, transfer, parcel, .. } => {
                self.close(*from, *transfer, TransferVerdict::Taken);
                self.here.insert(parcel.ticket);
            }
            Entry::Returned { from, transfer } => {
                self.close(*from, *transfer, TransferVerdict::Returned);
            }
            Entry::Settled { from, settled } => {
                let tombstones = self.tombstones.entry(*from).or_default();
                tombstones.settled = tombstones.settled.max(*settled);
                tombstones.closed = tombstones.closed.split_off(settled);
            }
        }
    }

    fn close(&mut self, from: Peer, transfer: Serial, verdict: TransferVerdict) {
        self.tombstones.entry(from).or_default().closed.insert(transfer, verdict);
    }
}
