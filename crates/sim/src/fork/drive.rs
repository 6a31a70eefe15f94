//! The loop: like the kernel's, from a market that is not empty.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::ControlFlow;

use tradewind_model::{
    Cause, Outage, OutageId, Command, Event, JobId, Market, Place, Running, Share, Time,
};
use tradewind_sched::free::Taken;
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::availability::missing_time;

use super::ahead::Ahead;
use super::totals::{self, Stay};
use super::{Beliefs, Clash, Coming, Forecast, Limits, Outcome, Progress, Runs, Sold, Stopped};
use crate::kernel::{End, Turn, earlier};
use crate::{SimError, outage};

const OPEN: Outcome = Outcome::Open { reserved: None };

pub(super) struct Drive<'a> {
    market: Market,
    policy: &'a mut dyn Policy,
    beliefs: Beliefs,
    limits: Limits,
    from: Time,
    income: Vec<i128>,
    ahead: Ahead,
    ends: BinaryHeap<Reverse<End>>,
    turns: BinaryHeap<Reverse<(Time, Turn, OutageId)>>,
    closures: BTreeMap<OutageId, Outage>,
    /// What should have begun, and waits for nodes; called off, as far as policies know.
    late: Vec<Outage>,
    wake: Option<Time>,
    started: u32,
    /// Of jobs that were interrupted: how often.
    attempts: BTreeMap<JobId, u32>,
    jobs: BTreeMap<JobId, Outcome>,
    /// When jobs that waited at the fork or came later began to wait in this forecast.
    waits: BTreeMap<JobId, Time>,
    /// The nodes of jobs that ran already at the fork, and of those that started since.
    before: BTreeMap<JobId, Vec<Taken>>,
    sold: BTreeMap<JobId, Vec<Sold>>,
    /// What interrupted jobs had held.
    lost: Vec<Taken>,
    passes: u64,
    looks: u64,
    events: Vec<Event>,
}

