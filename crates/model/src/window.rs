//! Tasks that start together: on distinct nodes, or on shared ones.

use std::sync::Arc;

use crate::shared::by_node;
use crate::{
    Grid, LicenceShare, Money, NodeId, Request, Resources, Slot, Span, Spread, Time, licences_cost,
};

/// One task of a window: it occupies its node from the window's start for `length`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Task {
    /// Id of the node.
    pub node: NodeId,
    /// How long the node needs for the work.
    pub length: Span,
    /// Price × length; the integral of the price where it changes.
    pub cost: Money,
    /// Of which group of the request it is, from 0 on; 0 where all tasks are equal.
    pub group: u16,
}

/// A set of tasks with one start, on distinct nodes unless they may share nodes. Nodes differ in speed, so the right edge is
/// rough: each task ends when its own node is done.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    start: Time,
    tasks: Vec<Task>,
    /// What most windows do not have.
    extras: Option<Arc<WindowExtras>>,
}

/// What some windows take besides whole nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct WindowExtras {
    /// What each task takes, where tasks may share nodes.
    each: Option<Arc<Resources>>,
    /// What the job takes along, and what that costs.
    licences: Option<(Arc<[LicenceShare]>, Money)>,
}

/// Why tasks do not make a window, or why a window does not answer a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// No task at all.
    #[error("a window needs at least one task")]
    Empty,
    /// Two tasks on one node, or more tasks than it has room for.
    #[error("too many tasks on node {}", .0.0)]
    SharedNode(NodeId),
    /// The number of tasks differs from the request's.
    #[error("{found} tasks instead of {wanted}")]
    TaskCount {
        /// Tasks asked for.
        wanted: u32,
        /// Tasks in the window.
        found: usize,
    },
    /// A node that lacks the performance or an attribute asked for.
    #[error("node {} does not suit the request", .0.0)]
    Unsuitable(NodeId),
    /// A task whose length or cost is not what its node gives.
    #[error("wrong length or cost on node {}", .0.0)]
    WrongTask(NodeId),
    /// Before the earliest start or after the deadline.
    #[error("outside the earliest start and the deadline")]
    OutOfTime,
    /// Tasks at several sites, though one was asked for.
    #[error("nodes of several sites, and one site is asked for")]
    SeveralSites,
    /// Other licences than asked for, or not at their cost.
    #[error("not the licences asked for, or not at their cost")]
    WrongLicences,
}

impl Window {
    /// A window of `tasks` from `start`; the tasks are put in node order.
    ///
    /// # Errors
    /// [`WindowError::Empty`] or [`WindowError::SharedNode`].
    pub fn new(start: Time, mut tasks: Vec<Task>) -> Result<Window, WindowError> {
        if tasks.is_empty() {
            return Err(WindowError::Empty);
        }
        tasks.sort_unstable_by_key(|task| task.node);
        match tasks.windows(2).find(|pair| pair[0].node == pair[1].node) {
            Some(pair) => Err(WindowError::SharedNode(pair[0].node)),
            None => Ok(Window { start, tasks, extras: None }),
        }
    }

    /// A window of `tasks` that may share nodes, each of which takes `each` of its node; they are
    /// put in node order.
    ///
    /// # Errors
    /// [`WindowError::Empty`].
    pub fn sharing(
        start: Time,
        mut tasks: Vec<Task>,
        each: Arc<Resources>,
    ) -> Result<Window, WindowError> {
        if tasks.is_empty() {
            return Err(WindowError::Empty);
        }
        tasks.sort_unstable_by_key(|task| task.node);
        let extras = WindowExtras { each: Some(each), ..WindowExtras::default() };
        Ok(Window { start, tasks, extras: Some(Arc::new(extras)) })
    }

    /// The same window with licences that the job takes along from its start to its finish; `cost`
    /// is theirs, in addition to that of the tasks.
    #[must_use]
    pub fn taking(self, licences: Arc<[LicenceShare]>, cost: Money) -> Window {
        let each = self.extras.as_ref().and_then(|it| it.each.clone());
        let extras = WindowExtras { each, licences: Some((licences, cost)) };
        Window { extras: Some(Arc::new(extras)), ..self }
    }

    /// What the job takes along from the start to the finish, if anything.
    pub fn licences(&self) -> Option<&Arc<[LicenceShare]>> {
        self.extras.as_ref()?.licences.as_ref().map(|(shares, _)| shares)
    }

