//! Who holds which nodes until when: running jobs, outages and bookings make free capacity here,
//! and nowhere else.
//!
//! `Availability` is generic over what free nodes are kept in (`Capacity`): the profile of one
//! pool, a profile of each pool, or those and what a search over many pools wants to know
//! (`grid`). Policies that see a market let it follow the events; sites and queues that see none
//! report events to it.
//!
//! Jobs and outages that last longer than announced are expected to last twice as long as believed
//! so far ([`expected_span`]). Of a job that its site ends at a limit, the time beyond the limit is
//! what is doubled ([`expected_end_by_limit`]).

mod capacity;
mod holds;
mod licences;
mod outages;
mod overrun;

use tradewind_model::{Event, JobId, Market, Outage, OutageId, PoolId, Profile, Share, Span, Time};

pub(super) use capacity::Capacity;
pub use capacity::Taken;
use holds::{Hold, Holds};
pub(crate) use licences::shares as licence_shares;
use outages::Outages;
pub use overrun::{
    expected_end, expected_end_by_limit, expected_length, expected_span, missing_time,
};

/// What a call of [`Availability::follow`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct News {
    /// Nodes came back sooner than expected.
    pub(super) early: bool,
    /// An outage would be over by now that was announced and never began: its nodes are there, and
    /// no event says so.
    pub(super) regained: bool,
    /// Expectations failed: all bookings have been struck out, and may not fit any more.
    pub(super) upset: bool,
}

/// Free nodes beside running jobs, outages and bookings.
///
/// The owner takes bookings in [`Availability::free`] itself, and gives them back there.
#[derive(Debug, Clone)]
pub(super) struct Availability<C> {
    free: C,
    running: Holds,
    outages: Outages,
    /// Something happened that no booking reckoned with.
    upset: bool,
    /// Nodes that came back sooner than expected.
    opened: Vec<Taken>,
    /// When outages that never began were last looked for.
    looked: Time,
}

impl<C: Capacity> Availability<C> {
    /// Of `free`, of which nothing is taken.
    pub(super) fn new(free: C) -> Availability<C> {
        Availability {
            free,
            running: Holds::default(),
            outages: Outages::default(),
            upset: false,
            opened: Vec::new(),
            looked: Time::MIN,
        }
    }

    /// Of a market as it stands, where nothing of `free` is taken. O((r + c)·log n) for r running
    /// jobs and c outages.
    pub(super) fn of(free: C, market: &Market) -> Availability<C> {
        let now = market.now();
        let mut all =
            Availability { running: Holds::of(market, C::LICENCES), ..Availability::new(free) };
        for (id, what) in market.outages() {
            all.outages.announced(id, what, now);
            if market.closure_state(id).is_some_and(|(_, begun)| begun) {
                all.outages.closed(id, now);
            }
        }
        all.rebuild_in(market);
        all
    }

    /// The moment up to which this is kept.
    pub(super) fn now(&self) -> Time {
        self.free.now()
    }

    /// What is free.
    pub(super) fn free(&self) -> &C {
        &self.free
    }

    /// The same, to take bookings and to give them back.
    pub(super) fn free_mut(&mut self) -> &mut C {
        &mut self.free
    }

    /// Forgets what was before `now`.
    pub(super) fn advance(&mut self, now: Time) {
        self.free.advance(now);
    }

    /// Whether nothing runs and no node is missing, now or later.
    pub(super) fn idle(&self) -> bool {
        self.running.is_empty() && self.outages.is_empty()
    }

