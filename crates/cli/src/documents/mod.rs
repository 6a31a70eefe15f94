//! The JSON documents that commands print. Amounts are exact decimals in credits, times whole
//! seconds; keys stand in the documented order.

mod explain;
mod plan;
mod quote;
mod reason;

use serde::Serialize;
use serde_json::Number;
use tradewind_model::{Grid, Window};

pub(crate) use explain::{change_by, change_to, explain};
pub(crate) use plan::{Context, plan};
pub(crate) use quote::quote;

/// A window, W in the documentation.
#[derive(Debug, Serialize)]
pub(crate) struct WindowDocument<'a> {
    start: i64,
    finish: i64,
    runtime: i64,
    cost: Number,
    processor_time: i64,
    tasks: Vec<TaskDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct TaskDocument<'a> {
    node: &'a str,
    start: i64,
    end: i64,
    cost: Number,
}

impl<'a> WindowDocument<'a> {
    fn new(grid: &'a Grid, window: &Window) -> WindowDocument<'a> {
        let start = window.start();
        let task = |task: &tradewind_model::Task| TaskDocument {
            node: &grid.node(task.node).name,
            start: start.0,
            end: (start + task.length).0,
            cost: exact(task.cost),
        };
        WindowDocument {
            start: start.0,
            finish: window.finish().0,
            runtime: window.runtime().0,
            cost: exact(window.cost()),
            processor_time: window.processor_time().0,
            tasks: window.tasks().iter().map(task).collect(),
        }
    }
}

/// The number that `value` prints as, digit by digit: amounts, prices and performances print as
/// plain decimals.
pub(crate) fn exact(value: impl std::fmt::Display) -> Number {
    value.to_string().parse().unwrap_or_else(|_| Number::from(0))
}
