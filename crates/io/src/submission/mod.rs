//! What a user submits to run: a script or a command, what it needs, and on which terms.
//!
//! It is data all the way: no text of it ever becomes part of a shell line.

pub mod change;
pub mod document;
mod groups;
mod lists;
pub mod options;
pub mod script;
mod shape;
pub mod signal;
mod size;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use lists::{is_address, is_licence};
pub use shape::Shape;
use tradewind_model::{
    Attribute, Attributes, Criterion, JobData, Money, Performance, Price, Shapes, Span, Spread,
    TaskGroup, Time, TimeMode, Times,
};

/// A job as it is submitted; every field is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// For people; not unique. At most [`Submission::MAX_NAME`] characters.
    pub name: String,
    /// The script or command to run.
    pub work: Work,
    /// Nodes of the market, at least 1: where it has a `shape`, those that it needs as long as it
    /// is not known how large nodes are, [`Shape::units`].
    pub tasks: u32,
    /// How many tasks it has and how they lie on nodes, if that is more than a number of nodes.
    pub shape: Option<Shape>,
    /// How long it may run.
    pub time: TimeLimit,
    /// Where, when and for how much.
    pub terms: Conditions,
    /// Who pays, if not the user alone.
    pub project: Option<String>,
    /// Files and environment.
    pub surroundings: Surroundings,
    /// It waits for other jobs.
    pub after: Vec<Dependency>,
    /// So many jobs of this kind, by index; `None` is one job.
    pub array: Option<Array>,
    /// It waits until its user releases it.
    pub held: bool,
    /// What is done when its nodes fail, or it is unknown whether it ran.
    pub on_lost: OnLost,
    /// What is done when a site takes its nodes away for a job of higher priority; `None`: as if it
    /// were lost.
    pub on_preempted: Option<OnLost>,
    /// What is done if its accepted quote is not kept; `None`: it is queued again.
    pub on_breach: Option<OnBreach>,
    /// How its parts begin, if it runs in several pools; `None`: together, as the market is set.
    pub gather: Option<Gather>,
    /// Who gets mail about which events.
    pub mail: Option<Mail>,
    /// A remark, kept with the job.
    pub comment: Option<String>,
    /// The number of the quote that is accepted: its price and start, or nothing.
    pub quote: Option<u64>,
    /// Options that only a site's manager understands: name and value, in order.
    pub passed_through: Vec<(String, String)>,
    /// It is not passed on to another market.
    pub stay_home: bool,
}

impl Submission {
    /// The longest name.
    pub const MAX_NAME: usize = 128;
    /// The longest script, bytes.
    pub const MAX_SCRIPT: usize = 4 << 20;
    /// The most tasks of one array.
    pub const MAX_ARRAY: usize = 100_000;
    /// The longest that parts of a job may wait for each other.
    pub const MAX_GATHER: Span = Span(24 * 3_600);

    /// A job of so many nodes that asks for nothing else.
    pub fn new(name: &str, work: Work, tasks: u32, time: TimeLimit) -> Submission {
        Submission {
            name: name.to_owned(),
            work,
            tasks,
            shape: None,
            time,
            terms: Conditions::default(),
            project: None,
            surroundings: Surroundings::default(),
            after: Vec::new(),
            array: None,
            held: false,
            on_lost: OnLost::Fail,
            on_preempted: None,
            on_breach: None,
            gather: None,
            mail: None,
            comment: None,
            quote: None,
            passed_through: Vec::new(),
            stay_home: false,
        }
    }
}

/// What runs, on the first of the job's nodes; it finds the others in its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// A script with a `#!` line, and its arguments.
    Script {
        /// All of it.
        text: String,
        /// Arguments in their order.
        arguments: Vec<String>,
    },
    /// A program and its arguments, run as they are.
    Command(Vec<String>),
}

/// How long a task may run before it is stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeLimit {
    /// One limit for all nodes.
    One {
        /// A limit in seconds.
        limit: Span,
        /// Of what, and who said so.
        counted: Counted,
    },
    /// Seconds of work on a node of performance 1, shorter on faster ones: what earlier releases
    /// wrote. New submissions are [`TimeLimit::One`].
    Reference(Span),
    /// By node class; only nodes of these classes will do.
    Classes(BTreeMap<String, Span>),
}

