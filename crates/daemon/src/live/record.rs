//! What is written down. The state changes by these and by nothing else.

use std::sync::Arc;

use tradewind_io::submission::Submission;
use tradewind_model::{Outage, Command, Demand, Money, PoolId, Pools, Price, Span, Time};
use tradewind_sched::negotiation::{Entry, Peer};

use super::choice::Choice;
use super::money::Account;
use super::peers::{Known, News};
use super::projects::Change;
use super::rights::{Role, SignedIn, TokenHash};
use super::state::{Finish, Hold, Quote, Setback, Why};
use crate::site::{Seen, Tag};

/// One change of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
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
    /// A policy begins; it is told of the market's history at its first pass.
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
    /// What else a job could have had that was just given its nodes.
    Chose {
        /// Which.
        job: u64,
        /// What else.
        choice: Choice,
    },
    /// A job was handed in.
    Submitted {
        /// The next number.
        job: u64,
        /// Whose.
        user: String,
        /// What.
        submission: Arc<Submission>,
        /// Of an array: its first job's number, and this one's index.
        array: Option<(u64, u32)>,
        /// The user's own name for the submission: the same again is the same job.
        key: Option<String>,
    },
    /// A further job of an array, handed in with its first.
    Element {
        /// The next number.
        job: u64,
        /// The array's first job: user and submission are the same.
        first: u64,
        /// Its index.
        index: u32,
    },
    /// A job that was not in the queue waits for something, or for something else than before.
    Held {
        /// Which.
        job: u64,
        /// For what.
        hold: Hold,
    },
    /// A job joins the market's queue.
    Joined {
        /// Which.
        job: u64,
        /// What it asks for.
        demand: Demand,
        /// Processors of each of the nodes that it may have, at least, if that decided how many it
        /// asks for.
        processors: Option<u32>,
    },
    /// A booked job starts where and at the price that it was promised; it has just joined.
    Started {
        /// Which.
        job: u64,
    },
    /// When jobs were expected to start, for those that were not asked about before.
    Expected {
        /// Jobs and moments.
        starts: Vec<(u64, Time)>,
    },
    /// A waiting job leaves the queue without being over: it is held.
    Left {
        /// Which.
        job: u64,
        /// For what.
        hold: Hold,
    },
    /// A site has the task.
    Acknowledged {
        /// Which.
        tag: Tag,
    },
    /// A site would not take the task. It may have taken it when it was asked before and did not
    /// answer: it is to be withdrawn, to be sure.
    Declined {
        /// Which.
        tag: Tag,
        /// What the site said.
        why: String,
    },
    /// A task that the site never said it had will not run there from now on.
    Withdrawn {
        /// Which.
        tag: Tag,
    },
    /// A site sees a task otherwise than before.
    Saw {
        /// Which.
        tag: Tag,
        /// How.
        seen: Seen,
    },
    /// A site has forgotten a task that is over.
    Forgot {
        /// Which.
        tag: Tag,
    },
    /// A running job's tasks in one pool are over, and others are not.
    Released {
        /// Which.
        job: u64,
        /// Where.
        pool: PoolId,
    },
    /// A running job lost its nodes; it waits in the queue again.
    Interrupted {
        /// Which.
        job: u64,
        /// Why.
        setback: Setback,
    },
    /// The parts of a running job that are not over are to stop: another part has failed.
    Stopping {
        /// Which.
        job: u64,
    },
    /// The tasks of a job that has not begun, as far as is known, are to be taken back, so that it
    /// can be planned again. Those whose work has begun run on.
    Recalling {
        /// Which.
        job: u64,
    },
    /// A site would not take a task back, since its work has begun: the task runs on.
    Resumed {
        /// Which.
        tag: Tag,
    },
    /// A task that was seen with its nodes is over, and its work never began: it counts as never
    /// run, and costs nothing.
    Unbegun {
        /// Which.
        tag: Tag,
    },
    /// Owners get what a running job has used: it is about to lose its nodes.
    Settled {
        /// Which.
        job: u64,
    },
    /// A site's manager holds a task that waits there, or does not hold it any more.
    HeldThere {
        /// Which.
        tag: Tag,
        /// The manager's word; `None`: it is released.
        why: Option<String>,
    },
    /// Somebody wants a job to stop.
    Cancelling {
        /// Which.
        job: u64,
        /// Who.
        by: String,
    },
    /// A job is over.
    Ended {
        /// Which.
        job: u64,
        /// How.
        finish: Finish,
    },
    /// A job that is over for long is dropped from the state.
    Dropped {
        /// Which.
        job: u64,
    },
    /// Nodes will be missing.
    Announced {
        /// Which, and for how long.
        what: Outage,
        /// On whose account.
        why: Why,
    },
    /// Nodes that were announced are gone.
    Closed {
        /// On whose account.
        why: Why,
    },
    /// They are back, or will not be missing after all.
    Reopened {
        /// On whose account.
        why: Why,
    },
    /// An owner asks another price.
    Priced {
        /// For whose nodes.
        pool: PoolId,
        /// Per node and second.
        price: Price,
    },
    /// An owner's prices, as the configuration writes them, instead of those of the file.
    Tariff {
        /// For whose nodes.
        pool: PoolId,
        /// A table in TOML; `None`: those of the file again.
        text: Option<String>,
    },
    /// Money is moved by an administrator.
    Moved {
        /// From whom.
        from: Account,
        /// To whom.
        to: Account,
        /// How much, above 0.
        amount: Money,
        /// Why.
        note: String,
    },
    /// A project is another than before.
    Project {
        /// Its name.
        project: String,
        /// How.
        change: Change,
    },
    /// From now on these rules count, by which the state follows from records: what older releases
    /// wrote keeps those of its day.
    Rules {
        /// 1: a task pays for at least a second.
        version: u32,
    },
    /// Somebody may come in.
    Admitted {
        /// A number that was never used.
        token: u64,
        /// Whose it is.
        user: String,
        /// As what.
        role: Role,
        /// Of the secret, which is kept nowhere.
        hash: TokenHash,
        /// For people.
        note: String,
    },
    /// Somebody may not come in any more.
    Expelled {
        /// By which token.
        token: u64,
    },
    /// A token got a moment at which it expires, or has none any more.
    TokenExpires {
        /// Which.
        token: u64,
        /// From when on it does not open; `None`: never.
        at: Option<Time>,
    },
    /// A token got another secret.
    TokenRotated {
        /// Which.
        token: u64,
        /// Of the new secret.
        hash: TokenHash,
        /// From when on the secret before it does not open any more.
        earlier_until: Time,
    },
    /// A token was issued to somebody who signed in with a provider of identities.
    TokenSignedIn {
        /// Which.
        token: u64,
        /// What the provider said.
        signed_in: SignedIn,
    },
    /// A quote was given.
    Quoted {
        /// With its number, the next one.
        quote: Quote,
    },
    /// A quote was accepted; or it has expired, if there is no job.
    Taken {
        /// Which.
        quote: u64,
        /// By which job.
        job: Option<u64>,
    },
    /// A site was seen after it had been away, or is away since this moment.
    Reached {
        /// Which, in the order of sites.
        site: u32,
        /// Away since; `None`: it is there.
        away: Option<Time>,
    },
    /// A peer has a number here; or it has said which market it is.
    Peered {
        /// The next number, or that of before.
        peer: Peer,
        /// What is known of it.
        known: Known,
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
        news: News,
    },
    /// A job that went to a peer is here again.
    CameBack {
        /// Which.
        job: u64,
        /// Why, for people.
        why: String,
        /// Why it does not wait in the queue yet.
        hold: Hold,
    },
    /// All parts of a job are on their nodes: their work begins together.
    BarrierReached {
        /// Which.
        job: u64,
        /// When.
        at: Time,
    },
    /// A site was told when the task's work begins.
    Went {
        /// Which.
        tag: Tag,
    },
    /// A job's parts did not come together: all are to stop.
    BarrierTimedOut {
        /// Which.
        job: u64,
        /// Where the one was to be that is missing.
        pool: PoolId,
        /// What happened to it.
        why: String,
    },
    /// When the work of a job's parts really began.
    Launched {
        /// Which.
        job: u64,
        /// Milliseconds since 1970, in the order of its parts.
        began: Vec<i64>,
    },
    /// A site will not keep nodes free for a job's booked window, which stands all the same.
    Unkept {
        /// Which.
        job: u64,
        /// Which site, in the order of sites.
        site: u32,
        /// Its words.
        why: String,
    },
    /// Numbers of jobs up to this one were given before, by a journal that was lost: a site still
    /// knows tasks of theirs. None is given again.
    Skipped {
        /// The last of them.
        job: u64,
    },
    /// The system's clock was set back, or has caught up: from now on the market's time is ahead
    /// of it by this.
    Clock {
        /// By how much; zero: the two are the same again.
        lead: Span,
    },
}
