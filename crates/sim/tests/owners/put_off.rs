//! How long jobs of the market put off each owner's job, counted from a finished run by a plain
//! scheduler of our own.

use tradewind_model::{PoolId, Time};
use tradewind_sched::policy::backfill::Depth;
use tradewind_sim::Run;
use tradewind_sim::workload::OwnersLoad;

use super::worlds::World;

/// A job that waits: nodes and limit.
type Waits = (u32, i64);

/// Free nodes from a moment on, by the ends of what runs: plain lists.
struct Free(Vec<(i64, i64)>);

impl Free {
    fn least(&self, from: i64, until: i64) -> i64 {
        let at =
            |time: i64| self.0.iter().filter(|(when, _)| *when <= time).map(|(_, by)| by).sum();
        let inside = self.0.iter().map(|(when, _)| *when).filter(|it| from < *it && *it < until);
        inside.chain([from]).map(at).min().unwrap()
    }

    fn earliest(&self, now: i64, (nodes, limit): Waits) -> i64 {
        let ends = self.0.iter().map(|(when, _)| *when).filter(|when| *when > now);
        let mut moments: Vec<i64> = ends.chain([now]).collect();
        moments.sort_unstable();
        let fits = |from: &i64| self.least(*from, *from + limit) >= i64::from(nodes);
        moments.into_iter().find(fits).unwrap()
    }

    fn take(&mut self, from: i64, (nodes, limit): Waits) {
        self.0.extend([(from, -i64::from(nodes)), (from + limit, i64::from(nodes))]);
    }
}

/// Which of the waiting jobs, in their order, a site's scheduler starts now beside what runs: nodes
/// and expected end.
fn starts(now: i64, nodes: u32, depth: Depth, runs: &[(u32, i64)], waits: &[Waits]) -> Vec<usize> {
    let mut free = Free(vec![(i64::MIN, nodes.into())]);
    runs.iter().for_each(|(nodes, end)| free.take(now, (*nodes, end - now)));
    let mut reserved = 0;
    let mut started = Vec::new();
    for (index, job) in waits.iter().enumerate() {
        // Where a job that has no reservation would start does not matter if that is later.
        let fits_now = free.least(now, now + job.1) >= i64::from(job.0);
        let reserves = match depth {
            Depth::All => true,
            Depth::First(most) => reserved < most,
        };
        if fits_now {
            started.push(index);
            free.take(now, *job);
        } else if reserves {
            reserved += 1;
            free.take(free.earliest(now, *job), *job);
        } else if depth == Depth::First(0) {
            break;
        }
    }
    started
}

/// By owner's job of a load: for how many seconds the site's scheduler would have started it if no
/// job of the market had run there. The load has one pool.
pub(crate) fn seconds(world: &World, run: &Run, load: &OwnersLoad, place: usize) -> Vec<i64> {
    let (pool, nodes) = (load.pools[0], world.workload.pools.pool(load.pools[0]).nodes);
    let owners: Vec<_> = run.owners[place].iter().map(|ran| ran.unwrap()).collect();
    let market: Vec<(Time, Time)> = market_in(world, run, pool);
    let mut moments: Vec<i64> = load.jobs.iter().map(|job| job.submit.0).collect();
    moments.extend(owners.iter().flat_map(|ran| [ran.start.0, ran.end.0]));
    moments.extend(market.iter().flat_map(|(start, end)| [start.0, end.0]));
    moments.sort_unstable();
    moments.dedup();
    let mut put_off = vec![0; load.jobs.len()];
    for pair in moments.windows(2) {
        let (now, next) = (pair[0], pair[1]);
        if !market.iter().any(|(start, end)| start.0 <= now && now < end.0) {
            continue;
        }
        let all = || load.jobs.iter().zip(&owners).enumerate();
        let runs: Vec<(u32, i64)> = all()
            .filter(|(_, (_, ran))| ran.start.0 <= now && now < ran.end.0)
            .map(|(_, (job, ran))| (job.processors, ran.start.0 + job.requested.0))
            .collect();
        let waiting: Vec<usize> = all()
            .filter(|(_, (job, ran))| job.submit.0 <= now && now < ran.start.0)
            .map(|(index, _)| index)
            .collect();
        let wants =
            |index: &usize| (load.jobs[*index].processors, load.jobs[*index].requested.0.max(1));
        let waits: Vec<Waits> = waiting.iter().map(wants).collect();
        for index in starts(now, nodes, load.rule.depth, &runs, &waits) {
            put_off[waiting[index]] += next - now;
        }
    }
    put_off
}

/// When jobs of the market had nodes of the pool.
fn market_in(world: &World, run: &Run, pool: PoolId) -> Vec<(Time, Time)> {
    let jobs = run.jobs.iter().zip(&world.workload.jobs);
    let here = jobs.filter(|(ran, job)| {
        ran.place.shares(job.processors).any(|share| share.pool == pool && share.nodes > 0)
    });
    here.filter(|(ran, _)| ran.start < ran.end).map(|(ran, _)| (ran.start, ran.end)).collect()
}
