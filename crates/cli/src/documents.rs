//! From answers of the library to the JSON documents of `quote` and `explain`.

use std::collections::BTreeMap;

use serde::Serialize;
use tradewind_io::scenario::criterion_name;
use tradewind_io::wire::{self, Amount};
use tradewind_model::{Criterion, Grid, Job, Money, NodeId, Request, Snapshot, Task, Window};
use tradewind_sched::explain::{Change, Explanation, Relaxation};
use tradewind_sched::quote::{Quote, Rejected, WindowFront};
use tradewind_sched::window::Proof;

/// Quotes, with what they rest on.
#[derive(Debug, Serialize)]
pub(crate) struct Quotes {
    #[serde(flatten)]
    quotes: wire::Quotes,
    nodes: Nodes,
    basis: Vec<Basis>,
    units: Units,
}

/// What a task costs on one of the nodes that are quoted, and why: price × length.
#[derive(Debug, Serialize)]
pub(crate) struct Basis {
    pub(crate) node: String,
    pub(crate) performance: Amount,
    pub(crate) price: Amount,
    pub(crate) length: i64,
    pub(crate) cost: Amount,
    /// Where tasks differ, the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<u16>,
}

/// One entry for each node and group of any quoted window, in node order.
pub(crate) fn basis(
    grid: &Grid,
    request: &Request,
    quotes: &[Quote],
    front: &WindowFront,
) -> Vec<Basis> {
    let best = quotes.iter().filter_map(|quote| Some(&quote.answer.as_ref().ok()?.window));
    let tasks = best.chain(&front.windows).flat_map(Window::tasks);
    let by_node: BTreeMap<(NodeId, u16), &Task> =
        tasks.map(|task| ((task.node, task.group), task)).collect();
    let differ = by_node.keys().any(|(_, group)| *group > 0);
    let entry = |((id, group), task): ((NodeId, u16), &Task)| {
        let node = grid.node(id);
        Basis {
            node: node.name.clone(),
            performance: Amount::Performance(node.performance.thousandths()),
            price: Amount::Price(grid.price_for(id, request)),
            length: task.length.0,
            cost: Amount::Credits(task.cost),
            group: differ.then_some(group),
        }
    };
    by_node.into_iter().map(entry).collect()
}

/// How many nodes there were to choose from; the others count at their first failing.
#[derive(Debug, Serialize)]
struct Nodes {
    usable: u32,
    too_slow: u32,
    lacks_attribute: u32,
    /// Only of a job with data.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_link: Option<u32>,
    /// Only where tasks may share nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    too_small: Option<u32>,
    too_dear: u32,
    never_free: u32,
    over_budget: u32,
}

#[derive(Debug, Serialize)]
struct Units {
    time: &'static str,
    cost: &'static str,
    price: &'static str,
}

const UNITS: Units = Units { time: "s", cost: "credits", price: "credits per node-second" };

/// The document of one job's quotes.
pub(crate) fn quotes(
    snapshot: &Snapshot,
    job: &Job,
    quotes: &[Quote],
    front: &WindowFront,
    rejected: Rejected,
) -> Quotes {
    let grid = &snapshot.grid;
    let point = |window| wire::QuotePoint::from(wire::Window::of(window, &job.request, grid));
    Quotes {
        quotes: wire::Quotes {
            job: job.name.clone(),
            quotes: quotes.iter().map(|quote| by_criterion(quote, &job.request, grid)).collect(),
            pareto: front.windows.iter().map(point).collect(),
            pareto_complete: front.complete,
        },
        nodes: Nodes {
            usable: rejected.usable,
            too_slow: rejected.too_slow,
            lacks_attribute: rejected.lacks_attribute,
            no_link: job.request.data.as_ref().map(|_| rejected.no_link),
            too_small: job.request.needs.as_ref().map(|_| rejected.too_small),
            too_dear: rejected.too_dear,
            never_free: rejected.never_free,
            over_budget: rejected.over_budget,
        },
        basis: basis(grid, &job.request, quotes, front),
        units: UNITS,
    }
}

fn by_criterion(quote: &Quote, request: &Request, grid: &Grid) -> wire::Quote {
    let found = quote.answer.as_ref().ok();
    let bounded = matches!(quote.criterion, Criterion::ProcessorTime | Criterion::Sum(_));
    wire::Quote {
        criterion: criterion_name(&quote.criterion),
        algorithm: if bounded { "bounded-search" } else { "one-pass" }.to_owned(),
        exact: found.is_none_or(|found| found.proof == Proof::Exact),
        gap: found.and_then(|found| gap(&quote.criterion, &found.window, found.proof, grid)),
        window: found.map(|found| wire::Window::of(&found.window, request, grid)),
        reason: quote.answer.as_ref().err().map(wire::Reason::from),
    }
}

