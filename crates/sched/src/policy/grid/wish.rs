//! What a job wants of the pools.

use std::sync::Arc;

use tradewind_model::{
    Demand, JobId, Licence, LicenceShare, LoadPrice, Market, Money, Performance, Pool, PoolId,
    Pools, Price, Reason, Span, Spread, Terms, Time, Trade,
};

use super::booking::{Booking, Part};
use super::licences::Along;
use super::priced::ChangingPrices;
use super::shapes::{self, MadeRequest, OtherShapes};
use crate::policy::inbox::{self, Comes};

/// What a pool would give to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) struct PoolOffer {
    pub(in crate::policy) pool: PoolId,
    /// Tasks that the pool can take in all: its nodes, or fewer where memory is counted.
    pub(in crate::policy) nodes: u32,
    /// How long a task takes there.
    pub(in crate::policy) length: Span,
    /// What a task costs there, in micro-credits: at least, where prices change with time.
    pub(in crate::policy) cost: i64,
}

impl PoolGroup {
    /// Those that the job can pay at any start.
    pub(super) fn affordable(&self) -> &[PoolOffer] {
        &self.offers[..self.affordable]
    }
}

impl PoolOffer {
    /// So many tasks there, of a job whose memory is not counted.
    pub(super) fn part(&self, nodes: u32) -> Part {
        Part { pool: self.pool, nodes, length: self.length, memory: 0 }
    }
}

/// Pools that may serve a job together, those that cost least first (then by length, then in
/// their order), and how fast the job can be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PoolGroup {
    pub(super) offers: Vec<PoolOffer>,
    /// So many of them are within the budget beside the cheapest tasks, where prices do not change.
    affordable: usize,
    /// The longest task at least, if the whole group were free: within the budget.
    least_length: Span,
}

/// Pools, the prices that count, and what a job agreed with one of them.
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    pools: &'a Pools,
    trade: Option<&'a Trade>,
    /// Whether prices that follow load are those of idle pools; else those of now.
    idle: bool,
}

impl<'a> Asked<'a> {
    fn now(market: &'a Market, job: JobId) -> Asked<'a> {
        Asked { pools: market.pools(), trade: market.trade(job), idle: false }
    }

    /// Whether some pool asks less while it is idle.
    fn may_fall(self) -> bool {
        !self.idle && self.pools.cost_less_idle()
    }

    fn price(self, id: PoolId, pool: &Pool) -> Price {
        let by_load = self.pools.load_price(id).filter(|_| self.idle);
        by_load.map_or(pool.price, LoadPrice::idle)
    }
}

/// A job's demand, prepared for the pools of a market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::policy) struct PlacementRequest {
    pub(super) wanted: u32,
    /// Memory of each task in KiB; 0 where it is not counted.
    pub(super) memory: u32,
    /// What it takes along; `None` of most jobs.
    along: Option<Arc<Along>>,
    pub(super) budget: i128,
    pub(super) earliest_start: Option<Time>,
    pub(super) deadline: Time,
    /// None: the job cannot pay what the pools cost now, and waits for other prices.
    pub(super) groups: Vec<PoolGroup>,
    /// Where the price of any pool changes with time: costs depend on the start.
    pub(super) prices: Option<ChangingPrices>,
    /// Of a moldable job: its other shapes. This one is then one of them.
    pub(super) shapes: Option<Box<OtherShapes>>,
    /// Where lower loads bring lower prices than those of now: how long the job takes at least, if
    /// everything were free and idle.
    idle_runtime: Option<Span>,
}

impl PlacementRequest {
    /// Which pools suit the job, together or, if the policy or the job says so, site by site. Every limit that the job states
    /// applies. A job that agreed with a queue goes there, at that price. O(p log p) for p pools,
    /// times a logarithm where there is a budget or a deadline.
    ///
    /// # Errors
    /// Why the job could not run from now on even if all pools were free.
    pub(in crate::policy) fn new(
        market: &Market,
        job: JobId,
        demand: &Demand,
        spread: Spread,
    ) -> Result<PlacementRequest, Reason> {
        PlacementRequest::at_prices(Asked::now(market, job), demand, spread, market.now())
    }