impl<'a> Drive<'a> {
    pub(super) fn new(
        market: &Market,
        policy: &'a mut dyn Policy,
        beliefs: &Beliefs,
        limits: Limits,
    ) -> Drive<'a> {
        let ahead = Ahead::of(beliefs, market);
        let from = market.now();
        let waits = market.queue().map(|job| (job, from));
        let first = market.submitted();
        let ids = market.queue().chain((first..first + ahead.jobs()).map(JobId));
        let mut drive = Drive {
            market: market.clone(),
            policy,
            beliefs: Beliefs {
                runs: beliefs.runs.clone(),
                clash: beliefs.clash,
                ..Beliefs::default()
            },
            limits,
            from,
            income: market.ledger().income().to_vec(),
            ahead,
            ends: BinaryHeap::new(),
            turns: BinaryHeap::new(),
            closures: market.outages().collect(),
            late: Vec::new(),
            wake: None,
            started: 0,
            attempts: BTreeMap::new(),
            jobs: ids.map(|job| (job, OPEN)).collect(),
            waits: waits.collect(),
            before: BTreeMap::new(),
            sold: BTreeMap::new(),
            lost: Vec::new(),
            passes: 0,
            looks: 0,
            events: market.history(),
        };
        drive.adopt(market);
        drive
    }

    /// What runs and is announced at the fork.
    fn adopt(&mut self, market: &Market) {
        let mut running: Vec<_> = market.running().collect();
        running.sort_by_key(|job| (job.start, job.job));
        for job in running {
            let shares: Vec<Share> = job.shares().collect();
            let parts = self.expect(job.job, job.start, &shares);
            let end = last(&parts, job.start);
            let place = job.place.clone();
            self.follow(job.job, job.start, place, end);
            self.before.insert(job.job, parts);
        }
        let begun = |event: &Event| match event {
            Event::Closed { closure } => Some(*closure),
            _ => None,
        };
        let begun: BTreeSet<OutageId> = self.events.iter().filter_map(begun).collect();
        for (&id, closure) in &self.closures {
            let begun = begun.contains(&id);
            if !begun && closure.until <= self.from {
                continue; // over before it began
            }
            let (at, turn) = match begun {
                true => (missing_time(closure, true, self.from).1, Turn::Reopens),
                false => (closure.from.max(self.from), Turn::Closes),
            };
            self.turns.push(Reverse((at, turn, id)));
        }
    }

    /// When the nodes of a job that started at `start` come back, and puts that down.
    fn expect(&mut self, job: JobId, start: Time, shares: &[Share]) -> Vec<Taken> {
        let elapsed = self.market.now() - start;
        let part = |share: &Share| {
            let pool = self.market.pools().pool(share.pool);
            let length = self.beliefs.length(&self.market, job, pool, elapsed);
            Taken { share: *share, from: start, until: start + length }
        };
        let parts: Vec<Taken> = shares.iter().map(part).collect();
        let end = last(&parts, start);
        let (sequence, attempt) = (self.started, self.attempt(job));
        for part in parts.iter().filter(|part| part.until < end) {
            let only = Some(part.share.pool);
            self.ends.push(Reverse(End { at: part.until, sequence, job, only, attempt }));
        }
        self.ends.push(Reverse(End { at: end, sequence, job, only: None, attempt }));
        self.started += 1;
        parts
    }

    fn follow(&mut self, job: JobId, start: Time, place: Place, end: Time) {
        let cost = self.market.paid(job);
        self.jobs.insert(job, Outcome::Runs(Runs { start, end, place, cost }));
    }

    fn attempt(&self, job: JobId) -> u32 {
        self.attempts.get(&job).copied().unwrap_or_default()
    }

    pub(super) fn run(
        mut self,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Forecast, SimError> {
        let mut next = Some(self.from);
        let stopped = loop {
            let Some(at) = next else {
                break if self.market.queue().len() == 0 { Stopped::Done } else { Stopped::Stuck };
            };
            if let Some(stopped) = self.enough(at, watch) {
                break stopped;
            }
            self.pass_to(at)?;
            self.round()?;
            next = self.next_instant();
        };
        let until = self.market.now();
        for (job, outcome) in &mut self.jobs {
            if let Outcome::Open { reserved } = outcome {
                *reserved = self.policy.reservation(*job);
            }
        }
        while let Some(Reverse(end)) = self.ends.pop() {
            self.pass_to(end.at)?;
            self.end(end)?;
        }
        Ok(self.finish(until, stopped))
    }

    fn enough(
        &self,
        at: Time,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Option<Stopped> {
        let progress = Progress { at, passes: self.passes, waiting: self.market.queue().len() };
        if at - self.from > self.limits.horizon {
            Some(Stopped::Horizon)
        } else if self.passes >= self.limits.passes {
            Some(Stopped::Passes)
        } else if self.looks >= self.limits.looks {
            Some(Stopped::Looks)
        } else {
            watch(progress).is_break().then_some(Stopped::Watcher)
        }
    }

    fn next_instant(&self) -> Option<Time> {
        let now = self.market.now();
        let submit = self.ahead.next_job().map(|at| at.max(now));
        let end = self.ends.peek().map(|Reverse(end)| end.at);
        if self.market.queue().len() == 0 && submit.is_none() && end.is_none() {
            return None; // closures alone are of no interest
        }
        let turn = self.turns.peek().map(|Reverse((at, ..))| *at);
        let news = self.ahead.next_news().map(|at| at.max(now));
        earlier(earlier(earlier(submit, end), earlier(self.wake, turn)), news)
    }

    fn pass_to(&mut self, at: Time) -> Result<(), SimError> {
        self.market.pass_to(at).map_err(|error| SimError::Market { at, error })
    }

    fn round(&mut self) -> Result<(), SimError> {
        let now = self.market.now();
        while let Some(Reverse(end)) = self.ends.peek().copied()
            && end.at <= now
        {
            self.ends.pop();
            self.end(end)?;
        }
        self.outages()?;
        while let Some((pool, price)) = self.ahead.price(now) {
            self.happen(Event::Priced { pool, price })?;
        }
        while let Some(Coming { demand, run, .. }) = self.ahead.job(now) {
            let job = JobId(self.market.submitted());
            self.beliefs.runs.insert(job, run);
            self.waits.insert(job, now);
            self.happen(Event::Submitted { job, demand })?;
        }
        self.pass()
    }

    /// Nodes of which it becomes known now that they will be missing, that are gone now, and that
    /// are back.
    fn outages(&mut self) -> Result<(), SimError> {
        let now = self.market.now();
        while let Some(outage) = self.ahead.outage(now) {
            let closure = self.announce(outage.what)?;
            self.turns.push(Reverse((outage.what.from, Turn::Closes, closure)));
        }
        while let Some(Reverse((at, turn, closure))) = self.turns.peek().copied()
            && at <= now
        {
            self.turns.pop();
            match turn {
                Turn::Reopens => self.happen(Event::Reopened { closure })?,
                Turn::Closes => self.close(closure)?,
            }
        }
        self.begin_late()
    }

    fn announce(&mut self, what: Outage) -> Result<OutageId, SimError> {
        let closure = OutageId(self.market.announced());
        self.closures.insert(closure, what);
        self.happen(Event::Announced { closure, what })?;
        Ok(closure)
    }

    fn end(&mut self, End { job, only, attempt, .. }: End) -> Result<(), SimError> {
        if self.attempt(job) != attempt {
            return Ok(()); // interrupted before
        }
        if let Some(pool) = only {
            return self.happen(Event::Released { job, pool });
        }
        self.happen(Event::Ended { job })?;
        if let Some(Outcome::Runs(runs)) = self.jobs.get_mut(&job) {
            runs.cost = self.market.paid(job);
        }
        Ok(())
    }

    fn close(&mut self, closure: OutageId) -> Result<(), SimError> {
        let Some(what) = self.closures.get(&closure).copied() else { return Ok(()) };
        if self.beliefs.clash == Clash::Interrupts || matches!(what.cause, Cause::Failure(_)) {
            self.make_room(&what)?;
        }
        if self.market.free_in(what.pool) < what.nodes {
            self.late.push(what);
            return self.happen(Event::Reopened { closure });
        }
        self.turns.push(Reverse((what.until, Turn::Reopens, closure)));
        self.happen(Event::Closed { closure })
    }

    /// Jobs begin anew until the closure can have its nodes.
    fn make_room(&mut self, what: &Outage) -> Result<(), SimError> {
        let hit = outage::hit(&self.market, what);
        while let Some(job) = outage::victim(&self.market, what, &hit) {
            *self.attempts.entry(job).or_default() += 1;
            self.jobs.insert(job, OPEN);
            self.waits.entry(job).or_insert(self.market.now());
            let sold = self.sold.remove(&job).unwrap_or_default();
            let held = self.before.remove(&job).unwrap_or_default();
            self.give_up(sold.iter().map(|it| it.taken).chain(held));
            self.happen(Event::Interrupted { job })?;
        }
        Ok(())
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

    /// Nodes that were held in vain, until now.
    fn give_up(&mut self, held: impl Iterator<Item = Taken>) {
        let now = self.market.now();
        let cut = held.map(|part| Taken { until: part.until.min(now), ..part });
        self.lost.extend(cut);
    }

    fn happen(&mut self, event: Event) -> Result<(), SimError> {
        self.apply(&event)?;
        self.events.push(event);
        Ok(())
    }

    fn apply(&mut self, event: &Event) -> Result<(), SimError> {
        let at = self.market.now();
        self.market.apply(event).map_err(|error| SimError::Market { at, error })
    }

    /// Asks the policy and does what it says.
    fn pass(&mut self) -> Result<(), SimError> {
        self.passes += 1;
        self.looks += self.market.queue().len() as u64;
        let mut commands = Vec::new();
        self.policy.decide(&self.market, &self.events, &mut commands);
        self.events.clear();
        self.wake = None;
        let now = self.market.now();
        for command in commands {
            match command {
                Command::Trade { job, trade } => self.apply(&Event::Traded { job, trade })?,
                Command::Start { job, place } => self.start(job, place)?,
                Command::Refuse { job, reason } => {
                    self.apply(&Event::Refused { job })?;
                    let reason = Box::new(reason);
                    self.jobs.insert(job, Outcome::Refused { at: now, reason });
                }
                Command::Wake { at } => self.wake = (at > now).then_some(at),
            }
        }
        Ok(())
    }

    fn start(&mut self, job: JobId, place: Place) -> Result<(), SimError> {
        self.apply(&Event::Started { job, place: place.clone() })?;
        let processors = self.market.demand(job).map_or(0, |demand| demand.processors);
        let now = self.market.now();
        let shares: Vec<Share> = place.shares(processors).collect();
        let parts = self.expect(job, now, &shares);
        let end = last(&parts, now);
        self.follow(job, now, place, end);
        let run = self.market.run_of(job);
        let prices = run.iter().flat_map(Running::prices);
        let sold = parts.into_iter().zip(prices).map(|(taken, price)| Sold { taken, price });
        self.sold.insert(job, sold.collect());
        Ok(())
    }

    fn finish(self, until: Time, stopped: Stopped) -> Forecast {
        let Drive { market, from, income, passes, jobs, waits, before, sold, lost, .. } = self;
        let stay = |(job, since): (&JobId, &Time)| {
            let runs = jobs.get(job).and_then(Outcome::runs)?;
            Some(Stay { since: *since, start: runs.start, end: runs.end })
        };
        let stays: Vec<Stay> = waits.iter().filter_map(stay).collect();
        let since = sold.values().flatten().map(|it| &it.taken);
        let held = before.values().flatten().chain(since).chain(&lost);
        let earned = market.ledger().income().iter().zip(&income);
        let earned = earned.map(|(after, before)| after - before).collect();
        let totals = totals::add_up(&market, from, &jobs, &stays, held, earned);
        Forecast { from, until, stopped, passes, jobs, totals, sold }
    }
}

fn last(parts: &[Taken], start: Time) -> Time {
    parts.iter().map(|part| part.until).max().unwrap_or(start)
}
