//! The records of jobs.

use std::sync::Arc;

use tradewind_io::submission::Submission;
use tradewind_model::{Demand, PoolId, Span, Time};

use super::choice::Choice;
use super::{Finish, JobHold, Setback};
use crate::site::Tag;

/// What is written down of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobRecord {
    /// A job was submitted.
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
    /// A further job of an array, submitted with its first.
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
        hold: JobHold,
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
        /// How long it is predicted to run, used or not; `None`: the market does not learn that.
        foreseen: Option<Span>,
    },
    /// A booked job starts where and at the price that it was promised; it has just joined.
    Started {
        /// Which.
        job: u64,
    },
    /// A waiting job goes to a site and waits in its queue, beside the jobs of the site's owners.
    Lined {
        /// Which.
        job: u64,
        /// In which pool it will run.
        pool: PoolId,
        /// From when on its price was agreed, where prices change with time; `None`: now, or as before
        /// if it was there already.
        start: Option<Time>,
    },
    /// When a job that waits in the queue of a site is expected to start there from now on.
    TurnExpected {
        /// Which.
        job: u64,
        /// The moment.
        at: Time,
    },
    /// The site has started a job that waited in its queue.
    TurnCame {
        /// Which.
        job: u64,
    },
    /// A job that has not begun has no nodes after all: the site gives them to others first. Its task
    /// stays in the queue of the site, and [`JobRecord::Lined`] follows.
    TurnLost {
        /// Which.
        job: u64,
    },
    /// What else a job could have had that was just given its nodes.
    Chose {
        /// Which.
        job: u64,
        /// What else.
        choice: Choice,
    },
    /// When jobs were expected to start, for those that were not asked about before.
    Expected {
        /// Jobs and moments.
        starts: Vec<(u64, Time)>,
    },
    /// The same moments as forecasts that are compared with the starts of these jobs: of those that
    /// wait and were not expected to start at once.
    Forecast {
        /// Jobs and moments.
        starts: Vec<(u64, Time)>,
    },
    /// A waiting job leaves the queue without being over: it is held.
    Left {
        /// Which.
        job: u64,
        /// For what.
        hold: JobHold,
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
    /// Owners get what a running job has used: it is about to lose its nodes.
    Settled {
        /// Which.
        job: u64,
    },
    /// A job is to stop: it was cancelled.
    Cancelling {
        /// Which.
        job: u64,
        /// Who.
        by: String,
    },
    /// A job that has begun is to stop and to wait in the queue again: its user wants it.
    Requeueing {
        /// Which.
        job: u64,
        /// Who.
        by: String,
    },
    /// A preemptible job that has begun was given notice: it is to leave its nodes to its site's owner.
    NoticeGiven {
        /// Which.
        job: u64,
        /// When it is stopped, if it runs on until then.
        ends: Time,
        /// For what, in words.
        why: String,
    },
    /// A job that waits is from now on another one: its user has changed it.
    Updated {
        /// Which.
        job: u64,
        /// As it is now, without script, command and environment, which stay.
        submission: Arc<Submission>,
        /// Who.
        by: String,
    },
    /// A task that was seen with its nodes is over, and its work never began: it counts as never
    /// run, and costs nothing.
    Unbegun {
        /// Which.
        tag: Tag,
    },
    /// All parts of a job are on their nodes: their work begins together.
    BarrierReached {
        /// Which.
        job: u64,
        /// When.
        at: Time,
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
    /// A job is over.
    Ended {
        /// Which.
        job: u64,
        /// How.
        finish: Finish,
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
    /// The script and the environment of jobs that are over are dropped from the state: of one job,
    /// or of jobs of an array, which share them.
    Redacted {
        /// The first of them.
        job: u64,
        /// The last of them; those between that are still there belong to them.
        last: u64,
        /// SHA-256 of the script; of a command: of its words, each with a zero byte behind it.
        hash: [u8; 32],
    },
    /// A job that is over for long is dropped from the state.
    Dropped {
        /// Which.
        job: u64,
    },
    /// Numbers of jobs up to this one were given before, by a journal that was lost: a site still
    /// knows tasks of theirs. None is given again.
    Skipped {
        /// The last of them.
        job: u64,
    },
}
