//! How many nodes of a pool a submission needs: its tasks, and how large the pool's nodes are, as
//! Slurm counts when it gives whole nodes.

use std::collections::BTreeMap;

use tradewind_io::submission::Submission;
use tradewind_model::{PoolId, Pools, Request};

use crate::site::resources::{Resources, generic, megabytes};
use crate::site::size::{Size, UnitSize};

/// What a site has told of the nodes of one of its pools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::live) struct PoolWidth {
    /// The most of each resource that a node can give a job, where that is known.
    pub max: Option<Resources>,
    /// How large nodes are, where that is known.
    pub size: Option<Size>,
}

/// By pool that was looked at since the start.
pub(in crate::live) type Most = BTreeMap<PoolId, PoolWidth>;

/// Pools that a job needs the same number of nodes of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::live) struct Group {
    /// So many nodes, of one pool or of several together.
    pub width: u32,
    /// Processors of a node; of nodes that differ the lowest number, and `None` if some are not known.
    pub processors: Option<u32>,
    /// At least one of its pools has been looked at.
    pub is_known: bool,
    /// In the market's order, at least one.
    pub pools: Vec<PoolId>,
}

/// All pools that could have the submission by the size of their nodes, in groups, by width; and
/// for the others, why they could not. Linear in the pools.
pub(in crate::live) fn groups(
    submission: &Submission,
    pools: &Pools,
    max: &Most,
) -> (Vec<Group>, Vec<(PoolId, String)>) {
    let asked = Resources::asked(&submission.passed_through);
    let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
    let mut unfit = Vec::new();
    for (id, _) in pools.iter() {
        let none = PoolWidth::default();
        let has = max.get(&id).unwrap_or(&none);
        if let Some(node) = has.max.as_ref().filter(|max| !max.hold(&asked)) {
            unfit.push((id, node.to_string()));
            continue;
        }
        let width = match width(submission, has) {
            Ok(width) => width,
            Err(why) => {
                unfit.push((id, why));
                continue;
            }
        };
        let processors = has.size.and_then(Size::node);
        let first = Group { width, processors, is_known: false, pools: Vec::new() };
        let group = groups.entry(width).or_insert(first);
        group.processors = group.processors.zip(processors).map(|(one, other)| one.min(other));
        group.is_known |= max.contains_key(&id);
        group.pools.push(id);
    }
    (groups.into_values().collect(), unfit)
}

/// Nodes of a pool that the submission needs.
///
/// # Errors
/// If it could not run there, however many there are: what a node has, for people.
fn width(submission: &Submission, has: &PoolWidth) -> Result<u32, String> {
    let shape = submission.layout();
    match has.size {
        Some(Size::Node(processors)) => whole(submission, has, processors),
        Some(Size::Cores(cores)) if submission.shape.is_some() => {
            let each = shape.processors().div_ceil(cores.max(1));
            Ok(shape.all_tasks().saturating_mul(each).min(Request::MAX_TASKS))
        }
        Some(Size::Shared { unit, most }) => shared(submission, unit, most),
        Some(Size::Slot(processors)) if shape.processors() > processors => {
            Err(format!("{processors} processors in all"))
        }
        Some(Size::Cores(_) | Size::Gpu | Size::Slot(_)) | None => Ok(submission.tasks),
    }
}

/// The same where each node is a unit of a shared one, of which the largest has `most`: a task takes
/// as many units as have its processors and its memory, all of one node.
fn shared(submission: &Submission, unit: UnitSize, most: u32) -> Result<u32, String> {
    let shape = submission.layout();
    let mut options = submission.passed_through.clone();
    options.push(("cpus-per-task".to_owned(), shape.processors().to_string()));
    let wants_all = options.iter().any(|(name, value)| name == "mem" && megabytes(value) == 0);
    let each = unit.of_task(&options);
    if each > most || wants_all {
        let what = if wants_all { ", and no whole nodes" } else { "" };
        let memory = unit.memory.saturating_mul(u64::from(most));
        let processors = unit.cores.saturating_mul(most);
        return Err(format!("{processors} processors and {memory} MB for a task{what}"));
    }
    Ok(shape.all_tasks().saturating_mul(each).min(Request::MAX_TASKS))
}

