//! Which nodes make a pool, and what others have of it.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_io::settings::cluster::{Members, NodeUnit};
use tradewind_model::{Span, Time};
use tradewind_sched::policy::availability::expected_end_by_limit;

use super::hostlist;
use super::listing::{ListedReservation, SlurmJob};
use super::nodes::Node;
use crate::site::room::{self, HostHold, Room};
use crate::site::size::{Size, UnitSize};
use crate::site::{HIDDEN_ON, LocalTask, PoolSurvey, Tag};

/// What has no end ends in a year.
const FOR_EVER: i64 = 365 * 24 * 60 * 60;

/// States in which a job has its nodes.
const HOLDING: [&str; 8] = [
    "RUNNING",
    "COMPLETING",
    "CONFIGURING",
    "SUSPENDED",
    "STOPPED",
    "RESIZING",
    "SIGNALING",
    "STAGE_OUT",
];
/// States in which a job waits for nodes.
const WAITING: [&str; 6] =
    ["PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"];
/// States in which a job is over.
const OVER: [&str; 12] = [
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
    "REVOKED",
    "LAUNCH_FAILED",
    "RECONFIG_FAIL",
];

impl SlurmJob {
    /// Whether it has its nodes.
    pub(super) fn has_nodes(&self) -> bool {
        HOLDING.contains(&self.state.as_str()) || self.is_unknown() && !self.nodes.is_empty()
    }

    /// Whether it waits for nodes.
    pub(super) fn is_waiting(&self) -> bool {
        WAITING.contains(&self.state.as_str()) || self.is_unknown() && self.nodes.is_empty()
    }

    /// Whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        OVER.contains(&self.state.as_str())
    }

    /// Whether its state is one that this program does not know: then it holds the nodes that are
    /// listed with it, and waits if there are none.
    pub(super) fn is_unknown(&self) -> bool {
        let lists = [&HOLDING[..], &WAITING, &OVER];
        !lists.iter().any(|list| list.contains(&self.state.as_str()))
    }
}

/// The nodes of a pool: those to which all of `members` applies. Without a partition, those of
/// any.
pub(super) fn belonging<'n>(nodes: &'n [Node], members: &Members) -> Vec<&'n Node> {
    let hosts = members.hosts.as_deref().map(hostlist::expand);
    let hosts: Option<BTreeSet<String>> = hosts.map(|hosts| hosts.into_iter().collect());
    let is_in = |node: &&Node| {
        members.partition.as_ref().is_none_or(|name| node.partitions.contains(name))
            && members.features.iter().all(|feature| node.features.contains(feature))
            && hosts.as_ref().is_none_or(|hosts| hosts.contains(&node.name))
    };
    nodes.iter().filter(is_in).collect()
}

/// What there is, for somebody who asked for something else: partitions and how many nodes each has.
pub(super) fn there_is(nodes: &[Node]) -> String {
    const MAX: usize = 8;
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for name in nodes.iter().flat_map(|node| &node.partitions) {
        *by_name.entry(name).or_default() += 1;
    }
    if by_name.is_empty() {
        return "Slurm lists no node in any partition".to_owned();
    }
    let shown = by_name.iter().take(MAX).map(|(name, count)| format!("{name} ({count} nodes)"));
    let more = if by_name.len() > MAX { ", …" } else { "" };
    format!("there are: {}{more}", shown.collect::<Vec<_>>().join(", "))
}

/// That some of the pool's `hosts` are no nodes of the cluster, if so.
pub(super) fn absent_hosts(nodes: &[Node], members: &Members) -> Option<String> {
    const MAX: usize = 5;
    let hosts = hostlist::expand(members.hosts.as_deref()?);
    let there: BTreeSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let absent: Vec<&str> =
        hosts.iter().map(String::as_str).filter(|name| !there.contains(name)).collect();
    if absent.is_empty() {
        return None;
    }
    let shown = absent.iter().take(MAX).copied().collect::<Vec<_>>().join(", ");
    let more = if absent.len() > MAX { ", …" } else { "" };
    Some(format!("{} of {} `hosts` do not exist: {shown}{more}", absent.len(), hosts.len()))
}

/// How many of the market's nodes this node is.
pub(super) fn units(node: &Node, unit: NodeUnit) -> u32 {
    match unit {
        NodeUnit::Node => 1,
        NodeUnit::Cores(cores) => node.cpus / cores.max(1),
        NodeUnit::Shared { cores, memory } => {
            UnitSize { cores, memory }.within(node.cpus, node.has.memory)
        }
        NodeUnit::Gpu => node.gpus(),
    }
}

