//! Nodes that are missing for a while: the owner's own load, maintenance, failures.

use tradewind_model::{Cause, Horizon, JobId, Market, Outage, Pools, Profile, Running, Span, Time};

use crate::workload::{Job, Workload};

/// An outage, and when the market learns of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnnouncedOutage {
    /// The moment at which policies learn of it.
    pub announced: Time,
    /// What they learn.
    pub what: Outage,
}

/// Puts outages in the order in which the market learns of them and drops what cannot be: an
/// outage does not begin before it is announced, and never takes more nodes of a pool than others
/// have left of it.
pub fn in_order(pools: &Pools, mut outages: Vec<AnnouncedOutage>) -> Vec<AnnouncedOutage> {
    for outage in &mut outages {
        outage.what.from = outage.what.from.max(outage.announced);
    }
    outages.retain(|outage| {
        let Outage { pool, from, until, .. } = outage.what;
        pool.index() < pools.as_slice().len() && from < until
    });
    outages.sort_by_key(|outage| (outage.announced, outage.what.from, outage.what.pool));
    let start = outages.first().map_or(Time(0), |outage| outage.announced);
    let fresh = |pool: &tradewind_model::Pool| Profile::new(pool.nodes, start);
    let mut left: Vec<Profile> = pools.as_slice().iter().map(fresh).collect();
    for AnnouncedOutage { what, .. } in &mut outages {
        let profile = &mut left[what.pool.index()];
        what.nodes = what.nodes.min(min(profile, what));
        profile.take(what.nodes, what.from, what.until);
    }
    outages.retain(|outage| outage.what.nodes > 0);
    outages
}

/// For how long outages should be drawn so that they last as long as a replay of the workload: from
/// the first submission to well after the last, even if the grid were left idle half of the time,
/// and as far as the longest request is planned ahead.
pub fn horizon(workload: &Workload) -> Horizon {
    let owners = || workload.owners.iter().flat_map(|load| &load.jobs);
    let submits = workload.jobs.iter().chain(owners()).map(|job| job.submit);
    let (start, last) = (submits.clone().min(), submits.max());
    let (start, last) = (start.unwrap_or(Time(0)), last.unwrap_or(Time(0)));
    let slowest = workload.pools.as_slice().iter().map(|pool| pool.performance).min();
    let length = |job: &Job| slowest.map_or(job.run, |slowest| slowest.length_of(job.run));
    let asked =
        |job: &Job| slowest.map_or(job.requested, |slowest| slowest.length_of(job.requested));
    let market = workload.jobs.iter().map(|job| (job, length(job), asked(job)));
    let all = market.chain(owners().map(|job| (job, job.run, job.requested)));
    let work =
        |(job, length, _): (&Job, Span, Span)| i128::from(length.0) * i128::from(job.processors);
    let busy = all.clone().map(work).sum::<i128>() / i128::from(workload.processors().max(1));
    let longest = all.map(|(_, length, asked)| length.max(asked).0).max().unwrap_or(0);
    let after = i64::try_from(2 * busy).unwrap_or(Span::MAX.0).saturating_add(longest);
    Horizon { start, end: (last + Span(after.min(Span::MAX.0))).min(Time::MAX) }
}

/// The fewest nodes left at any moment of the outage.
fn min(profile: &Profile, closure: &Outage) -> u32 {
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

/// The running job that has to go next so that the outage can have its nodes; `None` when none
/// has to. `hit` are those whose own nodes break.
pub(crate) fn victim(market: &Market, closure: &Outage, hit: &[JobId]) -> Option<JobId> {
    let mut running = market.running().filter(|job| job.nodes_in(closure.pool) > 0);
    if let Some(job) = running.find(|job| hit.contains(&job.job)) {
        return Some(job.job);
    }
    if market.free_in(closure.pool) >= closure.nodes {
        return None;
    }
    // Preemptible jobs first; the job that started last loses least.
    let running = market.running().filter(|job| job.nodes_in(closure.pool) > 0);
    let key = |job: &Running<'_>| (job.demand.is_preemptible(), job.start, job.job);
    running.max_by_key(key).map(|job| job.job)
}

/// The jobs that hold the nodes that break; see [`Cause::Failure`].
pub(crate) fn hit(market: &Market, closure: &Outage) -> Vec<JobId> {
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
    use std::sync::Arc;

    use tradewind_model::PoolId;

    use super::*;
    use crate::models::{LocalLoad, owners_load};
    use crate::workload::{LogJob, Overrun, prepare};

    fn outage(announced: i64, nodes: u32, from: i64, until: i64) -> AnnouncedOutage {
        let (from, until, cause) = (Time(from), Time(until), Cause::Local);
        let what = Outage { pool: PoolId(0), nodes, from, until, cause };
        AnnouncedOutage { announced: Time(announced), what }
    }

    #[test]
    fn outages_share_the_nodes_that_there_are() {
        let given = vec![outage(5, 3, 0, 20), outage(0, 3, 10, 12), outage(0, 9, 30, 30)];
        let told = in_order(&Pools::cluster(4), given);
        assert_eq!(told, [outage(0, 3, 10, 12), outage(5, 1, 5, 20)]);
    }

    #[test]
    fn the_owners_load_is_known_period_by_period() {
        let load = LocalLoad { period: Span(1_000), ..LocalLoad::default() };
        let horizon = Horizon { start: Time(7), end: Time(5_007) };
        let outages = owners_load(&load, 1, (PoolId(2), 3), horizon);
        assert!(outages.len() > 15);
        for AnnouncedOutage { announced, what } in &outages {
            assert_eq!((announced.0 - 7) % 1_000, 0);
            assert!(*announced <= what.from && what.until.0 <= announced.0 + 1_000);
        }
        let other = owners_load(&load, 1, (PoolId(1), 3), horizon);
        assert_ne!(other[0].what.from, outages[0].what.from);
    }

    #[test]
    fn the_horizon_covers_one_job_after_the_other() {
        let job = |number, submit| LogJob {
            number,
            submit: Some(Time(submit)),
            run: Some(Span(100)),
            processors: Some(2),
            ..LogJob::default()
        };
        let log = [job(1, 50), job(2, 60)];
        let cluster = Arc::new(Pools::cluster(4));
        let workload = prepare(&log, cluster, Default::default(), Overrun::Kill);
        let expected = Horizon { start: Time(50), end: Time(60 + 2 * 100 + 100) };
        assert_eq!(horizon(&workload), expected);
    }
}
