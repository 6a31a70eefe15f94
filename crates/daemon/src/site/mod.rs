//! What a cluster must offer to be part of the market.
//!
//! A [`Site`] is asked, never trusted: it may be slow, away, or wrong, and what it says of a task
//! counts only by the task's [`Tag`]. It decides nothing but which of its own like nodes a task
//! gets. One conformance suite holds for all of them.

mod clock;
pub mod conformance;
pub mod copies;
pub mod exit;
pub mod fake;
pub mod fence;
pub mod fenced;
mod files;
pub mod gridengine;
pub mod limits;
pub mod local;
pub mod managed;
pub mod notes;
pub mod observed;
pub mod queued;
mod reading;
pub mod resources;
mod room;
pub mod size;
pub mod slurm;
mod watching;

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tradewind_io::submission::signal::Warning;
use tradewind_io::submission::{OnLost, Surroundings, Work};
use tradewind_model::{Attributes, JobData, Performance, Span, StageTimes, Time};

use limits::{Cap, Limits};
use managed::requests::Requests;
use queued::{EndedJob, ForgottenJobs, OwnPlace, QueuedJob};
pub use reading::{Excerpt, Reading, Stream, Written};
use resources::Resources;
use size::Size;
pub use watching::{Demand, Turn, Wake};

/// A task's name at its site, unique for ever: job, attempt and part. A site never runs two tasks
/// of one tag, and reports a task by its tag only: its own ids may be used twice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// Which market it is of: two daemons may share a site.
    pub market: String,
    /// The job's number.
    pub job: u64,
    /// How often the job was started before, from 0.
    pub attempt: u32,
    /// Which of the job's parts, from 0: one for each pool that it runs in.
    pub part: u32,
}

/// `tw-MARKET-JOB-ATTEMPT-PART`.
impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tw-{}-{}-{}-{}", self.market, self.job, self.attempt, self.part)
    }
}

impl Tag {
    /// The tag that was written like this, if it is one.
    pub fn parse(text: &str) -> Option<Tag> {
        let mut parts = text.strip_prefix("tw-")?.rsplitn(4, '-');
        let part = parts.next()?.parse().ok()?;
        let attempt = parts.next()?.parse().ok()?;
        let job = parts.next()?.parse().ok()?;
        let market = parts.next().filter(|market| !market.is_empty())?.to_owned();
        Some(Tag { market, job, attempt, part })
    }
}

/// Like nodes of the site, as its configuration describes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSetup {
    /// Unique at the site; the market calls it `SITE/POOL`.
    pub name: String,
    /// How many there should be, at least 1.
    pub nodes: u32,
    /// Of each, relative to the reference node.
    pub performance: Performance,
    /// Attributes of its nodes.
    pub attributes: Attributes,
}

/// What a site saw of itself at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// By pool, in the order of the setup.
    pub pools: Vec<PoolSurvey>,
    /// Every task with a tag of ours that it knows, also those that ended and were not forgotten.
    pub tasks: BTreeMap<Tag, Seen>,
    /// When the work itself of tasks began, milliseconds since 1970 on the clock of the task's first
    /// node: of all that gathered, and of others at their end at the latest, if the site knows.
    pub began: BTreeMap<Tag, i64>,
    /// Of tasks that ended: on which nodes they ran, by the site's names, if it knows. Some were
    /// over before a survey saw them run.
    pub placed: BTreeMap<Tag, Vec<String>>,
    /// Tasks that wait because their manager holds them, though the market did not want that.
    pub held: BTreeMap<Tag, HeldTask>,
    /// Tasks that met a limit: the manager would not take them, or has them and does not begin them.
    pub capped: BTreeMap<Tag, Cap>,
    /// What the manager allows; `None`: not known.
    pub limits: Option<Arc<Limits>>,
    /// By account: jobs of others than this market that run or wait, as far as they can be seen.
    pub foreign: BTreeMap<String, u32>,
    /// By account: jobs of this market whose end is known, and that the manager still has.
    pub lingering: BTreeMap<String, u32>,
    /// All jobs that the manager holds, also those that have just ended.
    pub all_jobs: u32,
    /// Jobs of others that wait, in the order in which the manager looks at them; at most
    /// [`queued::MAX_QUEUED`]. Never a job of this market.
    pub queue: Vec<QueuedJob>,
    /// Tasks of the market that wait in that queue, if the site says where.
    pub own: BTreeMap<Tag, OwnPlace>,
    /// How many further entries of that queue are left out.
    pub queue_beyond: u32,
    /// Jobs of others that are over, only of a cluster that is observed ([`Site::ended`] and
    /// [`Site::forgotten`]).
    pub ended: Vec<EndedJob>,
    /// Seconds before this survey of which it is not known which jobs came and went, only of a
    /// cluster that is observed.
    pub unwatched: Span,
    /// What is not known of that queue, a sentence each, without a period.
    pub queue_notes: Vec<String>,
}

