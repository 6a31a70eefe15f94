//! Nodes that are missing for a while: the owner's own load, maintenance, failures.

use tradewind_model::{Cause, Closure, JobId, Market, Pools, Profile, Span, Time};

/// A closure, and when the market learns of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// The moment at which policies are told.
    pub announced: Time,
    /// What they are told.
    pub what: Closure,
}

/// Puts outages in the order in which the market learns of them and drops what cannot be: an
/// outage does not begin before it is announced, and never takes more nodes of a pool than others
/// have left of it.
pub fn in_order(pools: &Pools, mut outages: Vec<Outage>) -> Vec<Outage> {
    for outage in &mut outages {
        outage.what.from = outage.what.from.max(outage.announced);
    }
    outages.retain(|outage| {
        let Closure { pool, from, until, .. } = outage.what;
        pool.index() < pools.as_slice().len() && from < until
    });
    outages.sort_by_key(|outage| (outage.announced, outage.what.from, outage.what.pool));
    let start = outages.first().map_or(Time(0), |outage| outage.announced);
    let fresh = |pool: &tradewind_model::Pool| Profile::new(pool.nodes, start);
    let mut left: Vec<Profile> = pools.as_slice().iter().map(fresh).collect();
    for Outage { what, .. } in &mut outages {
        let profile = &mut left[what.pool.index()];
        what.nodes = what.nodes.min(least(profile, what));
        profile.take(what.nodes, what.from, what.until);
    }
    outages.retain(|outage| outage.what.nodes > 0);
    outages
}

/// The fewest nodes left at any moment of the closure.
fn least(profile: &Profile, closure: &Closure) -> u32 {
    let span: Span = closure.until - closure.from;
    let (mut fits, mut fails) = (0, closure.nodes + 1);
    while fits + 1 < fails {
        let nodes = fits + (fails - fits) / 2;
        match profile.fits(nodes, closure.from, span) {
            true => fits = nodes,
            false => fails = nodes,
        }
    }
    fits
}

/// The running job that has to go next so that the closure can have its nodes; `None` when nobody
/// has to. `hit` are those whose own nodes break.
pub(crate) fn victim(market: &Market, closure: &Closure, hit: &[JobId]) -> Option<JobId> {
    let mut running = market.running().filter(|job| job.nodes_in(closure.pool) > 0);
    if let Some(job) = running.find(|job| hit.contains(&job.job)) {
        return Some(job.job);
    }
    if market.free_in(closure.pool) >= closure.nodes {
        return None;
    }
    // Whoever started last loses least.
    let running = market.running().filter(|job| job.nodes_in(closure.pool) > 0);
    running.max_by_key(|job| (job.start, job.job)).map(|job| job.job)
}

/// The jobs that hold the nodes that break; see [`Cause::Failure`].
pub(crate) fn hit(market: &Market, closure: &Closure) -> Vec<JobId> {
    let Cause::Failure(first) = closure.cause else { return Vec::new() };
    let last = first.saturating_add(closure.nodes);
    let mut counted = 0u32;
    let mut hit = Vec::new();
    for job in market.running() {
        let nodes = job.nodes_in(closure.pool);
        if nodes > 0 && counted < last && counted + nodes > first {
            hit.push(job.job);
        }
        counted += nodes;
    }
    hit
}

#[cfg(test)]
mod tests {
    use tradewind_model::PoolId;

    use super::*;

    fn outage(announced: i64, nodes: u32, from: i64, until: i64) -> Outage {
        let (from, until, cause) = (Time(from), Time(until), Cause::Local);
        let what = Closure { pool: PoolId(0), nodes, from, until, cause };
        Outage { announced: Time(announced), what }
    }

    #[test]
    fn outages_share_the_nodes_that_there_are() {
        let given = vec![outage(5, 3, 0, 20), outage(0, 3, 10, 12), outage(0, 9, 30, 30)];
        let told = in_order(&Pools::cluster(4), given);
        assert_eq!(told, [outage(0, 3, 10, 12), outage(5, 1, 5, 20)]);
    }
}
