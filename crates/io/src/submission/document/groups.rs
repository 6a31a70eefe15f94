//! The field `groups` of a document.

use tradewind_model::{Request, Span, TaskGroup};

use super::super::groups;
use super::read::attributes;
use crate::fields::{Fields, Notes, PERFORMANCE};
use crate::value::ValueKind;

const GROUP_KEYS: [&str; 4] = ["nodes", "time", "min_performance", "attributes"];

/// The groups, if any are given: a list, or a text. Nothing else then says nodes or time.
pub(super) fn read(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Vec<TaskGroup>> {
    let value = fields.get("groups")?;
    let sizes = ["nodes", "max_nodes", "ntasks", "ntasks_per_node", "cpus_per_task"];
    for key in sizes.into_iter().chain(["time", "shapes"]) {
        if fields.get(key).is_some() {
            let message = "stands beside `groups`, which say nodes and time".to_owned();
            notes.error(fields.line_of(key), key, message, "leave one of them out");
        }
    }
    if fields.get("array").is_some() {
        let wrong = groups::no_array();
        notes.error(fields.line_of("array"), "array", wrong.message, &wrong.hint);
    }
    let found = match &value.kind {
        ValueKind::Text(text) => groups::parse(text),
        _ => listed(fields, notes).map(groups::checked).unwrap_or_else(|| Ok(any())),
    };
    Some(found.unwrap_or_else(|wrong| {
        notes.error(value.line, "groups", wrong.message, &wrong.hint);
        any()
    }))
}

/// Anything is right for going on after a mistake.
fn any() -> Vec<TaskGroup> {
    let attributes = tradewind_model::Attributes::new();
    vec![TaskGroup { tasks: 1, work: Span(1), min_performance: None, attributes }]
}

fn listed(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Vec<TaskGroup>> {
    let mut all = Vec::new();
    for (i, item) in fields.list("groups", notes)?.iter().take(Request::MAX_GROUPS + 1).enumerate()
    {
        let fields = Fields::of(item, format!("groups[{i}]"), &GROUP_KEYS, notes)?;
        fields.require(&["nodes", "time"], notes);
        let nodes = fields.whole("nodes", 1..=i64::from(Request::MAX_TASKS), notes);
        let work = fields.span("time", 1..=Span::MAX.0, notes);
        let min_performance = fields.performance("min_performance", &PERFORMANCE, notes);
        let attributes = attributes(&fields, notes);
        let tasks = u32::try_from(nodes?).ok()?;
        all.push(TaskGroup { tasks, work: work?, min_performance, attributes });
    }
    Some(all)
}