/// A task that its manager holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldTask {
    /// The manager's word for it.
    pub why: String,
    /// After so long the market should take it back, as the site's owner has set it.
    pub max: Span,
}

/// What is free in a pool, and what the owner has there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PoolSurvey {
    /// Nodes that are there and work, in use or not.
    pub up: u32,
    /// The owner's running jobs and whatever else of others holds nodes, by the site's own names.
    pub local: BTreeMap<String, LocalTask>,
    /// The most of each that one of its nodes can give a job; `None`: unknown, or without limits.
    pub max: Option<Resources>,
    /// Why the pool has no nodes at all, and what there is instead: the configuration is wrong.
    pub problem: Option<String>,
    /// How large its nodes are; `None`: unknown, and each is enough for one task.
    pub size: Option<Size>,
}

/// The name of a local task begins with this where a node is in use by a job that is not shown; its own
/// name follows.
pub const HIDDEN_ON: &str = "hidden job on ";

/// A task of another user, or a reservation that is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTask {
    /// Nodes of the pool.
    pub nodes: u32,
    /// Since when, or from when on if it is only planned.
    pub from: Time,
    /// When the site expects them back.
    pub until: Time,
}

/// How a task of ours is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The site has it; it does not run yet.
    Waiting,
    /// The job runs.
    Running {
        /// Moment since which this holds.
        since: Time,
        /// On which nodes, by the site's names.
        nodes: Vec<String>,
    },
    /// The job has ended.
    Ended {
        /// Since when it ran; `None`: it never did.
        since: Option<Time>,
        /// Until when. A site that knows parts of seconds rounds the time between both moments up:
        /// it is what is charged.
        at: Time,
        /// How it ended.
        exit: Exit,
    },
}

/// How a task ended. Tickets and folders of tasks have it in this form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// It was stopped at its time limit.
    TimeLimit,
    /// It was withdrawn; or it waited for others without success.
    Withdrawn,
    /// It used more memory than it may.
    OutOfMemory,
    /// Its node died.
    NodeFailed,
    /// Its manager took its nodes away for a job of higher priority.
    Preempted,
    /// Unknown: the site has lost its record.
    Lost,
    /// The site could not begin it, and says why: it would not help to try again.
    NotStarted(String),
    /// The site would not take it ([`SiteError::Refused`]), or has dropped it before it began, and
    /// says why: it never will, and may be submitted again.
    Refused(String),
}

