use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Admission, Attributes, Event, Pool, PoolId, Pools, Share, Site, SiteId, Terms, TimeMode, Times,
};

use super::*;
use crate::testing::performance;

/// Nodes, performance in thousandths, price.
pub(in crate::policy) type Drawn = (u32, u32, i64);
/// Tasks, estimate, budget.
pub(in crate::policy) type Wanted = (u32, i64, Option<i64>);

pub(in crate::policy) fn market(
    pools: &[Drawn],
    waiting: &[Wanted],
    running: Option<(u32, i64)>,
) -> Market {
    let pool = |(at, &(nodes, speed, price)): (u32, &Drawn)| Pool {
        name: format!("p{at}"),
        site: SiteId(0),
        nodes,
        performance: performance(speed),
        price: Price(price),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: if at % 2 == 0 { Times::Work } else { Times::Wall },
    };
    let sites = vec![Site { name: "a".to_owned() }];
    let pools = Pools::new(sites, (0..).zip(pools).map(pool).collect()).unwrap();
    let mut market = Market::new(Arc::new(pools), Time(0));
    let mut jobs = (0..).map(JobId);
    if let Some((nodes, length)) = running {
        let nodes = nodes.min(market.free_in(PoolId(0)));
        let job = jobs.next().unwrap();
        let demand = Demand::new(nodes, Span(length));
        market.apply(&Event::Submitted { job, demand }).unwrap();
        market.apply(&Event::Started { job, place: Place::Pool(PoolId(0)) }).unwrap();
    }
    let max = market.processors();
    for ((tasks, estimate, budget), job) in waiting.iter().copied().zip(jobs) {
        let demand = demand((tasks.min(max), estimate, budget));
        market.apply(&Event::Submitted { job, demand }).unwrap();
    }
    market
}

pub(in crate::policy) fn demand((tasks, estimate, budget): Wanted) -> Demand {
    let times = counted(estimate, &Demand::new(1, Span(1))).mode();
    let terms = Terms { budget: budget.map(Money), times, ..Terms::default() };
    Demand { terms: Some(Arc::new(terms)), ..Demand::new(tasks, Span(estimate)) }
}

/// The job with one of the ways of counting times, as the number says.
fn counted(number: i64, demand: &Demand) -> Demand {
    let modes = [TimeMode::WORK, TimeMode::WALL, TimeMode::Owner];
    let times = modes[number.unsigned_abs() as usize % modes.len()];
    Demand { terms: Some(Arc::new(Terms { times, ..Terms::default() })), ..demand.clone() }
}

/// Long after everything.
const END: usize = 400;

/// What is free, second by second.
pub(in crate::policy) struct Grid<'m> {
    market: &'m Market,
    pub(in crate::policy) free: Vec<[i64; END]>,
}

impl<'m> Grid<'m> {
    pub(in crate::policy) fn new(market: &'m Market) -> Grid<'m> {
        let pools = market.pools().as_slice();
        let mut free: Vec<_> = pools.iter().map(|pool| [i64::from(pool.nodes); END]).collect();
        for job in market.running() {
            for Share { pool, nodes } in job.shares() {
                let length = market.pools().pool(pool).length_of(job.demand);
                free[pool.index()][..length.0 as usize]
                    .iter_mut()
                    .for_each(|it| *it -= i64::from(nodes));
            }
        }
        Grid { market, free }
    }

    /// The first second at which the cheapest nodes that are free for long enough can be paid;
    /// they are taken then.
    fn place(&mut self, demand: &Demand, from: usize) -> Option<(i64, Money)> {
        (from..END - 100).find_map(|at| Some((at as i64, self.try_at(demand, at)?)))
    }

    fn try_at(&mut self, demand: &Demand, at: usize) -> Option<Money> {
        let pools = self.market.pools();
        let mut offers: Vec<_> = pools.iter().collect();
        let length = |pool: &Pool| pool.length_of(demand);
        offers.sort_by_key(|(id, pool)| ((pool.price * length(pool)).0, length(pool), *id));
        let (mut left, mut cost, mut takes) = (demand.processors, Money::ZERO, Vec::new());
        for (id, pool) in offers {
            let span = at..at + length(pool).0 as usize;
            let min = *self.free[id.index()][span.clone()].iter().min().unwrap();
            let nodes = left.min(min.max(0) as u32);
            cost += pool.price.of(nodes, length(pool));
            takes.push((id, span, nodes));
            left -= nodes;
        }
        let affords = demand.terms().budget.is_none_or(|budget| cost <= budget);
        if left > 0 || !affords {
            return None;
        }
        for (id, span, nodes) in takes {
            self.free[id.index()][span].iter_mut().for_each(|it| *it -= i64::from(nodes));
        }
        Some(cost)
    }
}

pub(in crate::policy) fn wanted() -> impl Strategy<Value = Wanted> {
    (1..5u32, 1..20i64, prop::option::weighted(0.3, 1..200i64))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn each_job_is_where_a_search_of_every_second_puts_it(
        pools in prop::collection::vec((1..4u32, 500..2_500u32, 1..5i64), 1..3),
        waiting in prop::collection::vec(wanted(), 0..6),
        running in prop::option::of((1..4u32, 1..30i64)),
        (one, from, promised) in (wanted(), 0..40usize, (0..4u32, 1..20i64)),
    ) {
        let market = market(&pools, &waiting, running);
        let mut grid = Grid::new(&market);
        let outlook = Outlook::new(&market, Time(0), 200);
        for job in market.queue() {
            let expected = grid.place(market.demand(job).unwrap(), 0);
            let found = outlook.of(job).map(|it| (it.start.0, it.cost));
            prop_assert_eq!(found, expected);
        }
        let (processors, estimate) = promised;
        let block = counted(estimate, &Demand::new(processors.max(1), Span(estimate)));
        let room = processors == 0 || grid.place(&block, 0).is_some();
        let expected = grid.place(&demand(one), from).filter(|_| room);
        let longest = Longest::of(Span(estimate), block.mode());
        let promised = Promised { processors, longest };
        let open = outlook.open(&market, &demand(one), Time(from as i64), promised);
        prop_assert_eq!(open.as_ref().map(|it| (it.start.0, it.cost)), expected);
        if let Some(StartEstimate { place, terms, cost, .. }) = open {
            let of = |(share, (price, span)): (Share, &(Price, Span))| price.of(share.nodes, *span);
            prop_assert_eq!(place.shares(one.0).zip(&terms).map(of).sum::<Money>(), cost);
        }
    }
}

#[test]
fn a_market_that_cannot_see_the_end_of_its_queue_offers_nothing() {
    let market = market(&[(2, 1_000, 1)], &[(2, 10, None); 3], None);
    let open = |max| {
        Outlook::new(&market, Time(0), max).open(
            &market,
            &demand((1, 1, None)),
            Time(0),
            Promised::default(),
        )
    };
    assert_eq!(open(3).map(|it| it.start), Some(Time(30)));
    assert_eq!(open(2), None);
}
