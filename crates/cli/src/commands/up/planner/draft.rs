//! How a plan of the queue is made, and how jobs are added to it.
//!
//! The first [`HEAD`] jobs are simulated under the policy itself. The others are placed behind
//! them in its order, each at the earliest place that delays no job before it: quick, and exact for
//! conservative backfilling; for other policies an estimate.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tradewind_daemon::live::{Refusal, RefusalKind};
use tradewind_model::{Cause, Demand, Event, JobId, Market, Outage, PoolId, Span, Time};
use tradewind_sched::free::{Taken, licences_taken};
use tradewind_sched::policy::tail::{Placed, Tail};
use tradewind_sim::fork::{self, Beliefs, Clash, Forecast, Limits, Progress};
use tradewind_web::documents::QueuePlan;
use tradewind_web::{MarketView, Plan, Planned};

use super::super::policies::{self, unsuited};
use crate::policy::PolicySpec;

/// So many waiting jobs are simulated under the policy. What a pass costs grows with them: with
/// 2,000 a whole forecast takes a second or two.
pub(crate) const HEAD: usize = 2_000;

/// Asked again and again whether to go on.
pub(crate) type Going<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// A plan as all users see it: it never changes.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The policy whose plan it is.
    pub(crate) policy: PolicySpec,
    /// The market's count of events up to which the plan is what would be made from nothing.
    pub(crate) version: u64,
    /// How long it took to make.
    pub(crate) took: Duration,
    /// What it covers.
    pub(crate) queue: QueuePlan,
    /// Jobs in the order of their ids.
    placed: Vec<Arc<Placed>>,
    /// Of these, whether they need nodes that do not work: then their start is unknown.
    broken: BTreeSet<JobId>,
    taken: OnceLock<Vec<(JobId, Taken)>>,
    shown: OnceLock<Arc<Plan>>,
}

impl Kept {
    /// When and where a job that waits is expected to run.
    pub(crate) fn expected(&self, job: JobId) -> Option<&Placed> {
        let at = self.placed.binary_search_by_key(&job, |placed| placed.job).ok()?;
        (!self.broken.contains(&job)).then(|| &*self.placed[at])
    }

    /// What the jobs take that wait in `market` still. Who should have started by now, and has not,
    /// is expected to start at once.
    pub(crate) fn taken<'a>(&'a self, market: &'a Market) -> impl Iterator<Item = Taken> + 'a {
        let now = market.now();
        let waiting = self.in_order().iter().filter(|(job, _)| market.waits(*job));
        waiting.map(move |(_, taken)| late(*taken, now))
    }

    /// The same without one job.
    pub(crate) fn taken_by_others<'a>(
        &'a self,
        market: &'a Market,
        own: JobId,
    ) -> impl Iterator<Item = Taken> + 'a {
        let now = market.now();
        let others = self.in_order().iter();
        let others = others.filter(move |(job, _)| *job != own && market.waits(*job));
        others.map(move |(_, taken)| late(*taken, now))
    }

    /// By pool and time: so a profile is written from its beginning to its end, which is quick.
    fn in_order(&self) -> &[(JobId, Taken)] {
        self.taken.get_or_init(|| {
            let of = |placed: &Arc<Placed>| {
                let job = placed.job;
                placed.parts.iter().map(move |part| (job, *part)).collect::<Vec<_>>()
            };
            let mut all: Vec<(JobId, Taken)> = self.placed.iter().flat_map(of).collect();
            all.sort_unstable_by_key(|(job, it)| (it.share.pool, it.from, it.until, *job));
            all
        })
    }

    /// As pages want it.
    pub(crate) fn shown(&self) -> Arc<Plan> {
        let planned = |placed: &Placed| Planned {
            job: placed.job,
            start: placed.start,
            end: placed.end(),
            place: placed.place.clone(),
        };
        let make = || {
            let works = |placed: &&Arc<Placed>| !self.broken.contains(&placed.job);
            let jobs = self.placed.iter().filter(works).map(|placed| planned(placed)).collect();
            Arc::new(Plan { queue: self.queue, jobs })
        };
        Arc::clone(self.shown.get_or_init(make))
    }
}

fn late(taken: Taken, now: Time) -> Taken {
    let by = (now - taken.from).max(Span::ZERO);
    Taken { from: taken.from + by, until: taken.until + by, ..taken }
}

