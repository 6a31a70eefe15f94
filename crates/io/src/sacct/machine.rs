//! The machine, as far as its jobs show it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use tradewind_model::Pools;

use super::History;
use super::ProcessorUnit;
use super::nodes::NodesSeen;
use super::rows::{self, NONE, Rows, SacctRow};
use super::values::YEAR_S;

/// Partitions that share no node with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PoolSeen {
    /// By their numbers in the order of the file.
    pub(super) partitions: Vec<u16>,
    /// Different nodes in the lists of nodes; 0: the rows have none.
    pub(super) nodes: u32,
    /// The most processors that a job had on one node.
    pub(super) per_node: u32,
    /// The most processors in use at one time.
    pub(super) peak: u32,
    /// What the grid file says.
    pub(super) processors: u32,
}

/// All pools, by their lowest partition.
#[derive(Debug, Default)]
pub(super) struct PartitionPools {
    pub(super) pools: Vec<PoolSeen>,
}

impl PartitionPools {
    pub(super) fn of(
        rows: &Rows,
        nodes: &mut NodesSeen,
        per_node: &HashMap<u16, u32>,
        partitions: usize,
    ) -> PartitionPools {
        let counts = nodes.counts();
        let mut pools: BTreeMap<u16, PoolSeen> = BTreeMap::new();
        let of: Vec<u16> = (0..partitions).map(|it| nodes.pool(it as u16)).collect();
        let mut peaks = peaks(rows, &of);
        for (partition, pool) in of.iter().enumerate() {
            let it = pools.entry(*pool).or_insert_with(|| PoolSeen {
                partitions: Vec::new(),
                nodes: counts.get(pool).copied().unwrap_or(0),
                per_node: 1,
                peak: peaks.remove(pool).unwrap_or(0),
                processors: 0,
            });
            it.partitions.push(partition as u16);
            let most = per_node.get(&(partition as u16)).copied().unwrap_or(1);
            it.per_node = it.per_node.max(most);
        }
        for pool in pools.values_mut() {
            pool.processors = pool.nodes.saturating_mul(pool.per_node).max(pool.peak);
        }
        // Partitions in which no job started have no nodes to simulate on.
        let pools = pools.into_values().filter(|pool| pool.processors > 0).collect();
        PartitionPools { pools }
    }

    /// The same within what a grid may have: pools of what was in use, if nodes times processors
    /// are too many. `None`: these are too many, too.
    pub(super) fn bounded(mut self) -> Option<PartitionPools> {
        if self.processors() > Pools::MAX_NODES {
            self.pools.iter_mut().for_each(|pool| pool.processors = pool.peak);
            self.pools.retain(|pool| pool.processors > 0);
        }
        (self.processors() <= Pools::MAX_NODES).then_some(self)
    }

    pub(super) fn processors(&self) -> u32 {
        let all = self.pools.iter().map(|pool| pool.processors);
        all.fold(0, u32::saturating_add)
    }
}

/// The most processors in use at one time, by pool. O(n log n).
fn peaks(rows: &Rows, pool_of: &[u16]) -> HashMap<u16, u32> {
    let started = rows.in_order().filter(SacctRow::started).count();
    let mut changes: Vec<(u16, u32, i32)> = Vec::with_capacity(2 * started);
    for row in rows.in_order().filter(|row| row.started() && row.end() > row.start()) {
        let Some(pool) = pool_of.get(usize::from(row.partition)) else { continue };
        let processors = i32::try_from(row.processors).unwrap_or(i32::MAX);
        changes.push((*pool, row.start(), processors));
        changes.push((*pool, row.end(), -processors));
    }
    // At one moment, jobs that end leave before others start.
    changes.sort_unstable();
    let mut peaks = HashMap::new();
    let (mut current, mut used) = (None, 0i64);
    for (pool, _, change) in changes {
        if current != Some(pool) {
            (current, used) = (Some(pool), 0);
        }
        used += i64::from(change);
        let peak: &mut u32 = peaks.entry(pool).or_insert(0);
        *peak = (*peak).max(u32::try_from(used).unwrap_or(0));
    }
    // Jobs of no length count by their width alone.
    for row in rows.in_order().filter(SacctRow::started) {
        if let Some(pool) = pool_of.get(usize::from(row.partition)) {
            let peak = peaks.entry(*pool).or_insert(0);
            *peak = (*peak).max(row.processors);
        }
    }
    peaks
}

/// Gives jobs with the limit of their partition the longest limit that others there have, and jobs
/// that still run the time until the last moment of the history.
pub(super) fn fill_in(rows: &mut Rows, partitions: usize) {
    let mut longest = vec![0u32; partitions];
    let mut last = 0;
    for row in rows.in_order() {
        let known = row.limit < YEAR_S;
        if let Some(limit) = longest.get_mut(usize::from(row.partition)).filter(|_| known) {
            *limit = (*limit).max(row.limit);
        }
        last = last.max(row.submit);
        last = if row.started() { last.max(row.end()) } else { last };
    }
    rows.each(|row| {
        if row.limit == rows::OF_PARTITION {
            let limit = longest.get(usize::from(row.partition)).copied().unwrap_or(0);
            row.limit = if limit > 0 { limit } else { YEAR_S };
        }
        if row.started() && row.run == NONE {
            row.run = last.saturating_sub(row.start());
        }
    });
}

impl History {
    /// A grid file with a pool for the partitions that share nodes.
    pub fn grid(&self) -> String {
        let mut out = String::from(
            "# Made from the accounting of Slurm by `tradewind generate sacct`. Sizes are inferred \
             from\n# the jobs that ran: correct them where you know better.\n",
        );
        let unit = match self.unit {
            ProcessorUnit::Cpus => "a node of this file is one CPU of Slurm",
            ProcessorUnit::Nodes => "a node of this file is a node of Slurm",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# Unit: {unit}.\ntitle = \"from Slurm\"\n");
        let _ = writeln!(out, "[[site]]\nname = \"slurm\"");
        let shown = self.partition_numbers();
        for (index, pool) in self.machine.pools.iter().enumerate() {
            let mut numbers: Vec<u32> =
                pool.partitions.iter().filter_map(|it| shown.of(usize::from(*it))).collect();
            numbers.sort_unstable();
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            let plural = if numbers.len() == 1 { "" } else { "s" };
            let _ = writeln!(
                out,
                "\n  # partition{plural} {}{}\n  # {}\n  [[site.pool]]\n  name = \"pool-{}\"\n  \
                 nodes = {}",
                numbers.join(", "),
                if numbers.len() > 1 { ", which share nodes" } else { "" },
                self.evidence(pool),
                index + 1,
                pool.processors
            );
        }
        out
    }

    /// Why a pool has its size.
    pub(super) fn evidence(&self, pool: &PoolSeen) -> String {
        let PoolSeen { nodes, per_node, peak, .. } = *pool;
        match (nodes, self.unit) {
            (0, _) => format!("most in use at one time: {peak}; rows have no lists of nodes"),
            (_, ProcessorUnit::Nodes) => format!("different nodes: {nodes}; most in use: {peak}"),
            (_, ProcessorUnit::Cpus) => format!(
                "different nodes: {nodes}; most CPUs of a job on one: {per_node}; most CPUs in \
                 use: {peak}"
            ),
        }
    }
}
