//! What a part of a job knows of its tasks: its share of them, as options for the site's manager
//! and as variables.

use tradewind_io::submission::Shape;

use crate::live::state::{Job, Part};
use crate::site::resources::megabytes;

/// Options that are about all parts together.
const OF_ALL: [&str; 2] = ["gpus", "ntasks"];

impl Job {
    /// Tasks of the part at this place: a share of all tasks as its nodes are of all nodes.
    fn tasks_of(&self, place: usize, shape: &Shape) -> u32 {
        self.share_of(place, shape.all_tasks())
    }

    /// The part's share of `all`, so that the shares of all parts add up to it.
    fn share_of(&self, place: usize, all: u32) -> u32 {
        let nodes = |parts: &[Part]| parts.iter().map(|part| u64::from(part.nodes)).sum::<u64>();
        let before = nodes(self.parts().get(..place).unwrap_or_default());
        let own = self.parts().get(place).map_or(0, |part| u64::from(part.nodes));
        let whole = nodes(self.parts()).max(1);
        let up_to = |nodes: u64| u64::from(all) * nodes / whole;
        u32::try_from(up_to(before + own) - up_to(before)).unwrap_or(u32::MAX)
    }

    /// What the manager of a part's site is asked for: the job's options, and its share of tasks.
    pub(in crate::live) fn options_of(&self, place: usize) -> Vec<(String, String)> {
        let own = self.submission.passed_through.iter();
        let Some(shape) = &self.submission.shape else { return own.cloned().collect() };
        let mut all: Vec<(String, String)> = own
            .filter(|(name, _)| name != "ntasks")
            .map(|(name, value)| (name.clone(), self.part_of(place, name, value)))
            .collect();
        let tasks = shape.tasks.map(|_| self.tasks_of(place, shape));
        for (name, count) in [
            ("ntasks", tasks),
            ("ntasks-per-node", shape.tasks_per_node),
            ("cpus-per-task", shape.cpus_per_task),
        ] {
            all.extend(count.map(|count| (name.to_owned(), count.to_string())));
        }
        all
    }

    /// An option's value for one of several parts: plain numbers that are about the whole job are
    /// shared out.
    fn part_of(&self, place: usize, name: &str, value: &str) -> String {
        let is_shared = self.parts().len() > 1 && OF_ALL.contains(&name);
        match value.parse::<u32>() {
            Ok(all) if is_shared => self.share_of(place, all).max(1).to_string(),
            _ => value.to_owned(),
        }
    }

    /// What Slurm tells a task of its job's shape, for sites that do not tell it themselves.
    pub(in crate::live) fn shape_variables(&self, place: usize) -> Vec<(&'static str, String)> {
        let Some(part) = self.parts().get(place) else { return Vec::new() };
        let is_moldable = self.submission.terms.shapes.is_some();
        let shape = match is_moldable {
            // A task on each node of the shape that it has.
            true => Shape { nodes: Some(self.nodes()), ..Shape::default() },
            false => self.submission.layout(),
        };
        let tasks = self.tasks_of(place, &shape);
        let mut all = vec![
            ("SLURM_NNODES", part.nodes.to_string()),
            ("SLURM_TASKS_PER_NODE", spread(tasks, part.nodes)),
        ];
        if is_moldable || shape.tasks.or(shape.tasks_per_node).is_some() {
            all.push(("SLURM_NTASKS", tasks.to_string()));
            all.push(("SLURM_NPROCS", tasks.to_string()));
        }
        let cpus = shape.cpus_per_task.map(|cpus| ("SLURM_CPUS_PER_TASK", cpus.to_string()));
        let each = shape.tasks_per_node.map(|each| ("SLURM_NTASKS_PER_NODE", each.to_string()));
        all.extend(cpus.into_iter().chain(each));
        for (name, value) in &self.submission.passed_through {
            let variable = match name.as_str() {
                "mem" => "SLURM_MEM_PER_NODE",
                "mem-per-cpu" => "SLURM_MEM_PER_CPU",
                _ => continue,
            };
            all.push((variable, megabytes(value).to_string()));
        }
        all
    }

    /// What Slurm tells a task of its array.
    pub(in crate::live) fn array_variables(&self) -> Vec<(&'static str, String)> {
        let Some(array) = &self.submission.array else { return Vec::new() };
        let (Some(first), Some(last)) = (array.indices.first(), array.indices.last()) else {
            return Vec::new();
        };
        let mut gaps = array.indices.windows(2).map(|two| two[1] - two[0]);
        let gap = gaps.next().unwrap_or(1);
        let step = if gaps.all(|other| other == gap) { gap } else { 1 };
        vec![
            ("SLURM_ARRAY_TASK_COUNT", array.indices.len().to_string()),
            ("SLURM_ARRAY_TASK_MIN", first.to_string()),
            ("SLURM_ARRAY_TASK_MAX", last.to_string()),
            ("SLURM_ARRAY_TASK_STEP", step.to_string()),
        ]
    }
}

/// Tasks by node as Slurm writes them: `4(x2),3`.
fn spread(tasks: u32, nodes: u32) -> String {
    let nodes = nodes.max(1);
    let (each, more) = ((tasks / nodes).max(1), if tasks > nodes { tasks % nodes } else { 0 });
    let group = |count: u32, times: u32| match times {
        0 => None,
        1 => Some(count.to_string()),
        times => Some(format!("{count}(x{times})")),
    };
    let groups = [group(each + 1, more), group(each, nodes - more)];
    groups.into_iter().flatten().collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_spread_as_slurm_writes_it() {
        for (tasks, nodes, text) in [
            (8, 2, "4(x2)"),
            (7, 2, "4,3"),
            (5, 3, "2(x2),1"),
            (1, 1, "1"),
            (2, 4, "1(x4)"),
            (10, 4, "3(x2),2(x2)"),
        ] {
            assert_eq!(spread(tasks, nodes), text);
        }
    }
}
