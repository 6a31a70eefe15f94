//! What is free in pools, as slots on named nodes.

use tradewind_model::{
    Grid, GridError, Horizon, Level, Node, NodeId, PoolId, Pools, Profile, Slot, SlotList, Time,
};

/// A node for every node of a pool: those of `lyra` are `lyra/0`, `lyra/1`, ….
#[derive(Debug)]
pub(super) struct Names {
    /// By pool: its first node.
    firsts: Vec<u32>,
}

impl Names {
    /// The names and the grid of named nodes.
    ///
    /// # Errors
    /// None in practice: pools have unique names, and so have their nodes.
    pub(super) fn new(pools: &Pools) -> Result<(Names, Grid), GridError> {
        let (mut firsts, mut nodes) = (Vec::new(), Vec::new());
        for pool in pools.as_slice() {
            firsts.push(nodes.len() as u32);
            nodes.extend((0..pool.nodes).map(|number| Node {
                name: format!("{}/{number}", pool.name),
                site: pool.site,
                host: None,
                performance: pool.performance,
                price: pool.price,
                attributes: pool.attributes.clone(),
            }));
        }
        Ok((Names { firsts }, Grid::new(pools.sites().to_vec(), nodes)?))
    }

    /// Whose node it is.
    pub(super) fn pool_of(&self, node: NodeId) -> PoolId {
        PoolId((self.firsts.partition_point(|first| *first <= node.0) - 1) as u32)
    }

    /// What is free within the horizon.
    ///
    /// The nodes of a pool are alike, so it does not matter which of them is busy: the first has
    /// whatever time is free at all, the second the time when two are free, and so on. So slots
    /// are as long as they can be, and n nodes are free together for a span exactly if n slots
    /// hold it. Windows that do not intersect here never need more nodes than are free.
    pub(super) fn slots(&self, profiles: &[Profile], horizon: Horizon) -> SlotList {
        let (mut slots, mut levels) = (Vec::new(), Vec::new());
        for (profile, first) in profiles.iter().zip(&self.firsts) {
            levels.clear();
            profile.levels(horizon.start, horizon.end, &mut levels);
            levels.push(Level { at: horizon.end, free: 0 });
            stack(&levels, *first, &mut slots);
        }
        slots.sort_by_key(|slot| (slot.start, slot.node));
        // Cannot fail: no slot is empty, and those of one node follow one another.
        SlotList::new(slots).unwrap_or_default()
    }
}

/// Nodes from `first` on are free while the level is higher than their number.
fn stack(levels: &[Level], first: u32, slots: &mut Vec<Slot>) {
    let mut since: Vec<Time> = Vec::new();
    for &Level { at, free } in levels {
        let free = free.max(0) as usize;
        while since.len() > free {
            let start = since.pop().unwrap_or(at);
            let node = NodeId(first + since.len() as u32);
            if start < at {
                slots.push(Slot { start, end: at, node });
            }
        }
        since.resize(free, at);
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::Span;

    use super::*;

    #[test]
    fn the_first_nodes_have_the_longest_slots() {
        let pools = Pools::cluster(3);
        let (names, grid) = Names::new(&pools).unwrap();
        let mut profile = Profile::new(3, Time(0));
        profile.take(2, Time(0), Time(10));
        profile.take(1, Time(5), Time(20));
        let horizon = Horizon { start: Time(0), end: Time(40) };
        let slots = names.slots(&[profile], horizon);
        let found: Vec<_> =
            slots.as_slice().iter().map(|it| (it.node.0, it.start.0, it.end.0)).collect();
        assert_eq!(found, [(0, 0, 5), (0, 10, 40), (1, 10, 40), (2, 20, 40)]);
        assert_eq!(grid.node(NodeId(2)).name, "cluster/2");
        assert_eq!(names.pool_of(NodeId(2)), PoolId(0));
        assert_eq!(slots.as_slice()[0].span(), Span(5));
    }
}
