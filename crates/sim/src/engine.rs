//! The discrete-event engine: virtual time in whole seconds, one market, one policy.
//!
//! Events are ordered by time, then class, then sequence. A replay ([`crate::run`]) begins with an
//! empty market, a forecast ([`crate::fork`](fn@crate::fork::fork)) with one that is in use;
//! what comes from outside, and what is written down, is the business of a [`World`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tradewind_model::{
    Cause, Command, Demand, Event, JobId, Market, MarketError, Outage, OutageId, Place, Pool,
    PoolId, Price, Reason, Share, Span, Time,
};
use tradewind_sched::policy::Policy;

use crate::check::Violation;
use crate::outage;

/// Why a replay stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A policy asked for what cannot be.
    #[error("at {at}: {error}")]
    Market {
        /// The moment in simulated or market time.
        at: Time,
        /// What the market reported.
        error: MarketError,
    },
    /// A checker found a broken promise.
    #[error("at {at}: {violation}")]
    Check {
        /// The moment in simulated or market time.
        at: Time,
        /// The violated property.
        violation: Violation,
    },
    /// Jobs wait, nothing runs, and the policy does nothing.
    #[error("at {at}: the policy leaves {waiting} jobs waiting for ever")]
    Stuck {
        /// The moment in simulated or market time.
        at: Time,
        /// Number of jobs that still wait.
        waiting: usize,
    },
}

/// What happens around the market, and what is written down of it. Queries for `now` are asked
/// until they answer `None`; times never go back.
pub(crate) trait World {
    /// How often in a row the policy may be woken when nothing can happen any more.
    const PATIENCE: u32;

    /// When the next job is submitted.
    fn next_job(&self) -> Option<Time>;
    /// When the next outage is announced, or a price changes.
    fn next_news(&self) -> Option<Time>;
    /// Whether the end is reached once no job waits, runs or is to come, and the policy asks to
    /// be asked again at `wake`.
    fn is_over(&self, wake: Option<Time>) -> bool;

    /// The next outage that is announced by `now`. It gets the market's next id.
    fn outage(&mut self, now: Time) -> Option<Outage>;
    /// Prices that are made again before anything else happens in this second, if it is their moment:
    /// those that change.
    fn posted(&mut self, _market: &Market) -> Option<Vec<(PoolId, Price)>> {
        None
    }
    /// Prices that are asked from now on.
    fn prices(&mut self, market: &Market) -> Vec<(PoolId, Price)>;
    /// What the next job asks for, if it is submitted by `now`. It is then `job`.
    fn job(&mut self, job: JobId, now: Time) -> Option<Demand>;

    /// An owner's job that ends now: its nodes are back. It is applied at once, before the next
    /// question.
    fn end_of_owners(&mut self, _market: &Market) -> Option<Event> {
        None
    }

    /// What happens now by the schedulers of sites whose owners have jobs of their own. It is applied
    /// at once, before the next question.
    fn of_owners(&mut self, _market: &Market) -> Option<Event> {
        None
    }

    /// Jobs that go to the queue of a site's own scheduler, or leave it for the market's queue. Asked
    /// once the policy has decided.
    fn lines(&mut self, _market: &Market) -> Vec<Event> {
        Vec::new()
    }

    /// How long the job runs on nodes of the pool in all, if it has been there for `elapsed`.
    fn length(&self, market: &Market, job: JobId, pool: &Pool, elapsed: Span) -> Span;
    /// Whether running jobs are interrupted where such an outage begins.
    fn interrupts(&self, what: &Outage) -> bool;

    /// Something happened, and the market knows.
    fn happened(&mut self, market: &Market, event: &Event) -> Result<(), SimError>;
    /// A job started now, until `end`. [`World::happened`] was called.
    fn started(&mut self, market: &Market, job: JobId, place: Place, end: Time);
    /// A job was refused. [`World::happened`] was called.
    fn refused(&mut self, market: &Market, job: JobId, reason: Reason);
    /// All that the policy asked for is done.
    fn passed(&mut self, market: &Market, policy: &dyn Policy) -> Result<(), SimError>;
}

