//! Groups of equal tasks of a job.

use tradewind_model::{Request, Span, TaskGroup};

use super::nodes::attributes;
use crate::fields::{Fields, LEAST_PERFORMANCE, Notes};
use crate::value::Value;

/// What a group says of its tasks; a job without groups says the same of all of them.
const GROUP_KEYS: [&str; 4] = ["nodes", "work", "min_performance", "attributes"];

/// The tasks that these fields ask for; `count` is the key of their number.
pub(super) fn one(
    fields: &Fields<'_, '_>,
    count: &str,
    notes: &mut Notes<'_>,
) -> Option<TaskGroup> {
    let tasks = fields.whole(count, 1..=i64::from(Request::MAX_TASKS), notes);
    let work = fields.span("work", 1..=Span::MAX.0, notes);
    let min_performance = fields.performance("min_performance", &LEAST_PERFORMANCE, notes);
    let attributes = attributes(fields, notes);
    let tasks = tasks.and_then(|n| u32::try_from(n).ok())?;
    Some(TaskGroup { tasks, work: work?, min_performance, attributes })
}

/// The list `groups` of a job; `None` if a group of it is not valid.
pub(super) fn read(
    job: &Fields<'_, '_>,
    items: &[Value<'_>],
    notes: &mut Notes<'_>,
) -> Option<Vec<TaskGroup>> {
    for key in GROUP_KEYS.into_iter().filter(|key| job.get(key).is_some()) {
        let message = format!("a job with `groups` has no `{key}` of its own");
        notes.error(job.line_of(key), &job.place(key), message, "say it in each group");
    }
    let place = job.place("groups");
    if !(1..=Request::MAX_GROUPS).contains(&items.len()) {
        let message = format!("{} groups", items.len());
        let hint = format!("1 to {} are possible", Request::MAX_GROUPS);
        notes.error(job.line_of("groups"), &place, message, &hint);
        return None;
    }
    let mut all = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let Some(fields) = Fields::of(item, format!("{place}[{i}]"), &GROUP_KEYS, notes) else {
            continue;
        };
        fields.require(&["nodes", "work"], notes);
        all.extend(one(&fields, "nodes", notes));
    }
    (all.len() == items.len()).then_some(all)
}
