//! What a job could get, before anything is submitted.

mod power;

use std::ops::ControlFlow;

use tradewind_model::{
    Attribute, Criterion, Grid, Money, NodeId, Reason, Request, SlotList, Span, Time, Window,
};

use crate::window::{Found, Scratch, Search, Searcher, SlotIndex, WholeList, spans_for_one};

pub use power::{least_carbon, least_energy};

/// The best window under one criterion, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// What is least in the window.
    pub criterion: Criterion,
    /// The window, with the proof that it is best.
    pub answer: Result<Found, Reason>,
}

/// The criteria that every quote shows, in this order.
pub const CRITERIA: [Criterion; 5] = [
    Criterion::Start,
    Criterion::Finish,
    Criterion::Runtime,
    Criterion::Cost,
    Criterion::ProcessorTime,
];

/// The best window for `request` under each of [`CRITERIA`] and, if it is another, under the
/// request's own. All limits that the request states apply.
pub fn quotes(grid: &Grid, slots: &SlotList, request: &Request, work_limit: u64) -> Vec<Quote> {
    all(grid, slots, request, work_limit).collect()
}

/// The same, as long as `watch` says so: it is asked before each criterion. `None`: it was stopped.
pub fn quotes_while(
    grid: &Grid,
    slots: &SlotList,
    request: &Request,
    work_limit: u64,
    watch: &mut dyn FnMut() -> ControlFlow<()>,
) -> Option<Vec<Quote>> {
    let mut quotes = Vec::new();
    let mut rest = all(grid, slots, request, work_limit);
    while watch().is_continue() {
        match rest.next() {
            Some(quote) => quotes.push(quote),
            None => return Some(quotes),
        }
    }
    None
}

fn all<'a>(
    grid: &'a Grid,
    slots: &'a SlotList,
    request: &'a Request,
    work_limit: u64,
) -> impl Iterator<Item = Quote> + 'a {
    let own = Some(&request.criterion).filter(|own| !CRITERIA.contains(own));
    let mut scratch = Scratch::default();
    let mut searches = Searches::new(grid, slots);
    let quote = move |criterion: &Criterion| {
        let search = Search { work_limit, ..Search::best(criterion.clone()) };
        let found = searches.find(request, &search, &mut scratch);
        let answer = found.ok_or_else(|| {
            searches.searcher(request, &search).reason_on(grid, request, slots, &mut scratch)
        });
        Quote { criterion: criterion.clone(), answer }
    };
    CRITERIA.iter().chain(own).map(quote)
}

/// Several searches of one list for one request, whose budget and deadline may change.
struct Searches<'a> {
    grid: &'a Grid,
    slots: &'a SlotList,
    /// If the list is long.
    index: Option<SlotIndex<'a>>,
    /// The last searcher of the whole list.
    before: Option<Searcher>,
}

impl<'a> Searches<'a> {
    fn new(grid: &'a Grid, slots: &'a SlotList) -> Searches<'a> {
        let index = SlotIndex::is_for(slots).then(|| SlotIndex::new(grid, slots));
        Searches { grid, slots, index, before: None }
    }

    fn find(&mut self, request: &Request, search: &Search, scratch: &mut Scratch) -> Option<Found> {
        let slots = self.slots;
        let index = self.index.as_ref();
        let among_some = index.map(|it| it.find_among_some((request, search), Time::MIN, scratch));
        match among_some {
            Some(Ok(found)) => found,
            Some(Err(WholeList)) | None => {
                self.searcher(request, search).find(slots, Time::MIN, scratch)
            }
        }
    }

    /// A searcher of the whole list; nodes are ranked again only if they must be.
    fn searcher(&mut self, request: &Request, search: &Search) -> &Searcher {
        let next = match &self.before {
            Some(before) => before.again(self.grid, request, search),
            None => Searcher::new(self.grid, request, search),
        };
        self.before.insert(next)
    }
}

/// The windows of which none is both earlier in finish and cheaper than another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowFront {
    /// By rising cost and falling finish: the cheapest first, the earliest to finish last.
    pub windows: Vec<Window>,
    /// Whether these are all; if not, the fastest points are missing.
    pub complete: bool,
}

