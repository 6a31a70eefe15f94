//! What `sbatch` is told.

use tradewind_io::settings::cluster::{Members, NodeUnit};
use tradewind_io::submission::options::{OPTIONS, Support};
use tradewind_io::submission::signal;
use tradewind_model::{Span, Time};

use crate::site::Order;
use crate::site::managed::bundle::near;
use crate::site::size::{UnitSize, processors_of_task};

/// When a job is to begin, as Slurm is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BeginTime {
    /// As soon as its nodes are free.
    Now,
    /// When it is released.
    Held,
    /// Not before so many seconds from now.
    After(i64),
    /// In this reservation.
    Within(String),
}

/// What a submission depends on beside the order.
#[derive(Debug, Clone, Copy)]
pub(super) struct SbatchTerms<'a> {
    pub members: &'a Members,
    /// Nodes of the partition that are not the pool's.
    pub excluded: &'a [String],
    pub unit: NodeUnit,
    /// The site's own options.
    pub options: &'a [(String, String)],
    pub begin: &'a BeginTime,
    pub now: Time,
}

/// Options that say how much memory.
const MEMORY: [&str; 3] = ["mem", "mem-per-cpu", "mem-per-gpu"];

/// Whole minutes that hold the limit, the wait for other parts, and that for a start that is near.
pub(super) fn minutes(order: &Order, now: Time) -> i64 {
    let wait = near(order, now).map_or(Span(0), |start| start - now);
    let all = order.limit + order.gather.unwrap_or(Span(0)) + wait;
    (all.0.max(1) + 59) / 60
}

/// The program and its arguments, with what Slurm is to remember of it; the script comes on standard input.
pub(super) fn words(order: &Order, mark: &str, terms: &SbatchTerms<'_>) -> Vec<String> {
    let name: String = order.name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    let mut all: Vec<String> = ["sbatch", "--parsable", "--no-requeue", "--propagate=NONE"]
        .into_iter()
        // All of what our commands see, which is little: for a chosen few, Slurm would run a login
        // shell of the user's before each task to find the others.
        .chain(["--export=ALL", "--chdir=/", "--input=/dev/null"])
        .chain(["--output=/dev/null", "--error=/dev/null"])
        .map(str::to_owned)
        .collect();
    let mut add = |name: &str, value: &str| all.push(format!("--{name}={value}"));
    add("comment", mark);
    add("job-name", &name);
    add("time", &minutes(order, terms.now).to_string());
    all.extend(place(order.nodes, &order.passed_through, terms));
    match terms.begin {
        BeginTime::Now => {}
        BeginTime::Held => all.push("--hold".to_owned()),
        BeginTime::After(seconds) => all.push(format!("--begin=now+{seconds}")),
        BeginTime::Within(name) => all.push(format!("--reservation={name}")),
    }
    all.extend(options(&order.passed_through, terms));
    all
}

/// A submission of a node for a minute, of which Slurm only says what would become of it.
pub(super) fn rehearsal(terms: &SbatchTerms<'_>) -> Vec<String> {
    let mut all = ["sbatch", "--test-only", "--time=1", "--chdir=/"].map(str::to_owned).to_vec();
    all.extend(options(&[], terms));
    all.extend(place(1, &[], terms));
    all
}

/// How many of which nodes; `own` are the job's options.
fn place(nodes: u32, own: &[(String, String)], terms: &SbatchTerms<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |name: &str, value: &str| all.push(format!("--{name}={value}"));
    let count = nodes.to_string();
    match terms.unit {
        NodeUnit::Node => {
            add("nodes", &count);
            // All of the node's memory, where memory is counted and nobody asks for an amount:
            // `sbatch` takes one option of that kind.
            if !terms.options.iter().chain(own).any(|(name, _)| MEMORY.contains(&name.as_str())) {
                add("mem", "0");
            }
            all.push("--exclusive".to_owned());
        }
        NodeUnit::Cores(cores) => {
            let cores = cores.max(1);
            let each = processors_of_task(own).div_ceil(cores);
            let (tasks, each) = shares(nodes, each, own, cores);
            add("ntasks", &tasks.to_string());
            add("cpus-per-task", &each.to_string());
        }
        NodeUnit::Shared { cores, memory } => {
            let each = UnitSize { cores, memory }.of_task(own);
            let (tasks, each) = shares(nodes, each, own, cores);
            add("ntasks", &tasks.to_string());
            add("cpus-per-task", &each.to_string());
            add("mem-per-cpu", &format!("{}M", memory / u64::from(cores.max(1))));
        }
        NodeUnit::Gpu => {
            add("ntasks", &count);
            add("gpus-per-task", "1");
        }
    }
    if let Some(partition) = &terms.members.partition {
        all.push(format!("--partition={partition}"));
    }
    if !terms.excluded.is_empty() {
        all.push(format!("--exclude={}", terms.excluded.join(",")));
    }
    all
}

