//! The state of a live market: the market itself, and the books around it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tradewind_io::submission::Submission;
use tradewind_model::{
    JobId, Market, Money, OutageId, Place, PoolId, Pools, Price, Reason, SiteId, Span, Time,
    TimeMode,
};

use super::choice::Choice;
use super::gather::StartBarrier;
use super::job_table::JobTable;
use super::money::{Account, Accounts};
use super::peers::{Away, Peers, RemoteOrigin};
use super::projects::Projects;
use super::recent_history::RecentHistory;
use super::rights::{Role, SignedIn, TokenHash};
use super::used::Uses;
use crate::site::{Exit, Seen, Tag};

/// Everything that survives a restart. [`State::apply`] is the only way to change it.
#[derive(Debug, Clone)]
pub struct State {
    /// The market's name, part of every tag.
    pub name: String,
    /// What policies see.
    pub market: Market,
    /// By site: who owns it.
    pub owners: Vec<String>,
    /// By site: since when it is away.
    pub away: BTreeMap<SiteId, Time>,
    /// The policy that decides now.
    pub policy: String,
    /// Jobs that are not over, and those that were over lately.
    pub jobs: JobTable,
    /// Those of the market's jobs that wait or run.
    pub numbers: BTreeMap<JobId, u64>,
    /// The last job's number.
    pub last_job: u64,
    /// By user and the user's own name for a submission: the first job of it.
    pub keys: BTreeMap<(String, String), u64>,
    /// In the order of their first submission: policies know users by this place.
    pub users: Vec<String>,
    /// What sites were or are to be told of, and have not forgotten.
    pub tasks: BTreeMap<Tag, Task>,
    /// Closures that are not over.
    pub closures: BTreeMap<Why, OutageId>,
    /// Prices that owners set while the market ran: tables in TOML.
    pub tariffs: BTreeMap<PoolId, String>,
    /// Where the money is.
    pub accounts: Accounts,
    /// Who may come in.
    pub tokens: BTreeMap<u64, Token>,
    /// The last token's number.
    pub last_token: u64,
    /// Quotes that may be accepted.
    pub quotes: BTreeMap<u64, Quote>,
    /// The last quote's number.
    pub last_quote: u64,
    /// By site: how much later than expected its last jobs started, seconds; oldest first.
    pub slips: BTreeMap<SiteId, VecDeque<i64>>,
    /// Other markets, and what is agreed with them.
    pub peers: Peers,
    /// What was lately, for people.
    pub past: RecentHistory,
    /// By how much the market's time is ahead of the system's clock, since that was set back;
    /// `None`: it never was.
    pub lead: Option<Span>,
    /// Who may spend what.
    pub projects: Projects,
    /// The rules by which it follows from records; `None`: those of older releases.
    pub rules: Option<u32>,
    /// What was used and charged.
    pub used: Uses,
}

