//! Expected starts become the future load of a pool, in a bounded number of steps.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{PoolId, Span, Time};

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

/// The same load, of which more nodes are taken `margin` earlier: a job that leaves these nodes to
/// the site in time, leaves them that long before. Nodes of `busy` that become free for a start
/// count once: where waiting jobs follow on nodes that are in use until then, nothing is earlier.
/// What begins before `now` counts from then on. O(n log n + n · margin in seconds), n starts and busy ones.
pub(super) fn future_load_early(
    starts: &[ExpectedStart],
    busy: &[Taken],
    now: Time,
    margin: Span,
) -> Vec<Taken> {
    let mut pools: BTreeMap<PoolId, BTreeMap<Time, (i64, i64)>> = BTreeMap::new();
    for it in starts.iter().filter(|it| it.start < it.end) {
        let changes = pools.entry(it.pool).or_default();
        changes.entry(it.start).or_default().0 += i64::from(it.nodes);
        changes.entry(it.end).or_default().0 -= i64::from(it.nodes);
    }
    for it in busy.iter().filter(|it| it.until > now) {
        // Pools in which no job waits have no load to come.
        let Some(changes) = pools.get_mut(&it.share.pool) else { continue };
        changes.entry(it.from.max(now)).or_default().1 += i64::from(it.share.nodes);
        changes.entry(it.until).or_default().1 -= i64::from(it.share.nodes);
    }
    let early =
        pools.iter().map(|(pool, changes)| bounded(early_levels(*pool, changes, now, margin)));
    early.flatten().collect()
}

/// The steps of one pool: of changes of the load to come, and of what is busy.
fn early_levels(
    pool: PoolId,
    changes: &BTreeMap<Time, (i64, i64)>,
    now: Time,
    margin: Span,
) -> Vec<Taken> {
    let (mut load, mut busy) = (0, 0);
    let mut known: BTreeMap<Time, (i64, i64)> = BTreeMap::new();
    for (&at, (more_load, more_busy)) in changes {
        load += more_load;
        busy += more_busy;
        known.insert(at, (load, busy));
    }
    let early = known.keys().map(|at| (*at - margin).max(now));
    let moments: BTreeSet<Time> = known.keys().copied().chain(early).collect();
    let mut steps: Vec<Taken> = Vec::new();
    let mut before = 0;
    for at in moments {
        let (load, busy) = known.range(..=at).next_back().map_or((0, 0), |(_, it)| *it);
        // Of a start within the margin, what is not busy now is taken now.
        let soon = known.range(at..=at + margin);
        let soon = soon.map(|(_, (then, still))| then - (busy - still).max(0));
        let nodes = soon.fold(load, i64::max);
        if nodes == before {
            continue;
        }
        if before > 0
            && let Some(last) = steps.last_mut()
        {
            last.until = at;
        }
        if nodes > 0 {
            steps.push(Taken::new(pool, u32::try_from(nodes).unwrap_or(u32::MAX), at, at));
        }
        before = nodes;
    }
    steps
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

pub(super) fn bounded(steps: Vec<Taken>) -> Vec<Taken> {
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

#[cfg(test)]
mod tests {
    use tradewind_model::JobId;

    use super::*;

    const POOL: PoolId = PoolId(0);

    fn start(nodes: u32, start: i64, end: i64) -> ExpectedStart {
        let (start, end) = (Time(start), Time(end));
        ExpectedStart { job: JobId(0), pool: POOL, nodes, start, end }
    }

    fn taken(nodes: u32, from: i64, until: i64) -> Taken {
        Taken::new(POOL, nodes, Time(from), Time(until))
    }

    #[test]
    fn only_nodes_that_are_not_in_use_already_are_taken_earlier() {
        let early = |starts: &[ExpectedStart], busy: &[Taken]| {
            future_load_early(starts, busy, Time(0), Span(30))
        };
        let busy = [taken(8, -50, 100)];
        assert_eq!(early(&[start(8, 100, 200)], &busy), [taken(8, 100, 200)], "the same nodes");
        let wide = early(&[start(12, 100, 200)], &busy);
        assert_eq!(wide, [taken(4, 70, 100), taken(12, 100, 200)]);
        // One after the other: a job beside them delays neither.
        let follow = early(&[start(8, 0, 100), start(8, 100, 200), start(9, 200, 300)], &[]);
        assert_eq!(follow, [taken(8, 0, 170), taken(9, 170, 300)]);
        assert_eq!(early(&[start(2, 10, 20)], &[]), [taken(2, 0, 20)], "not before now");
        // Nodes that will be in use later, by a reservation, are no load of the queue.
        assert_eq!(early(&[start(2, 0, 20)], &[taken(5, 40, 90)]), [taken(2, 0, 20)]);
        assert_eq!(early(&[], &busy), []);
    }

    #[test]
    fn without_a_margin_it_is_the_load() {
        let starts: Vec<ExpectedStart> =
            (0..40).map(|it| start(it as u32 % 7, it * 13 % 90, 100 + it * 7 % 50)).collect();
        let busy = [taken(8, -50, 60), taken(3, 20, 120)];
        let same = future_load_early(&starts, &busy, Time(0), Span::ZERO);
        assert_eq!(same, future_load(&starts));
    }
}
