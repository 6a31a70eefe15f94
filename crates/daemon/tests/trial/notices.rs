//! Preemptible jobs that give their nodes back, and the checkers: only they get notice, once per run
//! and as long as their site promises, and none is stopped for it before that is over.

use std::collections::BTreeMap;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use tradewind_daemon::live::input::Reclaim;
use tradewind_daemon::live::state::jobs::RunNotice;
use tradewind_daemon::live::state::{Job, Phase, TaskGoal};
use tradewind_daemon::live::{Ask, Live, State};
use tradewind_model::{Pool, PoolId, Pools, Preemption, SiteId, Span};

use crate::checks::{Check, broken};
use crate::put_off;

/// In two worlds of three: owners get nodes back, after a minute or two or at once.
pub(crate) fn preemption(seed: u64) -> BTreeMap<String, Preemption> {
    let terms = |notice: i64| Preemption { notice: Span(notice), discount: 300 };
    let of = |name: &str, notice| (name.to_owned(), terms(notice));
    let all: BTreeMap<String, Preemption> = match seed % 3 {
        0 => BTreeMap::new(),
        1 => [of("a", 60)].into(),
        _ => [of("a", 100), of("b", 0)].into(),
    };
    // Where jobs wait in line with the owners', none gives its nodes back.
    let in_line = put_off::in_line(seed);
    all.into_iter().filter(|(site, _)| !in_line.contains_key(site)).collect()
}

/// The pools, with the discounts of their sites.
pub(crate) fn with_terms(pools: Pools, seed: u64) -> Pools {
    let of = preemption(seed);
    let all = pools.sites().iter().map(|site| of.get(&site.name).copied().unwrap_or_default());
    let all = all.collect();
    pools.with_preemption(all)
}

/// An owner wants nodes back of a pool in which a job may be given notice.
pub(crate) fn reclaim(rng: &mut Pcg64Mcg, live: &Live) -> Option<Ask> {
    let pools = live.state().market.pools();
    let gives = |pool: &PoolId| pools.preemption(pools.pool(*pool).site) != Preemption::default();
    let jobs = live.state().jobs.values();
    let taken: Vec<PoolId> = jobs.filter_map(of_preemptible).filter(gives).collect();
    if taken.is_empty() || rng.random_bool(0.4) {
        return None;
    }
    let Pool { site: SiteId(site), nodes, name, .. } =
        pools.pool(taken[rng.random_range(0..taken.len())]);
    Some(Ask::Reclaim(Reclaim {
        site: pools.sites()[*site as usize].name.clone(),
        pool: Some(name.rsplit('/').next().unwrap_or(name).to_owned()),
        nodes: rng.random_range(1..=*nodes),
        notice: (rng.random_range(0..3) == 0).then(|| Span(rng.random_range(0..200))),
        length: Span(rng.random_range(1..200)),
    }))
}

/// The pool of a job that runs and may be given notice.
fn of_preemptible(job: &Job) -> Option<PoolId> {
    let [part] = job.parts() else { return None };
    let is_one = job.phase() == Phase::Running && job.is_preemptible() && !job.in_window();
    is_one.then_some(part.pool)
}

/// Of all jobs that run and have their notice.
pub(crate) fn check(state: &State, promised: &BTreeMap<String, Preemption>) -> Check {
    let running = state.jobs.values().filter(|job| job.phase() == Phase::Running);
    for job in running {
        let Some(notice) = job.run().and_then(|run| run.notice.as_ref()) else { continue };
        if let Some(what) = wrong(state, job, notice, promised) {
            return broken("notices", format!("job {} {what}", job.number));
        }
    }
    Ok(())
}

fn wrong(
    state: &State,
    job: &Job,
    notice: &RunNotice,
    promised: &BTreeMap<String, Preemption>,
) -> Option<&'static str> {
    let [part] = job.parts() else { return Some("has several parts") };
    let SiteId(site) = state.market.pools().pool(part.pool).site;
    let name = &state.market.pools().sites()[site as usize].name;
    let Some(terms) = promised.get(name) else { return Some("is at a site without notice") };
    let task = state.tasks.get(&job.tag(&state.name, 0));
    let is_asked = job.cancelled_by.is_some() || job.requeued_by().is_some();
    let is_stopped = task.is_some_and(|task| task.wanted == TaskGoal::Stop);
    match () {
        () if !job.is_preemptible() => Some("is not preemptible"),
        () if job.in_window() => Some("has its window by an accepted offer"),
        () if notice.ends - notice.given < terms.notice => Some("had too short a notice"),
        () if is_stopped && !is_asked && state.now() < notice.ends => Some("was stopped too soon"),
        () => None,
    }
}
