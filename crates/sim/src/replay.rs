//! Replays: the jobs of a workload under a policy.
//!
//! What happens in which order within a second, and when the policy is asked, depends on the
//! [`Semantics`].

use std::collections::BTreeMap;
use std::ops::Deref;

use tradewind_model::{
    Demand, Event, JobId, Market, Notice, Outage, Place, Pool, PoolId, Price, Reason, Span, Time,
};
use tradewind_sched::policy::availability::expected_length;
use tradewind_sched::policy::{Policy, Promise};

use crate::SimError;
use crate::check::{Checker, Violation};
use crate::engine::{End, Engine, World, earlier};
use crate::estimate::{Estimate, Estimator};
use crate::feedback::Feed;
use crate::owners::Owners;
use crate::posting::Postings;
use crate::result::{LossCause, Lost, Ran, Run, Struck};
use crate::semantics::Semantics;
use crate::workload::Workload;

/// How to replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplaySettings {
    /// The order within a second.
    pub semantics: Semantics,
    /// The run times that the policy expects.
    pub estimate: Estimate,
}

/// Replays the workload. Deterministic; O(log n) per event beside the policy's own work, and a look
/// ahead ([`SiteQueue::look_ahead`](tradewind_sched::policy::owners::SiteQueue::look_ahead)) for
/// each event that changes the queue of a site's owners. Pyss semantics leave owners out. Where jobs are
/// linked, indices of jobs in the result are those of [`Run::submitted`].
///
/// # Errors
/// When the policy misbehaves or a checker objects.
pub fn run(
    workload: &Workload,
    settings: ReplaySettings,
    policy: &mut dyn Policy,
    checkers: &mut [Box<dyn Checker>],
) -> Result<Run, SimError> {
    let from = beginning(workload);
    let market = Market::new(workload.pools.clone(), from);
    let mut replay = Replay::new(workload, settings, checkers, from);
    if settings.semantics == Semantics::Textbook {
        replay.owners = Owners::new(&workload.owners, &workload.pools);
    }
    let mut engine = Engine::new(market, policy, replay, Vec::new());
    while let Some(at) = engine.next_instant() {
        if at > engine.market.now() {
            engine.world.close_second(&engine.market);
        }
        engine.pass_to(at)?;
        match settings.semantics {
            Semantics::Textbook => engine.round()?,
            Semantics::Pyss => engine.pyss_instant()?,
        }
    }
    engine.finish()
}

/// The moment of the first news.
pub(crate) fn beginning(workload: &Workload) -> Time {
    let submit = workload.jobs.first().map(|job| job.submit);
    let told = workload.outages.first().map(|outage| outage.announced);
    let owners = workload.owners.iter().filter_map(|load| load.jobs.first()).map(|job| job.submit);
    submit.into_iter().chain(told).chain(owners).min().unwrap_or(Time(0))
}

/// A workload on its way through a replay; borrowed, or shared.
pub(crate) struct Replay<'a, L = &'a Workload, C = &'a mut [Box<dyn Checker>]> {
    workload: L,
    semantics: Semantics,
    checkers: C,
    /// The order of submissions.
    feed: Feed,
    /// Outages announced so far; in the workload's order.
    announced: usize,
    estimator: Estimator,
    /// Pyss: jobs that ended in this second before their turn.
    early: Vec<JobId>,
    pub(crate) jobs: Vec<Ran>,
    /// Who started in this second.
    begun: Vec<JobId>,
    trades: Vec<Struck>,
    lost: Vec<Lost>,
    /// Running jobs that were given notice.
    noticed: BTreeMap<JobId, Notice>,
    /// By job: the work that interrupted runs have kept.
    kept: BTreeMap<usize, Span>,
    /// The widths of moldable jobs that started.
    molded: BTreeMap<JobId, u32>,
    postings: Postings,
    owners: Owners<'a>,
}

