//! The thread that joins the live market, its journal and its sites.
//!
//! It takes all messages that have arrived, makes one step of each, writes all their records down
//! at once (so that many submissions share one wait for the disk), and only then answers and tells
//! sites and peers. If the journal cannot be written, nothing that was not written counts: the state is
//! made again from the journal, and callers get the answer to try again. While the disk is full,
//! that state can be looked at, and jobs can be cancelled.

mod ahead;
mod busy;
mod by_hand;
mod clock;
mod follow;
mod full;
pub mod gauges;
mod handle;
mod journal;
mod large;
mod lease;
mod nothing;
mod peers;
pub mod reads;
pub mod recovery;
mod run;
mod sent;
mod sites;
mod standby;
mod start;
mod still;
mod strays;

pub use by_hand::StandbyByHand;
pub use gauges::Gauges;
pub use handle::{CommittedRecord, EngineStopped, Handle, RecordStream};
pub use lease::{Lease, Tick};
pub use peers::{PeerSetup, PeerTransport, TAIL};
pub use reads::Reader;
pub use recovery::{RecoveryError, begun, moment, recover, recover_pages, replay};
pub use sites::SiteSetup;
pub use standby::{
    Followed, LeaseHold, MarketRole, OpenPartners, OwnerLook, SharedSetup, StandbyStatus, Term,
};
pub use start::{Engine, OpenStore, Readers, Setup, Timing};
pub use still::still;