/// How a limit is counted, and who said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counted {
    /// Not given: wall-clock time, unless the owner of the nodes says otherwise.
    #[default]
    Default,
    /// The submission says.
    Job(Times),
    /// The project that pays says.
    Project(Times),
}

impl Counted {
    /// As the market counts.
    pub fn mode(self) -> TimeMode {
        match self {
            Counted::Default => TimeMode::Owner,
            Counted::Job(times) | Counted::Project(times) => TimeMode::Fixed(times),
        }
    }
}

/// The names of [`Times`] in options, documents and settings.
pub const TIMES: [(&str, Times); 2] = [("wall", Times::Wall), ("work", Times::Work)];

impl TimeLimit {
    /// Why nothing is said of how limits by class are counted.
    const BY_CLASS: &str = "limits by class are wall-clock time on each class";
    /// What to do about it.
    const BY_CLASS_HINT: &str = "leave `times` out, or give one limit for all nodes";

    /// One limit for all nodes, counted in the default way.
    pub fn one(limit: Span) -> TimeLimit {
        TimeLimit::One { limit, counted: Counted::Default }
    }

    /// The same limit, counted as its submission says. Limits by class stay as they are.
    pub fn counted_by(self, times: Times) -> TimeLimit {
        match self {
            TimeLimit::One { limit, .. } => TimeLimit::One { limit, counted: Counted::Job(times) },
            other => other,
        }
    }

    /// How it is counted. Limits by class are turned into work that is enough on each class.
    pub fn mode(&self) -> TimeMode {
        match self {
            TimeLimit::One { counted, .. } => counted.mode(),
            TimeLimit::Reference(_) | TimeLimit::Classes(_) => TimeMode::WORK,
        }
    }

    /// One limit as it stands; of limits by class, seconds on a node of performance 1.0 that give every task at least its limit, on whichever
    /// class of nodes it runs: max over classes of ⌈limit × performance⌉. `performance` is that of
    /// each class (of its fastest nodes); classes that it lacks are left out, and `None` says that
    /// it lacks all. On classes whose limit is not the binding one, the window is longer than the
    /// limit, and what is not used is given back.
    pub fn work(&self, performance: &BTreeMap<String, Performance>) -> Option<Span> {
        let limits = match self {
            TimeLimit::One { limit, .. } | TimeLimit::Reference(limit) => return Some(*limit),
            TimeLimit::Classes(limits) => limits,
        };
        let work = |(class, limit): (&String, &Span)| Some(performance.get(class)?.work_in(*limit));
        limits.iter().filter_map(work).max()
    }

    /// The limit, if it is the same wall-clock time on all nodes, whatever their owners say.
    pub fn wall(&self) -> Option<Span> {
        match self {
            TimeLimit::One {
                limit,
                counted: Counted::Job(Times::Wall) | Counted::Project(Times::Wall),
            } => Some(*limit),
            _ => None,
        }
    }

    /// What a node's attribute `class` must be, if limits are by class.
    pub fn class(&self) -> Option<(String, Attribute)> {
        let TimeLimit::Classes(limits) = self else { return None };
        let names: Vec<&str> = limits.keys().map(String::as_str).collect();
        Some((lists::CLASS.to_owned(), lists::one_of(&names)))
    }
}

/// Where, when and for how much a job may run. What is `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conditions {
    /// Each node's performance at least.
    pub min_performance: Option<Performance>,
    /// Each node's price at most.
    pub max_price: Option<Price>,
    /// The whole job's cost at most.
    pub budget: Option<Money>,
    /// What its completion in time is worth.
    pub value: Option<Money>,
    /// Earliest start, if there is one.
    pub earliest_start: Option<Time>,
    /// To be finished by.
    pub deadline: Option<Time>,
    /// What makes one window better than another.
    pub criterion: Criterion,
    /// Higher comes first, where the policy cares and the user may say so.
    pub priority: i64,
    /// What each node must offer.
    pub attributes: Attributes,
    /// At one of these sites; empty: anywhere.
    pub sites: Vec<String>,
    /// In one of these pools (partitions); empty: anywhere.
    pub pools: Vec<String>,
    /// Over how many sites its nodes may lie.
    pub spread: Spread,
    /// To which other markets it may be passed on; `None`: to any.
    pub peers: Option<PeerChoice>,
    /// In which shapes it may run, if in more than one: the submission's `tasks` and `time` are those of
    /// the first.
    pub shapes: Option<Shapes>,
    /// The groups of a job whose tasks differ, at least two: the submission's `tasks` are those of all
    /// groups, and its `time` is the longest of theirs. Their `work` is a time limit.
    pub groups: Option<Arc<[TaskGroup]>>,
    /// Licences that it takes along wherever it runs, by name: at least one, and at least 1 of each.
    pub licences: Option<BTreeMap<String, u32>>,
    /// What it reads before its work and leaves behind after it.
    pub data: Option<JobData>,
}