    /// Jobs that run, each pool of theirs once.
    pub(super) fn jobs(&self) -> impl Iterator<Item = JobId> + '_ {
        self.running.jobs()
    }

    /// The same with what is free kept in something else.
    pub(super) fn map<D: Capacity>(self, into: impl FnOnce(C) -> D) -> Availability<D> {
        let Availability { free, running, outages, upset, opened, looked } = self;
        Availability { free: into(free), running, outages, upset, opened, looked }
    }

    /// The first moment at which nodes of a running job, or nodes that are missing, are expected
    /// back.
    pub(super) fn next_end(&self) -> Option<Time> {
        self.running.next_end().into_iter().chain(self.outages.next_due()).min()
    }

    /// When nodes are there again for which an outage was announced that never began.
    pub(super) fn next_unsaid_end(&self) -> Option<Time> {
        self.outages.next_unsaid_end(self.now())
    }

    /// Whether there are such nodes since the last call of this.
    pub(super) fn regained(&mut self, now: Time) -> bool {
        let before = std::mem::replace(&mut self.looked, now);
        self.outages.next_unsaid_end(before).is_some_and(|at| at <= now)
    }

    /// Node-seconds that running jobs are expected to need from now on.
    pub(super) fn work(&self) -> i128 {
        let now = self.now();
        let left = |hold: &Hold| i128::from(hold.share.nodes) * i128::from((hold.end - now).0);
        self.running.iter().map(left).sum()
    }

    /// A job that is expected to run for `length` starts now on nodes that are `taken` already.
    pub(super) fn start(&mut self, job: JobId, taken: Taken, length: Span) {
        let Taken { share, until: end, memory, .. } = taken;
        let is_licence = self.free.is_licence(share.pool);
        let start = self.now();
        self.running.add(job, Hold { share, is_licence, memory, start, length, end });
    }

    /// A job runs here since `start` that this policy did not start, and is expected to take
    /// `length` in all.
    pub(super) fn adopt(
        &mut self,
        job: JobId,
        share: Share,
        (start, length): (Time, Span),
        now: Time,
    ) {
        self.advance(now);
        let end = expected_end(start, length, now);
        self.hold(job, Hold { share, is_licence: false, memory: 0, start, length, end });
    }

    /// A job holds nodes from now on.
    fn hold(&mut self, job: JobId, hold: Hold) {
        let Hold { share, memory, end, .. } = hold;
        let taken = Taken { share, memory, from: self.now(), until: end };
        self.upset |= !self.free.fits(&taken);
        self.free.take(taken);
        self.running.add(job, hold);
    }

    /// A job gave back its nodes, or those of one pool. When the last of them were expected back, if
    /// it had any.
    pub(super) fn release(&mut self, job: JobId, only: Option<PoolId>, now: Time) -> Option<Time> {
        let Availability { free, running, opened, .. } = self;
        let mut expected = None;
        running.remove(job, only, |Hold { share, memory, end, .. }| {
            free.advance(now);
            expected = expected.max(Some(end));
            if now < end {
                let taken = Taken { share, memory, from: now, until: end };
                free.give(taken);
                opened.push(taken);
            }
        });
        expected
    }

    fn give(&mut self, taken: Taken) {
        self.free.give(taken);
        self.opened.push(taken);
    }

    /// A job lost its nodes.
    pub(super) fn interrupted(&mut self, job: JobId, now: Time) {
        self.release(job, None, now);
        self.upset = true;
    }

    /// A job leaves its nodes at that moment, if it has not ended before.
    fn noticed(&mut self, job: JobId, leaves: Time) {
        let Availability { free, running, opened, .. } = self;
        let leaves = leaves.max(free.now() + Span(1));
        running.shorten(job, leaves, |Hold { share, memory, end, .. }| {
            let taken = Taken { share, memory, from: leaves, until: end };
            free.give(taken);
            opened.push(taken);
        });
    }

    /// Nodes will be missing.
    pub(super) fn announced(&mut self, id: OutageId, what: Outage, now: Time) {
        self.advance(now);
        let taken = self.outages.announced(id, what, now);
        self.lose(taken);
    }

    /// They are gone.
    pub(super) fn closed(&mut self, id: OutageId, now: Time) {
        self.advance(now);
        let early = self.outages.closed(id, now);
        early.into_iter().for_each(|taken| self.lose(taken));
    }

    fn lose(&mut self, taken: Taken) {
        self.free.take(taken);
        self.upset = true;
    }

    /// They are back. Whether the outage was one of these.
    pub(super) fn reopened(&mut self, id: OutageId, now: Time) -> bool {
        let Some(left) = self.outages.reopened(id, now) else { return false };
        self.advance(now);
        left.into_iter().for_each(|left| self.give(left));
        true
    }

    /// What has become free since the last call, sooner than expected.
    pub(super) fn opened(&mut self) -> impl Iterator<Item = Taken> + '_ {
        self.opened.drain(..)
    }

    /// Writes down what happened in the market, and comes to its moment.
    pub(super) fn follow(&mut self, market: &Market, events: &[Event]) -> News {
        self.follow_by(market, events, |job, pool, elapsed| {
            licences::expected_hold(market, job, pool, elapsed)
        })
    }

    /// The same, where `length` says how long a job is expected to run in all that has been running
    /// in the pool for longer than expected so far.
    pub(super) fn follow_by(
        &mut self,
        market: &Market,
        events: &[Event],
        length: impl Fn(JobId, PoolId, Span) -> Option<Span>,
    ) -> News {
        self.happened(market, events);
        self.news(market.now(), length)
    }

    /// The same, for callers that know how to strike out all bookings: `strike` does it if jobs run
    /// for longer than expected, and nothing else is wrong. Then these jobs take their nodes for
    /// longer, and nothing is made again.
    pub(super) fn follow_and_extend(
        &mut self,
        market: &Market,
        events: &[Event],
        length: impl Fn(JobId, PoolId, Span) -> Option<Span>,
        strike: impl FnOnce(&mut C),
    ) -> News {
        self.happened(market, events);
        let now = market.now();
        if self.upset || !self.outages.is_empty() || !self.is_upset(now) {
            return self.news(now, length);
        }
        let Availability { free, running, .. } = self;
        strike(free);
        let belief = |job, hold: &Hold| length(job, hold.share.pool, now - hold.start);
        running.extend(now, belief, |hold| {
            let Hold { share, memory, end, .. } = *hold;
            free.take(Taken { share, memory, from: now, until: end });
        });
        News { early: !self.opened.is_empty(), regained: self.regained(now), upset: true }
    }

    /// Writes down what happened in the market, and comes to its moment.
    fn happened(&mut self, market: &Market, events: &[Event]) {
        let now = market.now();
        self.advance(now);
        self.opened.clear();
        let mut foreign = false;
        for event in events {
            match event {
                Event::Started { .. } => foreign = true,
                Event::Ended { job } => _ = self.release(*job, None, now),
                Event::Released { job, pool } => _ = self.release(*job, Some(*pool), now),
                Event::Interrupted { job } => self.interrupted(*job, now),
                Event::Noticed { job, leaves } => self.noticed(*job, *leaves),
                Event::Announced { closure, what } => self.announced(*closure, *what, now),
                Event::Closed { closure } => self.closed(*closure, now),
                Event::Reopened { closure } => _ = self.reopened(*closure, now),
                _ => {}
            }
        }
        for event in events.iter().filter(|_| foreign) {
            if let Event::Started { job, .. } = event
                && let Some(run) = market.run_of(*job).filter(|_| !self.running.has(*job))
            {
                for hold in holds::of_job(market, &run, C::LICENCES) {
                    self.hold(*job, hold);
                }
            }
        }
    }

    /// What follows from what happened.
    fn news(&mut self, now: Time, length: impl Fn(JobId, PoolId, Span) -> Option<Span>) -> News {
        let upset = self.is_upset(now);
        if upset {
            let belief = |job, hold: &Hold| length(job, hold.share.pool, now - hold.start);
            self.running.extend(now, belief, |_| ());
            self.take_again(now);
        }
        News { early: !self.opened.is_empty(), regained: self.regained(now), upset }
    }

    /// Comes to `now`, with all that happened written down. `true`: expectations failed, so that
    /// all bookings have been struck out.
    pub(super) fn settle(&mut self, now: Time) -> bool {
        self.advance(now);
        let upset = self.is_upset(now);
        if upset {
            self.running.extend(now, |_, _| None, |_| ());
            self.take_again(now);
        }
        upset
    }

    fn is_upset(&self, now: Time) -> bool {
        self.upset || self.next_end().is_some_and(|end| end <= now)
    }

    /// Strikes all bookings out, at the market's moment.
    pub(super) fn rebuild_in(&mut self, market: &Market) {
        let now = market.now();
        self.running.extend(
            now,
            |job, hold| licences::expected_hold(market, job, hold.share.pool, now - hold.start),
            |_| (),
        );
        self.take_again(now);
    }

    /// Strikes all bookings out, and expects every running job to take what `length` says in all.
    pub(super) fn expect(
        &mut self,
        now: Time,
        length: impl Fn(JobId, PoolId, Span) -> Option<Span>,
    ) {
        self.running.expect_all(|job, hold| length(job, hold.share.pool, now - hold.start));
        self.take_again(now);
    }

    /// All that runs or is missing takes its nodes, and nothing else does.
    fn take_again(&mut self, now: Time) {
        self.free.clear(now);
        // In the order of time each change comes behind those of before, where it is put soonest.
        let mut all: Vec<&Hold> = self.running.iter().collect();
        all.sort_unstable_by_key(|hold| hold.end);
        for &Hold { share, memory, end, .. } in all {
            self.free.take(Taken { share, memory, from: now, until: end });
        }
        let Availability { outages, free, .. } = self;
        outages.renew(now).for_each(|taken| free.take(taken));
        self.upset = false;
    }
}

/// One pool: a site or a queue that sees no market.
impl Availability<Profile> {
    /// Of so many nodes, all free from `from` on.
    pub(super) fn of_pool(nodes: u32, from: Time) -> Availability<Profile> {
        Availability::new(Profile::new(nodes, from))
    }

    /// Nodes that are free now.
    pub(super) fn free_now(&self) -> u32 {
        u32::try_from(self.free.free_now().max(0)).unwrap_or(u32::MAX)
    }
}

/// What is free in each pool of a market as it stands, for one question. Cost:
/// [`Availability::of`].
pub(crate) fn free_in_each(market: &Market) -> Vec<Profile> {
    let pools = market.pools().as_slice().iter();
    let fresh = pools.map(|pool| Profile::new(pool.nodes, market.now())).collect();
    Availability::<Vec<Profile>>::of(fresh, market).free
}