    /// The same at the lowest prices that the load of pools gives, where prices follow it: those of idle
    /// pools.
    ///
    /// # Errors
    /// Why the job could not run even then.
    pub(in crate::policy) fn on_idle_pools(
        market: &Market,
        job: JobId,
        demand: &Demand,
        spread: Spread,
    ) -> Option<Result<PlacementRequest, Reason>> {
        let idle = Asked { idle: true, ..Asked::now(market, job) };
        let at_idle = || PlacementRequest::at_prices(idle, demand, spread, market.now());
        market.pools().follow_load().then(at_idle)
    }

    fn at_prices(
        asked: Asked<'_>,
        demand: &Demand,
        spread: Spread,
        now: Time,
    ) -> Result<PlacementRequest, Reason> {
        let (wish, reason) = PlacementRequest::with_reason(asked, demand, spread);
        match reason {
            Some(reason) => Err(reason),
            None => wish.too_late(now).map_or(Ok(wish), Err),
        }
    }

    /// The same; a job that waited before is not refused for the prices of the moment, nor is any where
    /// prices follow load and it could run on idle pools.
    ///
    /// # Errors
    /// As [`PlacementRequest::new`].
    pub(in crate::policy) fn of(
        market: &Market,
        (job, comes): (JobId, Comes),
        demand: &Demand,
        spread: Spread,
    ) -> Result<PlacementRequest, Reason> {
        let found = PlacementRequest::new(market, job, demand, spread);
        if found.is_ok() {
            return found;
        }
        match comes {
            Comes::Newly => match PlacementRequest::on_idle_pools(market, job, demand, spread) {
                Some(idle) => idle?,
                None => return found,
            },
            Comes::Again => {
                PlacementRequest::new(market, job, &inbox::without_limits(demand), spread)?
            }
        };
        Ok(PlacementRequest::of_waiting(market, job, demand, spread))
    }

    /// The same for a job that waits already, when prices have changed: if it cannot run at
    /// these, it waits for others.
    pub(in crate::policy) fn of_waiting(
        market: &Market,
        job: JobId,
        demand: &Demand,
        spread: Spread,
    ) -> PlacementRequest {
        PlacementRequest::with_reason(Asked::now(market, job), demand, spread).0
    }

    /// Of a job without a trade on these pools; without groups, if it cannot run.
    pub(super) fn on_pools(pools: &Pools, demand: &Demand, spread: Spread) -> PlacementRequest {
        let asked = Asked { pools, trade: None, idle: false };
        PlacementRequest::with_reason(asked, demand, spread).0
    }

    /// Without groups, if there is a reason.
    fn with_reason(asked: Asked<'_>, demand: &Demand, spread: Spread) -> MadeRequest {
        let (mut wish, reason) = match demand.is_moldable() {
            true => {
                let make = |shape: &Demand| PlacementRequest::rigid(asked, shape, spread);
                shapes::of_shapes(demand, make)
            }
            false => PlacementRequest::rigid(asked, demand, spread),
        };
        if asked.may_fall() {
            let idle = Asked { idle: true, ..asked };
            let (idle, _) = PlacementRequest::with_reason(idle, demand, spread);
            wish.idle_runtime = Some(idle.least_runtime());
        }
        (wish, reason)
    }

