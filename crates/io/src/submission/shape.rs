//! How many tasks a job has, and how they lie on nodes: what its user said, before it is known
//! how large nodes are.

use tradewind_model::Request;

use super::Submission;

/// What `--nodes`, `--ntasks`, `--ntasks-per-node` and `--cpus-per-task` say. The number of nodes
/// follows for each pool from the size of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// Nodes at least; `None`: as many as the tasks need.
    pub nodes: Option<u32>,
    /// Nodes at most, `nodes` or more; `None`: as many as the tasks need.
    pub max_nodes: Option<u32>,
    /// Tasks of all nodes together; `None`: not said.
    pub tasks: Option<u32>,
    /// Tasks of one node at most; without `tasks`, each node has as many.
    pub tasks_per_node: Option<u32>,
    /// Processors of each task; `None`: one.
    pub cpus_per_task: Option<u32>,
}

impl Shape {
    /// Whether it only says that there are so many nodes, or nothing at all.
    pub fn is_plain(&self) -> bool {
        let Shape { nodes, max_nodes, tasks, tasks_per_node, cpus_per_task } = *self;
        max_nodes.is_none_or(|max| nodes == Some(max))
            && tasks.or(tasks_per_node).or(cpus_per_task).is_none()
    }

    /// All tasks: those that were asked for, or as many as the minimum number of nodes has.
    pub fn all_tasks(&self) -> u32 {
        let each = self.tasks_per_node.unwrap_or(1).max(1);
        let nodes = self.nodes.unwrap_or(1).max(1);
        self.tasks.unwrap_or_else(|| nodes.saturating_mul(each)).clamp(1, Request::MAX_TASKS)
    }

    /// Processors of each task, at least 1.
    pub fn processors(&self) -> u32 {
        self.cpus_per_task.unwrap_or(1).max(1)
    }

    /// Number of nodes where their size is unknown: those that were asked for, or one for each
    /// group of tasks that may share one.
    pub fn units(&self) -> u32 {
        let each = self.tasks_per_node.unwrap_or(1).max(1);
        let needed = self.all_tasks().div_ceil(each);
        self.nodes.unwrap_or(needed).max(1)
    }

    /// `8 tasks of 2 processors`.
    pub fn words(&self) -> String {
        let many = |count: u32, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        let (tasks, processors) = (self.all_tasks(), self.processors());
        format!("{} of {}", many(tasks, "task"), many(processors, "processor"))
    }
}

impl Submission {
    /// Its shape; one that says its nodes only is so many nodes, of one task each.
    pub fn layout(&self) -> Shape {
        self.shape.unwrap_or(Shape {
            nodes: Some(self.tasks),
            max_nodes: Some(self.tasks),
            ..Shape::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_unknown_size_have_one_task_each() {
        let shape = |nodes, tasks, tasks_per_node| Shape {
            nodes,
            tasks,
            tasks_per_node,
            ..Shape::default()
        };
        for (shape, units, tasks) in [
            (shape(None, None, None), 1, 1),
            (shape(None, Some(8), None), 8, 8),
            (shape(None, Some(9), Some(4)), 3, 9),
            (shape(Some(2), Some(8), None), 2, 8),
            (shape(Some(2), None, Some(4)), 2, 8),
            (shape(None, None, Some(3)), 1, 3),
        ] {
            assert_eq!((shape.units(), shape.all_tasks()), (units, tasks), "{shape:?}");
        }
    }

    #[test]
    fn a_shape_is_described_in_words() {
        let shape = Shape { tasks: Some(8), cpus_per_task: Some(2), ..Shape::default() };
        assert_eq!(shape.words(), "8 tasks of 2 processors");
        assert_eq!(Shape::default().words(), "1 task of 1 processor");
    }
}
