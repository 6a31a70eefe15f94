//! What goes into the live market.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_io::submission::change::SubmissionChange;
use tradewind_io::submission::{OnBreach, Submission};
use tradewind_model::{Money, PoolId, Power, Price, Series, SiteId, Span, Time};
use tradewind_sched::negotiation::Peer;

use super::budgets::{BudgetHolder, PowerLimits};
use super::money::Account;
use super::peers::{PeerMessage, PeerOutput, StatusQuery, StatusReport};
use super::projects::{MemberRole, SpendingLimits};
use super::rights::{Actor, Expiry, Role, TokenHash, TokenTerms};
use super::state::Quote;
use crate::live::ledger::projects::import::AccountingRow;
use crate::live::state::jobs::Settlement;
use crate::site::{SiteError, Survey, Tag};

/// Something that happened outside.
#[derive(Debug, Clone)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// The system's clock was set: the market's time is ahead of it by this from now on.
    Clock {
        /// Zero: the two are the same again.
        lead: Span,
    },
    /// A request of a user, an owner, an administrator or a peer.
    Asked {
        /// Who.
        actor: Actor,
        /// What.
        ask: Ask,
    },
    /// A site was looked at. What it acknowledged before must have been said before.
    Surveyed {
        /// Which.
        site: SiteId,
        /// What was seen.
        survey: Result<Survey, SiteError>,
    },
    /// A site has answered.
    Answered {
        /// About which task.
        tag: Tag,
        /// What it had been told.
        act: Act,
        /// What it said.
        answer: Result<(), SiteError>,
    },
    /// What owners ask and withhold from now on, by their schedules.
    Terms {
        /// The price of every pool that has one.
        prices: Vec<(PoolId, Price)>,
        /// Of those whose price changes with the hours: all of it, as it is while the load stays.
        rates: BTreeMap<PoolId, Arc<Series>>,
        /// All that is withheld and not over.
        withheld: Vec<Withheld>,
    },
    /// What the electricity of sites costs and emits from now on.
    Electricity {
        /// Of all sites of the configuration.
        power: Power,
    },
    /// A peer has reported on jobs that went there.
    Reported {
        /// Which.
        peer: Peer,
        /// What it said.
        reports: Vec<StatusReport>,
        /// What it shows of the output of those that it says have ended.
        outputs: BTreeMap<u64, PeerOutput>,
    },
    /// A peer has begun to answer, or has stopped.
    Contact {
        /// Which.
        peer: Peer,
        /// Whether it answers.
        there: bool,
    },
    /// When jobs that wait are expected to start.
    Forecast {
        /// Jobs and moments.
        starts: Vec<(u64, Time)>,
    },
    /// A site was told which nodes to keep free.
    SetAside {
        /// Which.
        site: SiteId,
        /// The jobs for which it will not, and why.
        denied: Vec<(u64, String)>,
    },
}

/// Nodes that an owner does not offer for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withheld {
    /// Whose.
    pub pool: PoolId,
    /// How many.
    pub nodes: u32,
    /// From when on.
    pub from: Time,
    /// Until when.
    pub until: Time,
}

/// An order to a site about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// To run it.
    Submit,
    /// To stop it.
    Withdraw,
    /// To take it back if its work has not begun.
    Recall,
    /// To forget it.
    Forget,
    /// To let its work begin.
    Go,
    /// To tell its work that its nodes are taken back.
    Notify,
}

