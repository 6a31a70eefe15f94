//! A small live market: what happens is a list of deeds, and a policy may be replaced by a fresh one
//! at any moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{
    Cause, Command, Demand, Event, JobId, Market, MarketState, Outage, OutageId, Place, PoolId,
    Pools, Price, Share, Span, Terms, Time, TimeMode,
};
use tradewind_sched::policy::availability::expected_span;
use tradewind_sched::policy::{Policy, Promise};

/// How a job comes to its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The policy starts it.
    Policy,
    /// It starts by itself when it is submitted, in the first pool that has room.
    Itself,
    /// The same, on nodes that were set aside for it: so long before.
    Booked(i64),
}

#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) submit: i64,
    pub(crate) run: i64,
    pub(crate) processors: u32,
    pub(crate) asked: i64,
    pub(crate) terms: Option<Arc<Terms>>,
    pub(crate) way: Way,
    /// Its user takes it back so long after its submission, if it waits then.
    pub(crate) cancel: Option<i64>,
}

/// How an owner's outage ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// So much later than announced (earlier, if negative).
    Off(i64),
    /// On time, and another one of this length begins at once.
    Renewed(i64),
    /// It never begins.
    Never,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    pub(crate) pool: u32,
    pub(crate) nodes: u32,
    pub(crate) announced: i64,
    pub(crate) from: i64,
    pub(crate) until: i64,
    /// So much sooner than announced, but not before it was.
    pub(crate) early: i64,
    pub(crate) end: End,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) pools: Arc<Pools>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) gaps: Vec<Gap>,
    /// When, whose, how much.
    pub(crate) prices: Vec<(i64, u32, i64)>,
    /// When a fresh policy takes over.
    pub(crate) cuts: BTreeSet<i64>,
    /// When the policy is asked although nothing happens.
    pub(crate) looks: BTreeSet<i64>,
}

/// What is to happen, in the order in which it happens within a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Deed {
    Release(u32, PoolId, u32),
    End(u32, u32),
    Reopen(u32),
    Announce(u32),
    Close(u32),
    Submit(u32),
    Cancel(u32),
    Price(u32),
}

/// What happened to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    Open,
    Ran { start: i64, place: Place },
    Refused(i64),
    Cancelled,
}

pub(crate) struct Yard<'w> {
    world: &'w World,
    pub(crate) market: Market,
    deeds: BTreeSet<(i64, Deed)>,
    /// Of gaps, booked jobs' nodes, and renewals.
    closures: BTreeMap<u32, OutageId>,
    announced: u32,
    events: Vec<Event>,
    wake: Option<Time>,
    pub(crate) fates: Vec<Fate>,
    attempts: Vec<u32>,
    promised: BTreeMap<JobId, Time>,
    /// When promises were last looked at.
    seen: Time,
}

/// All is over long before.
const END: i64 = 40_000;

/// Bookings' outages are numbered behind those of gaps.
const BOOKED: u32 = 1_000;
const RENEWED: u32 = 2_000;

/// Runs the world to its end; what happened to its jobs.
pub(crate) fn run(world: &World, fresh: &dyn Fn() -> Box<dyn Policy>) -> Vec<Fate> {
    let mut yard = Yard::new(world);
    let mut policy = fresh();
    while let Some(now) = yard.next() {
        assert!(
            now.0 < END,
            "nothing comes to an end: {:?}",
            yard.market.queue().collect::<Vec<_>>()
        );
        yard.market.pass_to(now).unwrap();
        yard.happen();
        let mut events = std::mem::take(&mut yard.events);
        let cut = world.cuts.contains(&now.0);
        if cut {
            let usage = policy.standing(now).into_iter().map(|it| (it.user, it.used)).collect();
            policy = fresh();
            policy.resume(&usage);
            events = yard.revive();
        }
        let woken = yard.wake.is_some_and(|at| at <= now) || world.looks.contains(&now.0);
        if cut || woken || !events.is_empty() {
            yard.wake = None;
            let mut commands = Vec::new();
            policy.decide(&yard.market, &events, &mut commands);
            yard.obey(commands);
            yard.look(&*policy, cut, &events);
        }
    }
    assert_eq!(yard.market.queue().len(), 0, "jobs wait for ever");
    yard.market.check().unwrap();
    yard.fates
}

