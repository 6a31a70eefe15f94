//! To which pool a job is submitted.

use tradewind_model::{Demand, JobId, Pool, PoolId, Pools, Reason};

/// To which pool a job is submitted that names no home site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeRule {
    /// The first pool that suits the job and is wide enough.
    FirstSuitable,
    /// Each pool in turn, by the number of the job.
    InTurn,
}

/// Which pools may run a job in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The pools to which it can be submitted.
    Home,
    /// All pools, because sites pass jobs on.
    Grid,
}

/// Whether the pool suits the job, wide enough or not. A site starts a job at any moment, so where the
/// price changes with time, it is the highest that a price cap is compared with.
pub(super) fn suits(pools: &Pools, id: PoolId, demand: &Demand) -> bool {
    let capped = demand.terms().max_price.is_none_or(|cap| pools.highest_price(id) <= cap);
    capped && pools.pool(id).suits(demand)
}

/// The first pool that suits the job and is wide enough, at its home site (at all sites, if it
/// names none). O(pools).
///
/// # Errors
/// Why there is none.
pub fn home(pools: &Pools, demand: &Demand) -> Result<PoolId, Reason> {
    HomeRule::FirstSuitable.pool(pools, (JobId(0), demand), Reach::Home)
}

impl HomeRule {
    /// The pool to which the job is submitted: where it can run, if there is one; with
    /// [`Reach::Grid`] also where it cannot, if another pool can run it. O(pools).
    ///
    /// # Errors
    /// Why no pool can run it.
    pub(super) fn pool(
        self,
        pools: &Pools,
        (job, demand): (JobId, &Demand),
        reach: Reach,
    ) -> Result<PoolId, Reason> {
        let in_turn = PoolId(job.0 % pools.as_slice().len().max(1) as u32);
        let candidate = |(id, pool): &(PoolId, &Pool)| match (demand.terms().home, self) {
            (Some(home), _) => pool.site == home,
            (None, HomeRule::FirstSuitable) => true,
            (None, HomeRule::InTurn) => *id == in_turn,
        };
        let can = |(id, pool): &(PoolId, &Pool)| {
            pool.nodes >= demand.processors && suits(pools, *id, demand)
        };
        let candidates = || pools.iter().filter(candidate);
        if let Some((id, _)) = candidates().find(can) {
            return Ok(id);
        }
        let submitted = candidates().next().map_or(in_turn, |(id, _)| id);
        let reason = match (reach, self) {
            (Reach::Grid, _) => unsuitable(pools, demand, pools.iter()),
            (Reach::Home, HomeRule::FirstSuitable) => unsuitable(pools, demand, candidates()),
            (Reach::Home, HomeRule::InTurn) => {
                let one = (submitted, pools.pool(submitted));
                unsuitable(pools, demand, std::iter::once(one))
            }
        };
        reason.map_or(Ok(submitted), Err)
    }
}

/// Why none of these pools can run the job, if that is so.
fn unsuitable<'a>(
    all: &Pools,
    demand: &Demand,
    pools: impl Iterator<Item = (PoolId, &'a Pool)>,
) -> Option<Reason> {
    let suitable = pools.filter(|(id, _)| suits(all, *id, demand));
    let widest = suitable.map(|(_, pool)| pool.nodes).max();
    let (needed, min_performance) = (demand.processors, demand.terms().min_performance);
    match widest {
        Some(widest) if widest >= needed => None,
        Some(widest) => Some(Reason::WiderThanQueues { needed, widest }),
        None => Some(Reason::TooFewNodes { needed, suitable: 0, min_performance }),
    }
}
