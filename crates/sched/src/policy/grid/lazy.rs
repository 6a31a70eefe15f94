//! A request whose offers are made when they are needed: a job that can start at once looks at the
//! cheapest pools alone, however many there are.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use tradewind_model::{Demand, JobId, Market, Pool, PoolId, Reason, Spread, Time};

use super::booking::Booking;
use super::free::Free;
use super::outline::RequestOutline;
use super::tariff::Tariff;
use super::wish::PlacementRequest;
use crate::policy::availability::Capacity;

/// A [`PlacementRequest`], which of some jobs is made at its first use.
#[derive(Debug, Clone)]
pub(in crate::policy) enum LazyRequest {
    /// It is made.
    Made(Box<PlacementRequest>),
    /// Of a job on many pools.
    Cheapest(Box<CheapestRequest>),
}

/// A job without a deadline that takes the cheapest free nodes of any sites.
#[derive(Debug, Clone)]
pub(in crate::policy) struct CheapestRequest {
    tariff: Arc<Tariff>,
    demand: Demand,
    whole: OnceLock<PlacementRequest>,
}

impl From<PlacementRequest> for LazyRequest {
    fn from(whole: PlacementRequest) -> LazyRequest {
        LazyRequest::Made(Box::new(whole))
    }
}

impl Deref for LazyRequest {
    type Target = PlacementRequest;

    fn deref(&self) -> &PlacementRequest {
        match self {
            LazyRequest::Made(whole) => whole,
            LazyRequest::Cheapest(it) => it.whole.get_or_init(|| it.make()),
        }
    }
}

impl PartialEq for LazyRequest {
    fn eq(&self, other: &LazyRequest) -> bool {
        **self == **other
    }
}

impl Eq for LazyRequest {}

impl LazyRequest {
    /// Of a job that can run if everything is free, and whose place at any moment depends on nothing but
    /// free nodes and these prices. `None`: only a [`PlacementRequest`] can say. Looks at the pools
    /// that the job would take.
    pub(in crate::policy) fn cheapest(
        tariff: &Arc<Tariff>,
        market: &Market,
        job: JobId,
        demand: &Demand,
    ) -> Option<LazyRequest> {
        let pools = tariff.pools();
        if pools.follow_load() || pools.counts_memory() || market.trade(job).is_some() {
            return None;
        }
        RequestOutline::quick(tariff, demand)?;
        let (tariff, demand) = (Arc::clone(tariff), demand.clone());
        let request = CheapestRequest { tariff, demand, whole: OnceLock::new() };
        Some(LazyRequest::Cheapest(Box::new(request)))
    }

    /// See [`PlacementRequest::earliest`].
    pub(in crate::policy) fn earliest(&self, free: &mut Free, from: Time) -> Option<Booking> {
        let soonest = match self {
            LazyRequest::Cheapest(it) => it.start_at(free, from),
            LazyRequest::Made(_) => None,
        };
        soonest.or_else(|| (**self).earliest(free, from))
    }

    /// See [`PlacementRequest::now`].
    pub(in crate::policy) fn now(&self, free: &mut Free, now: Time) -> Option<Booking> {
        match self {
            LazyRequest::Cheapest(it) => it.start_at(free, now),
            LazyRequest::Made(whole) => whole.now(free, now),
        }
    }

    /// See [`PlacementRequest::earliest_start`].
    pub(in crate::policy) fn earliest_start(&self) -> Option<Time> {
        match self {
            LazyRequest::Cheapest(it) => it.demand.terms().earliest_start,
            LazyRequest::Made(whole) => whole.earliest_start(),
        }
    }

    /// See [`PlacementRequest::expires`].
    pub(in crate::policy) fn expires(&self) -> Option<Time> {
        self.made()?.expires()
    }

    /// See [`PlacementRequest::too_late`].
    pub(in crate::policy) fn too_late(&self, now: Time) -> Option<Reason> {
        self.made()?.too_late(now)
    }

    /// See [`PlacementRequest::is_priced_out`].
    pub(in crate::policy) fn is_priced_out(&self) -> bool {
        self.made().is_some_and(PlacementRequest::is_priced_out)
    }

    /// What was made from the beginning.
    fn made(&self) -> Option<&PlacementRequest> {
        match self {
            LazyRequest::Made(whole) => Some(whole),
            LazyRequest::Cheapest(_) => None,
        }
    }
}

impl CheapestRequest {
    fn make(&self) -> PlacementRequest {
        PlacementRequest::on_pools(self.tariff.pools(), &self.demand, Spread::Grid)
    }

