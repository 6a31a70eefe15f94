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
pub(super) type Warning = Wrong;

impl Said {
    /// Nodes where nobody knows how large they are, and the shape, if it is more than a number of
    /// nodes.
    ///
    /// # Errors
    /// If the tasks do not fit on the nodes whatever their size.
    pub(super) fn shape(mut self) -> Result<(u32, Option<Shape>, Option<Warning>), Wrong> {
        let warning = self.fewer_nodes();
        if let (Some((_, most)), Some(tasks), Some(each)) = (self.nodes, self.tasks, self.per_node)
            && u64::from(most) * u64::from(each) < u64::from(tasks)
        {
            let message = format!("{tasks} tasks do not fit on {most} nodes of {each} tasks each");
            return Err(wrong(message, "change `--ntasks`, `--nodes` or `--ntasks-per-node`"));
        }
        let shape = Shape {
            nodes: self.nodes.map(|(least, _)| least),
            max_nodes: self.nodes.map(|(_, most)| most),
            tasks: self.tasks,
            tasks_per_node: self.per_node,
            cpus_per_task: self.cpus,
        };
        let depends = self.nodes.is_none() && self.has_gpus;
        let shape_counts = !shape.is_plain() || depends;
        Ok((shape.units(), Some(shape).filter(|_| shape_counts), warning))
    }

    /// Nodes without a task are left out, as `sbatch` does it.
    fn fewer_nodes(&mut self) -> Option<Warning> {
        let (Some((least, most)), Some(tasks)) = (self.nodes, self.tasks) else { return None };
        if tasks >= least {
            return None;
        }
        self.nodes = Some((tasks, most.min(tasks)));
        let message = format!("{tasks} tasks leave some of {least} nodes without one");
        Some(wrong(message, format!("the job gets {tasks} nodes, as with `sbatch`")))
    }
}

/// `2`, `2-2` or `1-4`: least and most.
pub(super) fn nodes(text: &str) -> Result<(u32, u32), Wrong> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let least = limits::count(least, Request::MAX_TASKS)?;
    let most = limits::count(most, Request::MAX_TASKS)?;
    match least <= most {
        true => Ok((least, most)),
        false => {
            let message = format!("`{}` begins with the larger number", excerpt(text));
            Err(wrong(message, "write the least number of nodes first, as in `1-4`"))
        }
    }
}
