//! What is written down: of each aggregate its own kinds. The state changes by these and by nothing
//! else. Their order in a journal is that in which they were decided.

use std::sync::Arc;

use tradewind_model::{Command, Pools, Span};

pub use super::access::AccessRecord;
pub use super::jobs::JobRecord;
pub use super::ledger::LedgerRecord;
pub use super::offers::OfferRecord;
pub use super::outages::OutageRecord;
pub use super::peers::PeerRecord;
pub use super::sites::SiteRecord;
pub use super::tasks::TaskRecord;

/// One change, of one aggregate; what follows from it in others is part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// Of the market as a whole.
    Market(MarketRecord),
    /// Of sites and their prices.
    Site(SiteRecord),
    /// Of jobs.
    Job(JobRecord),
    /// Of tasks.
    Task(TaskRecord),
    /// Of money and projects.
    Ledger(LedgerRecord),
    /// Of missing nodes.
    Outage(OutageRecord),
    /// Of quotes.
    Offer(OfferRecord),
    /// Of tokens.
    Access(AccessRecord),
    /// Of peers, and of jobs that go to them and come from them.
    Peer(PeerRecord),
}

macro_rules! kinds {
    ($($kind:ident($record:ident)),*) => { $(
        impl From<$record> for Record {
            fn from(record: $record) -> Record {
                Record::$kind(record)
            }
        }
    )* };
}

kinds!(
    Market(MarketRecord),
    Site(SiteRecord),
    Job(JobRecord),
    Task(TaskRecord),
    Ledger(LedgerRecord),
    Outage(OutageRecord),
    Offer(OfferRecord),
    Access(AccessRecord),
    Peer(PeerRecord)
);

/// What is written down of the market as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarketRecord {
    /// The first of all: a market of this name, which its tags carry.
    Created {
        /// Lower-case letters and digits.
        market: String,
    },
    /// The sites and pools from now on, and who owns each site.
    Gridded {
        /// Those of before, in their places, and new ones behind.
        pools: Arc<Pools>,
        /// By site: a user's name.
        owners: Vec<String>,
    },
    /// A policy begins; it gets the market's history at its first pass.
    Began {
        /// The program's version.
        release: String,
        /// As the command line writes it.
        policy: String,
        /// Processor-seconds that users have used, as far as they still count: by the users'
        /// places.
        usage: Vec<(i64, u64)>,
    },
    /// The policy saw everything up to here, and said this.
    Decided {
        /// In its order.
        commands: Vec<Command>,
    },
    /// The system's clock was set back, or has caught up: from now on the market's time is ahead
    /// of it by this.
    Clock {
        /// By how much; zero: the two are the same again.
        lead: Span,
    },
}