/// A plan that jobs can be added to.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The queue that is planned: as it was, and what was added.
    market: Market,
    tail: Tail,
    pub(crate) kept: Arc<Kept>,
}

/// A job that was submitted after a plan was made.
#[derive(Debug, Clone)]
pub(crate) struct New {
    pub(crate) job: JobId,
    pub(crate) demand: Demand,
    /// Whether it waits in the queue.
    pub(crate) waits: bool,
}

impl Draft {
    /// A plan from nothing. `None`: it was stopped.
    ///
    /// # Errors
    /// If the policy cannot look ahead.
    pub(crate) fn make(view: &MarketView, going: Going<'_>) -> Result<Option<Draft>, Refusal> {
        let begin = std::time::Instant::now();
        let market = &view.market;
        let policy = policies::read(&view.policy)?;
        let order = head(view, &policy);
        let forecast = forecast_of(view, &order, &policy, Limits::HORIZON, going)?;
        let mut placed: Vec<Arc<Placed>> = Vec::new();
        let mut rest: Vec<JobId> = Vec::new();
        for job in order.first.iter().copied() {
            match forecast.jobs.get(&job) {
                Some(fork::Outcome::Runs(runs)) => {
                    let mut parts: Vec<Taken> = forecast.taken_by(job).collect();
                    let until = parts.iter().map(|part| part.until).max().unwrap_or(runs.start);
                    let demand = market.demand(job).into_iter();
                    let time = (runs.start, until);
                    parts.extend(demand.flat_map(|it| licences_taken(market, it, time)));
                    let (start, place) = (runs.start, runs.place.clone());
                    placed.push(Arc::new(Placed { job, start, place, parts }));
                }
                Some(fork::Outcome::Refused { .. }) => {}
                Some(fork::Outcome::Open { .. }) | None => rest.push(job),
            }
        }
        let looked_at = (order.first.len() - rest.len()) as u64;
        rest.extend(order.rest);
        let mut tail = Tail::new(market, placed.iter().flat_map(|it| it.parts.iter().copied()));
        let mut behind = 0;
        for job in rest {
            if going().is_break() {
                return Ok(None);
            }
            if let Some(found) = tail.place(market, job) {
                behind += 1;
                placed.push(Arc::new(found));
            }
        }
        placed.sort_unstable_by_key(|placed| placed.job);
        let waiting = market.queue().len() as u64;
        let queue_as_of = market.now().0;
        let queue = QueuePlan { queue_as_of, waiting, looked_at, placed: behind };
        let kept = Kept {
            policy,
            version: market.version(),
            took: begin.elapsed(),
            queue,
            broken: broken(market, &placed),
            placed,
            taken: OnceLock::new(),
            shown: OnceLock::new(),
        };
        Ok(Some(Draft { market: market.clone(), tail, kept: Arc::new(kept) }))
    }

    /// Jobs that were submitted since, behind all others. `version`: the market's count of events,
    /// if nothing else has happened that was not planned.
    pub(crate) fn append(&mut self, new: Vec<New>, at: Time, version: Option<u64>) {
        let mut placed = self.kept.placed.clone();
        let QueuePlan { mut waiting, placed: mut behind, looked_at, .. } = self.kept.queue;
        let at = at.max(self.market.now());
        let passed = self.market.pass_to(at);
        self.tail.pass_to(at);
        for New { job, demand, waits } in new {
            let known = self.market.apply(&Event::Submitted { job, demand });
            if passed.is_err() || known.is_err() || !waits {
                continue;
            }
            waiting += 1;
            if let Some(found) = self.tail.place(&self.market, job) {
                behind += 1;
                placed.push(Arc::new(found));
            }
        }
        let before = &self.kept;
        let mut broken = before.broken.clone();
        broken.extend(self::broken(&self.market, &placed[before.placed.len()..]));
        let exact = version.filter(|_| is_exact(&before.policy, &self.market));
        self.kept = Arc::new(Kept {
            policy: before.policy.clone(),
            version: exact.unwrap_or(before.version),
            took: before.took,
            queue: QueuePlan { queue_as_of: at.0, waiting, looked_at, placed: behind },
            placed,
            broken,
            taken: OnceLock::new(),
            shown: OnceLock::new(),
        });
    }