    /// The place at this moment, if there is one. Looks at the cheapest pools until the job has its
    /// nodes, or the others cost more than is left.
    fn start_at(&self, free: &Free, at: Time) -> Option<Booking> {
        let terms = self.demand.terms();
        if terms.earliest_start.is_some_and(|earliest| earliest > at) {
            return None;
        }
        if free.has_fewer(self.demand.processors, at) {
            return None;
        }
        let budget = terms.budget.map_or(i128::MAX, |budget| i128::from(budget.0));
        let (mut left, mut cost) = (self.demand.processors, 0i128);
        let mut parts = Vec::new();
        // Where no node is free now, none is from now on.
        let now = free.now() == at;
        let suits =
            |id: PoolId, pool: &Pool| (!now || free.is_open(id)) && pool.suits(&self.demand);
        for offer in self.tariff.cheapest(&self.demand, suits) {
            if cost + i128::from(left) * i128::from(offer.cost) > budget {
                return None;
            }
            let nodes = free.usable(&offer, at).min(left);
            if nodes == 0 {
                continue;
            }
            cost += i128::from(nodes) * i128::from(offer.cost);
            parts.push(offer.part(nodes));
            left -= nodes;
            if left == 0 {
                return Some(Booking::new(at, parts));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tradewind_model::{
        Admission, Attributes, Money, Performance, Pools, Price, Share, Site, SiteId, Span, Terms,
        Times,
    };

    use super::*;
    use crate::policy::availability::Taken;

    fn pools(drawn: &[(u32, u32, i64)]) -> Pools {
        let pool = |(at, &(nodes, speed, price)): (usize, &(u32, u32, i64))| Pool {
            name: format!("pool{at}"),
            site: SiteId(0),
            nodes,
            performance: Performance::from_thousandths(speed).unwrap(),
            price: Price(price),
            attributes: Attributes::new(),
            admission: Admission::NONE,
            times: Times::Work,
        };
        let all = drawn.iter().enumerate().map(pool).collect();
        Pools::new(vec![Site { name: "site".to_owned() }], all).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Beside a request that is made at once: the same places, or none by both.
        #[test]
        fn places_are_those_of_the_whole_request(
            drawn in prop::collection::vec((1u32..4, 900u32..1_300, 0i64..20), 4..12),
            taken in prop::collection::vec((any::<prop::sample::Index>(), 0i64..30, 1i64..30), 0..30),
            tasks in 1u32..8, estimate in 1i64..30, from in 0i64..30,
            budget in prop::option::of(0i64..3_000), earliest in prop::option::weighted(0.3, 0i64..40),
            slowest in 900u32..1_050,
        ) {
            let market = Market::new(Arc::new(pools(&drawn)), Time(0));
            let terms = Terms {
                budget: budget.map(Money),
                earliest_start: earliest.map(Time),
                min_performance: Performance::from_thousandths(slowest),
                ..Terms::NONE
            };
            let demand = Demand { terms: Some(terms.into()), ..Demand::new(tasks, Span(estimate)) };
            let tariff = Arc::new(Tariff::of(&market).unwrap());
            let lazy = LazyRequest::cheapest(&tariff, &market, JobId(1), &demand);
            let whole = PlacementRequest::new(&market, JobId(1), &demand, Spread::Grid);
            prop_assert_eq!(lazy.is_some(), whole.is_ok());
            let Some((lazy, whole)) = lazy.zip(whole.ok()) else { return Ok(()) };
            let mut free = Free::new(market.pools(), Time(0));
            for (pool, from, length) in taken {
                let share = Share { pool: PoolId(pool.index(drawn.len()) as u32), nodes: 1 };
                let taken = Taken { share, memory: 0, from: Time(from), until: Time(from + length) };
                if free.fits(&taken) {
                    free.take(taken);
                }
            }
            let from = Time(from);
            prop_assert_eq!(lazy.now(&mut free, from), whole.now(&mut free, from));
            prop_assert_eq!(lazy.earliest(&mut free, from), whole.earliest(&mut free, from));
            prop_assert_eq!(lazy.earliest_start(), whole.earliest_start());
            prop_assert_eq!(lazy.expires(), whole.expires());
            prop_assert_eq!(lazy.too_late(from), whole.too_late(from));
            prop_assert_eq!(lazy.is_priced_out(), whole.is_priced_out());
            prop_assert_eq!(&*lazy, &whole);
        }
    }
}
