//! Licences beside pools: the books count each of them like the nodes of one more pool, behind all
//! pools of nodes.

use tradewind_model::{Demand, JobId, LicenceShare, Market, PoolId, Pools, Share, Span};

use super::overrun::expected_length;

/// What the demand takes along, as shares of such pools.
pub(crate) fn shares(pools: &Pools, demand: &Demand) -> impl Iterator<Item = Share> {
    let first = pools.as_slice().len() as u32;
    let licences = demand.terms().licences.clone();
    let share = move |at| {
        let LicenceShare { licence, count } = *licences.as_deref()?.get(at)?;
        Some(Share { pool: PoolId(first + licence.0), nodes: count })
    };
    (0..).map_while(share)
}

/// How long a running job is expected to hold what it has of a pool, in all, if it has been running
/// for `elapsed`. Licences are held as long as the last of its nodes.
pub(super) fn expected_hold(
    market: &Market,
    job: JobId,
    pool: PoolId,
    elapsed: Span,
) -> Option<Span> {
    let demand = market.demand(job)?;
    let length = |pool: PoolId| expected_length(market.pools().pool(pool), demand, elapsed);
    match pool.index() < market.pools().as_slice().len() {
        true => Some(length(pool)),
        false => market.run_of(job)?.shares().map(|share| length(share.pool)).max(),
    }
}