    /// The same in the shape that the demand has.
    fn rigid(asked: Asked<'_>, demand: &Demand, spread: Spread) -> MadeRequest {
        let (Asked { pools, trade, .. }, terms) = (asked, demand.terms());
        let mut wish = PlacementRequest {
            wanted: demand.processors,
            memory: terms.memory.filter(|_| pools.counts_memory()).unwrap_or(0),
            along: Along::of_any(pools, demand),
            budget: terms.budget.map_or(i128::MAX, |budget| i128::from(budget.0)),
            earliest_start: terms.earliest_start,
            deadline: terms.deadline.unwrap_or(Time::INFINITY),
            groups: Vec::new(),
            prices: changing(asked, terms),
            shapes: None,
            idle_runtime: None,
        };
        let offers = match trade {
            Some(trade) => vec![agreed(pools, demand, trade)],
            None => offers(asked, demand, spread.max(terms.spread)),
        };
        if let Some(reason) = too_few_licences(pools, demand) {
            return (wish, Some(reason));
        }
        let sets = match wide_enough(demand, offers, terms.min_performance) {
            Ok(sets) => sets,
            Err(reason) => return (wish, Some(reason)),
        };
        let mut cheapest = i128::MAX;
        for offers in sets {
            let cost = wish.cost(&offers, Span::MAX).unwrap_or(i128::MAX);
            cheapest = cheapest.min(cost);
            if cost <= wish.budget {
                let group = wish.group(offers);
                wish.groups.push(group);
            }
        }
        let saturate = |amount: i128| Money(amount.clamp(0, i128::from(i64::MAX)) as i64);
        let (cheapest, budget) = (saturate(cheapest), saturate(wish.budget));
        let short = wish.groups.is_empty().then_some(Reason::BudgetShort { cheapest, budget });
        (wish, short)
    }

    /// Of offers of which the job can pay some.
    fn group(&self, offers: Vec<PoolOffer>) -> PoolGroup {
        let others = i128::from(self.wanted.saturating_sub(1));
        let others = others * offers.first().map_or(0, |cheapest| i128::from(cheapest.cost));
        let pays = |offer: &PoolOffer| i128::from(offer.cost) + others <= self.budget;
        let affordable = match self.prices {
            None => offers.partition_point(pays),
            Some(_) => offers.len(),
        };
        let least_length = self.least_length(&offers);
        PoolGroup { offers, affordable, least_length }
    }

    /// What the job takes along.
    pub(super) fn along(&self) -> &Along {
        static NOTHING: Along = Along::NOTHING;
        self.along.as_deref().unwrap_or(&NOTHING)
    }

    /// Whether it depends on prices that change when the job can start: it has a budget or a price cap,
    /// or shapes to choose from. Other jobs start as soon as there are nodes, on the cheapest of them.
    pub(in crate::policy) fn minds_prices(&self) -> bool {
        let is_limited = |it: &ChangingPrices| {
            self.budget < i128::MAX || it.max_price.is_some() || self.shapes.is_some()
        };
        self.prices.as_ref().is_some_and(is_limited)
    }

    /// Whether the job waits for other prices.
    pub(in crate::policy) fn is_priced_out(&self) -> bool {
        self.each().all(|shape| shape.groups.is_empty())
    }

    /// Whether the job can pay for the booking.
    pub(in crate::policy) fn affords(&self, booking: &Booking) -> bool {
        self.shape_of(booking).affords_shape(booking)
    }

    fn affords_shape(&self, booking: &Booking) -> bool {
        if let Some(prices) = &self.prices {
            let cost = |group: &PoolGroup| self.priced_cost((group, prices), booking);
            return self.groups.iter().filter_map(cost).any(|cost| cost <= self.budget);
        }
        let cost = |group: &PoolGroup| {
            let of = |part: &Part| {
                let offer = group.offers.iter().find(|offer| offer.pool == part.pool)?;
                Some(i128::from(offer.cost) * i128::from(part.nodes))
            };
            let nodes = booking.parts.iter().map(of).sum::<Option<i128>>()?;
            Some(nodes + self.along().cost_of(booking))
        };
        self.groups.iter().filter_map(cost).any(|cost| cost <= self.budget)
    }

    /// The same request on the other pools only. It has no groups if these cannot serve it.
    pub(in crate::policy) fn without(&self, left_out: &dyn Fn(PoolId) -> bool) -> PlacementRequest {
        let group = |group: &PoolGroup| {
            let offers = group.offers.iter().filter(|offer| !left_out(offer.pool));
            let offers: Vec<PoolOffer> = offers.copied().collect();
            let cost = self.cost(&offers, Span::MAX)?;
            (cost <= self.budget).then(|| self.group(offers))
        };
        let groups = self.groups.iter().filter_map(group).collect();
        let shapes = self.shapes.as_ref().map(|shapes| {
            let requests = shapes.requests.iter().map(|shape| shape.without(left_out)).collect();
            Box::new(OtherShapes { rule: shapes.rule, requests })
        });
        let (along, prices) = (self.along.clone(), self.prices.clone());
        PlacementRequest { groups, along, prices, shapes, ..*self }
    }

