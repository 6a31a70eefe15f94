//! What `quote --format json` prints.

use serde::Serialize;
use serde_json::Number;
use tradewind_io::scenario::criterion_name;
use tradewind_model::{Criterion, Grid, Job, Money, Snapshot};
use tradewind_sched::quote::{Front, Quote, Rejected};
use tradewind_sched::window::Proof;

use super::reason::ReasonDocument;
use super::{WindowDocument, exact};

#[derive(Debug, Serialize)]
pub(crate) struct QuoteDocument<'a> {
    job: &'a str,
    quotes: Vec<ByCriterion<'a>>,
    pareto: Vec<Point<'a>>,
    pareto_complete: bool,
    nodes: NodesDocument,
    units: Units,
}

#[derive(Debug, Serialize)]
struct ByCriterion<'a> {
    criterion: String,
    algorithm: &'static str,
    exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<Gap>,
    window: Option<WindowDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<ReasonDocument>,
}

/// How far from the best the window may be, in the criterion's unit.
#[derive(Debug, Serialize)]
struct Gap {
    bound: Number,
}

#[derive(Debug, Serialize)]
struct Point<'a> {
    finish: i64,
    cost: Number,
    window: WindowDocument<'a>,
}

/// Nodes, each counted at its first failing.
#[derive(Debug, Serialize)]
struct NodesDocument {
    usable: u32,
    too_slow: u32,
    lacks_attribute: u32,
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
pub(crate) fn quote<'a>(
    snapshot: &'a Snapshot,
    job: &'a Job,
    quotes: &[Quote],
    front: &Front,
    rejected: Rejected,
) -> QuoteDocument<'a> {
    let grid = &snapshot.grid;
    let point = |window: &tradewind_model::Window| Point {
        finish: window.finish().0,
        cost: exact(window.cost()),
        window: WindowDocument::new(grid, window),
    };
    QuoteDocument {
        job: &job.name,
        quotes: quotes.iter().map(|quote| by_criterion(grid, quote)).collect(),
        pareto: front.windows.iter().map(point).collect(),
        pareto_complete: front.complete,
        nodes: NodesDocument {
            usable: rejected.usable,
            too_slow: rejected.too_slow,
            lacks_attribute: rejected.lacks_attribute,
            too_dear: rejected.too_dear,
            never_free: rejected.never_free,
            over_budget: rejected.over_budget,
        },
        units: UNITS,
    }
}

fn by_criterion<'a>(grid: &'a Grid, quote: &Quote) -> ByCriterion<'a> {
    let found = quote.answer.as_ref().ok();
    let proof = found.map_or(Proof::Exact, |found| found.proof);
    let bounded = matches!(quote.criterion, Criterion::ProcessorTime | Criterion::Sum(_));
    ByCriterion {
        criterion: criterion_name(&quote.criterion),
        algorithm: if bounded { "bounded search" } else { "one pass" },
        exact: proof == Proof::Exact,
        gap: match proof {
            Proof::Gap { bound } => Some(Gap { bound: in_unit(&quote.criterion, bound) }),
            Proof::Exact | Proof::Heuristic => None,
        },
        window: found.map(|found| WindowDocument::new(grid, &found.window)),
        reason: quote.answer.as_ref().err().map(ReasonDocument::new),
    }
}

/// Costs are counted in micro-credits, all else in units of its own.
fn in_unit(criterion: &Criterion, value: i64) -> Number {
    match criterion {
        Criterion::Cost => exact(Money(value)),
        _ => Number::from(value),
    }
}
