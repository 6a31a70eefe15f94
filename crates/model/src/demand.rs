//! What a job asks for in a market.

use std::sync::Arc;

use crate::{
    Attributes, Criterion, LicenceShares, Money, Performance, Preemptible, Price, Ratio, Request,
    Shapes, SiteId, Span, Spread, Staging, TaskGroup, Time, TimeMode,
};

/// What a job asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// Tasks, each on a node of its own: at least 1.
    pub processors: u32,
    /// How long it is expected to run, at least 1 s: on the reference node, or by the clock, as its
    /// terms say.
    pub estimate: Span,
    /// What is expected once it has run for longer than that.
    pub correction: Correction,
    /// How long it is expected to run by what was learned from others, counted like the estimate, if
    /// that is another time: then the estimate is its limit. Only those who ask for it plan by it.
    pub expected: Option<Span>,
    /// Everything else; most jobs of most logs ask for nothing more.
    pub terms: Option<Arc<Terms>>,
}

impl Demand {
    /// A job without further terms.
    pub fn new(processors: u32, estimate: Span) -> Demand {
        let correction = Correction::Doubled;
        Demand { processors, estimate, correction, expected: None, terms: None }
    }

    /// The same demand, planned by what is expected: then what is expected is the estimate, and once
    /// that is exceeded, [`Correction::Stepped`] up to the limit. `None`: nothing else is expected.
    pub fn by_expectation(&self) -> Option<Demand> {
        let estimate = self.expected.filter(|expected| *expected < self.estimate)?;
        let correction = Correction::Stepped(self.estimate);
        Some(Demand { estimate, correction, expected: None, ..self.clone() })
    }

    /// The terms, or the terms of a job that has none.
    pub fn terms(&self) -> &Terms {
        static NONE: Terms = Terms::NONE;
        self.terms.as_deref().unwrap_or(&NONE)
    }

    /// How its estimate is counted: without terms, as work on the reference node.
    pub fn mode(&self) -> TimeMode {
        self.terms.as_ref().map_or(TimeMode::WORK, |terms| terms.times)
    }

    /// How long its data takes to a site, before its work.
    pub fn stage_in(&self, site: SiteId) -> Span {
        let data = self.terms.as_ref().and_then(|terms| terms.data.as_ref());
        data.and_then(|staging| staging.at(site)).map_or(Span::ZERO, |times| times.stage_in)
    }

    /// How long its data takes to a site and away from it.
    pub fn staging(&self, site: SiteId) -> Span {
        self.terms.as_ref().map_or(Span::ZERO, |terms| terms.staging(site))
    }

    /// As a request for a window.
    pub fn request(&self) -> Request {
        let terms = self.terms();
        let request = Request {
            min_performance: terms.min_performance,
            attributes: terms.attributes.clone(),
            budget: terms.budget,
            max_price: terms.max_price,
            earliest_start: terms.earliest_start,
            deadline: terms.deadline,
            criterion: terms.criterion.clone(),
            times: terms.times,
            spread: terms.spread,
            shapes: self.expected_shapes(),
            licences: terms.licences.clone(),
            data: terms.data.clone(),
            ..Request::new(self.processors, self.estimate)
        };
        match &terms.groups {
            Some(groups) => in_groups(request, groups),
            None => request,
        }
    }
}

/// The request of a job whose tasks differ: what it says for all tasks holds for each group beside
/// what the group says.
fn in_groups(request: Request, groups: &[TaskGroup]) -> Request {
    let of = |group: &TaskGroup| {
        let mut attributes = request.attributes.clone();
        attributes.extend(group.attributes.clone());
        let min_performance = request.min_performance.max(group.min_performance);
        TaskGroup { min_performance, attributes, ..group.clone() }
    };
    let mut all: Vec<TaskGroup> = groups.iter().map(of).collect();
    if all.is_empty() {
        return request;
    }
    let TaskGroup { tasks, work, min_performance, attributes } = all.remove(0);
    Request { tasks, work, min_performance, attributes, others: all, ..request }
}