/// The exact Pareto front of cost against finish for `request`, from the cheapest window on, at
/// most `max_points` of it.
///
/// Alternates between "least cost before this finish" and "least finish at this cost": two exact
/// searches, O(p log p) each, per point; nodes are ranked once.
pub fn front(grid: &Grid, slots: &SlotList, request: &Request, max_points: usize) -> WindowFront {
    let mut scratch = Scratch::default();
    let mut searches = Searches::new(grid, slots);
    let mut best = |request: &Request, criterion: Criterion| {
        searches.find(request, &Search::best(criterion), &mut scratch).map(|found| found.window)
    };
    let mut windows = Vec::new();
    let mut request = request.clone();
    let allowed = request.budget;
    while let Some(cheapest) = best(&request, Criterion::Cost) {
        if windows.len() == max_points {
            return WindowFront { windows, complete: false };
        }
        request.budget = Some(cheapest.cost());
        let fastest = best(&request, Criterion::Finish).unwrap_or(cheapest);
        request.budget = allowed;
        request.deadline = Some(fastest.finish() - Span(1));
        windows.push(fastest);
    }
    WindowFront { windows, complete: true }
}

/// How many nodes were left out of a quote, each counted at its first failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rejected {
    /// Slower than the request's minimum performance.
    pub too_slow: u32,
    /// Without an attribute asked for.
    pub lacks_attribute: u32,
    /// At a site to which the job's data cannot be brought, or from which it cannot be brought away.
    pub no_link: u32,
    /// With less than a task takes, or without a word of what they have; only where tasks may
    /// share nodes.
    pub too_small: u32,
    /// More expensive per second than the price cap, at all times.
    pub too_dear: u32,
    /// Suitable, but never free for long enough between earliest start and deadline.
    pub never_free: u32,
    /// One task alone costs more than the budget, at the node's lowest price.
    pub over_budget: u32,
    /// What remains to choose from.
    pub usable: u32,
}

/// Counts what `request` rules out on `grid`. Where tasks differ, or the job has several shapes, a node
/// counts for the group or shape for which it comes farthest in the order of these fields.
///
/// O(nodes + slots).
pub fn rejected(grid: &Grid, slots: &SlotList, request: &Request) -> Rejected {
    let mut longest = vec![Span::ZERO; grid.len()];
    let of_places = request.needs.as_ref().map(|_| spans_for_one(grid, slots, request));
    for slot in of_places.as_deref().unwrap_or(slots.as_slice()) {
        let start = request.earliest_start.map_or(slot.start, |earliest| earliest.max(slot.start));
        let end = request.deadline.map_or(slot.end, |deadline| deadline.min(slot.end));
        let fit = &mut longest[slot.node.0 as usize];
        *fit = (*fit).max(end - start);
    }
    let mut count = Rejected::default();
    for (id, _) in grid.iter() {
        let stage = |group: &Request| Stage::of(grid, id, longest[id.0 as usize], group);
        let stage = match request.others.is_empty() && request.shapes.is_none() {
            true => stage(request),
            false => {
                let (shapes, groups) = (request.in_shapes(), request.groups().skip(1));
                let all = shapes.iter().map(stage).chain(groups.map(|group| stage(&group)));
                all.max().unwrap_or(Stage::Usable)
            }
        };
        *count.field(stage) += 1;
    }
    count
}

/// How far a node comes, in the order in which it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    TooSlow,
    LacksAttribute,
    NoLink,
    TooSmall,
    TooDear,
    NeverFree,
    OverBudget,
    Usable,
}

impl Rejected {
    fn field(&mut self, stage: Stage) -> &mut u32 {
        match stage {
            Stage::TooSlow => &mut self.too_slow,
            Stage::LacksAttribute => &mut self.lacks_attribute,
            Stage::NoLink => &mut self.no_link,
            Stage::TooSmall => &mut self.too_small,
            Stage::TooDear => &mut self.too_dear,
            Stage::NeverFree => &mut self.never_free,
            Stage::OverBudget => &mut self.over_budget,
            Stage::Usable => &mut self.usable,
        }
    }
}

impl Stage {
    fn of(grid: &Grid, id: NodeId, longest: Span, request: &Request) -> Stage {
        let node = grid.node(id);
        let least = match request.needs.is_some() && grid.is_shared(id) {
            true => grid.price_for(id, request),
            false => grid.lowest_price(id),
        };
        let length = request.length_on(node);
        let missing = |(name, wanted): (&String, &Attribute)| {
            !Attribute::meets(node.attributes.get(name), wanted)
        };
        if request.min_performance.is_some_and(|min| node.performance < min) {
            Stage::TooSlow
        } else if request.attributes.iter().any(missing) {
            Stage::LacksAttribute
        } else if !request.suits(node) {
            Stage::NoLink
        } else if grid.places(id, request) == 0 {
            Stage::TooSmall
        } else if request.max_price.is_some_and(|cap| least > cap) {
            Stage::TooDear
        } else if longest < length {
            Stage::NeverFree
        } else if request.budget.is_some_and(|budget: Money| least * length > budget) {
            Stage::OverBudget
        } else {
            Stage::Usable
        }
    }
}

#[cfg(test)]
mod tests;