    /// The next job's id, as far as the plan knows.
    pub(crate) fn submitted(&self) -> u32 {
        self.market.submitted()
    }
}

/// Whether a job that is added to a plan is where a plan from nothing would have it: one more job
/// changes nothing for those before it, and no outage is to come that may have to wait for jobs
/// which run.
pub(crate) fn is_exact(policy: &PolicySpec, market: &Market) -> bool {
    let has_begun = |id| market.closure_state(id).is_some_and(|(_, has_begun)| has_begun);
    policy.is_conservative() && market.outages().all(|(id, _)| has_begun(id))
}

/// The waiting jobs: those that are simulated, and the others, in the policy's order.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) first: Vec<JobId>,
    pub(crate) rest: Vec<JobId>,
}

/// Cuts the queue.
pub(crate) fn head(view: &MarketView, policy: &PolicySpec) -> Head {
    let waiting = view.market.queue().len();
    if waiting <= HEAD {
        return Head { first: view.market.queue().collect(), rest: Vec::new() };
    }
    let mut first = policy.order().ranked(&view.market, &view.used);
    let rest = first.split_off(HEAD);
    Head { first, rest }
}

/// The market with these of its waiting jobs alone.
fn only(market: &Market, first: &[JobId]) -> Result<Market, Refusal> {
    let first: BTreeSet<JobId> = first.iter().copied().collect();
    let mut state = market.state();
    state.jobs.retain(|it| it.running.is_some() || first.contains(&it.job));
    Market::restore(state)
        .map_err(|wrong| Refusal::new(RefusalKind::Conflict, wrong.to_string(), ""))
}

/// The first jobs of the queue, carried on under a policy, until `going` stops it.
///
/// # Errors
/// If the policy is not for these pools, or wants what cannot be.
pub(crate) fn forecast_of(
    view: &MarketView,
    head: &Head,
    policy: &PolicySpec,
    horizon: Span,
    going: Going<'_>,
) -> Result<Forecast, Refusal> {
    let made = policy.for_market(view.market.pools());
    let mut made = made.map_err(|wrong| unsuited(&wrong))?;
    let cut = match head.rest.is_empty() {
        true => None,
        false => Some(only(&view.market, &head.first)?),
    };
    let market = cut.as_ref().unwrap_or(&view.market);
    let mut watch = |_: Progress| going();
    let limits = Limits { horizon, ..Limits::default() };
    // No job loses nodes to hours or to an owner's load here, but to nodes that break.
    let beliefs = Beliefs { clash: Clash::Waits, ..Beliefs::default() };
    let done = fork::fork(market, &mut *made, &beliefs, limits, &mut watch);
    done.map_err(|wrong| Refusal::new(RefusalKind::Conflict, wrong.to_string(), "ask again"))
}

/// Jobs that need nodes which do not work: a forecast has them come back after a day.
fn broken(market: &Market, placed: &[Arc<Placed>]) -> BTreeSet<JobId> {
    let pools = market.pools();
    let works: Vec<u32> = pools.iter().map(|(id, _)| working(market, id)).collect();
    let all = pools.iter().all(|(id, pool)| works[id.index()] == pool.nodes);
    if all {
        return BTreeSet::new();
    }
    // Licences are no nodes.
    let works_in = |pool: PoolId| works.get(pool.index()).copied().unwrap_or(u32::MAX);
    let too_many = |it: &Taken| it.share.nodes > works_in(it.share.pool);
    let broken = placed.iter().filter(|it| it.parts.iter().any(too_many));
    broken.map(|it| it.job).collect()
}

/// Nodes of the pool that work, in use or not.
pub(crate) fn working(market: &Market, pool: PoolId) -> u32 {
    let here = dead(market).filter(|what| what.pool == pool).map(|what| what.nodes);
    market.pools().pool(pool).nodes.saturating_sub(here.sum())
}

/// Nodes that do not work, and those of sites that are not counted on: these are missing beyond
/// every horizon.
pub(crate) fn dead(market: &Market) -> impl Iterator<Item = Outage> {
    let far = market.now() + Limits::HORIZON;
    let closures = market.outages().map(|(_, what)| what);
    closures.filter(move |what| matches!(what.cause, Cause::Failure(_)) || what.until > far)
}

#[cfg(test)]
mod tests;