/// What a job has, or wants, of all its nodes together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs {
    pub nodes: u32,
    pub cpus: u32,
    /// Megabytes.
    pub memory: u64,
    pub gpus: u32,
}

impl Needs {
    /// How many of a node's units the job takes there: what it has of processors, memory or
    /// accelerators, whichever is more, rounded up.
    pub(super) fn units_of(self, node: &Node, unit: NodeUnit) -> u32 {
        let all = units(node, unit);
        let nodes = self.nodes.max(1);
        let part = |amount: u64, whole: u64| {
            let each = amount.div_ceil(u64::from(nodes));
            let units = each.saturating_mul(u64::from(all)).div_ceil(whole.max(1));
            u32::try_from(units).unwrap_or(u32::MAX)
        };
        let processors = match unit {
            NodeUnit::Node => return 1,
            // Whole units, also where the node's processors are no multiple of one.
            NodeUnit::Cores(cores) => self.cpus.div_ceil(nodes).div_ceil(cores.max(1)),
            NodeUnit::Shared { cores, memory } => {
                let each = self.memory.div_ceil(u64::from(nodes));
                let unit = UnitSize { cores, memory };
                return unit.covering(self.cpus.div_ceil(nodes), each).min(all);
            }
            NodeUnit::Gpu => part(u64::from(self.cpus), u64::from(node.cpus)),
        };
        let gpus = if unit == NodeUnit::Gpu { self.gpus.div_ceil(nodes) } else { 0 };
        processors.max(gpus).max(part(self.memory, node.has.memory)).min(all)
    }
}

/// How many of a node's units the job takes there.
fn taken(job: &SlurmJob, node: &Node, unit: NodeUnit) -> u32 {
    let nodes = u32::try_from(job.nodes.len()).unwrap_or(u32::MAX);
    Needs { nodes, cpus: job.cpus, memory: job.memory, gpus: job.gpus }.units_of(node, unit)
}

/// What was listed at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed<'a> {
    pub jobs: &'a [SlurmJob],
    pub nodes: &'a [Node],
    /// Those that are not ours.
    pub reservations: &'a [ListedReservation],
    /// Numbers of jobs that are ours.
    pub ours: &'a BTreeSet<u64>,
    /// Tags of our markets that jobs have of which nothing is known here, by number.
    pub strays: &'a BTreeMap<u64, Tag>,
    /// Nodes in use by jobs that are not shown, since when.
    pub hidden: &'a BTreeMap<String, Time>,
    pub now: Time,
}

/// The pool, of `max` market nodes.
pub(super) fn survey(
    listed: &Listed<'_>,
    members: &Members,
    unit: NodeUnit,
    max: u32,
) -> PoolSurvey {
    let own = belonging(listed.nodes, members);
    let problem = own.is_empty().then(|| {
        let absent = absent_hosts(listed.nodes, members).map(|text| format!("{text}; "));
        let there = there_is(listed.nodes);
        format!("no node of Slurm's belongs to it: {}{there}", absent.unwrap_or_default())
    });
    let has = own.iter().map(|node| node.has.clone()).reduce(|one, other| one.max(&other));
    let size = size(&own, unit);
    let nodes: BTreeMap<&str, &Node> =
        own.into_iter().filter(|node| node.is_up).map(|node| (node.name.as_str(), node)).collect();
    let up: u32 = nodes.values().map(|node| units(node, unit)).sum();
    let kept = kept(listed, &nodes, unit);
    let mut local = BTreeMap::new();
    // Until when each node is in use, by whomever.
    let mut busy: BTreeMap<&str, Time> = BTreeMap::new();
    for job in listed.jobs.iter().filter(|job| job.has_nodes()) {
        let until = end(job);
        let own = job.nodes.iter().filter_map(|name| nodes.get_key_value(name.as_str()));
        let mut taken_units = kept.get(&job.id).copied().unwrap_or(0);
        for (name, node) in own {
            if !matches!(unit, NodeUnit::Shared { .. }) {
                taken_units += taken(job, node, unit);
            }
            let free = expected_end_by_limit(until, listed.now);
            let last = busy.entry(name).or_insert(free);
            *last = free.max(*last);
        }
        if taken_units > 0 && !listed.ours.contains(&job.id) {
            let from = Time(job.start.max(0)).min(listed.now);
            let task = LocalTask { nodes: taken_units, from, until: until.max(from) };
            let name = listed.strays.get(&job.id).map(Tag::to_string);
            // Anyone may write the same comment once more.
            let name = name.filter(|name| !local.contains_key(name));
            local.insert(name.unwrap_or_else(|| format!("job {}", job.id)), task);
        }
    }
    for (name, &since) in listed.hidden {
        let Some((name, node)) = nodes.get_key_value(name.as_str()) else { continue };
        // When it ends is not known: it counts like a job that exceeds its limit since then.
        let until = since + Span(1);
        busy.insert(name, expected_end_by_limit(until, listed.now));
        let task = LocalTask { nodes: units(node, unit), from: since, until };
        local.insert(format!("{HIDDEN_ON}{name}"), task);
    }
    for reservation in listed.reservations {
        reserve(&mut local, reservation, &nodes, &busy, unit);
    }
    PoolSurvey { up: up.min(max), local, max: has, size, problem }
}

