//! Shapes of a moldable job: a list of tables, or a text.

use tradewind_model::{JobShape, Request, Span, TaskGroup};

use super::nodes::attributes;
use crate::fields::{Fields, LEAST_PERFORMANCE, Notes};
use crate::shapes;
use crate::value::ValueKind;

const SHAPE_KEYS: [&str; 2] = ["nodes", "time"];

/// What `shapes` says; `None` if it is not given or not valid.
pub(crate) fn read(job: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Vec<JobShape>> {
    let value = job.get("shapes")?;
    let listed = match &value.kind {
        ValueKind::Text(text) => shapes::parse(text),
        _ => listed(job, notes).map(shapes::checked)?,
    };
    let fault = |(message, hint): (String, String)| {
        notes.error(value.line, &job.place("shapes"), message, &hint);
    };
    listed.map_err(fault).ok()
}

fn listed(job: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Vec<JobShape>> {
    let items = job.list("shapes", notes)?;
    if items.len() > tradewind_model::Shapes::MAX {
        // Only their number is of interest.
        return Some(vec![JobShape { nodes: 1, time: Span(1) }; items.len()]);
    }
    let place = job.place("shapes");
    let mut all = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let fields = Fields::of(item, format!("{place}[{i}]"), &SHAPE_KEYS, notes)?;
        fields.require(&SHAPE_KEYS, notes);
        let nodes = fields.whole("nodes", 1..=i64::from(Request::MAX_TASKS), notes);
        let time = fields.span("time", 1..=Span::MAX.0, notes);
        all.push(JobShape { nodes: u32::try_from(nodes?).ok()?, time: time? });
    }
    Some(all)
}

/// The tasks of the first shape. What shapes say, the job does not say itself.
pub(super) fn first(
    job: &Fields<'_, '_>,
    shapes: &[JobShape],
    notes: &mut Notes<'_>,
) -> Option<TaskGroup> {
    let others = ["nodes", "tasks", "work", "groups", "cores", "memory", "gres", "packing"];
    for key in others.into_iter().filter(|key| job.get(key).is_some()) {
        let message = format!("a job with `shapes` has no `{key}`");
        notes.error(job.line_of(key), &job.place(key), message, "leave it out, or `shapes`");
    }
    let min_performance = job.performance("min_performance", &LEAST_PERFORMANCE, notes);
    let attributes = attributes(job, notes);
    let JobShape { nodes, time } = *shapes.first()?;
    Some(TaskGroup { tasks: nodes, work: time, min_performance, attributes })
}

/// The nodes of the narrowest shape of a moldable job.
pub(super) fn narrowest(request: &Request) -> Option<u32> {
    let shapes = request.shapes.iter().flat_map(tradewind_model::Shapes::as_slice);
    shapes.map(|shape| shape.nodes).min()
}
