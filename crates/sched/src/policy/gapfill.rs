//! Preemptible jobs where nodes are free only until an owner's job is expected to need them.
//!
//! Any policy leaves nodes free that are announced to the owners' waiting jobs before a job's limit.
//! A preemptible job leaves when the owners come, so it may use them until then. After each pass of the
//! policy inside, the preemptible jobs that still wait are tried in the order of submission, each in
//! the first pool of an owners' queue that suits it, within all its limits.
//!
//! **Reservations keep their nodes.** In a pool a job starts if it fits until its limit beside all that runs, all
//! other outages and what the policy inside has set aside; from the first of these reservations on also
//! beside the owners' expected load. So the nodes of every reservation are there whether the owners
//! come when expected, earlier or not at all. The policy inside sees the job's nodes taken until its
//! limit and makes its reservations again, which may put waiting jobs in other places. Exact for this rule; one pool for each job.
//!
//! Shapes, shared memory and agreed prices ([`Command::Trade`]) are left to the policy inside.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{
    Cause, Command, Demand, Event, JobId, Market, Outage, OutageId, Place, Pool, PoolId, Profile,
    Span, Time,
};

use super::availability::{Taken, expected_length, missing_time};
use super::{Policy, Promise};

/// The policy; see the module's text. Where no preemptible job waits, a call is one of the policy
/// inside. Otherwise it costs O(r·log r) more for r running jobs and reservations in pools that have
/// free nodes.
pub struct GapFill<P> {
    inner: P,
    /// Pools with an owners' queue.
    pools: BTreeSet<PoolId>,
    /// Preemptible jobs that wait.
    waiting: BTreeSet<JobId>,
    /// Starts that the policy inside has not been told of.
    begun: Vec<Event>,
    /// Jobs started here.
    count: u64,
}

/// What is free in a pool.
struct OwnersGap {
    /// Beside all that is known.
    all: Profile,
    /// The same without what owners' jobs are expected to need later.
    open: Profile,
    /// What the policy inside has set aside, by job, and by the moment at which it begins.
    reserved: BTreeMap<JobId, Taken>,
    starts: BTreeSet<(Time, JobId)>,
}

impl OwnersGap {
    fn take(&mut self, Taken { share, from, until, .. }: Taken) {
        self.all.take(share.nodes, from, until);
        self.open.take(share.nodes, from, until);
    }

    fn give(&mut self, Taken { share, from, until, .. }: Taken) {
        self.all.give(share.nodes, from, until);
        self.open.give(share.nodes, from, until);
    }

    fn reserve(&mut self, job: JobId, taken: Taken) {
        self.take(taken);
        self.starts.insert((taken.from, job));
        self.reserved.insert(job, taken);
    }

    /// The job's own reservation is no longer there.
    fn lift(&mut self, job: JobId) -> Option<Taken> {
        let taken = self.reserved.remove(&job)?;
        self.starts.remove(&(taken.from, job));
        self.give(taken);
        Some(taken)
    }

    /// Whether a job fits from now on.
    fn has_room(&self, nodes: u32, length: Span) -> bool {
        let now = self.open.origin();
        let end = now + length;
        let first = self.starts.first().map_or(end, |(from, _)| (*from).clamp(now, end));
        self.open.fits(nodes, now, length)
            && (first == end || self.all.fits(nodes, first, end - first))
    }

    /// The same for one that may have a reservation here, which it would give up: it takes its nodes.
    fn start(&mut self, job: JobId, taken: Taken) -> bool {
        let Taken { share, from, until, .. } = taken;
        if self.open.free_now() < i64::from(share.nodes) {
            return false;
        }
        let own = self.lift(job);
        let fits = self.has_room(share.nodes, until - from);
        match (fits, own) {
            (true, _) => self.take(taken),
            (false, Some(own)) => self.reserve(job, own),
            (false, None) => {}
        }
        fits
    }
}

