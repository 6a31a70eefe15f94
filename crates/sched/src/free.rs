//! What is free in a live market, as a planning problem: so that [`crate::quote`],
//! [`crate::explain`](mod@crate::explain) and the search for windows answer for the market of now.

use std::collections::BTreeMap;

use tradewind_model::{
    Demand, FreeLicences, Grid, GridError, Horizon, Market, Place, Pool, PoolId, Share, SlotList,
    Snapshot, SnapshotError, Span, Time, VoPolicy, Window,
};

use crate::policy::availability::{free_in_each, licence_shares};
use crate::policy::evaluate::free_licences;
use crate::policy::grid::Names;

pub use crate::policy::availability::Taken;

/// What a job can be given of a market.
#[derive(Debug)]
pub struct FreeTime {
    /// Grid and slots; without jobs, and with a policy of the VO that limits nothing.
    ///
    /// The nodes of a pool are alike: the plan names them as it likes (`lyra/0`, `lyra/1`, …). The
    /// first has whatever time is free in the pool at all, the second the time when two are free,
    /// and so on; the real nodes are settled when the job starts.
    pub snapshot: Snapshot,
    names: Names,
}

/// Why there is no such planning problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FreeError {
    /// The nodes make no grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The horizon is out of range, or prices are too high for it.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl FreeTime {
    /// What is free for a job of this demand within `horizon`, but not before now: beside running
    /// jobs until their expected ends, outages, and what else is `taken`. Jobs that exceeded their
    /// estimates, and nodes that should be back, are expected to need twice as long as believed so
    /// far. Where nodes are taken twice, none of them are free.
    ///
    /// A pool that does not admit the job has no nodes in it, and no pool has more than the job
    /// has tasks: like nodes beyond that change nothing for one window, but
    /// [`crate::quote::rejected`] counts the named ones alone. Exact: n tasks fit into a pool for
    /// a span exactly if n slots hold it. O(r log r + n·l) for r running jobs, outages and
    /// entries of `taken`, n named nodes and l changes of what is free.
    ///
    /// # Errors
    /// If the horizon is empty or out of range, or prices over it are beyond the range of money.
    pub fn new(
        market: &Market,
        demand: &Demand,
        taken: &[Taken],
        horizon: Horizon,
    ) -> Result<FreeTime, FreeError> {
        let horizon = Horizon { start: horizon.start.max(market.now()), ..horizon };
        let (mut profiles, mut licences) = (free_in_each(market), free_licences(market));
        for Taken { share, from, until, .. } in taken {
            let licence = share.pool.index().checked_sub(profiles.len());
            let profile = match licence {
                None => profiles.get_mut(share.pool.index()),
                Some(at) => licences.get_mut(at),
            };
            profile.into_iter().for_each(|it| it.take(share.nodes, *from, *until));
        }
        let shapes = demand.in_shapes();
        let admits = |pool: &Pool| {
            let admits = |it: &Demand| pool.admission.admits(it.processors, pool.run_length_of(it));
            shapes.iter().any(admits)
        };
        let (names, grid) = Names::of(market.pools(), demand.most_processors(), admits)?;
        let mut snapshot = empty(horizon, grid);
        snapshot.check()?;
        snapshot.slots = names.slots(&profiles, horizon);
        if !licences.is_empty() {
            snapshot.slots = snapshot.slots.with_licences(FreeLicences::of(licences));
        }
        Ok(FreeTime { snapshot, names })
    }

    /// The nodes of the window, by pool. The window must be of this problem.
    pub fn taken(&self, window: &Window) -> Vec<Taken> {
        self.names.booking(window).taken().collect()
    }

    /// Of a job whose tasks differ: how many tasks of each group of the request the window has in each
    /// pool, and how long they take there; by group, then by pool. The window must be of this
    /// problem.
    pub fn groups(&self, window: &Window) -> Vec<(u16, Share, Span)> {
        let mut counts: BTreeMap<(u16, PoolId), (u32, Span)> = BTreeMap::new();
        for task in window.tasks() {
            let place = (task.group, self.names.pool_of(task.node));
            let (nodes, _) = counts.entry(place).or_insert((0, task.length));
            *nodes += 1;
        }
        let share = |((group, pool), (nodes, length))| (group, Share { pool, nodes }, length);
        counts.into_iter().map(share).collect()
    }

    /// The window as a place of the market. The window must be of this problem.
    pub fn place(&self, window: &Window) -> Place {
        self.names.booking(window).place()
    }
}

/// What a job of this demand takes along during `[from, until)`, as if each licence were one more pool:
/// for [`FreeTime::new`] and [`Tail`](crate::policy::tail::Tail).
pub fn licences_taken(
    market: &Market,
    demand: &Demand,
    (from, until): (Time, Time),
) -> impl Iterator<Item = Taken> {
    licence_shares(market.pools(), demand).map(move |share| Taken { share, from, until, memory: 0 })
}

fn empty(horizon: Horizon, grid: Grid) -> Snapshot {
    let (slots, jobs, policy) = (SlotList::default(), Vec::new(), VoPolicy::default());
    Snapshot { horizon, grid, slots, jobs, policy }
}

#[cfg(test)]
mod tests;