impl<'a, L, C> Replay<'a, L, C>
where
    L: Deref<Target = Workload>,
    C: AsMut<[Box<dyn Checker>]>,
{
    /// Without owners' jobs.
    pub(crate) fn new(
        workload: L,
        settings: ReplaySettings,
        checkers: C,
        from: Time,
    ) -> Replay<'a, L, C> {
        Replay {
            semantics: settings.semantics,
            checkers,
            feed: Feed::new(&workload.jobs, &workload.links),
            announced: 0,
            estimator: Estimator::new(settings.estimate),
            early: Vec::new(),
            jobs: vec![Ran::nothing(from); workload.jobs.len()],
            begun: Vec::new(),
            trades: Vec::new(),
            lost: Vec::new(),
            noticed: BTreeMap::new(),
            kept: BTreeMap::new(),
            molded: BTreeMap::new(),
            postings: Postings::new(&workload.pools, from),
            owners: Owners::new(&[], &workload.pools),
            workload,
        }
    }

    /// A job lost its nodes.
    fn lose(&mut self, market: &Market, job: JobId) {
        let (now, notice, index) = (market.now(), self.noticed.remove(&job), job.index());
        let Ran { start, place, .. } = self.jobs[index].clone();
        let before = self.kept.get(&index).copied().unwrap_or_default();
        // As the run began: by now the market asks for the rest.
        let demand = market.demand(job).map(|demand| demand.with_kept(before));
        let cut = demand.map(|it| it.cut(market.pools(), &place, (start, now), notice));
        let cut = cut.unwrap_or_default();
        let cause = match notice.is_some_and(|it| it.leaves <= now) {
            true => LossCause::Preemption,
            false => LossCause::Outage,
        };
        if cut.progress > Span::ZERO {
            self.kept.insert(index, before + cut.progress);
        }
        self.lost.push(Lost { job: index, start, end: now, place, cause, before, cut });
    }

    /// A job that ended has its turn to be learned from, if it has not had it.
    fn learn(&mut self, job: JobId, now: Time) {
        if let Some(at) = self.early.iter().position(|other| *other == job) {
            self.early.remove(at);
            self.estimator.ended(job, self.feed.job(&self.workload.jobs, job), now);
        }
    }

    /// A job was backfilled if one that was submitted earlier waits when the second is over: the
    /// order of starts within it is the policy's own affair.
    pub(crate) fn close_second(&mut self, market: &Market) {
        let head = market.head();
        for job in self.begun.drain(..) {
            self.jobs[job.index()].backfilled = head.is_some_and(|head| head < job);
        }
    }
}

fn objection(at: Time) -> impl FnOnce(Violation) -> SimError {
    move |violation| SimError::Check { at, violation }
}

impl<L, C> World for Replay<'_, L, C>
where
    L: Deref<Target = Workload>,
    C: AsMut<[Box<dyn Checker>]>,
{
    const PATIENCE: u32 = 10_000;

    fn next_job(&self) -> Option<Time> {
        self.feed.next(&self.workload.jobs)
    }

    fn next_news(&self) -> Option<Time> {
        let outage = self.workload.outages.get(self.announced).map(|outage| outage.announced);
        earlier(earlier(outage, self.owners.next()), self.postings.next())
    }

    /// The policy has the last word, once the owners' jobs have ended.
    fn is_over(&self, wake: Option<Time>) -> bool {
        wake.is_none() && self.owners.is_over()
    }

    fn outage(&mut self, now: Time) -> Option<Outage> {
        let next = self.workload.outages.get(self.announced);
        let next = next.filter(|outage| outage.announced <= now)?;
        self.announced += 1;
        Some(next.what)
    }

    fn posted(&mut self, market: &Market) -> Option<Vec<(PoolId, Price)>> {
        self.postings.post(market)
    }

    fn prices(&mut self, market: &Market) -> Vec<(PoolId, Price)> {
        market.prices_by_load()
    }

    fn job(&mut self, job: JobId, now: Time) -> Option<Demand> {
        let next = self.feed.take(&self.workload.jobs, now)?;
        let (estimate, correction) = self.estimator.of(job, next, now);
        let terms = next.terms.clone();
        Some(Demand { processors: next.processors, estimate, correction, expected: None, terms })
    }

    fn end_of_owners(&mut self, market: &Market) -> Option<Event> {
        self.owners.end(market.now())
    }

    fn of_owners(&mut self, market: &Market) -> Option<Event> {
        self.owners.event(market)
    }

    fn lines(&mut self, market: &Market) -> Vec<Event> {
        self.owners.lines(market)
    }

    fn length(&self, market: &Market, job: JobId, pool: &Pool, _elapsed: Span) -> Span {
        let logged = self.feed.job(&self.workload.jobs, job);
        let Some(demand) = market.demand(job).filter(|demand| demand.terms.is_some()) else {
            return logged.length_in(pool);
        };
        match demand.terms().preemptible {
            _ if demand.is_moldable() => logged.in_shape(demand.processors).length_in(pool),
            Some(it) => logged.length_after(it.kept, pool),
            None => logged.length_in(pool),
        }
    }

    fn interrupts(&self, _what: &Outage) -> bool {
        true
    }

    fn happened(&mut self, market: &Market, event: &Event) -> Result<(), SimError> {
        let now = market.now();
        for checker in self.checkers.as_mut() {
            checker.event(market, event).map_err(objection(now))?;
        }
        self.owners.happened(market, event);
        self.postings.happened(market, event);
        self.estimator.happened(event, now);
        match event {
            Event::Ended { job } => {
                self.early.push(*job);
                if self.semantics == Semantics::Textbook {
                    self.learn(*job, now);
                }
                self.jobs[job.index()].cost = market.paid(*job);
                self.feed.over(&self.workload.jobs, *job, now);
            }
            // A job that leaves the queue of a site has lost nothing.
            Event::Noticed { job, .. } => {
                let notice = market.run_of(*job).and_then(|run| run.notice());
                self.noticed.extend(notice.map(|notice| (*job, notice)));
            }
            Event::Interrupted { job } if !self.owners.has_withdrawn(*job) => {
                self.lose(market, *job);
            }
            Event::Traded { job, trade } => {
                let pools = market.pools();
                let by_load = pools.load_price(trade.pool).map(|_| pools.pool(trade.pool).price);
                let trade = trade.clone();
                self.trades.push(Struck { job: job.index(), at: now, trade, by_load });
            }
            _ => {}
        }
        Ok(())
    }

    fn started(&mut self, market: &Market, job: JobId, place: Place, end: Time) {
        let ran = &mut self.jobs[job.index()];
        (ran.start, ran.end, ran.place) = (market.now(), end, place);
        if let Some(demand) = market.demand(job).filter(|demand| demand.is_moldable()) {
            self.molded.insert(job, demand.processors);
        }
        self.begun.push(job);
    }

    fn refused(&mut self, market: &Market, job: JobId, reason: Reason) {
        let (now, ran) = (market.now(), &mut self.jobs[job.index()]);
        (ran.start, ran.end, ran.refused) = (now, now, Some(Box::new(reason)));
        self.feed.over(&self.workload.jobs, job, now);
    }

    fn passed(&mut self, market: &Market, policy: &dyn Policy) -> Result<(), SimError> {
        for checker in self.checkers.as_mut() {
            checker.pass(market, policy).map_err(objection(market.now()))?;
        }
        Ok(())
    }
}

