//! What an outage may name: pools, their queues, and pools that are cut into queues.

use tradewind_model::{Cause, PoolId, Pools, SiteId};

/// How a name came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A pool as the grid file has it, cut or not.
    Pool,
    /// A part of a pool that is cut.
    Queue,
}

/// A name and the nodes that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As an outage writes it.
    pub name: String,
    /// Whose nodes they are.
    pub site: SiteId,
    /// A pool or a queue.
    pub kind: TargetKind,
    /// The first of its pools; the others follow it.
    pub first: PoolId,
    /// The nodes of each of its pools.
    pub nodes: Vec<u32>,
}

/// All names, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Targets(pub Vec<Target>);

impl Targets {
    /// Pools none of which is cut.
    pub fn of(pools: &Pools) -> Targets {
        let target = |(first, pool): (PoolId, &tradewind_model::Pool)| Target {
            name: pool.name.clone(),
            site: pool.site,
            kind: TargetKind::Pool,
            first,
            nodes: vec![pool.nodes],
        };
        Targets(pools.iter().map(target).collect())
    }
}

impl Target {
    /// All its nodes.
    pub fn total(&self) -> u32 {
        self.nodes.iter().sum()
    }

    /// So many nodes of each of its pools, where there are any, and the cause as each pool sees
    /// it. A failure breaks neighbours, counted through the queues from the node that it names;
    /// everything else takes nodes of all queues in proportion, fractions from the later ones.
    /// Linear in the queues.
    pub(super) fn split(&self, nodes: u32, cause: Cause) -> Vec<(PoolId, u32, Cause)> {
        if let [_] = self.nodes[..] {
            return vec![(self.first, nodes, cause)];
        }
        let total = self.total();
        let mut before = 0u32;
        let mut parts = Vec::with_capacity(self.nodes.len());
        for (index, &size) in self.nodes.iter().enumerate() {
            let after = before + size;
            let (taken, cause) = match cause {
                Cause::Failure(first) => {
                    let first = first.min(total.saturating_sub(nodes));
                    let from = first.max(before);
                    let until = (first + nodes).min(after);
                    (until.saturating_sub(from), Cause::Failure(from.saturating_sub(before)))
                }
                cause => (part(nodes, after, total) - part(nodes, before, total), cause),
            };
            if taken > 0 {
                parts.push((PoolId(self.first.0 + index as u32), taken, cause));
            }
            before = after;
        }
        parts
    }
}

/// `nodes` × `part` / `whole`, rounded down.
fn part(nodes: u32, part: u32, whole: u32) -> u32 {
    (u64::from(nodes) * u64::from(part) / u64::from(whole.max(1))) as u32
}