/// How far a better window can be below this one, where that is not ruled out.
fn gap(criterion: &Criterion, window: &Window, proof: Proof, grid: &Grid) -> Option<Amount> {
    let Proof::Gap { bound } = proof else { return None };
    Some(match criterion {
        Criterion::Start => Amount::Seconds(window.start().0 - bound),
        Criterion::Finish => Amount::Seconds(window.finish().0 - bound),
        Criterion::Runtime => Amount::Seconds(window.runtime().0 - bound),
        Criterion::Cost => Amount::Credits(Money(window.cost().0 - bound)),
        Criterion::ProcessorTime => Amount::Seconds(window.processor_time().0 - bound),
        Criterion::Sum(name) => Amount::Thousandths(sum(name, window, grid).saturating_sub(bound)),
    })
}

/// Σ attribute × length, in thousandths of the attribute's unit. Saturates, as the search does.
fn sum(name: &str, window: &Window, grid: &Grid) -> i64 {
    let rate = |task: &tradewind_model::Task| match grid.node(task.node).attributes.get(name) {
        Some(tradewind_model::Attribute::Number(rate)) => *rate,
        _ => 0,
    };
    let rates = window.tasks().iter().map(|task| rate(task).saturating_mul(task.length.0));
    rates.fold(0, i64::saturating_add)
}

/// The document of one job's explanation.
pub(crate) fn explanation(
    snapshot: &Snapshot,
    job: &Job,
    explanation: &Explanation,
) -> wire::Explanation {
    let grid = &snapshot.grid;
    let binding = |relaxation: &Relaxation| wire::Binding {
        limit: relaxation.change.limit().into_owned(),
        now: value(&relaxation.change, &job.request),
    };
    let placed = |window| wire::Window::of(window, &job.request, grid);
    wire::Explanation {
        job: job.name.clone(),
        placed: explanation.answer.as_ref().ok().map(placed),
        reason: explanation.answer.as_ref().err().map(wire::Reason::from),
        binding: explanation.relaxations.iter().map(binding).collect(),
        relaxations: explanation.relaxations.iter().map(|it| relaxation(it, grid)).collect(),
        possible_without_limits: explanation.possible_without_limits,
    }
}

/// One change that would help.
pub(crate) fn relaxation(relaxation: &Relaxation, grid: &Grid) -> wire::Relaxation {
    wire::Relaxation {
        limit: relaxation.change.limit().into_owned(),
        attribute: attribute(&relaxation.change),
        by: amount(&relaxation.change),
        to: value(&relaxation.change, &relaxation.request),
        window: wire::Window::of(&relaxation.window, &relaxation.request, grid),
    }
}

/// The attribute to do without.
fn attribute(change: &Change) -> Option<String> {
    match change {
        Change::Attribute(name) => Some(name.clone()),
        Change::InGroup(_, change) => attribute(change),
        _ => None,
    }
}

/// How far the limit moves.
fn amount(change: &Change) -> Option<Amount> {
    Some(match *change {
        Change::InGroup(_, ref change) => return amount(change),
        Change::Budget(by) => Amount::Credits(by),
        Change::MaxPrice(by) => Amount::Price(by),
        Change::Deadline(by) | Change::EarliestStart(by) => Amount::Seconds(by.0),
        Change::MinPerformance(by) => Amount::Performance(by),
        Change::Tasks(by) | Change::Licences { fewer: by, .. } => Amount::Count(by),
        Change::Need(ref kind, by) => Amount::of_resource(kind, by),
        Change::Attribute(_) | Change::Spread | Change::Data => return None,
    })
}

/// Where the limit that `change` moves stands in `request`.
fn value(change: &Change, request: &Request) -> Option<Amount> {
    match change {
        Change::Budget(_) => request.budget.map(Amount::Credits),
        Change::MaxPrice(_) => request.max_price.map(Amount::Price),
        Change::Deadline(_) => request.deadline.map(|time| Amount::Seconds(time.0)),
        Change::EarliestStart(_) => request.earliest_start.map(|time| Amount::Seconds(time.0)),
        Change::MinPerformance(_) => {
            request.min_performance.map(|min| Amount::Performance(min.thousandths()))
        }
        Change::Tasks(_) => Some(Amount::Count(request.tasks)),
        Change::Need(kind, _) => {
            let needs = request.needs.as_ref()?;
            Some(Amount::of_resource(kind, needs.each.of(kind)))
        }
        Change::Licences { licence, .. } => {
            let mut shares = request.licences.iter().flat_map(|shares| shares.iter());
            let count = shares.find(|share| share.licence == *licence).map_or(0, |it| it.count);
            Some(Amount::Count(count))
        }
        Change::InGroup(group, change) => value(change, &request.groups().nth(*group)?),
        Change::Attribute(_) | Change::Spread | Change::Data => None,
    }
}