impl<L, C, P> Engine<Replay<'_, L, C>, P>
where
    L: Deref<Target = Workload>,
    C: AsMut<[Box<dyn Checker>]>,
    P: Policy,
{
    fn pyss_instant(&mut self) -> Result<(), SimError> {
        let now = self.market.now();
        let before = self.events.len();
        self.post()?;
        let has_posted = self.events.len() > before;
        let ends: Vec<End> = std::iter::from_fn(|| self.pop_end(now)).collect();
        for end in &ends {
            if self.is_on_time(end) {
                self.end(*end)?;
            }
        }
        let before = self.events.len();
        self.leave()?;
        self.outages()?;
        if has_posted || self.events.len() > before {
            self.pyss_pass()?;
        }
        while self.submit_next()? {
            self.pyss_pass()?;
        }
        for end in &ends {
            // An outage of this second may have come before.
            if !self.is_on_time(end) {
                self.end(*end)?;
            }
            self.world.learn(end.job, now);
            self.pyss_pass()?;
        }
        self.pyss_wake(now)
    }

    fn pyss_pass(&mut self) -> Result<(), SimError> {
        self.prices()?;
        self.pass()
    }

    /// The policy asked for this moment. For EASY on one cluster, that a prediction falls short is no
    /// reason for a pass: the study made none. Checkers look, because beliefs have changed.
    fn pyss_wake(&mut self, now: Time) -> Result<(), SimError> {
        if self.wake.is_none_or(|at| at > now) {
            return Ok(());
        }
        let easy = self.policy.promise() == Promise::Head;
        if easy && self.world.estimator.may_fall_short() && self.falls_short(now) {
            self.wake = None;
            return self.world.passed(&self.market, &self.policy);
        }
        self.pyss_pass()
    }

    /// Whether a job was expected to end now and runs on.
    fn falls_short(&self, now: Time) -> bool {
        let pools = self.market.pools();
        self.market.running().any(|job| {
            let before = Span((now - job.start).0 - 1);
            let length = |pool| expected_length(pools.pool(pool), job.demand, before);
            before >= Span::ZERO && job.shares().any(|share| job.start + length(share.pool) == now)
        })
    }

    /// Whether the job ends exactly when the policy, on one cluster, expects it to.
    fn is_on_time(&self, end: &End) -> bool {
        let Some(demand) = self.market.demand(end.job) else { return false };
        let run = end.at - self.world.jobs[end.job.index()].start;
        let believed = |pool: &Pool| expected_length(pool, demand, Span(run.0 - 1)) == run;
        self.market.pools().as_slice().first().is_some_and(believed)
    }

    pub(crate) fn finish(mut self) -> Result<Run, SimError> {
        self.world.close_second(&self.market);
        if self.market.queue().len() + self.market.lined().len() > 0 {
            return Err(self.stuck());
        }
        let Engine { market, policy, mut world, passes, .. } = self;
        for checker in world.checkers.as_mut() {
            checker.finish(&market).map_err(objection(market.now()))?;
        }
        let Replay { jobs, trades, lost, kept, owners, feed, molded, workload, .. } = world;
        let mut submitted = feed.finish();
        if submitted.is_empty() && !molded.is_empty() {
            submitted.clone_from(&workload.jobs);
        }
        for (job, width) in molded {
            submitted[job.index()] = submitted[job.index()].in_shape(width);
        }
        let owners = owners.finish();
        let (income, counts) = (market.ledger().income().to_vec(), policy.counts());
        Ok(Run { jobs, submitted, trades, lost, kept, income, passes, owners, counts })
    }
}
