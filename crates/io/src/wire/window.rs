//! `W`: a window with its nodes by name.

use serde::Serialize;
use tradewind_model::{self as model, Grid, Money};

use super::amount::credits;

/// A window, as it is in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Window {
    /// The common start.
    pub start: i64,
    /// The end of the longest task.
    pub finish: i64,
    /// Seconds of the longest task.
    pub runtime: i64,
    /// Σ cost of the tasks.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
    /// Σ seconds of the tasks.
    pub processor_time: i64,
    /// In node order.
    pub tasks: Vec<Task>,
}

/// One task of a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Task {
    /// The node's name.
    pub node: String,
    /// The window's start.
    pub start: i64,
    /// When the node is free again.
    pub end: i64,
    /// Price × length.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
}

impl Window {
    /// `window` with the names of `grid`.
    pub fn new(window: &model::Window, grid: &Grid) -> Window {
        let task = |task: &model::Task| Task {
            node: grid.node(task.node).name.clone(),
            start: window.start().0,
            end: (window.start() + task.length).0,
            cost: task.cost,
        };
        Window {
            start: window.start().0,
            finish: window.finish().0,
            runtime: window.runtime().0,
            cost: window.cost(),
            processor_time: window.processor_time().0,
            tasks: window.tasks().iter().map(task).collect(),
        }
    }
}
