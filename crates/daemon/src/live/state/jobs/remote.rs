//! Jobs that came from other markets, and jobs that went there.

use tradewind_model::{Money, Time};
use tradewind_sched::negotiation::{Offer, Peer, Serial};

use super::Finish;

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

/// What a peer did that it had not agreed to. Its job is not paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BrokenOffer {
    /// It says that the job ended, and not when it began.
    NoStart,
    /// It says that the job began before it had it.
    TooEarly,
    /// It says that the job reached its time limit, sooner than it could.
    TooShort,
    /// It asks for more than its price for the time that it had the job.
    Overcharged,
    /// It knows no output of the job.
    NoOutput,
    /// It says that the job ended, and has not signed that.
    NoReceipt,
    /// It did not start the job.
    NotStarted,
    /// It did not end the job at its limit.
    NotEnded,
    /// It does not know the job that it had.
    Forgotten,
    /// It lost the job.
    Lost,
    /// It answered a check job wrongly, or not at all.
    WrongAnswer,
}

impl BrokenOffer {
    /// What is said of the peer, after its name.
    pub fn words(self) -> &'static str {
        match self {
            BrokenOffer::NoStart => "says that the job ended, and not when it began",
            BrokenOffer::TooEarly => "says that the job began before it had it",
            BrokenOffer::TooShort => {
                "says that the job reached its time limit, sooner than it could"
            }
            BrokenOffer::Overcharged => {
                "asks for more than its price for the time that it had the job"
            }
            BrokenOffer::NoOutput => "says that the job ended, and knows no output of it",
            BrokenOffer::NoReceipt => "says that the job ended, and has not signed it with its key",
            BrokenOffer::NotStarted => "did not start the job as it had offered",
            BrokenOffer::NotEnded => "did not end the job at its limit",
            BrokenOffer::Forgotten => "does not know the job any more",
            BrokenOffer::Lost => "lost the job",
            BrokenOffer::WrongAnswer => "did not answer the check job as it should",
        }
    }
}

/// What happened to a job at a peer, as an administrator says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// It is lost: its user's choice for lost jobs decides, and the peer is not paid.
    Lost,
    /// It ran to its end: it is completed, and the peer is paid what was held for it.
    Ran,
}

impl Settlement {
    /// Both, with the names that scripts know.
    pub const ALL: [(Settlement, &'static str); 2] =
        [(Settlement::Lost, "lost"), (Settlement::Ran, "ran")];

    /// The name.
    pub fn name(self) -> &'static str {
        Settlement::ALL.iter().find(|(it, _)| *it == self).map_or("", |(_, name)| name)
    }

    /// The one of this name.
    pub fn of(name: &str) -> Option<Settlement> {
        Settlement::ALL.iter().find(|(_, it)| *it == name).map(|(it, _)| *it)
    }
}