/// Tasks that end: in the order of time, then of starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    pub(crate) at: Time,
    sequence: u32,
    pub(crate) job: JobId,
    /// `None`: the job's last ones.
    only: Option<PoolId>,
    /// Which of the job's starts this belongs to.
    pub(crate) attempt: u32,
}

/// The turn of an outage, in the order within a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OutageTurn {
    Reopens,
    Closes,
}

/// The earlier of two moments, if there is any. Every pass asks for several: iterators are slow.
pub(crate) fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

/// A market, the policy that decides for it, and its world.
pub(crate) struct Engine<W, P> {
    pub(crate) market: Market,
    pub(crate) policy: P,
    pub(crate) world: W,
    ends: BinaryHeap<Reverse<End>>,
    turns: BinaryHeap<Reverse<(Time, OutageTurn, OutageId)>>,
    /// When jobs leave that were given notice, each with its start.
    leaving: BinaryHeap<Reverse<(Time, JobId, u32)>>,
    /// What should have begun, and waits for nodes; called off, as far as policies know.
    late: Vec<Outage>,
    pub(crate) wake: Option<Time>,
    started: u32,
    /// Of jobs that were interrupted: how often.
    attempts: BTreeMap<JobId, u32>,
    /// Calls of the policy.
    pub(crate) passes: u64,
    /// Waiting jobs, summed over the calls of the policy.
    pub(crate) looks: u64,
    /// Passes in a row that the policy asked for and did nothing with.
    idle: u32,
    /// Whether prices were made again in this round, and stayed.
    posts_alone: bool,
    /// Events that the policy has not seen, and a buffer for its answer.
    pub(crate) events: Vec<Event>,
    commands: Vec<Command>,
}

impl<W: World, P: Policy> Engine<W, P> {
    /// `events` are what the policy gets first.
    pub(crate) fn new(market: Market, policy: P, world: W, events: Vec<Event>) -> Engine<W, P> {
        Engine {
            market,
            policy,
            world,
            ends: BinaryHeap::new(),
            turns: BinaryHeap::new(),
            leaving: BinaryHeap::new(),
            late: Vec::new(),
            wake: None,
            started: 0,
            attempts: BTreeMap::new(),
            passes: 0,
            looks: 0,
            idle: 0,
            posts_alone: false,
            events,
            commands: Vec::new(),
        }
    }

    /// When something happens next, if anything does that jobs wait for.
    pub(crate) fn next_instant(&self) -> Option<Time> {
        let now = self.market.now();
        let submit = self.world.next_job().map(|at| at.max(now));
        let end = self.ends.peek().map(|Reverse(end)| end.at);
        let leaves = self.leaving.peek().map(|Reverse((at, ..))| *at);
        let work = earlier(submit, earlier(end, leaves));
        if work.is_none() && self.market.queue().len() == 0 && self.world.is_over(self.wake) {
            return None; // outages alone are of no interest
        }
        let turn = self.turns.peek().map(|Reverse((at, ..))| *at);
        let news = self.world.next_news().map(|at| at.max(now));
        earlier(earlier(work, self.wake), earlier(turn, news))
    }

    pub(crate) fn pass_to(&mut self, at: Time) -> Result<(), SimError> {
        self.market.pass_to(at).map_err(|error| SimError::Market { at, error })
    }

    /// All that happens in this second: prices by demand, ends, those of owners' jobs too, outages,
    /// prices by load, submissions, then the schedulers of sites start their owners' jobs, then one pass.
    /// Whatever the pass causes in the same second (jobs of no length) is a further round.
    pub(crate) fn round(&mut self) -> Result<(), SimError> {
        self.before_submissions()?;
        while self.submit_next()? {}
        self.after_submissions()?;
        // Prices that were made again and stayed are no reason for a pass.
        let is_woken = self.wake.is_some_and(|at| at <= self.market.now());
        if self.posts_alone && self.events.is_empty() && !is_woken {
            return Ok(());
        }
        self.pass()?;
        self.after_pass()
    }