impl<P: Policy> GapFill<P> {
    /// `inner`, before its first call; `pools` are those with an owners' queue.
    pub fn new(inner: P, pools: impl IntoIterator<Item = PoolId>) -> GapFill<P> {
        GapFill {
            inner,
            pools: pools.into_iter().collect(),
            waiting: BTreeSet::new(),
            begun: Vec::new(),
            count: 0,
        }
    }

    fn follow(&mut self, market: &Market, events: &[Event]) {
        for event in events {
            match event {
                Event::Submitted { job, .. } | Event::Interrupted { job }
                    if market.waits(*job) && market.demand(*job).is_some_and(is_simple) =>
                {
                    self.waiting.insert(*job);
                }
                Event::Started { job, .. }
                | Event::Lined { job }
                | Event::Cancelled { job }
                | Event::Refused { job } => _ = self.waiting.remove(job),
                _ => {}
            }
        }
    }

    /// Starts what fits. `commands` has what the policy inside does.
    fn fill(&mut self, market: &Market, commands: &mut Vec<Command>) {
        let mut gaps: BTreeMap<PoolId, OwnersGap> = BTreeMap::new();
        for &pool in self.pools.iter().filter(|pool| market.free_in(**pool) > 0) {
            gaps.extend(gap(market, pool, commands).map(|gap| (pool, gap)));
        }
        if gaps.is_empty() {
            return;
        }
        for (job, taken) in self.inner.reserved() {
            if let Some(gap) = gaps.get_mut(&taken.share.pool) {
                gap.reserve(job, taken);
            }
        }
        for job in std::mem::take(&mut self.waiting) {
            match place(market, job, &mut gaps) {
                None => _ = self.waiting.insert(job),
                Some(pool) => {
                    let place = Place::Pool(pool);
                    self.begun.push(Event::Started { job, place: place.clone() });
                    commands.push(Command::Start { job, place });
                    self.count += 1;
                }
            }
        }
    }
}

/// What is free in a pool in which owners' jobs are expected, if any node is; `commands` are those of
/// the policy inside.
fn gap(market: &Market, id: PoolId, commands: &[Command]) -> Option<OwnersGap> {
    let (now, pool) = (market.now(), market.pools().pool(id));
    let has_begun = |id| market.closure_state(id).is_some_and(|(_, begun)| begun);
    let here = || market.outages().filter(|(_, what)| what.pool == id);
    let expected = |(id, what): (OutageId, Outage)| what.cause == Cause::Local && !has_begun(id);
    if !here().any(expected) {
        return None;
    }
    let mut open = Profile::new(pool.nodes, now);
    for run in market.running() {
        let end = run.start + expected_length(pool, run.demand, now - run.start);
        let end = run.notice().map_or(end, |it| end.min(it.leaves.max(now + Span(1))));
        open.take(run.nodes_in(id), now, end);
    }
    for command in commands {
        let Command::Start { job, place } = command else { continue };
        let Some(demand) = market.demand(*job) else { continue };
        for share in place.shares(demand.processors).filter(|share| share.pool == id) {
            open.take(share.nodes, now, now + pool.length_of(demand).max(Span(1)));
        }
    }
    let (reserved, starts) = (BTreeMap::new(), BTreeSet::new());
    let mut gap = OwnersGap { all: open.clone(), open, reserved, starts };
    for (closure, what) in here() {
        let (from, until) = missing_time(&what, has_begun(closure), now);
        gap.all.take(what.nodes, from, until.max(from));
        if !expected((closure, what)) {
            gap.open.take(what.nodes, from, until.max(from));
        }
    }
    (gap.open.free_now() > 0).then_some(gap)
}

/// Whether the job may be started here at all.
fn is_simple(demand: &Demand) -> bool {
    let terms = demand.terms();
    let plain = terms.memory.is_none() && terms.licences.is_none();
    demand.is_preemptible() && !demand.is_moldable() && plain
}

