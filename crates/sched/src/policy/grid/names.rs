//! What is free in pools, as slots on named nodes.

use tradewind_model::{
    Grid, GridError, Horizon, Level, Node, NodeId, Pool, PoolId, Pools, Profile, Rates, Share,
    Slot, SlotList, Time, Window,
};

use super::{Booking, Part};

/// A node for every node of a pool: those of `lyra` are `lyra/0`, `lyra/1`, ….
#[derive(Debug)]
pub(crate) struct Names {
    /// By pool: its first node, and how many have names.
    pools: Vec<(u32, u32)>,
    /// The most named nodes of a pool.
    pub(crate) max: u32,
}

impl Names {
    /// The names and the grid of named nodes, at most so many of each pool: like nodes beyond
    /// what all alternatives of a batch could take together change nothing.
    ///
    /// # Errors
    /// None in practice: pools have unique names, and so have their nodes.
    #[cfg(test)]
    pub(crate) fn new(pools: &Pools, max: u32) -> Result<(Names, Grid), GridError> {
        Names::of(pools, max, |_| true)
    }

    /// The same, of those pools alone that are `wanted`.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn of(
        pools: &Pools,
        max: u32,
        mut wanted: impl FnMut(&Pool) -> bool,
    ) -> Result<(Names, Grid), GridError> {
        let (mut named, mut nodes) = (Vec::new(), Vec::new());
        for pool in pools.as_slice() {
            let count = if wanted(pool) { pool.nodes.min(max) } else { 0 };
            named.push((nodes.len() as u32, count));
            nodes.extend((0..count).map(|number| Node {
                name: format!("{}/{number}", pool.name),
                site: pool.site,
                host: None,
                performance: pool.performance,
                price: pool.price,
                attributes: pool.attributes.clone(),
                times: pool.times,
            }));
        }
        let grid = Grid::new(pools.sites().to_vec(), nodes)?;
        let grid = match pools.power() {
            Some(power) => grid.with_power(power.clone()),
            None => grid,
        };
        let grid = grid.with_licences(pools.licences().to_vec());
        let grid = match pools.rates() {
            Some(rates) => grid.with_rates(rates_of(rates, &named)),
            None => grid,
        };
        Ok((Names { pools: named, max }, grid))
    }

    /// Whose node it is.
    pub(crate) fn pool_of(&self, node: NodeId) -> PoolId {
        PoolId((self.pools.partition_point(|(first, _)| *first <= node.0) - 1) as u32)
    }

    /// The window as nodes of pools.
    pub(crate) fn booking(&self, window: &Window) -> Booking {
        let mut parts: Vec<Part> = Vec::new();
        for task in window.tasks() {
            let pool = self.pool_of(task.node);
            match parts.last_mut().filter(|part| part.pool == pool) {
                Some(part) => part.nodes += 1,
                None => parts.push(Part { pool, nodes: 1, length: task.length, memory: 0 }),
            }
        }
        let first = self.pools.len() as u32;
        let along = window.licences().map(|it| &**it).unwrap_or_default().iter();
        let along = along.map(|it| Share { pool: PoolId(first + it.licence.0), nodes: it.count });
        Booking::new(window.start(), parts).along(&along.collect::<Vec<_>>())
    }

    /// What is free within the horizon.
    ///
    /// The nodes of a pool are alike, so it does not matter which of them is busy: the first has
    /// whatever time is free at all, the second the time when two are free, and so on. So slots
    /// are as long as they can be, and n nodes are free together for a span exactly if n slots
    /// hold it. Windows that do not intersect here never need more nodes than are free.
    pub(crate) fn slots(&self, profiles: &[Profile], horizon: Horizon) -> SlotList {
        let (mut slots, mut levels) = (Vec::new(), Vec::new());
        let named = profiles.iter().zip(&self.pools).filter(|(_, (_, count))| *count > 0);
        for (profile, (first, count)) in named {
            levels.clear();
            profile.levels(horizon.start, horizon.end, &mut levels);
            levels.push(Level { at: horizon.end, free: 0 });
            stack(&levels, *first, *count, &mut slots);
        }
        slots.sort_by_key(|slot| (slot.start, slot.node));
        // Cannot fail: no slot is empty, and those of one node follow one another.
        SlotList::new(slots).unwrap_or_default()
    }
}

/// The prices over time of named nodes.
fn rates_of(rates: &Rates, named: &[(u32, u32)]) -> Rates {
    let of_pool = |(pool, &(_, count)): (usize, &(u32, u32))| {
        std::iter::repeat_n(rates.get(pool).cloned(), count as usize)
    };
    Rates::new(named.iter().enumerate().flat_map(of_pool).collect())
}

/// The `count` nodes from `first` on are free while the level is higher than their number.
fn stack(levels: &[Level], first: u32, count: u32, slots: &mut Vec<Slot>) {
    let mut since: Vec<Time> = Vec::new();
    for &Level { at, free } in levels {
        let free = free.clamp(0, i64::from(count)) as usize;
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
