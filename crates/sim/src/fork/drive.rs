//! A forecast: the engine's loop from a market that is in use, within limits.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use tradewind_model::{
    Cause, Demand, Event, JobId, Market, Outage, Place, Pool, PoolId, Price, Reason, Running,
    Share, Span, Time,
};
use tradewind_sched::free::Taken;
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::availability::missing_time;

use super::ahead::Ahead;
use super::totals::{self, ForecastStay};
use super::{Beliefs, Clash, Coming, Forecast, Limits, Outcome, Progress, Runs, Sold, Stopped};
use crate::SimError;
use crate::engine::{Engine, OutageTurn, World};

const OPEN: Outcome = Outcome::Open { reserved: None };

/// Asked before each pass whether to go on.
type Watch<'w> = &'w mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Goes on from `market` until a limit is reached.
pub(super) fn drive(
    market: &Market,
    policy: &mut dyn Policy,
    beliefs: &Beliefs,
    limits: Limits,
    watch: Watch<'_>,
) -> Result<Forecast, SimError> {
    let future = Future::new(market, beliefs);
    let mut engine = Engine::new(market.clone(), policy, future, market.history());
    engine.adopt();
    let stopped = engine.go_on(limits, watch)?;
    let until = engine.market.now();
    for (job, outcome) in &mut engine.world.jobs {
        if let Outcome::Open { reserved } = outcome {
            *reserved = engine.policy.reservation(*job);
        }
    }
    while let Some(end) = engine.pop_end(Time(i64::MAX)) {
        engine.pass_to(end.at)?;
        engine.end(end)?;
    }
    let Engine { market, world, passes, .. } = engine;
    Ok(world.into_forecast(&market, until, stopped, passes))
}

/// What is believed to come, and what happens to jobs.
struct Future {
    from: Time,
    beliefs: Beliefs,
    income: Vec<i128>,
    ahead: Ahead,
    jobs: BTreeMap<JobId, Outcome>,
    /// When jobs that waited at the fork or came later began to wait in this forecast.
    waits: BTreeMap<JobId, Time>,
    /// The nodes of jobs that ran already at the fork, and of those that started since.
    before: BTreeMap<JobId, Vec<Taken>>,
    sold: BTreeMap<JobId, Vec<Sold>>,
    /// What interrupted jobs had held.
    lost: Vec<Taken>,
}

impl<P: Policy> Engine<Future, P> {
    /// What runs and is announced at the fork.
    fn adopt(&mut self) {
        let running = self.market.running().map(|job| (job.start, job.job, job.shares().collect()));
        let mut running: Vec<(Time, JobId, Vec<Share>)> = running.collect();
        running.sort_by_key(|(start, job, _)| (*start, *job));
        for (start, job, shares) in running {
            let end = self.expect(job, start, || shares.iter().copied());
            self.world.adopt(&self.market, job, end);
        }
        let now = self.market.now();
        let closures: Vec<_> = self.market.outages().map(|(id, _)| id).collect();
        for id in closures {
            match self.market.closure_state(id) {
                Some((what, true)) => {
                    self.turn(missing_time(&what, true, now).1, OutageTurn::Reopens, id);
                }
                Some((what, false)) if what.until > now => {
                    self.turn(what.from.max(now), OutageTurn::Closes, id);
                }
                _ => {} // over before it began
            }
        }
    }

    fn go_on(&mut self, limits: Limits, watch: Watch<'_>) -> Result<Stopped, SimError> {
        let mut next = Some(self.market.now());
        while let Some(at) = next {
            if let Some(stopped) = self.enough(at, limits, watch) {
                return Ok(stopped);
            }
            self.pass_to(at)?;
            self.round()?;
            next = self.next_instant();
        }
        Ok(if self.market.queue().len() == 0 { Stopped::Done } else { Stopped::Stuck })
    }

    fn enough(&self, at: Time, limits: Limits, watch: Watch<'_>) -> Option<Stopped> {
        let progress = Progress { at, passes: self.passes, waiting: self.market.queue().len() };
        if at - self.world.from > limits.horizon {
            Some(Stopped::Horizon)
        } else if self.passes >= limits.passes {
            Some(Stopped::Passes)
        } else if self.looks >= limits.looks {
            Some(Stopped::Looks)
        } else {
            watch(progress).is_break().then_some(Stopped::Watcher)
        }
    }
}

impl Future {
    fn new(market: &Market, beliefs: &Beliefs) -> Future {
        let (runs, clash) = (beliefs.runs.clone(), beliefs.clash);
        let ahead = Ahead::of(beliefs, market);
        let from = market.now();
        let first = market.submitted();
        let ids = market.queue().chain((first..first + ahead.jobs()).map(JobId));
        Future {
            from,
            beliefs: Beliefs { runs, clash, ..Beliefs::default() },
            income: market.ledger().income().to_vec(),
            jobs: ids.map(|job| (job, OPEN)).collect(),
            ahead,
            waits: market.queue().map(|job| (job, from)).collect(),
            before: BTreeMap::new(),
            sold: BTreeMap::new(),
            lost: Vec::new(),
        }
    }

