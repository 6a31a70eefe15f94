//! One job, and in which phase of its life it is.

use std::collections::VecDeque;
use std::sync::Arc;

use tradewind_io::submission::Submission;
use tradewind_model::{
    Consumption, JobId, LicenceShare, Money, Place, PoolId, Price, Reason, SiteId, Span,
    StageTimes, Time,
};

use super::choice::Choice;
use super::{
    Away, Booking, BreachReason, BrokenOffer, Promise, RemoteOrigin, Settlement, StartBarrier,
};
use crate::live::state::ledger::budgets::{BudgetHolder, holders_of};
use crate::live::state::ledger::money::Account;
use crate::site::{Exit, Tag};

/// A job, from its submission until it is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its number.
    pub number: u64,
    /// Whose.
    pub user: String,
    /// What was submitted.
    pub submission: Arc<Submission>,
    /// Of an array: its first job's number, and this one's index.
    pub array: Option<(u64, u32)>,
    /// The user's own name for the submission, if it has one: of an array, at its first job.
    pub key: Option<String>,
    /// When.
    pub submitted: Time,
    /// Where it is, and what is known of it only there.
    pub(crate) stage: Stage,
    /// How often it was started and interrupted.
    pub attempt: u32,
    /// How often of these a limit of a site or its user set it back: these are no refusals.
    pub(crate) capped: u32,
    /// Nodes that it asks for: as many as it has tasks, until it joins the queue or a window is
    /// promised to it.
    pub(crate) nodes: u32,
    /// Processors of each of these nodes, if that decided how many there are.
    pub processors: Option<u32>,
    /// How long it was predicted to run when it joined the queue, if the market learns that.
    pub(crate) foreseen: Option<Span>,
    /// When it was first expected to start, if that was asked before it did.
    pub expected: Option<Time>,
    /// What it paid.
    pub paid: Money,
    /// Who wants it to stop.
    pub cancelled_by: Option<String>,
    /// The window that was promised to it, if it accepted a quote.
    pub booking: Option<Booking>,
    /// The offers that it accepted, and whether they were kept: the last one is that of `booking`.
    pub promises: Vec<Promise>,
    /// What the market has paid of its costs, since it was promised that it pays less.
    pub covered: Money,
    /// What of the market's money is held for it now.
    pub covering: Money,
    /// What else it could have had when it was last given its nodes, if that was written down.
    pub choice: Option<Choice>,
    /// What happened to it: the last [`Job::KEPT`] entries.
    pub history: VecDeque<(Time, Happening)>,
    /// Where it came from, if it is a peer's.
    pub origin: Option<RemoteOrigin>,
    /// What its nodes have consumed in the time that it has paid.
    pub consumed: Consumption,
}

/// Where a job is, with what it has there and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Not in the queue.
    Held(JobHold),
    /// In the queue, at this place in the market: a new one whenever it joins.
    Waiting(JobId),
    /// It has its nodes; its parts say how far it is.
    Running(Run),
    /// It will not run (again).
    Over(JobEnd),
    /// On its way to a peer: it is not known which of the two has it, and it must not run here.
    Handing(Away),
    /// It is at a peer, and was first seen running there at this moment.
    Away(Away, Option<Time>),
}

/// One start of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its place in the market.
    pub id: JobId,
    /// When it got its nodes.
    pub started: Time,
    /// These nodes are those of the window that was promised to it.
    pub in_window: bool,
    /// Where it runs, in the order of its parts.
    pub parts: Vec<Part>,
    /// How the work of its parts begins.
    pub beginning: Beginning,
    /// When the site in whose queue it waits is expected to start it, or was when it did.
    pub turn: Option<Time>,
    /// Who wants it to stop and to wait in the queue again.
    pub requeued_by: Option<String>,
    /// That it is to leave its nodes to their owner.
    pub notice: Option<RunNotice>,
    /// What it has taken along, if anything.
    pub licences: Option<Vec<HeldLicences>>,
}

/// Licences that a job has until it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldLicences {
    /// Which, and how many.
    pub share: LicenceShare,
    /// What each costs per second.
    pub price: Price,
}

impl HeldLicences {
    /// What they cost for so long.
    pub fn cost(&self, time: Span) -> Money {
        self.price.of(self.share.count, time)
    }
}

/// A job was told to leave its nodes to their owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunNotice {
    /// When.
    pub given: Time,
    /// When it is stopped, if it runs on until then.
    pub ends: Time,
    /// For what, in words.
    pub why: String,
}

/// How the work of a job's parts begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// All at one moment, once all are there.
    Together(StartBarrier),
    /// Each by itself: when it really began, milliseconds since 1970 by part, once all are known.
    Apart(Vec<i64>),
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEnd {
    /// How it ended.
    pub finish: Finish,
    /// When.
    pub at: Time,
    /// Where it was until then.
    pub last: LastStage,
    /// If its script and its environment were dropped: SHA-256 of the script.
    pub redacted: Option<[u8; 32]>,
}