/// A task to be run now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Tag of the task; never used again.
    pub tag: Tag,
    /// The job's name, for people.
    pub name: String,
    /// Name of the user under whose account it runs.
    pub user: String,
    /// In which pool of the site.
    pub pool: String,
    /// On how many nodes of it.
    pub nodes: u32,
    /// When it is to start; in the past: at once.
    pub start: Time,
    /// Its nodes are those that were set aside for its job ([`Site::set_aside`]).
    pub aside: bool,
    /// It waits on its nodes for [`Site::go`] before its work begins, so long at most, counted
    /// from when it has them; then it ends by itself, and its work has not run. While it waits it
    /// is [`Seen::Running`]; the limit counts from the beginning of its work. If that never
    /// began, it ends without `since`: without success or withdrawn as [`Exit::Withdrawn`].
    pub gather: Option<Span>,
    /// How long it may have them: it runs, and its data is brought.
    pub limit: Span,
    /// What its job reads and leaves behind. Where the site brings that by commands of its own, the task
    /// itself may run for so much less.
    pub data: Option<Box<OrderData>>,
    /// The script or command to run.
    pub work: Work,
    /// Folder and environment of the job.
    pub surroundings: Surroundings,
    /// Variables that describe the job to the task: number, index, parts, deadline and so on.
    pub variables: BTreeMap<String, String>,
    /// What its user wants if it is lost.
    pub on_lost: OnLost,
    /// Its nodes may be taken away for the owner's jobs, and it counts on that.
    pub is_preemptible: bool,
    /// Options for the site's manager: name and value, in order.
    pub passed_through: Vec<(String, String)>,
}

/// What a task's job reads before its work and leaves behind after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderData {
    /// How much, and where.
    pub data: JobData,
    /// How long it is expected to take to the site and away.
    pub times: StageTimes,
}

/// Nodes that are promised to a job and are to be kept free for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// Which market promised it: two daemons may share a site.
    pub market: String,
    /// The job's number.
    pub job: u64,
    /// Whose account will use them.
    pub user: String,
    /// In which pool of the site.
    pub pool: String,
    /// Number of nodes.
    pub nodes: u32,
    /// First second.
    pub from: Time,
    /// Moment at which it ends.
    pub until: Time,
}

/// All parts of a job are there: its work may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Go {
    /// When, on the clock of each task's first node; in the past: at once.
    pub at: Time,
    /// What each part learns of the others, besides its own variables.
    pub variables: BTreeMap<String, String>,
}

/// Why a site did not do as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SiteError {
    /// The site says no: nothing was done, and nothing will be.
    #[error("{0}")]
    Refused(String),
    /// Only to [`Site::submit`]: the site says no because of a limit of the job's user or account, or
    /// of the job itself. Nothing was done, and it may take other jobs.
    #[error("{0}")]
    Capped(String),
    /// No answer, or one that says nothing: it may have been done. A survey will show.
    #[error("{0}")]
    Unknown(String),
    /// Only to [`Site::submit`]: its files are being brought. Nothing was submitted yet; the order is to be
    /// repeated.
    #[error("its files are being brought")]
    Staging,
    /// The site cannot be reached: nothing was done.
    #[error("{0}")]
    Away(String),
    /// A call of the site does not return: it may be done yet.
    #[error("{0}")]
    Hanging(String),
    /// Only to [`Site::recall`]: the task's work has begun. Nothing was done.
    #[error("its work has begun")]
    Begun,
}

impl SiteError {
    /// What commands say, and what is said of them, when they wait for an answer that does not come.
    const HANGING: [&str; 2] = ["Socket timed out on send/recv", "did not answer within"];

    /// Whether the site takes calls and does not answer them.
    pub fn is_hanging(&self) -> bool {
        match self {
            SiteError::Hanging(_) => true,
            SiteError::Unknown(why) | SiteError::Away(why) => {
                SiteError::HANGING.iter().any(|words| why.contains(words))
            }
            SiteError::Refused(_)
            | SiteError::Capped(_)
            | SiteError::Begun
            | SiteError::Staging => false,
        }
    }
}

/// One thing that was looked at by the doctor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was examined.
    pub what: String,
    /// Whether it is as it should be.
    pub verdict: Verdict,
    /// What was found, with numbers.
    pub found: String,
    /// What to do; empty if all is well.
    pub remedy: String,
}

/// Of a [`Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// All is well.
    Good,
    /// It works, and could be better.
    Warning,
    /// It does not work.
    Bad,
}

/// A cluster under its owner's own manager. Calls may take long; each site has a thread.
pub trait Site: Debug + Send {
    /// Its pools, in the order in which surveys have them.
    fn pools(&self) -> &[PoolSetup];

