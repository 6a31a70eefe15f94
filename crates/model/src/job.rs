//! What a user asks for.

use std::sync::Arc;

use crate::{
    Attribute, Attributes, LicenceShares, Money, Node, Performance, Price, Shapes, Span, Staging,
    TaskNeeds, Time, TimeMode,
};

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

/// Equal tasks of a job whose tasks differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskGroup {
    /// Tasks, each on a node of its own; at least 1.
    pub tasks: u32,
    /// Seconds that each task takes, counted as those of the whole request; at least 1.
    pub work: Span,
    /// Slower nodes are not used.
    pub min_performance: Option<Performance>,
    /// What each node must offer.
    pub attributes: Attributes,
}

/// Resources for one parallel job: tasks that start together on distinct nodes. All are equal, or
/// they are equal within groups (paper 001, section 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Tasks, each on a node of its own unless `needs` says otherwise; at least 1.
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
    /// Further groups of tasks, which differ from the first in work, performance or attributes;
    /// most jobs have none.
    pub others: Vec<TaskGroup>,
    /// In which shapes the job may run, if in more than one: `tasks` and `work` are one of them. Such a
    /// job has one group.
    pub shapes: Option<Shapes>,
    /// What each task takes of its node, if tasks may share nodes; without it, each task has a
    /// whole node. Only where all tasks are equal.
    pub needs: Option<Box<TaskNeeds>>,
    /// What the job takes along.
    pub licences: LicenceShares,
    /// What it reads and leaves behind, and how long that takes at each site.
    pub data: Option<Arc<Staging>>,
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
            others: Vec::new(),
            shapes: None,
            needs: None,
            licences: None,
            data: None,
        }
    }

    /// The most groups of tasks that input may ask for.
    pub const MAX_GROUPS: usize = 16;

    /// Groups of equal tasks: 1 for most jobs.
    pub fn group_count(&self) -> usize {
        1 + self.others.len()
    }

    /// Tasks of all groups.
    pub fn all_tasks(&self) -> u32 {
        self.others.iter().fold(self.tasks, |sum, group| sum.saturating_add(group.tasks))
    }

    /// The request of each group alone, in order, with all that holds for the whole job.
    pub fn groups(&self) -> impl Iterator<Item = Request> + '_ {
        let first = Request { others: Vec::new(), ..self.clone() };
        let with = first.clone();
        let other = move |group: &TaskGroup| Request {
            tasks: group.tasks,
            work: group.work,
            min_performance: group.min_performance,
            attributes: group.attributes.clone(),
            ..with.clone()
        };
        std::iter::once(first).chain(self.others.iter().map(other))
    }

    /// The highest minimum performance of any group.
    pub fn highest_min_performance(&self) -> Option<Performance> {
        let others = self.others.iter().filter_map(|group| group.min_performance);
        self.min_performance.into_iter().chain(others).max()
    }

    /// How long a task of the first group takes on the node, in seconds, rounded up, with the
    /// transfer of the job's data.
    pub fn length_on(&self, node: &Node) -> Span {
        let work = self.times.at(node.times).length_of(self.work, node.performance);
        self.data.as_ref().map_or(work, |staging| work + staging.total(node.site))
    }

    /// Whether `node` has the performance and the attributes that the first group asks for, and the
    /// job's data can be brought there and away. Price and time are judged by each search by its own rule.
    pub fn suits(&self, node: &Node) -> bool {
        self.data.as_ref().is_none_or(|staging| staging.at(node.site).is_some())
            && self.min_performance.is_none_or(|min| node.performance >= min)
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