/// What is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// To have a job run.
    Submit {
        /// What.
        submission: Arc<Submission>,
        /// The user's own name for it: the same again changes nothing.
        key: Option<String>,
        /// The quote that it accepts.
        quote: Option<u64>,
    },
    /// To stop a job, or not to have it run.
    Cancel {
        /// Which.
        job: u64,
    },
    /// To keep a waiting job out of the queue.
    Hold {
        /// Which.
        job: u64,
    },
    /// To stop a job that runs, and to have it wait in the queue again.
    Requeue {
        /// Which.
        job: u64,
    },
    /// To take nodes of preemptible jobs back for the site's owner.
    Reclaim(Reclaim),
    /// To end the doubt about a job that is at a peer.
    SettleAway {
        /// Which.
        job: u64,
        /// What happened to it.
        outcome: Settlement,
    },
    /// To change a job that waits, as options of a submission say.
    Change {
        /// Which.
        job: u64,
        /// How.
        change: Box<SubmissionChange>,
    },
    /// To choose for a job that accepted an offer.
    Update {
        /// Which.
        job: u64,
        /// What happens if the offer is not kept.
        on_breach: Option<OnBreach>,
        /// Another quote to accept, after a breach.
        quote: Option<u64>,
    },
    /// To let a held job wait for nodes.
    Release {
        /// Which.
        job: u64,
    },
    /// To move money.
    Move {
        /// From whom.
        from: Account,
        /// To whom.
        to: Account,
        /// How much.
        amount: Money,
        /// Why.
        note: String,
        /// What happens if there is no such account yet.
        unknown: Unknown,
    },
    /// To make or change a project.
    Project {
        /// Its name.
        project: String,
        /// What is wanted.
        wish: ProjectChange,
    },
    /// To have users, projects, members and budgets as a table says: all of it or nothing.
    Import {
        /// Its rows.
        rows: Vec<AccountingRow>,
    },
    /// To ask other prices for a pool's nodes than the configuration.
    Tariff {
        /// Whose nodes.
        pool: PoolId,
        /// A table in TOML that was read and is sound; `None`: those of the configuration.
        text: Option<String>,
    },
    /// To limit what jobs of a user or a project may consume.
    Budget {
        /// Whose.
        holder: BudgetHolder,
        /// From now on.
        limits: PowerLimits,
    },
    /// To issue a token.
    Admit {
        /// Whom.
        user: String,
        /// As what.
        role: Role,
        /// Of the secret.
        hash: TokenHash,
        /// For people.
        note: String,
        /// How long, and who answers for its owner.
        terms: TokenTerms,
    },
    /// To give a token another secret; the one that it has opens for a while yet.
    Rotate {
        /// Which.
        token: u64,
        /// Of the new secret.
        hash: TokenHash,
        /// How long the present one still opens.
        grace: Span,
        /// Anything but [`Expiry::Kept`] only administrators may ask for.
        expiry: Expiry,
    },
    /// To revoke a token.
    Expel {
        /// By which token.
        token: u64,
    },
    /// To have another policy decide.
    Policy {
        /// As the command line writes it.
        policy: String,
    },
    /// To have a quote kept. It gets a new number; it expires by the system's clock.
    Keep {
        /// What was found.
        quote: Quote,
    },
    /// A peer: to have its messages heard.
    Letters {
        /// Which market it is.
        market: String,
        /// When it sent them, on its clock.
        sent: Time,
        /// In any order.
        letters: Vec<PeerMessage>,
    },
    /// A peer: to know the status of its jobs, and to have some of them stopped.
    Report {
        /// Which market it is.
        market: String,
        /// Which jobs.
        wanted: Vec<StatusQuery>,
    },
}

/// Nodes that a site's owner takes back from preemptible jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reclaim {
    /// Whose.
    pub site: String,
    /// The pool's name at its site; `None`: the site has one.
    pub pool: Option<String>,
    /// How many, at least 1.
    pub nodes: u32,
    /// How long before jobs learn of it; `None`: as long as the site promises.
    pub notice: Option<Span>,
    /// For how long the market then leaves the nodes to the owner.
    pub length: Span,
}

/// What happens to money for an account that does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unknown {
    /// It is not moved: the name may be misspelt.
    #[default]
    Refuse,
    /// The user or the project is made.
    Create,
}

/// What is wanted of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectChange {
    /// To make it.
    Make {
        /// For people.
        note: String,
    },
    /// To say something else about it.
    Note {
        /// For people.
        note: String,
    },
    /// To have a member, or a member in another role.
    Join {
        /// Who.
        user: String,
        /// As what.
        role: MemberRole,
    },
    /// To remove a member.
    Leave {
        /// Who.
        user: String,
    },
    /// To have other limits count.
    Limit {
        /// Of which member; `None`: of the project.
        user: Option<String>,
        /// From now on.
        limits: SpendingLimits,
    },
}