    /// Whether the booking keeps the job's budget, earliest start and deadline.
    pub(in crate::policy) fn allows(&self, booking: &Booking) -> bool {
        let in_time = |part: &Part| booking.start + part.length <= self.deadline;
        self.earliest_start.is_none_or(|earliest| booking.start >= earliest)
            && booking.parts.iter().all(in_time)
            && self.affords(booking)
    }

    /// What the cheapest of the offers with tasks of `length` at most cost together, with what the
    /// job takes along; `None` if they are too few.
    fn cost(&self, offers: &[PoolOffer], length: Span) -> Option<i128> {
        if self.along().per_second == 0 {
            return self.cost_within(offers, length);
        }
        let caps = self.along().caps(offers.iter().map(|offer| offer.length));
        let cost = |cap: Span| self.cost_within(offers, cap.min(length));
        caps.into_iter().filter_map(cost).min()
    }

    /// The same of the offers that cost least by themselves.
    fn cost_within(&self, offers: &[PoolOffer], length: Span) -> Option<i128> {
        let (mut left, mut cost, mut longest) = (self.wanted, 0i128, Span(0));
        for offer in offers.iter().filter(|offer| offer.length <= length) {
            let nodes = left.min(offer.nodes);
            cost += i128::from(nodes) * i128::from(offer.cost);
            longest = longest.max(offer.length);
            left -= nodes;
            if left == 0 {
                return Some(cost + self.along().cost(longest));
            }
        }
        None
    }

    fn least_length(&self, offers: &[PoolOffer]) -> Span {
        let mut lengths: Vec<Span> = offers.iter().map(|offer| offer.length).collect();
        lengths.sort_unstable();
        let affordable = |length: Span| self.cost(offers, length).is_some_and(|c| c <= self.budget);
        let at = lengths.partition_point(|length| !affordable(*length));
        lengths.get(at.min(lengths.len() - 1)).copied().unwrap_or_default()
    }

    /// How long the job takes at least, if everything were free.
    pub(in crate::policy) fn least_runtime(&self) -> Span {
        let groups = self.each().flat_map(|shape| &shape.groups);
        groups.map(|group| group.least_length).min().unwrap_or_default()
    }

    /// The same at the lowest prices to come.
    pub(super) fn soonest(&self) -> Span {
        self.idle_runtime.unwrap_or_else(|| self.least_runtime())
    }

    /// Where a task could run, and for how long; a pool may come more than once.
    pub(in crate::policy) fn pools(&self) -> impl Iterator<Item = (PoolId, Span)> + '_ {
        let offers = self.each().flat_map(|shape| &shape.groups).flat_map(|group| &group.offers);
        offers.map(|offer| (offer.pool, offer.length))
    }

    /// What the job takes along, as the books know it, and for how long at most.
    pub(in crate::policy) fn licences(&self) -> impl Iterator<Item = (PoolId, Span)> + '_ {
        let longest = if self.along().shares.is_empty() { Span(0) } else { self.longest_task() };
        self.along().shares.iter().map(move |share| (share.pool, longest))
    }

    /// How long a task takes at most.
    pub(in crate::policy) fn longest_task(&self) -> Span {
        let offers = self.each().flat_map(|shape| &shape.groups).flat_map(|group| &group.offers);
        offers.map(|offer| offer.length).max().unwrap_or_default()
    }

    /// Suitable nodes on which a task takes no longer than `length`.
    pub(in crate::policy) fn nodes_within(&self, length: Span) -> u32 {
        let of = |group: &PoolGroup| {
            let fast = group.offers.iter().filter(|offer| offer.length <= length);
            fast.map(|offer| offer.nodes).sum()
        };
        self.groups.iter().map(of).max().unwrap_or(0)
    }

    /// Earliest start, if there is one.
    pub(in crate::policy) fn earliest_start(&self) -> Option<Time> {
        self.earliest_start
    }

    /// The first moment from which on the job cannot meet its deadline any more, whatever is
    /// free.
    pub(in crate::policy) fn expires(&self) -> Option<Time> {
        (self.deadline < Time::INFINITY).then(|| self.deadline - self.soonest() + Span(1))
    }

    /// Why the job cannot start at `now` or later, if it cannot.
    pub(in crate::policy) fn too_late(&self, now: Time) -> Option<Reason> {
        let start = self.earliest_start.unwrap_or(now).max(now);
        let (earliest, deadline) = (start + self.soonest(), self.deadline);
        let late = (earliest > deadline).then_some(Reason::TooLate { earliest, deadline });
        late.or_else(|| {
            let mut never = self.each().map(|shape| shape.never(now));
            let first = never.next().flatten();
            first.filter(|_| never.all(|reason| reason.is_some()))
        })
    }
}

