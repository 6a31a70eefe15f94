//! Expected starts become the future load of a pool, in a bounded number of steps.

use std::collections::BTreeMap;

use tradewind_model::{PoolId, Time};

use super::ExpectedStart;
use crate::policy::availability::Taken;

/// The most steps of a pool's future load.
pub const MAX_STEPS: usize = 64;

/// Each pool's future load: disjoint steps in the order of time, the pools in their order. Up to
/// [`MAX_STEPS`] steps they are the exact load. Beyond that the first half is exact, and of the rest
/// neighbours are joined at their highest load: never less than the load, and no node more than the
/// highest load of the joined steps. O(n log n).
pub fn future_load(starts: &[ExpectedStart]) -> Vec<Taken> {
    let mut pools: BTreeMap<PoolId, BTreeMap<Time, i64>> = BTreeMap::new();
    for it in starts.iter().filter(|it| it.start < it.end) {
        let changes = pools.entry(it.pool).or_default();
        *changes.entry(it.start).or_default() += i64::from(it.nodes);
        *changes.entry(it.end).or_default() -= i64::from(it.nodes);
    }
    pools.iter().flat_map(|(pool, changes)| bounded(levels(*pool, changes))).collect()
}

/// Neighbouring steps with different loads; those without load in between are left out.
fn levels(pool: PoolId, changes: &BTreeMap<Time, i64>) -> Vec<Taken> {
    let (mut steps, mut load): (Vec<Taken>, i64) = (Vec::new(), 0);
    for (&at, &by) in changes.iter().filter(|(_, by)| **by != 0) {
        if load > 0
            && let Some(last) = steps.last_mut()
        {
            last.until = at;
        }
        load += by;
        if load > 0 {
            steps.push(Taken::new(pool, u32::try_from(load).unwrap_or(u32::MAX), at, at));
        }
    }
    steps
}

fn bounded(steps: Vec<Taken>) -> Vec<Taken> {
    if steps.len() <= MAX_STEPS {
        return steps;
    }
    let (exact, rest) = steps.split_at(MAX_STEPS / 2);
    let together = rest.len().div_ceil(MAX_STEPS - MAX_STEPS / 2);
    let joined = rest.chunks(together).filter_map(|chunk| {
        let (first, last) = (chunk.first()?, chunk.last()?);
        let nodes = chunk.iter().map(|step| step.share.nodes).max()?;
        Some(Taken::new(first.share.pool, nodes, first.from, last.until))
    });
    exact.iter().copied().chain(joined).collect()
}