/// To which other markets a job may be passed on, by the names that this market gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerChoice {
    /// To these alone.
    Only(Vec<String>),
    /// To any but these.
    Not(Vec<String>),
}

/// Files and environment. Paths are the site's; `%j` and its like stand for the job's number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// Where it runs; `None`: where the site puts it.
    pub directory: Option<String>,
    /// Standard output; `None`: `tradewind-%j.out`.
    pub output: Option<String>,
    /// Standard error; `None`: with the output.
    pub error: Option<String>,
    /// Standard input; `None`: empty.
    pub input: Option<String>,
    /// Whether files are appended to.
    pub append: Append,
    /// Variables that it sees besides those of the site.
    pub environment: BTreeMap<String, String>,
}

/// How the parts of a job that runs in several pools begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gather {
    /// Together: the first ones wait on their nodes for the last, so long at most.
    Within(Span),
    /// Each by itself, as soon as it can.
    Apart,
}

/// What happens to output that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Append {
    /// It is overwritten.
    #[default]
    Truncate,
    /// The new comes behind it.
    Append,
}

/// When a job may begin to wait for nodes, seen from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// What the other must have done.
    pub when: When,
    /// The other's number; 0 with [`When::Singleton`], which names none.
    pub job: u64,
}

/// What another job must have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Ended with exit code 0 (`afterok`); else this job is cancelled.
    Ok,
    /// Ended otherwise (`afternotok`); else this job is cancelled.
    NotOk,
    /// Ended, however (`afterany`).
    Any,
    /// When the other job has started (`after`).
    Begun,
    /// Of an array, the task of the same index ended with exit code 0 (`aftercorr`); else this job
    /// is cancelled.
    Corresponding,
    /// All earlier jobs of the same user and name are over (`singleton`).
    Singleton,
}

/// The indices of an array of jobs, and how many may run at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Ascending, each once, at least one.
    pub indices: Vec<u32>,
    /// The most at once.
    pub at_once: Option<u32>,
}

/// What is done with a job that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLost {
    /// It ends as failed (`NODE_FAIL`): it may have run in part.
    #[default]
    Fail,
    /// It waits again, from its beginning (`--requeue`).
    Rerun,
    /// It is kept until its user decides.
    Hold,
}

/// What is done with a job whose accepted quote is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBreach {
    /// It joins the queue and gets the next best window; it pays no more than it was promised.
    #[default]
    Requeue,
    /// It is cancelled, and costs nothing.
    Cancel,
    /// It is held until its user chooses.
    Hold,
}

impl OnBreach {
    /// All of them, with their names in options and documents.
    pub const ALL: [(&'static str, OnBreach); 3] =
        [("requeue", OnBreach::Requeue), ("cancel", OnBreach::Cancel), ("hold", OnBreach::Hold)];

    /// The name in options and documents.
    pub fn name(self) -> &'static str {
        OnBreach::ALL.iter().find(|(_, it)| *it == self).map_or("", |(name, _)| name)
    }

    /// The one of this name.
    pub fn of(name: &str) -> Option<OnBreach> {
        OnBreach::ALL.iter().find(|(it, _)| *it == name).map(|(_, it)| *it)
    }
}

/// Mail about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// To whom; `None`: the user's own address.
    pub to: Option<String>,
    /// When it begins.
    pub begin: bool,
    /// When it ends well.
    pub end: bool,
    /// When it fails.
    pub fail: bool,
}