    /// Ends, outages and prices of a round.
    pub(crate) fn before_submissions(&mut self) -> Result<(), SimError> {
        self.post()?;
        while let Some(end) = self.pop_end(self.market.now()) {
            self.end(end)?;
        }
        self.leave()?;
        // An outage that waits for nodes has them before the site's next job.
        while let Some(event) = self.world.end_of_owners(&self.market) {
            self.happen(event)?;
        }
        self.outages()?;
        self.prices()
    }

    /// Prices that are made again at their own moments.
    pub(crate) fn post(&mut self) -> Result<(), SimError> {
        let posted = self.world.posted(&self.market);
        self.posts_alone = posted.as_ref().is_some_and(Vec::is_empty);
        self.reprice(posted.unwrap_or_default())
    }

    /// Nodes have other prices from now on.
    pub(crate) fn prices(&mut self) -> Result<(), SimError> {
        let prices = self.world.prices(&self.market);
        self.reprice(prices)
    }

    fn reprice(&mut self, prices: Vec<(PoolId, Price)>) -> Result<(), SimError> {
        prices.into_iter().try_for_each(|(pool, price)| self.happen(Event::Priced { pool, price }))
    }

    /// The schedulers of sites start their owners' jobs.
    pub(crate) fn after_submissions(&mut self) -> Result<(), SimError> {
        while let Some(event) = self.world.of_owners(&self.market) {
            match event {
                Event::Started { job, place } => self.start_by_site(job, place)?,
                Event::Noticed { job, leaves } => self.give_notice(job, leaves)?,
                event => self.happen(event)?,
            }
        }
        Ok(())
    }

    /// Jobs go to the queues of sites, or leave them.
    pub(crate) fn after_pass(&mut self) -> Result<(), SimError> {
        let lines = self.world.lines(&self.market);
        lines.into_iter().try_for_each(|event| self.happen(event))
    }

    /// The next end by `now` of a job that was not interrupted before.
    pub(crate) fn pop_end(&mut self, now: Time) -> Option<End> {
        loop {
            let Reverse(end) = *self.ends.peek()?;
            if end.at > now {
                return None;
            }
            self.ends.pop();
            if self.attempt(end.job) == end.attempt {
                return Some(end);
            }
        }
    }

    /// Which of its starts the job has come to.
    pub(crate) fn attempt(&self, job: JobId) -> u32 {
        self.attempts.get(&job).copied().unwrap_or_default()
    }

    /// Tasks end, if the job was not interrupted in this very second.
    pub(crate) fn end(&mut self, End { job, only, attempt, .. }: End) -> Result<(), SimError> {
        if self.attempt(job) != attempt {
            return Ok(());
        }
        self.happen(match only {
            Some(pool) => Event::Released { job, pool },
            None => Event::Ended { job },
        })
    }

    /// The job gets notice of when it has to leave its nodes.
    fn give_notice(&mut self, job: JobId, leaves: Time) -> Result<(), SimError> {
        self.happen(Event::Noticed { job, leaves })?;
        self.leaving.push(Reverse((leaves, job, self.attempt(job))));
        Ok(())
    }

    /// A policy takes the job's nodes, after the notice of its sites.
    fn preempt(&mut self, job: JobId) -> Result<(), SimError> {
        let run = self.market.run_of(job);
        let notice = run.map(|run| self.market.pools().notice(run.place, run.demand.processors));
        self.give_notice(job, self.market.now() + notice.unwrap_or_default())
    }