/// What is expected of a job that has run for longer than its estimate. Times are counted as the
/// estimate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Correction {
    /// It takes twice as long as expected so far.
    #[default]
    Doubled,
    /// It takes as long as its user asked for.
    Requested(Span),
    /// It takes a minute, then five minutes and so on more than the estimate ([`Correction::STEPS`]),
    /// but not more than its user asked for.
    Stepped(Span),
}

impl Correction {
    /// What is added to the estimate, in seconds (Tsafrir, Etsion and Feitelson, 2007).
    pub const STEPS: [i64; 11] =
        [60, 300, 900, 1_800, 3_600, 7_200, 18_000, 36_000, 72_000, 180_000, 360_000];

    /// The same with other times.
    pub(crate) fn map(self, change: impl Fn(Span) -> Span) -> Correction {
        match self {
            Correction::Doubled => Correction::Doubled,
            Correction::Requested(span) => Correction::Requested(change(span)),
            Correction::Stepped(span) => Correction::Stepped(change(span)),
        }
    }

    /// What the user asked for, if the estimate is another one.
    pub fn requested(self) -> Option<Span> {
        match self {
            Correction::Doubled => None,
            Correction::Requested(span) | Correction::Stepped(span) => Some(span),
        }
    }
}

/// Who asks, and on which conditions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// Whose job it is.
    pub user: i64,
    /// Higher comes first, where a policy cares.
    pub priority: i64,
    /// Where it was submitted, if at a site of the market.
    pub home: Option<SiteId>,
    /// What its completion in time is worth.
    pub value: Option<Money>,
    /// What its bids in an auction are multiplied by: H_i of paper 003, equation (2). `None`: by 1.
    pub bid_factor: Option<Ratio>,
    /// Each node's performance at least.
    pub min_performance: Option<Performance>,
    /// Each node's price at most.
    pub max_price: Option<Price>,
    /// The whole job's cost at most.
    pub budget: Option<Money>,
    /// Earliest start, if there is one.
    pub earliest_start: Option<Time>,
    /// To be finished by.
    pub deadline: Option<Time>,
    /// What makes one window better than another.
    pub criterion: Criterion,
    /// What each node must offer besides.
    pub attributes: Attributes,
    /// The memory that each task takes of its pool, in KiB, where pools count it
    /// ([`Pools::memory`](crate::Pools::memory)). `None`: none.
    pub memory: Option<u32>,
    /// How the job's time is counted.
    pub times: TimeMode,
    /// Over how many sites it may lie.
    pub spread: Spread,
    /// In which shapes it may run, if it has more than one: the demand's processors and estimate are
    /// those of one of them, which a start may change ([`Event::Started`](crate::Event::Started)).
    pub shapes: Option<Shapes>,
    /// The groups of a job whose tasks differ, all of them: then the demand's processors are the tasks
    /// of all groups, and its estimate is the longest of theirs. Such jobs get windows
    /// ([`Demand::request`]); no policy starts them.
    pub groups: Option<Arc<[TaskGroup]>>,
    /// Whether its nodes may be taken away, and what it keeps then.
    pub preemptible: Option<Preemptible>,
    /// What the job takes along.
    pub licences: LicenceShares,
    /// What it reads and leaves behind, and how long that takes at each site.
    pub data: Option<Arc<Staging>>,
}

impl Terms {
    /// How long the job's data takes to a site and away from it.
    pub fn staging(&self, site: SiteId) -> Span {
        self.data.as_ref().map_or(Span::ZERO, |staging| staging.total(site))
    }

    /// Of a job that asks for nothing but processors and time.
    pub const NONE: Terms = Terms {
        user: 0,
        priority: 0,
        home: None,
        value: None,
        bid_factor: None,
        min_performance: None,
        max_price: None,
        budget: None,
        earliest_start: None,
        deadline: None,
        criterion: Criterion::Start,
        attributes: Attributes::new(),
        memory: None,
        times: TimeMode::WORK,
        spread: Spread::Grid,
        shapes: None,
        groups: None,
        preemptible: None,
        licences: None,
        data: None,
    };
}