/// Tasks, and processors of each, where the market's nodes are so many processors: each task has
/// `each` whole units. Without a number of tasks each unit is one.
fn shares(units: u32, each: u32, own: &[(String, String)], cores: u32) -> (u32, u32) {
    let count = |name: &str| {
        let found = own.iter().find(|(option, _)| option == name);
        found.and_then(|(_, value)| value.parse::<u32>().ok()).filter(|count| *count > 0)
    };
    let each = each.max(1);
    match count("ntasks") {
        Some(tasks) if u64::from(tasks) * u64::from(each) == u64::from(units) => {
            (tasks, each.saturating_mul(cores))
        }
        None if units.is_multiple_of(each) => (units / each, each.saturating_mul(cores)),
        _ => (units, cores),
    }
}

/// The site's options, then the job's own; constraints of pool, site and job hold together.
fn options(own: &[(String, String)], terms: &SbatchTerms<'_>) -> Vec<String> {
    let mut constraints: Vec<String> = terms.members.features.clone();
    // The task's script sends the signal itself, counted from its own limit.
    let is_told = |name: &str| is_passed(name, terms.unit) && name != signal::OPTION;
    let own = own.iter().filter(|(name, _)| is_told(name));
    let mut rest = Vec::new();
    for (name, value) in terms.options.iter().chain(own) {
        match (name.as_str(), value.as_str()) {
            ("constraint", value) => constraints.push(format!("({value})")),
            (name, "") => rest.push(format!("--{name}")),
            (name, value) => rest.push(format!("--{name}={value}")),
        }
    }
    if !constraints.is_empty() {
        rest.push(format!("--constraint={}", constraints.join("&")));
    }
    rest
}

/// Whether users may say it to the manager. Of the tasks it is told beside a number of whole nodes;
/// smaller units are counted by them already.
fn is_passed(name: &str, unit: NodeUnit) -> bool {
    match name {
        "ntasks" | "ntasks-per-node" | "cpus-per-task" => unit == NodeUnit::Node,
        // Counted by units, too.
        _ if MEMORY.contains(&name) && matches!(unit, NodeUnit::Shared { .. }) => false,
        _ => OPTIONS.iter().any(|known| known.name == name && known.kind == Support::PassedThrough),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(options: &[(&str, u32)]) -> Vec<(String, String)> {
        options.iter().map(|(name, count)| ((*name).to_owned(), count.to_string())).collect()
    }

    /// Tasks and processors of each, as the market has counted the units.
    #[test]
    fn units_of_processors_are_shared_out_to_tasks() {
        for (units, options, cores, told) in [
            (8, &[("ntasks", 8), ("cpus-per-task", 2)][..], 2, (8, 2)),
            (16, &[("ntasks", 8), ("cpus-per-task", 4)], 2, (8, 4)),
            (16, &[("ntasks", 8), ("cpus-per-task", 3)], 2, (8, 4)),
            (8, &[("ntasks", 8)], 2, (8, 2)),
            (6, &[("cpus-per-task", 4)], 2, (3, 4)),
            (3, &[], 2, (3, 2)),
            // What was queued by an earlier release has a unit for each task.
            (8, &[("ntasks", 8), ("cpus-per-task", 4)], 2, (8, 2)),
        ] {
            let each = processors_of_task(&own(options)).div_ceil(cores);
            let shares = shares(units, each, &own(options), cores);
            assert_eq!(shares, told, "{units} {options:?}");
        }
    }

    #[test]
    fn tasks_are_told_beside_whole_nodes_only() {
        for name in ["ntasks", "ntasks-per-node", "cpus-per-task"] {
            assert!(
                is_passed(name, NodeUnit::Node) && !is_passed(name, NodeUnit::Cores(2)),
                "{name}"
            );
        }
        assert!(is_passed("qos", NodeUnit::Gpu) && !is_passed("nodes", NodeUnit::Node));
    }
}