    /// Jobs whose notice is over leave their nodes.
    pub(crate) fn leave(&mut self) -> Result<(), SimError> {
        while let Some(Reverse((at, job, attempt))) = self.leaving.peek().copied()
            && at <= self.market.now()
        {
            self.leaving.pop();
            if self.attempt(job) == attempt && self.market.run_of(job).is_some() {
                *self.attempts.entry(job).or_default() += 1;
                self.happen(Event::Interrupted { job })?;
            }
        }
        Ok(())
    }

    /// Nodes of which it becomes known now that they will be missing, that are gone now, and that
    /// are back.
    pub(crate) fn outages(&mut self) -> Result<(), SimError> {
        let now = self.market.now();
        while let Some(what) = self.world.outage(now) {
            let closure = self.announce(what)?;
            self.turn(what.from, OutageTurn::Closes, closure);
        }
        while let Some(Reverse((at, turn, closure))) = self.turns.peek().copied()
            && at <= now
        {
            self.turns.pop();
            match turn {
                OutageTurn::Reopens => self.happen(Event::Reopened { closure })?,
                OutageTurn::Closes => self.close(closure)?,
            }
        }
        match self.late.is_empty() {
            true => Ok(()),
            false => self.begin_late(),
        }
    }

    pub(crate) fn turn(&mut self, at: Time, turn: OutageTurn, closure: OutageId) {
        self.turns.push(Reverse((at, turn, closure)));
    }

    fn announce(&mut self, what: Outage) -> Result<OutageId, SimError> {
        let closure = OutageId(self.market.announced());
        self.happen(Event::Announced { closure, what })?;
        Ok(closure)
    }

    fn close(&mut self, closure: OutageId) -> Result<(), SimError> {
        let Some((what, _)) = self.market.closure_state(closure) else { return Ok(()) };
        if self.world.interrupts(&what) {
            let hit = outage::hit(&self.market, &what);
            while let Some(job) = outage::victim(&self.market, &what, &hit) {
                *self.attempts.entry(job).or_default() += 1;
                self.happen(Event::Interrupted { job })?;
            }
        }
        if self.market.free_in(what.pool) < what.nodes {
            self.late.push(what);
            return self.happen(Event::Reopened { closure });
        }
        self.turn(what.until, OutageTurn::Reopens, closure);
        self.happen(Event::Closed { closure })
    }

    /// What is late takes the nodes that are free by now.
    fn begin_late(&mut self) -> Result<(), SimError> {
        let from = self.market.now();
        for what in std::mem::take(&mut self.late) {
            let until = match what.cause {
                Cause::Local | Cause::Booked => from + (what.until - what.from),
                _ => what.until,
            };
            let nodes = what.nodes.min(self.market.free_in(what.pool));
            if nodes > 0 && from < until {
                let closure = self.announce(Outage { nodes, from, until, ..what })?;
                self.close(closure)?;
            }
            if nodes < what.nodes && from < until {
                self.late.push(Outage { nodes: what.nodes - nodes, ..what });
            }
        }
        Ok(())
    }

    /// Submits the next job, if it is time.
    pub(crate) fn submit_next(&mut self) -> Result<bool, SimError> {
        let Some((job, demand)) = self.next_submission() else { return Ok(false) };
        self.submit(job, demand)?;
        Ok(true)
    }

    /// The next job, if it is time: [`Engine::submit`] has to follow.
    pub(crate) fn next_submission(&mut self) -> Option<(JobId, Demand)> {
        let job = JobId(self.market.submitted());
        Some((job, self.world.job(job, self.market.now())?))
    }

    /// The job joins the queue.
    pub(crate) fn submit(&mut self, job: JobId, demand: Demand) -> Result<(), SimError> {
        self.happen(Event::Submitted { job, demand })
    }

    /// Writes an event down and keeps it for the policy's next pass, if it is not its own doing.
    fn happen(&mut self, event: Event) -> Result<(), SimError> {
        let at = self.market.now();
        self.market.apply(&event).map_err(|error| SimError::Market { at, error })?;
        self.world.happened(&self.market, &event)?;
        match &event {
            Event::Traded { .. } | Event::Started { .. } | Event::Refused { .. } => {}
            _ => self.events.push(event),
        }
        Ok(())
    }

