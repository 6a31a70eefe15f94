//! Replays of long logs in little memory: jobs come one by one and go when they have ended.
//!
//! The same engine as [`crate::run`], and the same starts. What is kept of a job is gone once
//! the second in which it ended is over, in the market too, so memory grows with the jobs that
//! wait and run at a time, not with the log: 8 bytes remain for each 256 jobs. Semantics are
//! [`Textbook`](crate::Semantics::Textbook); there are no outages, owners or checkers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tradewind_model::{
    Demand, Event, JobId, Market, Outage, Place, Pool, PoolId, Pools, Price, Reason, Span, Time,
};
use tradewind_sched::policy::Policy;

use crate::engine::{Engine, SimError, World};
use crate::estimate::{Estimate, Estimator};
use crate::result::Ran;
use crate::workload::Job;

/// Why a replay of a stream stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError<E> {
    /// The replay itself.
    #[error(transparent)]
    Replay(#[from] SimError),
    /// Where the jobs come from.
    #[error("{0}")]
    Source(E),
    /// A job comes after one that was submitted later.
    #[error("job {number} was submitted at {submit}, before the job ahead of it ({ahead})")]
    Order {
        /// The log's number for it.
        number: i64,
        /// When it was submitted.
        submit: Time,
        /// When the job ahead of it was submitted.
        ahead: Time,
    },
    /// A job is wider than the machine.
    #[error("job {number} wants {wanted} processors of {there}")]
    TooWide {
        /// The log's number for it.
        number: i64,
        /// How many it wants.
        wanted: u32,
        /// How many there are.
        there: u32,
    },
}

/// What a replay of a stream leaves, beside what its caller keeps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Streamed {
    /// Jobs that came.
    pub jobs: u64,
    /// Calls of the policy.
    pub passes: u64,
    /// The most jobs that waited or ran at a time.
    pub most_at_once: usize,
    /// The most jobs that waited at the end of a second.
    pub most_waiting: usize,
    /// The most work that waited at the end of a second, in node-seconds.
    pub most_waiting_work: i128,
    /// By site: what its owner earned, in micro-credits.
    pub income: Vec<i128>,
}

/// Replays jobs as they come from `source`, in the order of submission; of those submitted at once
/// the lower number is first. Each job goes to `done` with its place in the order of submissions and
/// what happened to it, in the order of ends;
/// jobs that end in the same second, in the order of their ends' events. Starts, places and costs are
/// those of [`crate::run`] on all of the jobs.
///
/// # Errors
/// Those of the source and of the policy; jobs that are out of order or too wide. The jobs before
/// the wrong one go to `done` first.
pub fn stream<E>(
    pools: Arc<Pools>,
    source: &mut dyn Iterator<Item = Result<Job, E>>,
    estimate: Estimate,
    policy: &mut dyn Policy,
    done: &mut dyn FnMut(JobId, Job, Ran),
) -> Result<Streamed, StreamError<E>> {
    let mut incoming = Incoming {
        source,
        processors: pools.nodes(),
        group: VecDeque::new(),
        next: None,
        error: None,
        last: Time(i64::MIN),
    };
    incoming.read_on();
    let from = incoming.group.front().map_or(Time(0), |job| job.submit);
    let world = Streaming {
        incoming,
        estimator: Estimator::new(estimate),
        there: BTreeMap::new(),
        begun: Vec::new(),
        ended: Vec::new(),
        waiting_work: 0,
        totals: Streamed::default(),
        done,
    };
    let mut engine = Engine::new(Market::new(pools, from), policy, world, Vec::new());
    while let Some(at) = engine.next_instant() {
        if at > engine.market.now() {
            engine.close_second();
        }
        engine.pass_to(at)?;
        engine.round()?;
    }
    engine.close_second();
    if engine.market.queue().len() > 0 {
        return Err(engine.stuck().into());
    }
    let Engine { market, world, passes, .. } = engine;
    match world.incoming.error {
        Some(error) => Err(error),
        None => {
            let income = market.ledger().income().to_vec();
            Ok(Streamed { passes, income, ..world.totals })
        }
    }
}

/// Jobs that are still to come.
struct Incoming<'a, E> {
    source: &'a mut dyn Iterator<Item = Result<Job, E>>,
    processors: u32,
    /// All jobs of the next moment, in the order of their numbers.
    group: VecDeque<Job>,
    /// The first of the moment after that.
    next: Option<Job>,
    /// What ended the stream before its time.
    error: Option<StreamError<E>>,
    /// The last submission that was read.
    last: Time,
}

impl<E> Incoming<'_, E> {
    fn pop(&mut self) -> Option<Job> {
        let job = self.group.pop_front();
        if self.group.is_empty() {
            self.read_on();
        }
        job
    }

    /// Reads all jobs of the next moment.
    fn read_on(&mut self) {
        let first = self.next.take().or_else(|| self.read());
        let Some(first) = first else { return };
        let at = first.submit;
        self.group.push_back(first);
        self.next = loop {
            match self.read() {
                Some(job) if job.submit == at => self.group.push_back(job),
                other => break other,
            }
        };
        self.group.make_contiguous().sort_by_key(|job| job.number);
    }

    fn read(&mut self) -> Option<Job> {
        if self.error.is_some() {
            return None;
        }
        let error = match self.source.next()? {
            Err(error) => StreamError::Source(error),
            Ok(Job { number, submit, .. }) if submit < self.last => {
                StreamError::Order { number, submit, ahead: self.last }
            }
            Ok(Job { number, processors: wanted, .. }) if wanted > self.processors => {
                StreamError::TooWide { number, wanted, there: self.processors }
            }
            Ok(job) => {
                self.last = job.submit;
                return Some(job);
            }
        };
        self.error = Some(error);
        None
    }
}