    /// A job ran already at the fork.
    fn adopt(&mut self, market: &Market, job: JobId, end: Time) {
        let Some(run) = market.run_of(job) else { return };
        let nodes = self.nodes(market, &run);
        self.before.insert(job, nodes);
        self.follow(market, &run, run.place.clone(), end);
    }

    /// The nodes of a job that runs, until they come back.
    fn nodes(&self, market: &Market, run: &Running<'_>) -> Vec<Taken> {
        let elapsed = market.now() - run.start;
        let part = |share: Share| {
            let pool = market.pools().pool(share.pool);
            let length = self.beliefs.length(market, run.job, pool, elapsed);
            Taken { share, from: run.start, until: run.start + length, memory: 0 }
        };
        run.shares().map(part).collect()
    }

    fn follow(&mut self, market: &Market, run: &Running<'_>, place: Place, end: Time) {
        let cost = market.paid(run.job);
        self.jobs.insert(run.job, Outcome::Runs(Runs { start: run.start, end, place, cost }));
    }

    /// A job lost its nodes, which it held without success until now.
    fn interrupt(&mut self, job: JobId, now: Time) {
        self.jobs.insert(job, OPEN);
        self.waits.entry(job).or_insert(now);
        let sold = self.sold.remove(&job).unwrap_or_default();
        let held = self.before.remove(&job).unwrap_or_default();
        let held = sold.iter().map(|it| it.taken).chain(held);
        self.lost.extend(held.map(|part| Taken { until: part.until.min(now), ..part }));
    }

    fn into_forecast(
        self,
        market: &Market,
        until: Time,
        stopped: Stopped,
        passes: u64,
    ) -> Forecast {
        let Future { from, income, jobs, waits, before, sold, lost, .. } = self;
        let stay = |(job, since): (&JobId, &Time)| {
            let runs = jobs.get(job).and_then(Outcome::runs)?;
            Some(ForecastStay { since: *since, start: runs.start, end: runs.end })
        };
        let stays: Vec<ForecastStay> = waits.iter().filter_map(stay).collect();
        let since = sold.values().flatten().map(|it| &it.taken);
        let held = before.values().flatten().chain(since).chain(&lost);
        let earned = market.ledger().income().iter().zip(&income);
        let earned = earned.map(|(after, before)| after - before).collect();
        let totals = totals::add_up(market, from, &jobs, &stays, held, earned);
        Forecast { from, until, stopped, passes, jobs, totals, sold }
    }
}

impl World for Future {
    /// The forecast's own limits end it.
    const PATIENCE: u32 = u32::MAX;

    fn next_job(&self) -> Option<Time> {
        self.ahead.next_job()
    }

    fn next_news(&self) -> Option<Time> {
        self.ahead.next_news()
    }

    /// Nothing more can happen to any job, whatever the policy asks for.
    fn is_over(&self, _wake: Option<Time>) -> bool {
        true
    }

    fn outage(&mut self, now: Time) -> Option<Outage> {
        self.ahead.outage(now).map(|outage| outage.what)
    }

    fn prices(&mut self, market: &Market) -> Vec<(PoolId, Price)> {
        std::iter::from_fn(|| self.ahead.price(market.now())).collect()
    }

    fn job(&mut self, job: JobId, now: Time) -> Option<Demand> {
        let Coming { demand, run, .. } = self.ahead.job(now)?;
        self.beliefs.runs.insert(job, run);
        self.waits.insert(job, now);
        Some(demand)
    }

    fn length(&self, market: &Market, job: JobId, pool: &Pool, elapsed: Span) -> Span {
        self.beliefs.length(market, job, pool, elapsed)
    }

    fn interrupts(&self, what: &Outage) -> bool {
        self.beliefs.clash == Clash::Interrupts || matches!(what.cause, Cause::Failure(_))
    }

    fn happened(&mut self, market: &Market, event: &Event) -> Result<(), SimError> {
        match event {
            Event::Ended { job } => {
                if let Some(Outcome::Runs(runs)) = self.jobs.get_mut(job) {
                    runs.cost = market.paid(*job);
                }
            }
            Event::Interrupted { job } => self.interrupt(*job, market.now()),
            _ => {}
        }
        Ok(())
    }

    fn started(&mut self, market: &Market, job: JobId, place: Place, end: Time) {
        let Some(run) = market.run_of(job) else { return };
        let sold = self.nodes(market, &run).into_iter().zip(run.prices());
        let sold = sold.map(|(taken, price)| Sold { taken, price }).collect();
        self.sold.insert(job, sold);
        self.follow(market, &run, place, end);
    }

    fn refused(&mut self, market: &Market, job: JobId, reason: Reason) {
        let (at, reason) = (market.now(), Box::new(reason));
        self.jobs.insert(job, Outcome::Refused { at, reason });
    }

    fn passed(&mut self, _market: &Market, _policy: &dyn Policy) -> Result<(), SimError> {
        Ok(())
    }
}