/// A job, from its submission until it is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its number.
    pub number: u64,
    /// Whose.
    pub user: String,
    /// What was handed in.
    pub submission: Arc<Submission>,
    /// Of an array: its first job's number, and this one's index.
    pub array: Option<(u64, u32)>,
    /// The user's own name for the submission, if it has one: of an array, at its first job.
    pub key: Option<String>,
    /// When.
    pub submitted: Time,
    /// How often it was set back by a limit of a site, of all times that it was: these are no
    /// refusals.
    pub capped: Option<u32>,
    /// Where it is.
    pub phase: Phase,
    /// Its place in the market, once it has joined; a new one whenever it joins again.
    pub id: Option<JobId>,
    /// How often it was started and interrupted.
    pub attempt: u32,
    /// Where it runs or ran at last: in the order of its parts.
    pub parts: Vec<Part>,
    /// When it was first expected to start.
    pub expected: Option<Time>,
    /// When it was started at last.
    pub started: Option<Time>,
    /// When it was over.
    pub ended: Option<Time>,
    /// What it paid.
    pub paid: Money,
    /// Who wants it to stop.
    pub cancelled_by: Option<String>,
    /// The window that was promised to it.
    pub booking: Option<Booking>,
    /// Its nodes at its last start were those of that window.
    pub in_window: bool,
    /// What else it could have had when it was given its nodes, if that was written down.
    pub choice: Option<Choice>,
    /// How its parts come together, if they begin together.
    pub rendezvous: Option<StartBarrier>,
    /// When the work of its parts really began, if they do not wait for each other: milliseconds
    /// since 1970 by part, once all are known.
    pub apart: Option<Vec<i64>>,
    /// What happened to it: the last [`Job::KEPT`] entries.
    pub history: VecDeque<(Time, Happening)>,
    /// Nodes that it asks for, if its submission alone does not say so: since it joined the queue
    /// last, or a window was promised to it.
    pub width: Option<u32>,
    /// Processors of each of these nodes, if that decided how many there are.
    pub processors: Option<u32>,
    /// Where it came from, if it is a peer's.
    pub origin: Option<RemoteOrigin>,
    /// Where it goes or went, if it is passed on.
    pub away: Option<Away>,
    /// If its script and its environment were dropped: SHA-256 of the script.
    pub redacted: Option<[u8; 32]>,
}

impl Job {
    /// Entries of its history.
    pub const KEPT: usize = 64;

    /// How often it was started in vain, limits of sites apart.
    pub fn setbacks(&self) -> u32 {
        self.attempt.saturating_sub(self.capped.unwrap_or(0))
    }

    /// Who pays for it.
    pub fn payer(&self) -> Account {
        if let Some(origin) = &self.origin {
            return Account::Peer(origin.name.clone());
        }
        match &self.submission.project {
            Some(project) => Account::Project(project.clone()),
            None => Account::User(self.user.clone()),
        }
    }

    /// What its present parts cost if all last to their limits.
    pub fn max(&self) -> Money {
        self.parts.iter().map(|part| part.price.of(part.nodes, part.limit)).sum()
    }

    /// Nodes that it asks for, or has.
    pub fn nodes(&self) -> u32 {
        self.width.unwrap_or(self.submission.tasks)
    }

    /// It asks for so many nodes from now on, of so many processors each.
    pub(super) fn is_as_wide_as(&mut self, nodes: u32, processors: Option<u32>) {
        self.width = Some(nodes).filter(|nodes| *nodes != self.submission.tasks);
        self.processors = processors;
    }

    /// The name at its site of one of its parts.
    pub fn tag(&self, market: &str, part: usize) -> Tag {
        let (job, attempt) = (self.number, self.attempt);
        Tag { market: market.to_owned(), job, attempt, part: part as u32 }
    }
}

/// Where a job is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Not in the queue.
    Held(Hold),
    /// In the queue.
    Waiting,
    /// It has its nodes; its parts say how far it is.
    Running,
    /// It will not run (again).
    Over(Finish),
    /// On its way to a peer: nobody knows whose it is, and it must not run here.
    Handing,
    /// It is at a peer.
    Away,
}

/// Why a job is not in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// Its user wants it.
    User,
    /// It waits for other jobs.
    Dependency,
    /// So many of its array may run at once.
    Array,
    /// Its payer has too little: so much is needed to start it.
    Funds(Money),
    /// Its window is booked, and has not come.
    Booked,
    /// It was lost, and its user is to decide.
    Lost,
    /// Sites would not start it, time and again; the last one's words.
    Rejected(String),
    /// No nodes here suit it; peers are asked.
    Nowhere,
    /// Sites that suit it have as many jobs of its user as they may; which, and why.
    Capped(String),
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// With exit code 0.
    Completed,
    /// With another one.
    Failed(i32),
    /// By a signal.
    Killed(i32),
    /// At its time limit.
    Timeout,
    /// Somebody cancelled it.
    Cancelled,
    /// It used too much memory.
    OutOfMemory,
    /// Its nodes died, or nobody knows what became of it.
    NodeFail,
    /// The policy will not run it.
    Refused(Reason),
    /// A job that it waited for did not end as it had to.
    Dependency(u64),
    /// It was a peer's, never ran here, and is given back; why.
    Returned(String),
}