/// Prices that change, for a job that has not agreed on one.
fn changing(asked: Asked<'_>, terms: &Terms) -> Option<ChangingPrices> {
    let rates = asked.pools.rates().filter(|_| asked.trade.is_none())?.clone();
    let may_fall = rates.is_agreed_at_start() || asked.may_fall();
    Some(ChangingPrices { rates, max_price: terms.max_price, may_fall })
}

/// By pool, in sets that may serve together.
fn offers(asked: Asked<'_>, demand: &Demand, spread: Spread) -> Vec<Vec<PoolOffer>> {
    let pools = asked.pools;
    let sets = match spread {
        Spread::Grid => 1,
        Spread::Site => pools.sites().len(),
    };
    let mut offers: Vec<Vec<PoolOffer>> = vec![Vec::new(); sets];
    for (id, pool) in pools.iter() {
        let price = asked.price(id, pool);
        if !pool.suits_at(price, demand) {
            continue;
        }
        let set = if spread == Spread::Site { pool.site.0 as usize } else { 0 };
        let nodes = pools.tasks_in(id, demand);
        if nodes > 0 {
            offers[set].push(PoolOffer { nodes, ..offer(id, pool, price, demand) });
        }
    }
    for set in &mut offers {
        set.sort_by_key(|offer| (offer.cost, offer.length, offer.pool));
    }
    offers
}

fn offer(id: PoolId, pool: &Pool, price: Price, demand: &Demand) -> PoolOffer {
    let length = pool.length_of(demand);
    PoolOffer { pool: id, nodes: pool.nodes, length, cost: (price * length).0 }
}

/// The pool that the job agreed on, if it suits. The price was agreed, too, whatever it is.
fn agreed(pools: &Pools, demand: &Demand, trade: &Trade) -> Vec<PoolOffer> {
    let pool = pools.pool(trade.pool);
    let asked = demand.terms().max_price.map_or(trade.price, |max| trade.price.min(max));
    let suits = Pool { price: asked, ..pool.clone() }.suits(demand);
    let nodes = pools.tasks_in(trade.pool, demand);
    let offer = || PoolOffer { nodes, ..offer(trade.pool, pool, trade.price, demand) };
    (suits && nodes > 0).then(offer).into_iter().collect()
}

/// That there are fewer licences than the job takes along.
fn too_few_licences(pools: &Pools, demand: &Demand) -> Option<Reason> {
    let mut shares = demand.terms().licences.as_deref()?.iter();
    let is_short = |it: &&LicenceShare| pools.licences()[it.licence.index()].count < it.count;
    let LicenceShare { licence, count } = *shares.find(is_short)?;
    let Licence { name, count: max, .. } = pools.licences()[licence.index()].clone();
    Some(Reason::LicenceShort { licence: name, needed: count, max, deadline: None })
}

fn wide_enough(
    demand: &Demand,
    mut sets: Vec<Vec<PoolOffer>>,
    min_performance: Option<Performance>,
) -> Result<Vec<Vec<PoolOffer>>, Reason> {
    let needed = demand.processors;
    let nodes = |set: &Vec<PoolOffer>| set.iter().map(|offer| offer.nodes).sum::<u32>();
    let suitable = sets.iter().map(nodes).max().unwrap_or(0);
    sets.retain(|set| nodes(set) >= needed);
    match sets.is_empty() {
        true => Err(Reason::TooFewNodes { needed, suitable, min_performance }),
        false => Ok(sets),
    }
}