    /// What this costs, in addition to the tasks.
    pub fn licences_cost(&self) -> Money {
        let licences = self.extras.as_ref().and_then(|it| it.licences.as_ref());
        licences.map_or(Money(0), |(_, cost)| *cost)
    }

    /// What each task takes of its node, where tasks may share nodes; else each has a whole node.
    pub fn each(&self) -> Option<&Resources> {
        self.extras.as_ref()?.each.as_deref()
    }

    /// The common start.
    pub fn start(&self) -> Time {
        self.start
    }

    /// The tasks, in node order.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The length of the longest task.
    pub fn runtime(&self) -> Span {
        self.tasks.iter().map(|task| task.length).max().unwrap_or_default()
    }

    /// Start plus runtime.
    pub fn finish(&self) -> Time {
        self.start + self.runtime()
    }

    /// Sum of the costs: of all tasks, and of the licences.
    pub fn cost(&self) -> Money {
        self.tasks_cost() + self.licences_cost()
    }

    /// Sum of the costs of the tasks alone.
    pub fn tasks_cost(&self) -> Money {
        self.tasks.iter().map(|task| task.cost).sum()
    }

    /// Sum of the lengths of all tasks, in node-seconds.
    pub fn processor_time(&self) -> Span {
        self.tasks.iter().map(|task| task.length).sum()
    }

    /// The span that each task takes on its node.
    pub fn taken(&self) -> impl Iterator<Item = Slot> {
        let start = self.start;
        self.tasks.iter().map(move |t| Slot { start, end: start + t.length, node: t.node })
    }

    /// Whether this window gives `request` what it asks for on `grid`: number of tasks,
    /// suitable nodes, licences, right lengths and costs, within its times. Of a job of several shapes, the one of
    /// as many tasks counts. Budget and price cap are not judged here: which of them applies is the
    /// search's rule.
    ///
    /// # Errors
    /// The first way in which it does not.
    pub fn check(&self, request: &Request, grid: &Grid) -> Result<(), WindowError> {
        if request.shapes.is_some() {
            return self.check(&request.of_width(self.tasks.len()), grid);
        }
        let mut found = 0;
        for (group, of_group) in (0..).zip(request.groups()) {
            found += self.check_group(group, &of_group, grid)?;
        }
        if self.tasks.len() != found {
            let (wanted, found) = (request.all_tasks(), self.tasks.len());
            return Err(WindowError::TaskCount { wanted, found });
        }
        let site = |task: &Task| grid.node(task.node).site;
        let mut pairs = self.tasks.windows(2);
        if request.spread == Spread::Site && pairs.any(|pair| site(&pair[0]) != site(&pair[1])) {
            return Err(WindowError::SeveralSites);
        }
        if !self.has_licences_of(request, grid) {
            return Err(WindowError::WrongLicences);
        }
        let early = request.earliest_start.is_some_and(|earliest| self.start < earliest);
        let late = request.deadline.is_some_and(|deadline| self.finish() > deadline);
        if early || late { Err(WindowError::OutOfTime) } else { Ok(()) }
    }

    fn has_licences_of(&self, request: &Request, grid: &Grid) -> bool {
        let all = grid.licences();
        let wanted = request.licences.as_deref().unwrap_or_default();
        wanted.iter().all(|share| share.licence.index() < all.len())
            && self.licences().map(|it| &**it).unwrap_or_default() == wanted
            && self.licences_cost() == licences_cost(all, wanted, self.runtime())
    }

    /// The tasks of one group, which must be as `request` says.
    fn check_group(
        &self,
        group: u16,
        request: &Request,
        grid: &Grid,
    ) -> Result<usize, WindowError> {
        let tasks = || self.tasks.iter().filter(|task| task.group == group);
        let found = tasks().count();
        if found != request.tasks as usize {
            return Err(WindowError::TaskCount { wanted: request.tasks, found });
        }
        for task in tasks() {
            let node = grid.node(task.node);
            if !request.suits(node) {
                return Err(WindowError::Unsuitable(task.node));
            }
            let length = request.length_on(node);
            let cost = match grid.is_shared(task.node) && request.needs.is_some() {
                true => grid.price_for(task.node, request) * length,
                false => grid.cost(task.node, self.start, length),
            };
            if task.length != length || task.cost != cost {
                return Err(WindowError::WrongTask(task.node));
            }
        }
        let crowded = by_node(self).find(|(span, count)| grid.places(span.node, request) < *count);
        if let Some((span, _)) = crowded.filter(|_| self.each().is_some()) {
            return Err(WindowError::SharedNode(span.node));
        }
        Ok(found)
    }
}