/// The first pool in which the job can start now; it takes its nodes.
fn place(market: &Market, job: JobId, gaps: &mut BTreeMap<PoolId, OwnersGap>) -> Option<PoolId> {
    let (now, demand) = (market.now(), market.demand(job)?);
    gaps.iter_mut().find_map(|(&id, gap)| {
        let pool = market.pools().pool(id);
        let end = now + pool.length_of(demand).max(Span(1));
        let may = may_start(market, (id, pool), demand) && market.trade(job).is_none();
        (may && gap.start(job, Taken::new(id, demand.processors, now, end))).then_some(id)
    })
}

/// Whether the job's limits let it start in the pool now.
fn may_start(market: &Market, (id, pool): (PoolId, &Pool), demand: &Demand) -> bool {
    let (now, terms, length) = (market.now(), demand.terms(), pool.length_of(demand));
    let share = tradewind_model::Share { pool: id, nodes: demand.processors };
    pool.suits(demand)
        && terms.max_price.is_none_or(|max| market.pools().highest_within(id, now, length) <= max)
        && terms.earliest_start.is_none_or(|from| from <= now)
        && terms.deadline.is_none_or(|deadline| now + length <= deadline)
        && terms.budget.is_none_or(|budget| market.pools().cost(share, now, length) <= budget)
}

impl<P: Policy> Policy for GapFill<P> {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let before = commands.len();
        match self.begun.is_empty() {
            true => self.inner.decide(market, events, commands),
            false => {
                let mut all = std::mem::take(&mut self.begun);
                all.extend_from_slice(events);
                self.inner.decide(market, &all, commands);
            }
        }
        self.follow(market, events);
        for command in &commands[before..] {
            if let Command::Start { job, .. } | Command::Refuse { job, .. } = command {
                self.waiting.remove(job);
            }
        }
        if !self.waiting.is_empty() && self.inner.promise() != Promise::Order {
            self.fill(market, commands);
        }
    }

    fn inner(&self) -> Option<&dyn Policy> {
        Some(&self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Policy> {
        Some(&mut self.inner)
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        let starts = |event: &Event| matches!(event, Event::Started { job: it, .. } if *it == job);
        self.inner.reservation(job).filter(|_| !self.begun.iter().any(starts))
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = self.inner.counts();
        counts.push(("filled_gaps", self.count));
        counts
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use tradewind_model::{Money, Pools, Price, Rates, Series, Terms};

    use super::*;

    proptest! {
        #[test]
        fn a_budget_is_for_the_sum_of_all_seconds_and_a_cap_for_each(
            steps in prop::collection::btree_map(0i64..40, 0i64..9, 1..5),
            now in 0i64..50, length in 1i64..30, nodes in 1u32..4,
            budget in prop::option::of(0i64..400), cap in prop::option::of(0i64..9),
        ) {
            let steps: Vec<_> = steps.into_iter().map(|(at, price)| (Time(at), price)).collect();
            let rate = Series::new(&steps).unwrap();
            let paid = || (now..now + length).map(|second| rate.at(Time(second)));
            let within = budget.is_none_or(|most| paid().sum::<i64>() * i64::from(nodes) <= most)
                && cap.is_none_or(|cap| paid().all(|price| price <= cap));
            let rates = Rates::new(vec![Some(Arc::new(rate.clone()))]);
            let pools = Arc::new(Pools::cluster(4).with_rates(rates));
            let (budget, max_price) = (budget.map(Money), cap.map(Price));
            let terms = Some(Arc::new(Terms { budget, max_price, ..Terms::NONE }));
            let demand = Demand { terms, ..Demand::new(nodes, Span(length)) };
            let market = Market::new(Arc::clone(&pools), Time(now));
            let here = (PoolId(0), pools.pool(PoolId(0)));
            prop_assert_eq!(may_start(&market, here, &demand), within);
        }
    }
}