    /// The command by which its manager lists nodes, for people; `None`: it has none.
    fn lists_by(&self) -> Option<&'static str> {
        None
    }

    /// What is there now. Must see every task whose submission was acknowledged before the call.
    ///
    /// # Errors
    /// If the site does not know: never an empty survey instead.
    fn survey(&mut self) -> Result<Survey, SiteError>;

    /// From now on the site may wake its thread when it has news, which a [`Site::turn`] then
    /// returns.
    fn attend(&mut self, wake: Wake) {
        let _ = wake;
    }

    /// Whether jobs of the market wait for nodes: then it matters more when others' jobs end.
    fn expect(&mut self, demand: Demand) {
        let _ = demand;
    }

    /// When the site wants its next [`Site::turn`]; `None`: as often as its settings say.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Jobs of others that are over, as far as its last survey listed them, without a request; at most
    /// [`queued::MAX_ENDED`]. Empty if it lists none.
    fn ended(&mut self) -> Vec<EndedJob> {
        Vec::new()
    }

    /// Jobs of others that ended since this moment, when the survey before the last one began, and that
    /// the last one lists no more. Asks the accounting, and only if some may be missing.
    fn forgotten(&mut self, since: Time) -> ForgottenJobs {
        let _ = since;
        ForgottenJobs::default()
    }

    /// What the site's thread asks for when it is due or was woken: news that cost the manager
    /// nothing, or a survey that may be of things that were listed a while ago.
    fn turn(&mut self) -> Turn {
        Turn::Looked(self.survey())
    }

    /// How many requests its manager got; `None`: it has no manager.
    fn requests(&self) -> Option<Arc<Requests>> {
        None
    }

    /// Submits a task; called again as long as there was no answer. With a tag that the site knows
    /// (running, waiting, or ended and not forgotten) it does nothing and returns `Ok`.
    ///
    /// # Errors
    /// See [`SiteError`].
    fn submit(&mut self, order: &Order) -> Result<(), SiteError>;

    /// Submits several tasks, as [`Site::submit`] does each of them, perhaps at the same time; the
    /// answers in their order. No tag is among them twice.
    fn submit_all(&mut self, orders: &[&Order]) -> Vec<Result<(), SiteError>> {
        orders.iter().map(|order| self.submit(order)).collect()
    }

    /// Stops the task, running or not; it will be seen as [`Seen::Ended`]. An unknown or ended
    /// one is left alone, and never comes to run later: its tag counts as known from then on.
    ///
    /// # Errors
    /// See [`SiteError`].
    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError>;

    /// Takes the task back, but only if its work has not begun: then it never will, and the task is
    /// seen as [`Seen::Ended`] without `since`. Of [`Site::recall`] and the beginning of the work
    /// exactly one succeeds, whatever dies between any two steps. An unknown or ended task is
    /// treated as by [`Site::withdraw`].
    ///
    /// # Errors
    /// [`SiteError::Begun`] if its work has begun, perhaps a moment ago: it runs on unharmed. For
    /// the others see [`SiteError`].
    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError>;

    /// The end of the task is written down: surveys need not mention it any more.
    ///
    /// # Errors
    /// See [`SiteError`].
    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError>;

    /// Forgets several tasks, as [`Site::forget`] does each of them; the answers in their order.
    fn forget_all(&mut self, tags: &[&Tag]) -> Vec<Result<(), SiteError>> {
        tags.iter().map(|tag| self.forget(tag)).collect()
    }

    /// All nodes that are to be kept free for jobs of `market` from now on: what is new is set
    /// aside, what is not among them any more is given up. Asked again and again. Returns jobs for
    /// which the site says no, and why; sites that cannot keep nodes free do nothing.
    ///
    /// # Errors
    /// See [`SiteError`].
    fn set_aside(
        &mut self,
        market: &str,
        wanted: &[Aside],
    ) -> Result<Vec<(u64, String)>, SiteError> {
        let _ = (market, wanted);
        Ok(Vec::new())
    }

    /// Lets a task that gathers begin its work. Asked again, it changes nothing: the first moment
    /// stands. A task that has no nodes yet begins once it has them; an unknown or ended one, and
    /// one that does not gather, is left alone.
    ///
    /// # Errors
    /// See [`SiteError`].
    fn go(&mut self, tag: &Tag, go: &Go) -> Result<(), SiteError> {
        Err(SiteError::Refused(format!("{tag} cannot wait here for others until {}", go.at)))
    }

    /// Tells the task's work that its nodes are taken back: it gets the signal that its job named
    /// for its limit (`--signal`), or else `SIGTERM`. It runs on, until it is withdrawn. Asked again, it may be told
    /// again; an unknown or ended task is left alone.
    ///
    /// # Errors
    /// See [`SiteError`]; refused where the site cannot tell it.
    fn notify(&mut self, tag: &Tag, signal: Option<Warning>) -> Result<(), SiteError> {
        let _ = signal;
        Err(SiteError::Refused(format!("{tag} cannot be told here before it is stopped")))
    }

    /// The last `max` bytes of what the task has written to standard output so far.
    ///
    /// # Errors
    /// See [`SiteError`].
    fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError>;

    /// A part of what the task has written so far, to be read elsewhere: what may take long, or for
    /// ever, belongs into it. A site that implements this makes [`Site::output`] of it; one that does
    /// not has nothing but standard output.
    ///
    /// # Errors
    /// See [`SiteError`].
    fn reading(&mut self, tag: &Tag, wanted: &Excerpt) -> Result<Reading, SiteError> {
        let (all, wanted) = (self.output(tag, usize::MAX), *wanted);
        Ok(Reading::by(move || all.map(|all| wanted.of(&all))))
    }

    /// Looks whether everything is there that the site needs: commands, rights, clocks,
    /// latencies. Changes nothing.
    fn doctor(&mut self) -> Vec<Finding>;

    /// What the site's owner should know of how it runs jobs here: a sentence each, without a
    /// period.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Pools in which [`Site::trial`] can run a job; none where that would show nothing.
    fn trials(&self) -> Vec<String> {
        Vec::new()
    }

    /// Runs a job of a second in the pool and waits for it so long at most: whether the whole way
    /// works, from submission to output. Leaves nothing behind.
    fn trial(&mut self, pool: &str, patience: Duration) -> Finding {
        let _ = patience;
        Finding {
            what: format!("a job runs in pool {pool}"),
            verdict: Verdict::Warning,
            found: "not tried".to_owned(),
            remedy: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tickets and folders of earlier releases have ends in this form.
    #[test]
    fn an_end_is_read_as_it_was_written() {
        for (exit, text) in [
            (Exit::Code(3), r#"{"code":3}"#),
            (Exit::Signal(9), r#"{"signal":9}"#),
            (Exit::TimeLimit, r#""time-limit""#),
            (Exit::Withdrawn, r#""withdrawn""#),
            (Exit::OutOfMemory, r#""out-of-memory""#),
            (Exit::NodeFailed, r#""node-failed""#),
            (Exit::Preempted, r#""preempted""#),
            (Exit::Lost, r#""lost""#),
            (Exit::NotStarted("x".to_owned()), r#"{"not-started":"x"}"#),
            (Exit::Refused("x".to_owned()), r#"{"refused":"x"}"#),
        ] {
            assert_eq!(serde_json::to_string(&exit).unwrap(), text);
            assert_eq!(serde_json::from_str::<Exit>(text).unwrap(), exit);
        }
    }

    #[test]
    fn a_tag_is_read_as_it_was_written() {
        let tag = Tag { market: "ab-c".to_owned(), job: 12, attempt: 3, part: 0 };
        assert_eq!(Tag::parse(&tag.to_string()), Some(tag));
        for wrong in ["", "tw-", "tw-1-2-3", "tw--1-2-3", "x-m-1-2-3", "tw-m-1-2-x"] {
            assert_eq!(Tag::parse(wrong), None, "{wrong}");
        }
    }
}