    /// Asks the policy and does what it says.
    pub(crate) fn pass(&mut self) -> Result<(), SimError> {
        let mut commands = std::mem::take(&mut self.commands);
        self.policy.decide(&self.market, &self.events, &mut commands);
        self.carry_out(&mut commands)?;
        self.commands = commands;
        Ok(())
    }

    /// Does what was decided in a pass, and takes it out of `commands`.
    pub(crate) fn carry_out(&mut self, commands: &mut Vec<Command>) -> Result<(), SimError> {
        self.passes += 1;
        self.looks += self.market.queue().len() as u64;
        self.bear_with(commands)?;
        self.events.clear();
        self.wake = None;
        let now = self.market.now();
        for command in commands.drain(..) {
            match command {
                Command::Trade { job, trade } => self.happen(Event::Traded { job, trade })?,
                Command::Start { job, place } => self.start(job, place)?,
                Command::Preempt { job } => self.preempt(job)?,
                Command::Refuse { job, reason } => {
                    self.happen(Event::Refused { job })?;
                    self.world.refused(&self.market, job, reason);
                }
                Command::Wake { at } => self.wake = (at > now).then_some(at),
            }
        }
        self.world.passed(&self.market, &self.policy)
    }

    /// A policy that is woken again and again, with nothing left that could happen, is stuck.
    fn bear_with(&mut self, commands: &[Command]) -> Result<(), SimError> {
        let waits = self.events.is_empty()
            && self.ends.is_empty()
            && self.turns.is_empty()
            && self.world.next_job().is_none()
            && self.world.next_news().is_none()
            && commands.iter().all(|command| matches!(command, Command::Wake { .. }));
        self.idle = if waits { self.idle + 1 } else { 0 };
        match self.idle > W::PATIENCE {
            true => Err(self.stuck()),
            false => Ok(()),
        }
    }

    /// Jobs wait, and nothing happens any more.
    pub(crate) fn stuck(&self) -> SimError {
        SimError::Stuck {
            at: self.market.now(),
            waiting: self.market.queue().len() + self.market.lined().len(),
        }
    }

    /// A site's own scheduler starts a job of the market: the policy has to be told.
    fn start_by_site(&mut self, job: JobId, place: Place) -> Result<(), SimError> {
        self.start(job, place.clone())?;
        self.events.push(Event::Started { job, place });
        Ok(())
    }

    fn start(&mut self, job: JobId, place: Place) -> Result<(), SimError> {
        self.happen(Event::Started { job, place: place.clone() })?;
        let processors = self.market.demand(job).map_or(0, |demand| demand.processors);
        let end = self.expect(job, self.market.now(), || place.shares(processors));
        self.world.started(&self.market, job, place, end);
        Ok(())
    }

    /// Puts down when the nodes come back of a job that runs since `start`; the last ones.
    pub(crate) fn expect<I: Iterator<Item = Share>>(
        &mut self,
        job: JobId,
        start: Time,
        shares: impl Fn() -> I,
    ) -> Time {
        let elapsed = self.market.now() - start;
        let (market, world) = (&self.market, &self.world);
        let end = |pool| start + world.length(market, job, market.pools().pool(pool), elapsed);
        let each = || shares().map(|share| (share.pool, end(share.pool)));
        let last = each().map(|(_, at)| at).max().unwrap_or(start);
        let (sequence, attempt) = (self.started, self.attempt(job));
        for (pool, at) in each().filter(|(_, at)| *at < last) {
            self.ends.push(Reverse(End { at, sequence, job, only: Some(pool), attempt }));
        }
        self.ends.push(Reverse(End { at: last, sequence, job, only: None, attempt }));
        self.started += 1;
        last
    }
}