/// Where a job was until it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastStage {
    /// Not in the queue.
    Held,
    /// In the queue.
    Waiting(JobId),
    /// On its nodes.
    Ran(Run),
    /// At a peer, running since this moment.
    Away(Away, Option<Time>),
}

/// Where a job is, at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase<'a> {
    /// Not in the queue.
    Held(&'a JobHold),
    /// In the queue.
    Waiting,
    /// It has its nodes; its parts say how far it is.
    Running,
    /// It will not run (again).
    Over(&'a Finish),
    /// On its way to a peer.
    Handing,
    /// It is at a peer.
    Away,
}

impl Job {
    /// Entries of its history.
    pub const KEPT: usize = 64;

    /// A job that was just submitted.
    pub(super) fn new(number: u64, user: &str, submission: Arc<Submission>, at: Time) -> Job {
        Job {
            number,
            user: user.to_owned(),
            nodes: submission.tasks,
            submission,
            array: None,
            key: None,
            submitted: at,
            stage: Stage::Held(JobHold::User),
            attempt: 0,
            capped: 0,
            processors: None,
            foreseen: None,
            expected: None,
            paid: Money::ZERO,
            cancelled_by: None,
            booking: None,
            promises: Vec::new(),
            covered: Money::ZERO,
            covering: Money::ZERO,
            choice: None,
            history: VecDeque::new(),
            origin: None,
            consumed: Consumption::default(),
        }
    }

    /// How often it was started without success, limits of sites and requeues apart.
    pub fn setbacks(&self) -> u32 {
        self.attempt.saturating_sub(self.capped)
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

    /// The project that pays for it, if one does.
    pub fn paying_project(&self) -> Option<&str> {
        match self.origin {
            // Its market pays here.
            Some(_) => None,
            None => self.submission.project.as_deref(),
        }
    }

    /// Whose budgets it counts for. What a peer's job consumes is its own market's.
    pub(in crate::live) fn budget_holders(&self) -> Vec<BudgetHolder> {
        match self.origin {
            Some(_) => Vec::new(),
            None => holders_of(&self.user, self.paying_project()),
        }
    }

    /// What its present parts cost if all last to their limits, with what it has taken along.
    pub fn max(&self) -> Money {
        let parts = self.parts().iter();
        let nodes: Money = parts.map(|part| part.price.of(part.nodes, part.limit)).sum();
        let longest = self.parts().iter().map(|part| part.limit).max().unwrap_or_default();
        nodes + self.licences().iter().map(|it| it.cost(longest)).sum()
    }

    /// What it has taken along.
    pub fn licences(&self) -> &[HeldLicences] {
        self.run().and_then(|run| run.licences.as_deref()).unwrap_or_default()
    }

    /// Nodes that it asks for, or has.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// It asks for so many nodes from now on, of so many processors each.
    pub(in crate::live::state) fn is_as_wide_as(&mut self, nodes: u32, processors: Option<u32>) {
        (self.nodes, self.processors) = (nodes, processors);
    }

    /// Where it is.
    pub fn phase(&self) -> Phase<'_> {
        match &self.stage {
            Stage::Held(hold) => Phase::Held(hold),
            Stage::Waiting(_) => Phase::Waiting,
            Stage::Running(_) => Phase::Running,
            Stage::Over(end) => Phase::Over(&end.finish),
            Stage::Handing(_) => Phase::Handing,
            Stage::Away(..) => Phase::Away,
        }
    }

    /// How it runs, or ran when it ended.
    pub fn run(&self) -> Option<&Run> {
        match &self.stage {
            Stage::Running(run) | Stage::Over(JobEnd { last: LastStage::Ran(run), .. }) => {
                Some(run)
            }
            _ => None,
        }
    }

    /// Its place in the market: that in which it waits or runs, or did when it ended.
    pub fn id(&self) -> Option<JobId> {
        match &self.stage {
            Stage::Waiting(id) | Stage::Over(JobEnd { last: LastStage::Waiting(id), .. }) => {
                Some(*id)
            }
            _ => self.run().map(|run| run.id),
        }
    }

    /// Where it runs, or ran when it ended: in the order of its parts.
    pub fn parts(&self) -> &[Part] {
        self.run().map_or(&[], |run| &run.parts)
    }

    /// When it was started, if it runs or ended while it ran: here, or at a peer.
    pub fn started(&self) -> Option<Time> {
        match &self.stage {
            Stage::Away(_, since) | Stage::Over(JobEnd { last: LastStage::Away(_, since), .. }) => {
                *since
            }
            _ => self.run().map(|run| run.started),
        }
    }

    /// Who wants it to stop and to wait in the queue again.
    pub fn requeued_by(&self) -> Option<&str> {
        self.run()?.requeued_by.as_deref()
    }

    /// The nodes that it has, or had when it ended, are those of its booked window.
    pub fn in_window(&self) -> bool {
        self.run().is_some_and(|run| run.in_window)
    }

    /// How its parts come together, if they begin together.
    pub fn barrier(&self) -> Option<&StartBarrier> {
        match &self.run()?.beginning {
            Beginning::Together(barrier) => Some(barrier),
            Beginning::Apart(_) => None,
        }
    }

    /// Where it goes or is, or was when it ended, if it was passed on.
    pub fn away(&self) -> Option<&Away> {
        match &self.stage {
            Stage::Handing(away)
            | Stage::Away(away, _)
            | Stage::Over(JobEnd { last: LastStage::Away(away, _), .. }) => Some(away),
            _ => None,
        }
    }

    /// How it ended, if it is over.
    pub fn end(&self) -> Option<&JobEnd> {
        match &self.stage {
            Stage::Over(end) => Some(end),
            _ => None,
        }
    }

    /// When it was over.
    pub fn ended(&self) -> Option<Time> {
        self.end().map(|end| end.at)
    }

    /// If its script and its environment were dropped: SHA-256 of the script.
    pub fn redacted(&self) -> Option<[u8; 32]> {
        self.end()?.redacted
    }

    /// The name at its site of one of its parts.
    pub fn tag(&self, market: &str, part: usize) -> Tag {
        let (job, attempt) = (self.number, self.attempt);
        Tag { market: market.to_owned(), job, attempt, part: part as u32 }
    }

    /// The names at their sites of all its parts, in their order.
    pub fn tags(&self, market: &str) -> impl Iterator<Item = Tag> {
        (0..self.parts().len()).map(move |part| self.tag(market, part))
    }
}

/// Why a job is not in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobHold {
    /// Its user wants it.
    User,
    /// It waits for other jobs.
    Dependency,
    /// So many of its array may run at once.
    Array,
    /// Its payer has too little: so much is needed to start it.
    Funds(Money),
    /// Its nodes would consume more than is left of a budget of energy or carbon; which.
    OverBudget(String),
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
    /// Its accepted offer was not kept, and its user is to choose.
    Breached,
    /// Its tasks differ: it waits for a window to be booked for all of its groups.
    Window,
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
    /// It was cancelled.
    Cancelled,
    /// It used too much memory.
    OutOfMemory,
    /// Its nodes died, or it is not known how it ended.
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
    /// It was taken back before it had begun: the owner's own jobs took its nodes, the nodes are gone, or
    /// the site did not answer.
    Displaced,
    /// Its nodes died or were lost.
    Lost,
    /// A site took its nodes away for a job of higher priority.
    Preempted,
    /// Its nodes would have consumed more than was left of a budget of energy or carbon.
    OverBudget,
    /// Its payer had too little.
    Funds,
    /// Its parts did not come together: the pool of the one that was missing, and why.
    BarrierTimedOut(PoolId, String),
    /// It met a limit of the pool's site; the manager's word for it.
    Capped(PoolId, String),
    /// It was requeued; by whom.
    Requeued(String),
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
    /// How long it may have them: it runs there, and its data is brought there and away.
    pub limit: Span,
    /// How long its data is expected to take, if it has any.
    pub staging: Option<StageTimes>,
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
    /// It was submitted.
    Submitted,
    /// It was held.
    Held(JobHold),
    /// It joined the queue.
    Queued,
    /// It was given nodes: pools and how many of each.
    Planned(Place),
    /// It waits in the queue of a site, for nodes of this pool.
    Lined(PoolId),
    /// It runs.
    Began,
    /// It lost its nodes.
    Setback(Setback),
    /// It was cancelled, and is to stop; by whom.
    Cancelling(String),
    /// It is to stop and to wait in the queue again; who wants it.
    Requeueing(String),
    /// It was given notice: when it is stopped, and for what.
    NoticeGiven(Time, String),
    /// Its user has changed it; who.
    Updated(String),
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
    /// The peer of this name did not keep to its offer, and is not paid; why.
    Doubted(String, BrokenOffer),
    /// An administrator has said what happened to it at its peer; who.
    SettledByHand(Settlement, String),
    /// A site will not keep nodes free for its booked window; its words.
    Unkept(SiteId, String),
    /// It began in its window, as it was promised.
    Kept,
    /// Its accepted offer was not kept; why.
    Breached(BreachReason),
}

impl Exit {
    /// Whether the task did what it was to do.
    pub fn is_good(&self) -> bool {
        *self == Exit::Code(0)
    }
}
