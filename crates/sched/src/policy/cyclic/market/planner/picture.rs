//! The planning problem of a batch: named nodes, free slots and requests.

use std::cmp::Reverse;

use tradewind_model::{
    Demand, FreeLicences, Horizon, Job, JobPlan, Market, Outcome, Pool, Pools, Reason, SlotList,
    Snapshot, Time,
};

use super::super::CycleSettings;
use super::super::reach::{self, Sight};
use super::super::rho;
use super::{PlanKey, Planner};
use crate::policy::cyclic::{self, SearchBy};
use crate::policy::grid::{Booking, FEW, GridAvailability, Names};

/// The grid of named nodes, with the last cycle's slots and jobs.
#[derive(Debug)]
pub(super) struct Picture {
    names: Names,
    pub(super) snapshot: Snapshot,
    /// By pool, whether it has names; `None`: all have.
    pub(super) reached: Option<Vec<bool>>,
}

impl Planner {
    pub(super) fn plan_in_picture(&self, seed: u64) -> Vec<Result<Booking, Reason>> {
        let Some(Picture { names, snapshot, .. }) = &self.world else { return Vec::new() };
        let cyclic = cyclic::Cyclic { seed, ..self.settings.cyclic.clone() };
        let plan = cyclic::plan(snapshot, &cyclic, &mut |_| {});
        let outcome = |job: JobPlan| match job.window() {
            Some(window) => Ok(names.booking(window)),
            None => match job.outcome {
                Outcome::Postponed(reason) => Err(reason),
                Outcome::Placed(_) => Err(Reason::Outbid),
            },
        };
        plan.jobs.into_iter().map(outcome).collect()
    }

    /// Why the last plan, on all pools, has no window for a job of the batch.
    pub(super) fn reason_in_all(
        &mut self,
        market: &Market,
        books: &GridAvailability,
        (batch, key): (&[PlanKey], PlanKey),
        horizon: Horizon,
    ) -> Option<Reason> {
        let seed = self.settings.cyclic.seed.wrapping_add(self.plans - 1);
        self.picture(market, books, (batch, None), horizon);
        let outcomes = self.plan_in_picture(seed);
        let of_key = batch.iter().zip(outcomes).find(|(other, _)| **other == key);
        of_key.and_then(|(_, outcome)| outcome.err())
    }

    /// Whether prices change with time and are why the job has no window: alone on free pools it is
    /// not placed as far as a cycle looks ahead, but later, when all prices have come once. Where owners
    /// may set other prices, a job with a budget or a cap waits for them; all jobs wait until prices that
    /// follow load are those of idle pools.
    pub(super) fn may_wait(
        &mut self,
        market: &Market,
        books: &GridAvailability,
        key: PlanKey,
    ) -> bool {
        if market.pools().cost_less_idle() {
            return true;
        }
        let Some(rates) = market.pools().rates() else { return false };
        let wish = self.waiting.get(&key).map(|wish| wish.outline);
        let (Some(wish), Some(demand)) = (wish, market.demand(key.1)) else { return false };
        let terms = demand.terms();
        if rates.is_agreed_at_start() && (terms.budget.is_some() || terms.max_price.is_some()) {
            return true;
        }
        let now = books.now();
        let seed = self.settings.cyclic.seed;
        self.picture(market, books, (&[key], None), self.horizon(now));
        if self.plan_in_picture(seed).iter().any(Result::is_ok) {
            return false;
        }
        let start = wish.earliest_start().map_or(now, |start| start.max(now));
        let end = rates.settled(start) + wish.longest_task();
        self.picture(market, books, (&[key], None), Horizon { start: now, end });
        let Some(job) = self.world.as_mut().and_then(|world| world.snapshot.jobs.first_mut())
        else {
            return false;
        };
        job.request.deadline = demand.request().deadline;
        // What begins sooner was looked at above, and has no place by the rules of a cycle.
        let seen = now + self.ahead();
        self.plan_in_picture(seed).iter().any(|it| it.as_ref().is_ok_and(|it| it.start > seen))
    }

    /// When a job of the batch must be over.
    fn end_of(&self, key: &PlanKey, horizon: Horizon) -> Option<Time> {
        let booked = || self.booked.get(&key.1).map(|booked| &booked.wish);
        let wish = self.waiting.get(key).or_else(booked)?;
        Some(self.end_for(&wish.outline, horizon))
    }