/// The same where each node is a whole one of so many processors.
fn whole(submission: &Submission, has: &PoolWidth, processors: u32) -> Result<u32, String> {
    let (shape, wants) = (submission.layout(), Wants::of(submission));
    let many = || format!("{processors} processors a node");
    let gpus = has.max.as_ref().map(|max| max.generic.get("gpu").copied().unwrap_or(0));
    let memory = has.max.as_ref().map(|max| max.memory);
    // All processors of a node are the job's, and each comes with its memory.
    let needed = wants.memory_per_cpu.saturating_mul(u64::from(processors));
    if let Some(memory) = memory.filter(|memory| needed > *memory) {
        return Err(format!("{memory} MB for {}", many()));
    }
    let mut tasks_each = u64::from(processors / shape.processors());
    if shape.tasks_per_node.is_some_and(|each| tasks_each < u64::from(each)) && !wants.overcommits {
        return Err(many());
    }
    if let Some(gpus) = gpus.filter(|_| wants.gpus_per_task > 0) {
        tasks_each = tasks_each.min(gpus / wants.gpus_per_task);
    }
    if wants.overcommits {
        tasks_each = u64::MAX;
    }
    let most_each = tasks_each.min(shape.tasks_per_node.map_or(u64::MAX, u64::from));
    if most_each == 0 || u64::from(processors) < wants.processors {
        return Err(many());
    }
    let for_gpus = match gpus {
        Some(0) if wants.gpus > 0 => return Err("no accelerators".to_owned()),
        Some(gpus) if gpus > 0 => wants.gpus.div_ceil(gpus),
        _ => 1,
    };
    let needed = wants.tasks(&shape).div_ceil(most_each).max(for_gpus);
    let needed = u32::try_from(needed).unwrap_or(u32::MAX).min(Request::MAX_TASKS);
    let width = needed.max(shape.nodes.unwrap_or(1));
    match shape.max_nodes.filter(|max| width > *max) {
        Some(max) => Err(format!("{}: {width} nodes are needed, and {max} were asked for", many())),
        None => Ok(width),
    }
}

/// What the options for managers ask for of that which decides how many nodes there must be.
#[derive(Debug, Clone, Copy, Default)]
struct Wants {
    /// Megabytes.
    memory_per_cpu: u64,
    /// `--gpus`, of all nodes together.
    gpus: u64,
    gpus_per_task: u64,
    /// `--mincpus`, of each node.
    processors: u64,
    /// `--overcommit`: processors do not limit the tasks of a node.
    overcommits: bool,
}

impl Wants {
    fn of(submission: &Submission) -> Wants {
        let mut wants = Wants::default();
        for (name, value) in &submission.passed_through {
            match name.as_str() {
                "mem-per-cpu" => wants.memory_per_cpu = megabytes(value),
                "gpus" => wants.gpus = accelerators(value),
                "gpus-per-task" => wants.gpus_per_task = accelerators(value),
                "mincpus" => wants.processors = value.trim().parse().unwrap_or(0),
                "overcommit" => wants.overcommits = true,
                _ => {}
            }
        }
        wants
    }

    /// All tasks; without a number of them, as many as their accelerators are enough for.
    fn tasks(&self, shape: &tradewind_io::submission::Shape) -> u64 {
        match (shape.tasks, self.gpus_per_task) {
            (None, each @ 1..) if self.gpus >= each => self.gpus / each,
            _ => u64::from(shape.all_tasks()),
        }
    }
}

/// `2`, `tesla:2`, `tesla:1,a100:1`.
fn accelerators(value: &str) -> u64 {
    let parts: Vec<String> = value.split(',').map(|part| format!("gpu:{part}")).collect();
    generic(&parts.join(",")).get("gpu").copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
