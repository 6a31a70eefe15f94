//! What a user asks for.

use crate::{Attribute, Attributes, Money, Node, Performance, Price, Span, Time, TimeMode};

/// What makes one window better than another; all are minimised. Equals are ordered by earlier
/// start, then lower cost, then earlier finish, then node rank.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Criterion {
    /// The common start of the tasks.
    #[default]
    Start,
    /// The end of the longest task.
    Finish,
    /// The length of the longest task.
    Runtime,
    /// What all tasks cost.
    Cost,
    /// The sum of the tasks' lengths.
    ProcessorTime,
    /// Σ rate(node) × length, where the rate is the node's numeric attribute of this name:
    /// energy, for one, with the attribute `watts`. Nodes without the number are not used.
    Sum(String),
}

/// Over how many sites one job's tasks may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Spread {
    /// Nodes of any number of sites.
    #[default]
    Grid,
    /// Nodes of one site, whichever it is.
    Site,
}

impl Spread {
    /// Every value, with its name in options and documents.
    pub const ALL: [(Spread, &'static str); 2] = [(Spread::Grid, "grid"), (Spread::Site, "site")];

    /// Its name in options and documents.
    pub fn name(self) -> &'static str {
        match self {
            Spread::Grid => "grid",
            Spread::Site => "site",
        }
    }
}

/// Resources for one parallel job: equal tasks that start together on distinct nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Tasks, each on a node of its own; at least 1.
    pub tasks: u32,
    /// Seconds that each task takes, counted by `times`; at least 1.
    pub work: Span,
    /// Whether these are seconds of work on the reference node, or of the clock.
    pub times: TimeMode,
    /// Slower nodes are not used.
    pub min_performance: Option<Performance>,
    /// What each node must offer.
    pub attributes: Attributes,
    /// The most that the whole window may cost (inclusive).
    pub budget: Option<Money>,
    /// The most that a node may cost per second (inclusive).
    pub max_price: Option<Price>,
    /// No task starts before.
    pub earliest_start: Option<Time>,
    /// Every task has ended by then (inclusive: a finish at the deadline is in time).
    pub deadline: Option<Time>,
    /// What the user wants least of.
    pub criterion: Criterion,
    /// Over how many sites the window may lie.
    pub spread: Spread,
}

impl Request {
    /// The most tasks that input may ask for.
    pub const MAX_TASKS: u32 = 1 << 24;

    /// `tasks` tasks of `work` without any limit, for the earliest start.
    pub fn new(tasks: u32, work: Span) -> Request {
        Request {
            tasks,
            work,
            times: TimeMode::WORK,
            min_performance: None,
            attributes: Attributes::new(),
            budget: None,
            max_price: None,
            earliest_start: None,
            deadline: None,
            criterion: Criterion::Start,
            spread: Spread::Grid,
        }
    }

    /// How long a task takes on the node, in seconds, rounded up.
    pub fn length_on(&self, node: &Node) -> Span {
        self.times.at(node.times).length_of(self.work, node.performance)
    }

    /// Whether `node` has the performance and the attributes asked for. Price and time are
    /// judged by each search by its own rule.
    pub fn suits(&self, node: &Node) -> bool {
        self.min_performance.is_none_or(|min| node.performance >= min)
            && self
                .attributes
                .iter()
                .all(|(name, wanted)| Attribute::meets(node.attributes.get(name), wanted))
    }
}

/// A request with a name and a rank in the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Unique in the batch.
    pub name: String,
    /// Higher goes first; equal priorities keep the listed order.
    pub priority: i64,
    /// What it needs.
    pub request: Request,
}