    /// By pool, whether the batch can reach it; `None`: all are looked at.
    pub(super) fn reached(
        &self,
        market: &Market,
        books: &GridAvailability,
        batch: &[PlanKey],
        horizon: Horizon,
    ) -> Option<Vec<bool>> {
        let tariff = self.tariff.as_ref().filter(|_| reach::is_bounded(&self.settings))?;
        let (profiles, taken) = (books.profiles(), self.nodes_taken(market, batch));
        let sight = Sight { pools: market.pools(), tariff, profiles, horizon, taken };
        let jobs = batch
            .iter()
            .filter_map(|key| Some((market.demand(key.1)?, self.end_of(key, horizon)?)));
        reach::reached(sight, &self.settings, jobs)
    }

    /// Makes the snapshot of a batch, of the pools that it reaches at least.
    pub(super) fn picture(
        &mut self,
        market: &Market,
        books: &GridAvailability,
        (batch, reached): (&[PlanKey], Option<Vec<bool>>),
        horizon: Horizon,
    ) {
        let max = self.names_needed(market, batch);
        let before = self.world.take();
        let serves = |world: &Picture| world.names.max == max && world.serves(reached.as_deref());
        let world = match before.filter(serves) {
            Some(world) => Some(world),
            None => Picture::new(market.pools(), max, reached, &self.settings, horizon),
        };
        let job = |key: &PlanKey| {
            let (Reverse(priority), job) = *key;
            let end = self.end_of(key, horizon)?;
            let mut request = market.demand(job)?.request();
            request.deadline = Some(request.deadline.map_or(end, |deadline| deadline.min(end)));
            Some(Job { name: job.0.to_string(), priority, request })
        };
        self.world = world.map(|world| {
            let jobs = batch.iter().filter_map(job).collect();
            let slots = world.names.slots(books.profiles(), horizon);
            let slots = match books.free().licences() {
                [] => slots,
                free => slots.with_licences(FreeLicences::of(free.to_vec())),
            };
            let mut snapshot = Snapshot { horizon, slots, jobs, ..world.snapshot };
            let CycleSettings { vo, rho, .. } = &self.settings;
            snapshot.policy.rho = rho::rho(rho, vo.rho, market, horizon.start);
            Picture { snapshot, ..world }
        });
    }

    /// Nodes of a pool that the batch could take, with all its alternatives: a power of two, so
    /// that the same names often serve again.
    fn names_needed(&self, market: &Market, batch: &[PlanKey]) -> u32 {
        let all = self.nodes_taken(market, batch).min(u64::from(Pools::MAX_NODES));
        all.min(u64::from(market.pools().nodes())).next_power_of_two() as u32
    }

    /// Nodes that the batch takes at most, with all its alternatives.
    fn nodes_taken(&self, market: &Market, batch: &[PlanKey]) -> u64 {
        let tasks = |(_, job): &PlanKey| market.demand(*job).map_or(0, Demand::most_processors);
        let tasks: u64 = batch.iter().map(|key| u64::from(tasks(key))).sum();
        let alternatives = match self.settings.cyclic.search {
            SearchBy::Csa => u32::MAX, // it looks at all windows for each alternative
            _ => self.settings.cyclic.max_alternatives.unwrap_or(u32::MAX),
        };
        tasks.saturating_mul(u64::from(alternatives))
    }
}

impl Picture {
    /// Pictures of these pools are kept while they have so many pools at most: twice as many as
    /// needed, and some.
    fn serves(&self, reached: Option<&[bool]>) -> bool {
        let (Some(has), Some(needs)) = (&self.reached, reached) else {
            return self.reached.is_none() && reached.is_none();
        };
        let count = |pools: &[bool]| pools.iter().filter(|pool| **pool).count();
        has.iter().zip(needs).all(|(has, needs)| *has || !needs)
            && count(has) <= 2 * count(needs) + FEW
    }

    fn new(
        pools: &Pools,
        max: u32,
        reached: Option<Vec<bool>>,
        settings: &CycleSettings,
        horizon: Horizon,
    ) -> Option<Picture> {
        let mut each = reached.iter().flatten();
        let wanted = |_: &Pool| each.next().is_none_or(|reached| *reached);
        let (names, grid) = Names::of(pools, max, wanted).ok()?;
        let (slots, jobs) = (SlotList::default(), Vec::new());
        let snapshot = Snapshot { horizon, grid, slots, jobs, policy: settings.vo.clone() };
        Some(Picture { names, snapshot, reached })
    }
}
