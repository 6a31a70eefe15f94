//! The number of tasks and nodes, as `sbatch` reads it.

use tradewind_model::Request;

use super::super::Shape;
use super::{Wrong, limits, wrong};
use crate::diagnostics::excerpt;

/// What the options say, before they are compared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    /// Least and most.
    pub(super) nodes: Option<(u32, u32)>,
    pub(super) tasks: Option<u32>,
    pub(super) per_node: Option<u32>,
    pub(super) cpus: Option<u32>,
    /// `--gpus` is given: how many nodes they need depends on the nodes.
    pub(super) has_gpus: bool,
}

/// What is odd, though not wrong: as `sbatch` warns of it.
pub(super) type ScriptWarning = Wrong;

impl Said {
    /// Number of nodes where their size is unknown, and the shape, if it is more than a number of
    /// nodes.
    ///
    /// # Errors
    /// If the tasks do not fit on the nodes whatever their size.
    pub(super) fn shape(mut self) -> Result<(u32, Option<Shape>, Option<ScriptWarning>), Wrong> {
        let warning = self.fewer_nodes();
        if let (Some((_, max)), Some(tasks), Some(each)) = (self.nodes, self.tasks, self.per_node)
            && u64::from(max) * u64::from(each) < u64::from(tasks)
        {
            let message = format!("{tasks} tasks do not fit on {max} nodes of {each} tasks each");
            return Err(wrong(message, "change `--ntasks`, `--nodes` or `--ntasks-per-node`"));
        }
        let shape = Shape {
            nodes: self.nodes.map(|(min, _)| min),
            max_nodes: self.nodes.map(|(_, max)| max),
            tasks: self.tasks,
            tasks_per_node: self.per_node,
            cpus_per_task: self.cpus,
        };
        let depends = self.nodes.is_none() && self.has_gpus;
        let shape_counts = !shape.is_plain() || depends;
        Ok((shape.units(), Some(shape).filter(|_| shape_counts), warning))
    }

    /// Nodes without a task are left out, as `sbatch` does it.
    fn fewer_nodes(&mut self) -> Option<ScriptWarning> {
        let (Some((min, max)), Some(tasks)) = (self.nodes, self.tasks) else { return None };
        if tasks >= min {
            return None;
        }
        self.nodes = Some((tasks, max.min(tasks)));
        let message = format!("{tasks} tasks leave some of {min} nodes without one");
        Some(wrong(message, format!("the job gets {tasks} nodes, as with `sbatch`")))
    }
}

/// `2`, `2-2` or `1-4`: least and most.
pub(super) fn nodes(text: &str) -> Result<(u32, u32), Wrong> {
    let (min, max) = text.split_once('-').unwrap_or((text, text));
    let min = limits::count(min, Request::MAX_TASKS)?;
    let max = limits::count(max, Request::MAX_TASKS)?;
    match min <= max {
        true => Ok((min, max)),
        false => {
            let message = format!("`{}` begins with the larger number", excerpt(text));
            Err(wrong(message, "write the smaller number of nodes first, as in `1-4`"))
        }
    }
}