/// What set a job back into the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setback {
    /// A site would not start it; its words.
    Refused(String),
    /// The owner's own jobs took its nodes before it had begun, or the nodes are gone.
    Displaced,
    /// Its nodes died or were lost.
    Lost,
    /// A site took its nodes away for a job of higher priority.
    Preempted,
    /// Its payer had too little.
    Funds,
    /// Its parts did not come together: the pool of the one that was missing, and why.
    BarrierTimedOut(PoolId, String),
    /// It met a limit of the pool's site; the manager's word for it.
    Capped(PoolId, String),
}

/// One of a job's parts: its nodes in one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Whose nodes.
    pub pool: PoolId,
    /// How many.
    pub nodes: u32,
    /// What the job pays for each and second.
    pub price: Price,
    /// How long it may run there.
    pub limit: Span,
    /// Which ones, by the site's names, once it runs.
    pub names: Vec<String>,
    /// Since when it runs.
    pub since: Option<Time>,
    /// How it ended, and when.
    pub exit: Option<(Time, Exit)>,
}

/// What happened to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// It was handed in.
    Submitted,
    /// It was held.
    Held(Hold),
    /// It joined the queue.
    Queued,
    /// It was given nodes: pools and how many of each.
    Planned(Place),
    /// It runs.
    Began,
    /// It lost its nodes.
    Setback(Setback),
    /// Somebody wants it to stop.
    Cancelling(String),
    /// It is over.
    Over(Finish),
    /// It goes to the peer of this name.
    Handing(String),
    /// It is there.
    HandedOver(String),
    /// It is here again; why.
    CameBack(String),
    /// It came from the peer of this name.
    TakenIn(String),
    /// A site will not keep nodes free for its booked window; its words.
    Unkept(SiteId, String),
}

/// A task at a site, until the site has forgotten it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Whose nodes.
    pub pool: PoolId,
    /// What is to become of it.
    pub wanted: TaskGoal,
    /// What is known of it.
    pub known: TaskReport,
    /// When its work is to begin, as long as its site has not been told.
    pub go: Option<Time>,
    /// When its site said that its work had begun and that it could not be taken back any more.
    pub begun: Option<Time>,
    /// Since when its site's manager holds it, and the manager's word for that.
    pub held: Option<(Time, String)>,
}

/// What is to become of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskGoal {
    /// It is to run.
    Run,
    /// It is to stop, or never to start.
    Stop,
    /// It is to be taken back if its work has not begun; or else it runs on.
    Recall,
}

/// What is known of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskReport {
    /// Nothing: the site may or may not have heard of it.
    Nothing,
    /// The site would not take it; its words.
    Declined(String),
    /// It will not begin any more, if it had not by then; why, if it was not our wish.
    Withdrawn(Option<String>),
    /// The site has it.
    Acknowledged,
    /// What the site saw last.
    Seen(Seen),
}

impl Task {
    /// Whether it will not run (any more).
    pub fn is_over(&self) -> bool {
        matches!(self.known, TaskReport::Seen(Seen::Ended { .. }))
    }
}

/// On whose account nodes are missing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The owner's task of this name.
    Local(PoolId, String),
    /// A task of ours that the books do not know.
    Stray(PoolId, Tag),
    /// Nodes that do not work.
    Down(PoolId),
    /// The owner does not offer them from this moment on.
    Withheld(PoolId, Time),
    /// They are set aside for a job's part.
    Booked(PoolId, u64),
    /// Owners' jobs that wait at the site are expected to take them. The number tells several such
    /// loads of a pool apart, and means nothing else.
    Queued(PoolId, u32),
}

