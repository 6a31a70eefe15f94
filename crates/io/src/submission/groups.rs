//! Groups of tasks of a submission: `1x1h@2@gpu,3x10m`, or a list of tables in a document.

use std::sync::Arc;

use tradewind_model::{Attributes, Performance, Request, Span, TaskGroup};

use super::Conditions;
use super::lists;
use super::script::{Wrong, wrong};
use crate::fields::{PERFORMANCE, scaled};
use crate::shapes;

/// What [`parse`] takes, for hints.
const FORMS: &str = "write `1x1h@2@gpu,3x10m`: nodes x time, then `@` with a minimum performance or \
                     a constraint";

/// The groups that a text lists, two at least.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn parse(text: &str) -> Result<Vec<TaskGroup>, Wrong> {
    let parts: Vec<&str> = text.split(',').take(Request::MAX_GROUPS + 1).collect();
    checked(parts.into_iter().map(one).collect::<Result<_, Wrong>>()?)
}

/// The groups, if a job may have them.
///
/// # Errors
/// What is wrong with them.
pub(super) fn checked(groups: Vec<TaskGroup>) -> Result<Vec<TaskGroup>, Wrong> {
    if !(2..=Request::MAX_GROUPS).contains(&groups.len()) {
        let message = match groups.len() {
            0 | 1 => "a single group".to_owned(),
            _ => format!("more than {} groups", Request::MAX_GROUPS),
        };
        let hint = format!(
            "2 to {} are possible; equal tasks are given by `nodes` and `time`",
            Request::MAX_GROUPS
        );
        return Err(wrong(message, hint));
    }
    let tasks: u64 = groups.iter().map(|group| u64::from(group.tasks)).sum();
    match tasks <= u64::from(Request::MAX_TASKS) {
        true => Ok(groups),
        false => {
            let hint = format!("a job has {} at most", Request::MAX_TASKS);
            Err(wrong(format!("{tasks} nodes in all groups"), hint))
        }
    }
}

fn one(text: &str) -> Result<TaskGroup, Wrong> {
    let mut parts = text.trim().split('@');
    let size = parts.next().unwrap_or_default();
    let shape = shapes::one(size).map_err(|(message, _)| wrong(message, FORMS))?;
    let (mut min_performance, mut attributes) = (None, Attributes::new());
    for part in parts {
        if part.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            min_performance = Some(performance(part)?);
        } else {
            attributes.extend(lists::constraint(part)?);
        }
    }
    Ok(TaskGroup { tasks: shape.nodes, work: shape.time, min_performance, attributes })
}

/// A performance of at least a thousandth.
///
/// # Errors
/// What is wrong with it.
pub(super) fn performance(text: &str) -> Result<Performance, Wrong> {
    let thousandths = scaled(text, &PERFORMANCE).map_err(|(message, hint)| wrong(message, hint))?;
    let found = u32::try_from(thousandths).ok().and_then(Performance::from_thousandths);
    found.ok_or_else(|| wrong("out of range", "write a number such as `1.5`"))
}

/// Why a job with groups has no array.
pub(super) fn no_array() -> Wrong {
    wrong("an array of jobs with `groups`", "submit the jobs one by one")
}

/// What a submission says of its groups as a whole: tasks of all groups, and the longest time.
pub(super) fn whole(groups: &[TaskGroup]) -> (u32, Span) {
    let tasks = groups.iter().fold(0u32, |sum, group| sum.saturating_add(group.tasks));
    (tasks.max(1), groups.iter().map(|group| group.work).max().unwrap_or(Span(1)))
}

impl Conditions {
    /// The same with groups, if there are any.
    pub(super) fn with_groups(self, groups: Option<Vec<TaskGroup>>) -> Conditions {
        Conditions { groups: groups.map(Arc::from), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tradewind_model::Attribute;

    #[test]
    fn groups_are_read_with_what_each_asks_for() {
        let groups = parse("1x1h@2.5@gpu&big, 3x10m").unwrap();
        let flag = |name: &str| (name.to_owned(), Attribute::Flag(true));
        assert_eq!(groups[0].min_performance, Performance::from_thousandths(2_500));
        assert_eq!(groups[0].attributes, [flag("gpu"), flag("big")].into_iter().collect());
        assert_eq!((groups[1].tasks, groups[1].work), (3, Span(600)));
        assert_eq!(whole(&groups), (4, Span(3_600)));
    }

    #[test]
    fn what_is_no_list_of_groups_is_refused_with_a_remedy() {
        let many = vec!["1x1h"; Request::MAX_GROUPS + 1].join(",");
        for (text, named) in [
            ("1x1h", "a single group"),
            (many.as_str(), "more than 16 groups"),
            ("16777216x1h,1x1h", "16777217 nodes"),
            ("1x1h,2", "is no shape"),
            ("1x60,2x1h", "without a unit"),
            ("1x1h@0,2x1h", "0"),
            ("1x1h@a*2,2x1h", "not supported"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.message.contains(named), "{text}: {}", wrong.message);
            assert!(!wrong.hint.is_empty(), "{text}");
        }
    }
}