/// A stream on its way through a replay.
struct Streaming<'a, E> {
    incoming: Incoming<'a, E>,
    estimator: Estimator,
    /// Jobs that wait or run.
    there: BTreeMap<JobId, (Job, Ran)>,
    /// Jobs that started in this second.
    begun: Vec<JobId>,
    /// Jobs that ended in this second, or were refused.
    ended: Vec<JobId>,
    /// What waits, in node-seconds.
    waiting_work: i128,
    totals: Streamed,
    done: &'a mut dyn FnMut(JobId, Job, Ran),
}

/// Processors × run, in node-seconds.
fn work(job: &Job) -> i128 {
    i128::from(job.processors) * i128::from(job.run.0)
}

impl<E> Streaming<'_, E> {
    fn ran(&mut self, job: JobId) -> Option<&mut Ran> {
        self.there.get_mut(&job).map(|(_, ran)| ran)
    }

    /// The same; the job waits no more.
    fn leaves(&mut self, job: JobId) -> Option<&mut Ran> {
        let (of, ran) = self.there.get_mut(&job)?;
        self.waiting_work -= work(of);
        Some(ran)
    }
}

impl<E, P: Policy> Engine<Streaming<'_, E>, P> {
    /// Jobs that started are known to have been backfilled or not, and jobs that ended go.
    fn close_second(&mut self) {
        let (head, waiting) = (self.market.head(), self.market.queue().len());
        let world = &mut self.world;
        let totals = &mut world.totals;
        totals.most_waiting = totals.most_waiting.max(waiting);
        totals.most_waiting_work = totals.most_waiting_work.max(world.waiting_work);
        for job in std::mem::take(&mut world.begun) {
            if let Some(ran) = world.ran(job) {
                ran.backfilled = head.is_some_and(|head| head < job);
            }
        }
        for id in world.ended.drain(..) {
            if let Some((job, ran)) = world.there.remove(&id) {
                (world.done)(id, job, ran);
            }
            self.market.forget(id);
        }
    }
}

impl<E> World for Streaming<'_, E> {
    const PATIENCE: u32 = 10_000;

    fn next_job(&self) -> Option<Time> {
        self.incoming.group.front().map(|job| job.submit)
    }

    fn next_news(&self) -> Option<Time> {
        None
    }

    /// The policy has the last word.
    fn is_over(&self, wake: Option<Time>) -> bool {
        wake.is_none()
    }

    fn outage(&mut self, _now: Time) -> Option<Outage> {
        None
    }

    fn prices(&mut self, _market: &Market) -> Vec<(PoolId, Price)> {
        Vec::new()
    }

    fn job(&mut self, job: JobId, now: Time) -> Option<Demand> {
        self.incoming.group.front().filter(|job| job.submit <= now)?;
        let next = self.incoming.pop()?;
        let (estimate, correction) = self.estimator.of(job, &next, now);
        let (processors, terms) = (next.processors, next.terms.clone());
        self.waiting_work += work(&next);
        self.there.insert(job, (next, Ran::nothing(now)));
        self.totals.jobs += 1;
        self.totals.most_at_once = self.totals.most_at_once.max(self.there.len());
        Some(Demand { processors, estimate, correction, expected: None, terms })
    }

    fn length(&self, _market: &Market, job: JobId, pool: &Pool, _elapsed: Span) -> Span {
        self.there.get(&job).map_or(Span(1), |(job, _)| job.length_in(pool))
    }

    fn interrupts(&self, _what: &Outage) -> bool {
        true
    }

    fn happened(&mut self, market: &Market, event: &Event) -> Result<(), SimError> {
        let now = market.now();
        self.estimator.happened(event, now);
        if let Event::Ended { job } = event {
            if let Some((what, ran)) = self.there.get_mut(job) {
                self.estimator.ended(*job, what, now);
                ran.cost = market.paid(*job);
            }
            self.ended.push(*job);
        }
        Ok(())
    }

    fn started(&mut self, market: &Market, job: JobId, place: Place, end: Time) {
        if let Some(ran) = self.leaves(job) {
            (ran.start, ran.end, ran.place) = (market.now(), end, place);
        }
        self.begun.push(job);
    }

    fn refused(&mut self, market: &Market, job: JobId, reason: Reason) {
        let now = market.now();
        if let Some(ran) = self.leaves(job) {
            (ran.start, ran.end, ran.refused) = (now, now, Some(Box::new(reason)));
        }
        self.ended.push(job);
    }

    fn passed(&mut self, _market: &Market, _policy: &dyn Policy) -> Result<(), SimError> {
        Ok(())
    }
}