impl<'w> Yard<'w> {
    fn new(world: &'w World) -> Yard<'w> {
        let mut deeds = BTreeSet::new();
        for (at, gap) in (0..).zip(&world.gaps) {
            deeds.insert((gap.announced, Deed::Announce(at)));
        }
        for (at, job) in (0..).zip(&world.jobs) {
            deeds.insert((job.submit, Deed::Submit(at)));
            deeds.extend(job.cancel.map(|after| (job.submit + after, Deed::Cancel(at))));
            if let Way::Booked(before) = job.way {
                deeds.insert((job.submit - before, Deed::Announce(BOOKED + at)));
            }
        }
        deeds.extend((0..).zip(&world.prices).map(|(at, price)| (price.0, Deed::Price(at))));
        let first = deeds.first().map_or(0, |(at, _)| *at).min(0);
        Yard {
            world,
            market: Market::new(world.pools.clone(), Time(first)),
            deeds,
            closures: BTreeMap::new(),
            announced: 0,
            events: Vec::new(),
            wake: None,
            fates: vec![Fate::Open; world.jobs.len()],
            attempts: vec![0; world.jobs.len()],
            promised: BTreeMap::new(),
            seen: Time(first),
        }
    }

    fn next(&self) -> Option<Time> {
        let open = self.fates.contains(&Fate::Open) || self.market.running().next().is_some();
        let deed = self.deeds.first().map(|(at, _)| Time(*at));
        let wake = self.wake.filter(|_| open);
        let after = |all: &BTreeSet<i64>| {
            let next = all.range(self.market.now().0 + 1..).next().copied();
            next.map(Time).filter(|_| open)
        };
        let rest = [after(&self.world.cuts), after(&self.world.looks)];
        [deed, wake].into_iter().chain(rest).flatten().min()
    }

    /// The market from its state, as after a restart, and its history.
    fn revive(&mut self) -> Vec<Event> {
        let state: MarketState = self.market.state();
        self.market = Market::restore(state).unwrap();
        self.market.history()
    }

    fn event(&mut self, event: Event) {
        self.market.apply(&event).unwrap();
        self.events.push(event);
    }

    fn happen(&mut self) {
        let now = self.market.now().0;
        while let Some((at, deed)) = self.deeds.first().copied().filter(|(at, _)| *at <= now) {
            self.deeds.remove(&(at, deed));
            self.do_it(deed);
        }
    }

    fn do_it(&mut self, deed: Deed) {
        match deed {
            Deed::Release(job, pool, attempt) if self.attempts[job as usize] == attempt => {
                self.event(Event::Released { job: JobId(job), pool });
            }
            Deed::End(job, attempt) if self.attempts[job as usize] == attempt => {
                self.event(Event::Ended { job: JobId(job) });
            }
            Deed::Release(..) | Deed::End(..) => {}
            Deed::Announce(gap) => self.announce(gap),
            Deed::Close(gap) => self.close(gap),
            Deed::Reopen(gap) => self.reopen(gap),
            Deed::Submit(job) => self.submit(job),
            Deed::Cancel(job) => {
                if self.market.waits(JobId(job)) {
                    self.fates[job as usize] = Fate::Cancelled;
                    self.event(Event::Cancelled { job: JobId(job) });
                }
            }
            Deed::Price(at) => {
                let (_, pool, price) = self.world.prices[at as usize];
                let pools = self.market.pools().as_slice().len() as u32;
                let (pool, price) = (PoolId(pool % pools), Price::credits(price));
                self.event(Event::Priced { pool, price });
            }
        }
    }

    /// What is closed under this number.
    fn what(&self, gap: u32) -> Outage {
        let pools = self.market.pools();
        let of = |pool: u32, nodes: u32, from, until, cause| {
            let pool = PoolId(pool % pools.as_slice().len() as u32);
            let nodes = nodes.min(pools.pool(pool).nodes);
            Outage { pool, nodes, from: Time(from), until: Time(until), cause }
        };
        if gap >= RENEWED {
            let Gap { pool, nodes, until, end, .. } = self.world.gaps[(gap - RENEWED) as usize];
            let End::Renewed(length) = end else { unreachable!() };
            of(pool, nodes, until, until + length, Cause::Local)
        } else if gap >= BOOKED {
            let job = &self.world.jobs[(gap - BOOKED) as usize];
            let at = job.submit;
            of(gap, job.processors, at, at + job.asked, Cause::Booked)
        } else {
            let Gap { pool, nodes, from, until, .. } = self.world.gaps[gap as usize];
            of(pool, nodes, from, until, Cause::Local)
        }
    }

    fn announce(&mut self, gap: u32) {
        let closure = OutageId(self.announced);
        let what = self.what(gap);
        if (BOOKED..RENEWED).contains(&gap) {
            // Room is set aside only where nothing else could need it.
            let job = &self.world.jobs[(gap - BOOKED) as usize];
            let demand =
                Demand { terms: job.terms.clone(), ..Demand::new(job.processors, Span(job.asked)) };
            let suits = self.market.pools().pool(what.pool).suits(&demand);
            if what.nodes < job.processors || !suits || self.market.outages().next().is_some() {
                return;
            }
        }
        self.announced += 1;
        self.closures.insert(gap, closure);
        self.event(Event::Announced { closure, what });
        let never = self.world.gaps.get(gap as usize).is_some_and(|gap| gap.end == End::Never);
        if !never {
            let early = self.world.gaps.get(gap as usize).map_or(0, |gap| gap.early);
            let at = (what.from.0 - early).max(self.market.now().0);
            self.deeds.insert((at, Deed::Close(gap)));
        }
    }

    fn close(&mut self, gap: u32) {
        let closure = self.closures[&gap];
        let what = self.what(gap);
        let now = self.market.now().0;
        while self.market.free_in(what.pool) < what.nodes {
            let here = |job: &tradewind_model::Running<'_>| job.nodes_in(what.pool) > 0;
            let hit = self.market.running().rfind(here).map(|job| job.job);
            let Some(job) = hit else {
                // Other outages have the nodes: try again when one of them may be over.
                self.deeds.insert((now + 1, Deed::Close(gap)));
                return;
            };
            self.attempts[job.index()] += 1;
            self.fates[job.index()] = Fate::Open;
            self.event(Event::Interrupted { job });
        }
        self.event(Event::Closed { closure });
        let until = match self.world.gaps.get(gap as usize) {
            Some(Gap { until, end: End::Off(by), .. }) => until + by,
            _ => what.until.0,
        };
        if !(BOOKED..RENEWED).contains(&gap) {
            self.deeds.insert((until.max(now + 1), Deed::Reopen(gap)));
        }
    }

    fn reopen(&mut self, gap: u32) {
        self.event(Event::Reopened { closure: self.closures[&gap] });
        let renewed = self.world.gaps.get(gap as usize);
        if renewed.is_some_and(|gap| matches!(gap.end, End::Renewed(_))) {
            self.announce(RENEWED + gap);
        }
    }

    fn submit(&mut self, at: u32) {
        let Job { processors, asked, terms, way, .. } = self.world.jobs[at as usize].clone();
        let job = JobId(at);
        let demand = Demand { terms, ..Demand::new(processors, Span(asked)) };
        let booked = self.closures.get(&(BOOKED + at)).copied();
        if let Some(closure) = booked {
            // Its nodes are there: they were set aside, and are closed by now.
            if self.market.outages().any(|(id, _)| id == closure) {
                let now = self.market.now().0;
                if self.deeds.remove(&(now, Deed::Close(BOOKED + at))) {
                    self.close(BOOKED + at);
                }
                if !self.deeds.contains(&(now + 1, Deed::Close(BOOKED + at))) {
                    self.event(Event::Reopened { closure });
                } else {
                    self.deeds.remove(&(now + 1, Deed::Close(BOOKED + at)));
                }
            }
        }
        self.event(Event::Submitted { job, demand: demand.clone() });
        if way != Way::Policy {
            let room = |pool: &PoolId| self.market.free_in(*pool) >= processors;
            let suits = |pool: &PoolId| self.market.pools().pool(*pool).suits(&demand);
            let pools = 0..self.market.pools().as_slice().len() as u32;
            let found = booked.map(|_| self.what(BOOKED + at).pool).filter(room);
            let found = found.or_else(|| pools.map(PoolId).find(|pool| room(pool) && suits(pool)));
            if let Some(pool) = found {
                self.start(job, Place::Pool(pool));
                let place = Place::Pool(pool);
                self.events.push(Event::Started { job, place });
            }
        }
    }

    fn start(&mut self, job: JobId, place: Place) {
        let started = Event::Started { job, place: place.clone() };
        let done = self.market.apply(&started);
        assert!(done.is_ok(), "{done:?}: {started:?}");
        let now = self.market.now();
        let Job { run, processors, .. } = self.world.jobs[job.index()];
        let ends = |share: Share| {
            let length = self.market.pools().pool(share.pool).length_in(TimeMode::WORK, Span(run));
            (now.0 + length.0.max(1), share.pool)
        };
        let ends: Vec<(i64, PoolId)> = place.shares(processors).map(ends).collect();
        let last = ends.iter().map(|(at, _)| *at).max().unwrap();
        let attempt = self.attempts[job.index()];
        for &(at, pool) in ends.iter().filter(|(at, _)| *at < last) {
            self.deeds.insert((at, Deed::Release(job.0, pool, attempt)));
        }
        self.deeds.insert((last, Deed::End(job.0, attempt)));
        self.fates[job.index()] = Fate::Ran { start: now.0, place };
        self.promised.remove(&job);
    }

    fn obey(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Start { job, place } => {
                    if let Some(at) = self.promised.get(&job) {
                        let outlived = self.outlived();
                        assert!(outlived || self.market.now() <= *at, "{job:?} starts after {at}");
                    }
                    self.start(job, place);
                }
                Command::Trade { job, trade } => {
                    self.market.apply(&Event::Traded { job, trade }).unwrap();
                }
                Command::Refuse { job, .. } => {
                    self.market.apply(&Event::Refused { job }).unwrap();
                    self.fates[job.index()] = Fate::Refused(self.market.now().0);
                    self.promised.remove(&job);
                }
                Command::Preempt { .. } => unreachable!("no policy here takes nodes"),
                Command::Wake { at } => {
                    self.wake = Some(at.max(self.market.now() + Span(1)));
                }
            }
        }
        self.market.check().unwrap();
    }

    /// Whether something has lasted longer than believed since the last look.
    fn outlived(&self) -> bool {
        let (seen, now) = (self.seen, self.market.now());
        let late = |from: Time, length: Span| {
            let elapsed = (seen - from).max(Span::ZERO);
            from + expected_span(length, elapsed) <= now
        };
        let jobs = self.market.running().any(|job| {
            job.shares().any(|share| {
                let pool = self.market.pools().pool(share.pool);
                late(job.start, pool.length_of(job.demand))
            })
        });
        jobs || self.market.outages().any(|(_, it)| late(it.from, it.until - it.from))
    }

    /// Whether what was promised holds. It lapses when expectations fail.
    fn look(&mut self, policy: &dyn Policy, cut: bool, events: &[Event]) {
        let upsets = |event: &Event| {
            matches!(
                event,
                Event::Announced { .. }
                    | Event::Interrupted { .. }
                    | Event::Started { .. }
                    | Event::Priced { .. }
                    | Event::Closed { .. }
            )
        };
        if cut || events.iter().any(upsets) || self.outlived() {
            self.promised.clear();
        }
        self.seen = self.market.now();
        let head = self.market.head();
        let promise = policy.promise();
        let counts = |job: &JobId| match promise {
            Promise::Reservations => true,
            Promise::Head => Some(*job) == head,
            Promise::Order | Promise::Nothing => false,
        };
        self.promised.retain(|job, _| self.market.waits(*job) && counts(job));
        for job in self.market.queue().filter(counts).collect::<Vec<_>>() {
            let Some(at) = policy.reservation(job) else { continue };
            let before = self.promised.insert(job, at);
            assert!(before.is_none_or(|it| at <= it), "{job:?}: {before:?}, then {at}");
        }
        self.work_is_done(policy);
    }

    /// FCFS and EASY on one plain pool: who is first does not wait while there is room.
    fn work_is_done(&self, policy: &dyn Policy) {
        let eager = matches!(policy.promise(), Promise::Order | Promise::Head);
        let one = self.market.pools().as_slice().len() == 1;
        let plain = self.world.jobs.iter().all(|job| job.terms.is_none());
        if eager && one && plain && self.market.outages().next().is_none() {
            let head = self.market.head().and_then(|job| self.market.demand(job));
            let room = head.is_some_and(|head| head.processors <= self.market.free());
            assert!(!room, "at {}: the first job has room", self.market.now());
        }
    }
}