impl Why {
    /// Whose nodes.
    pub fn pool(&self) -> PoolId {
        match self {
            Why::Local(pool, _)
            | Why::Stray(pool, _)
            | Why::Down(pool)
            | Why::Withheld(pool, _)
            | Why::Booked(pool, _)
            | Why::Queued(pool, _) => *pool,
        }
    }
}

/// Who may come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Whose it is.
    pub user: String,
    /// As what.
    pub role: Role,
    /// Of the secret.
    pub hash: TokenHash,
    /// For people.
    pub note: String,
    /// Since when.
    pub issued: Time,
    /// From when on it does not open any more; `None`: it opens until it is revoked.
    pub expires: Option<Time>,
    /// The secret before the last one, as long as it still opens.
    pub earlier: Option<EarlierSecret>,
    /// If it was issued to somebody who signed in with a provider of identities.
    pub signed_in: Option<SignedIn>,
}

impl Token {
    /// Whether it opens nothing any more at `at`.
    pub fn is_expired(&self, at: Time) -> bool {
        self.expires.is_some_and(|it| it <= at)
    }
}

/// A secret that was replaced, and still opens for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierSecret {
    /// Of the secret.
    pub hash: TokenHash,
    /// From when on it does not open any more.
    pub until: Time,
}

/// A window that a user may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Its number.
    pub number: u64,
    /// Whose.
    pub user: String,
    /// What for: the submission must ask for the same.
    pub tasks: u32,
    /// For how long.
    pub work: Span,
    /// How that is counted.
    pub times: TimeMode,
    /// Where and when.
    pub booking: Booking,
    /// What it costs at most.
    pub cost: Money,
    /// Until when it may be accepted.
    pub expires: Time,
}

/// Nodes that are set aside for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booking {
    /// From when on.
    pub start: Time,
    /// Until when, by share of the place.
    pub ends: Vec<Time>,
    /// Where.
    pub place: Place,
    /// What it pays per node and second, by share of the place.
    pub prices: Vec<Price>,
}

impl Booking {
    /// What it costs a job of so many tasks at most.
    pub fn max(&self, tasks: u32) -> Money {
        let shares = self.place.shares(tasks).zip(&self.ends).zip(&self.prices);
        shares.map(|((share, end), price)| price.of(share.nodes, *end - self.start)).sum()
    }
}

impl State {
    /// A market without sites, before its first record.
    pub fn empty(at: Time) -> State {
        State {
            name: String::new(),
            // Replaced by the first record that says what there is.
            market: Market::new(Arc::new(Pools::cluster(1)), at),
            owners: Vec::new(),
            away: BTreeMap::new(),
            policy: String::new(),
            jobs: JobTable::default(),
            numbers: BTreeMap::new(),
            last_job: 0,
            keys: BTreeMap::new(),
            users: Vec::new(),
            tasks: BTreeMap::new(),
            closures: BTreeMap::new(),
            tariffs: BTreeMap::new(),
            accounts: Accounts::default(),
            tokens: BTreeMap::new(),
            last_token: 0,
            quotes: BTreeMap::new(),
            last_quote: 0,
            slips: BTreeMap::new(),
            peers: Peers::default(),
            past: RecentHistory::default(),
            lead: None,
            projects: Projects::default(),
            rules: None,
            used: Uses::default(),
        }
    }

    /// By how much the market's time is ahead of the system's clock. Moments that come from outside
    /// (people's, sites') are of the clock; all moments in here are the market's.
    pub fn lead(&self) -> Span {
        self.lead.unwrap_or(Span::ZERO)
    }

    /// The moment of the last record.
    pub fn now(&self) -> Time {
        self.market.now()
    }

    /// Whose nodes the pool's are.
    pub fn site_of(&self, pool: PoolId) -> SiteId {
        self.market.pools().pool(pool).site
    }

    /// Whether there are sites yet.
    pub fn is_gridded(&self) -> bool {
        !self.owners.is_empty()
    }
}
