//! What `explain --format json` prints.

use serde::Serialize;
use serde_json::{Number, Value};
use tradewind_model::{Job, Performance, Snapshot};
use tradewind_sched::explain::{Change, Explanation, Relaxation};

use super::reason::ReasonDocument;
use super::{WindowDocument, exact};

#[derive(Debug, Serialize)]
pub(crate) struct ExplainDocument<'a> {
    job: &'a str,
    placed: Option<WindowDocument<'a>>,
    reason: Option<ReasonDocument>,
    /// The limits whose change alone would help.
    binding: Vec<&'a str>,
    relaxations: Vec<RelaxationDocument<'a>>,
    possible_without_limits: bool,
}

#[derive(Debug, Serialize)]
struct RelaxationDocument<'a> {
    limit: &'a str,
    by: Value,
    to: Option<Number>,
    window: WindowDocument<'a>,
}

/// The document of one job's explanation.
pub(crate) fn explain<'a>(
    snapshot: &'a Snapshot,
    job: &'a Job,
    explanation: &'a Explanation,
) -> ExplainDocument<'a> {
    let grid = &snapshot.grid;
    let relaxation = |relaxation: &'a Relaxation| RelaxationDocument {
        limit: relaxation.change.limit(),
        by: change_by(&relaxation.change),
        to: change_to(relaxation),
        window: WindowDocument::new(grid, &relaxation.window),
    };
    let relaxations = explanation.relaxations.iter();
    ExplainDocument {
        job: &job.name,
        placed: explanation.answer.as_ref().ok().map(|window| WindowDocument::new(grid, window)),
        reason: explanation.answer.as_ref().err().map(ReasonDocument::new),
        binding: relaxations.clone().map(|relaxation| relaxation.change.limit()).collect(),
        relaxations: relaxations.map(relaxation).collect(),
        possible_without_limits: explanation.possible_without_limits,
    }
}

/// How far the limit moves; for an attribute, its name.
pub(crate) fn change_by(change: &Change) -> Value {
    Value::Number(match change {
        Change::Budget(by) => exact(by),
        Change::MaxPrice(by) => exact(by),
        Change::Deadline(by) | Change::EarliestStart(by) => Number::from(by.0),
        Change::MinPerformance(by) => {
            Performance::from_thousandths(*by).map_or_else(|| Number::from(0), exact)
        }
        Change::Tasks(by) => Number::from(*by),
        Change::Attribute(name) => return Value::String(name.clone()),
    })
}

/// Where the limit then is.
pub(crate) fn change_to(relaxation: &Relaxation) -> Option<Number> {
    let request = &relaxation.request;
    match relaxation.change {
        Change::Budget(_) => request.budget.map(exact),
        Change::MaxPrice(_) => request.max_price.map(exact),
        Change::Deadline(_) => request.deadline.map(|time| Number::from(time.0)),
        Change::EarliestStart(_) => request.earliest_start.map(|time| Number::from(time.0)),
        Change::MinPerformance(_) => request.min_performance.map(exact),
        Change::Tasks(_) => Some(Number::from(request.tasks)),
        Change::Attribute(_) => None,
    }
}