/// Where jobs share nodes in parts, what each job of others keeps from the market, by its number.
fn kept(listed: &Listed<'_>, nodes: &BTreeMap<&str, &Node>, unit: NodeUnit) -> BTreeMap<u64, u32> {
    let mut all: BTreeMap<u64, u32> = BTreeMap::new();
    let NodeUnit::Shared { cores, memory } = unit else { return all };
    let foreign = |job: &&SlurmJob| job.has_nodes() && !listed.ours.contains(&job.id);
    let mut by_node: BTreeMap<&str, Vec<&SlurmJob>> = BTreeMap::new();
    for job in listed.jobs.iter().filter(foreign) {
        for name in &job.nodes {
            by_node.entry(name).or_default().push(job);
        }
    }
    let unit = UnitSize { cores, memory };
    for (name, jobs) in by_node {
        let Some(node) = nodes.get(name) else { continue };
        let whole = Room { cores: node.cpus, memory: node.has.memory };
        let hold = |job: &SlurmJob| {
            let (room, until) = (job.held_on(name), end(job));
            HostHold { of: job.id, room, from: listed.now, until }
        };
        let holds = jobs.into_iter().map(hold).collect();
        for (hold, count) in
            room::taken(holds, whole, listed.now, |it| unit.within(it.cores, it.memory))
        {
            *all.entry(hold.of).or_default() += count;
        }
    }
    all
}

/// How large the market's nodes are: by the smallest one, so that enough of them are asked for.
fn size(nodes: &[&Node], unit: NodeUnit) -> Option<Size> {
    match unit {
        NodeUnit::Node => {
            nodes.iter().map(|node| node.cpus).filter(|it| *it > 0).min().map(Size::Node)
        }
        NodeUnit::Cores(cores) => Some(Size::Cores(cores.max(1))),
        NodeUnit::Shared { cores, memory } => {
            let most = nodes.iter().map(|node| units(node, unit)).max().unwrap_or(0);
            Some(Size::Shared { unit: UnitSize { cores, memory }, most })
        }
        NodeUnit::Gpu => Some(Size::Gpu),
    }
}

/// When its time limit is over, which may be before now: Slurm ends such jobs with some delay.
fn end(job: &SlurmJob) -> Time {
    match job.end {
        0 => Time(job.start.saturating_add(FOR_EVER)),
        end => Time(end),
    }
}

/// What a reservation keeps from us beyond what jobs have already: node by node from its start,
/// or from the end of the job that is there.
fn reserve(
    local: &mut BTreeMap<String, LocalTask>,
    reservation: &ListedReservation,
    nodes: &BTreeMap<&str, &Node>,
    busy: &BTreeMap<&str, Time>,
    unit: NodeUnit,
) {
    let mut by_start: BTreeMap<Time, u32> = BTreeMap::new();
    for name in &reservation.nodes {
        let Some(node) = nodes.get(name.as_str()) else { continue };
        let free = busy.get(name.as_str()).copied().unwrap_or(reservation.start);
        let from = free.max(reservation.start);
        if from < reservation.end {
            *by_start.entry(from).or_default() += units(node, unit);
        }
    }
    for (number, (from, nodes)) in by_start.into_iter().enumerate() {
        let name = match number {
            0 => format!("reservation {}", reservation.name),
            _ => format!("reservation {} ({number})", reservation.name),
        };
        local.insert(name, LocalTask { nodes, from, until: reservation.end });
    }
}
