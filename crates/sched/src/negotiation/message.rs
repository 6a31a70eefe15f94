//! What sites say to each other.

use std::sync::Arc;

use tradewind_model::{Demand, JobId, Money, Price, Span, Time};

/// A site, as the others know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u32);

impl Peer {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A number that its site never uses twice: every restart begins a new epoch. Later ones are
/// larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Serial {
    /// How often the site was restarted.
    pub epoch: u32,
    /// From 0 in every epoch.
    pub number: u32,
}

/// A job's name among all sites, for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// Where it was submitted.
    pub home: Peer,
    /// Its id there.
    pub job: JobId,
}

/// All that a site must know of a job to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    /// Id of the job, the same at all sites.
    pub ticket: Ticket,
    /// What it asks for.
    pub demand: Demand,
    /// When its user submitted it.
    pub submitted: Time,
    /// The size of its data, in megabytes: what a transfer takes time for.
    pub data_mb: u64,
    /// How often it was passed on.
    pub hops: u32,
}

/// What a site thinks that it could do for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartQuote {
    /// When the job would start.
    pub start: Time,
    /// Per processor and second.
    pub price: Price,
    /// What the whole job would cost, as far as its estimate holds.
    pub cost: Money,
    /// Jobs that wait there to be backfilled.
    pub load: u32,
    /// More of the site's status, where sites choose by it ([`Choose::goes_by_status`]).
    ///
    /// [`Choose::goes_by_status`]: super::Choose::goes_by_status
    pub status: Option<SiteStatus>,
}

/// What a site states of itself beside its queues (paper 004, section 4 and figure 7b).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteStatus {
    /// Processors that are free now.
    pub free: u32,
    /// Use of the network: data of jobs that it has agreed to take and that are not there yet, in
    /// megabytes.
    pub network_mb: u64,
    /// Mean slowdown of the jobs that started there last, as far as their estimates hold, in
    /// thousandths.
    pub slowdown: u32,
    /// Memory of its nodes.
    pub memory: SiteMemory,
}

/// The memory of a site's nodes, in KiB. None where its pool says nothing of it
/// ([`Pool::node_memory`](tradewind_model::Pool::node_memory)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteMemory {
    /// Of those nodes that are free now. A busy node's is its task's alone.
    pub free_kib: u64,
    /// Of all its nodes.
    pub total_kib: u64,
}

/// A volunteer's promise: the job may come, at this price, and can then start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// On what terms.
    pub quote: StartQuote,
    /// The last second, on the volunteer's clock, at which the offer can be taken up.
    pub expires: Time,
}

/// The kinds of messages, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The home asks which sites would take a job.
    Discover,
    /// A site offers to run the job.
    Volunteer,
    /// The home accepts the offer and asks for a commitment.
    Commit,
    /// The volunteer commits to run the job.
    Accepted,
    /// The volunteer does not commit, because its offer no longer holds.
    Refused,
    /// The home withdraws its request.
    Cancel,
    /// The home sends the job.
    Migrate,
    /// The volunteer has taken the job and owns it.
    Done,
    /// The volunteer has not taken the job; the home still owns it.
    Returned,
}

impl Kind {
    /// All of them, with the names that scripts know.
    pub const ALL: [(Kind, &'static str); 9] = [
        (Kind::Discover, "discover"),
        (Kind::Volunteer, "volunteer"),
        (Kind::Commit, "commit"),
        (Kind::Accepted, "accepted"),
        (Kind::Refused, "refused"),
        (Kind::Cancel, "cancel"),
        (Kind::Migrate, "migrate"),
        (Kind::Done, "done"),
        (Kind::Returned, "returned"),
    ];
}

/// What is said. The origin is the site that holds the job and would pass it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Origin to all or some: who would take this job?
    Discover {
        /// The origin's search.
        inquiry: Serial,
        /// The job, with what it asks for.
        parcel: Arc<Parcel>,
        /// How long it will be until the job is there.
        lead: Span,
    },
    /// Volunteer to origin.
    Volunteer {
        /// Of the question.
        inquiry: Serial,
        /// On these terms.
        offer: Offer,
    },
    /// Origin to one volunteer: the offer is taken up, if it holds still.
    Commit {
        /// The origin's search.
        inquiry: Serial,
        /// The job, with what it asks for.
        parcel: Arc<Parcel>,
        /// What the volunteer had offered.
        offer: Offer,
        /// How long it will be until the job is there.
        lead: Span,
    },
    /// Volunteer to origin: the commit holds.
    Accepted {
        /// Of the commit.
        inquiry: Serial,
        /// Of the commit.
        offer: Offer,
    },
    /// Volunteer to origin: own jobs, or others, came first.
    Refused {
        /// Of the commit.
        inquiry: Serial,
        /// Of the commit.
        offer: Offer,
    },
    /// Origin to volunteer: the agreement is not needed. Losing it does no harm.
    Cancel {
        /// Of the commit.
        inquiry: Serial,
    },
    /// Origin to volunteer: the job with its data. Sent again until it is answered.
    Migrate {
        /// This and no other hand-over.
        transfer: Serial,
        /// Of the commit.
        inquiry: Serial,
        /// The job, with what it asks for.
        parcel: Arc<Parcel>,
        /// What was agreed.
        offer: Offer,
    },
    /// Volunteer to origin: the job is the volunteer's.
    Done {
        /// Of the hand-over.
        transfer: Serial,
    },
    /// Volunteer to origin: the job is not and will never be the volunteer's by this hand-over.
    Returned {
        /// Of the hand-over.
        transfer: Serial,
    },
}

impl Body {
    /// What kind of message it is.
    pub fn kind(&self) -> Kind {
        match self {
            Body::Discover { .. } => Kind::Discover,
            Body::Volunteer { .. } => Kind::Volunteer,
            Body::Commit { .. } => Kind::Commit,
            Body::Accepted { .. } => Kind::Accepted,
            Body::Refused { .. } => Kind::Refused,
            Body::Cancel { .. } => Kind::Cancel,
            Body::Migrate { .. } => Kind::Migrate,
            Body::Done { .. } => Kind::Done,
            Body::Returned { .. } => Kind::Returned,
        }
    }
}

/// A message on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The sending site.
    pub from: Peer,
    /// The receiving site.
    pub to: Peer,
    /// All hand-overs from the speaker to the listener with a lower serial are settled: the
    /// sender knows how they ended, and asks about them no more.
    pub settled: Serial,
    /// The content of the message.
    pub body: Body,
}
