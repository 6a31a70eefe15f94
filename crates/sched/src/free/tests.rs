use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Admission, Attributes, Cause, Criterion, Event, JobId, Money, Outage, OutageId, PoolId, Pools,
    Price, Share, Site, SiteId, Span, Terms, Time, TimeMode, Times,
};

use super::*;
use crate::explain::explain;
use crate::policy::availability::expected_span;
use crate::quote;
use crate::testing::{any_mode, performance};
use crate::window::Search;

/// Until then tests look, second by second.
const END: i64 = 60;

type Running = (u32, [u32; 2], i64, i64);
type Missing = (u32, u32, i64, i64, bool);

fn pools(drawn: &[(u32, u32, i64)]) -> Arc<Pools> {
    let pool = |(at, &(nodes, speed, price)): (u32, &(u32, u32, i64))| Pool {
        name: format!("p{at}"),
        site: SiteId(0),
        nodes,
        performance: performance(speed),
        price: Price::credits(price),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: if at % 2 == 0 { Times::Work } else { Times::Wall },
    };
    let sites = vec![Site { name: "a".to_owned() }];
    Arc::new(Pools::new(sites, (0..).zip(drawn).map(pool).collect()).unwrap())
}

/// A market at `now` with such jobs, as far as there is room, and such outages.
fn market(pools: Arc<Pools>, running: &[Running], missing: &[Missing], now: Time) -> Market {
    let count = pools.as_slice().len() as u32;
    let mut market = Market::new(pools, Time(0));
    let mut closures = (0..).map(OutageId);
    for &(pool, nodes, from, length, begun) in missing {
        let pool = PoolId(pool % count);
        let nodes = nodes.min(market.free_in(pool));
        let (from, cause) = (if begun { 0 } else { from }, Cause::Maintenance);
        let until = Time(from + length);
        let what = Outage { pool, nodes, from: Time(from), until, cause };
        let closure = closures.next().unwrap();
        market.apply(&Event::Announced { closure, what }).unwrap();
        if begun {
            market.apply(&Event::Closed { closure }).unwrap();
        }
    }
    let mut running = running.to_vec();
    running.sort_by_key(|(_, _, start, _)| *start);
    for (job, (pool, nodes, start, estimate)) in (0..).map(JobId).zip(running) {
        market.pass_to(Time(start.min(now.0))).unwrap();
        let pools = [PoolId(pool % count), PoolId((pool + 1) % count)];
        let mut shares: Vec<Share> = Vec::new();
        for (pool, nodes) in pools.into_iter().zip(nodes) {
            let nodes = nodes.min(market.free_in(pool));
            if nodes > 0 && shares.iter().all(|share| share.pool != pool) {
                shares.push(Share { pool, nodes });
            }
        }
        let processors = shares.iter().map(|share| share.nodes).sum::<u32>().max(1);
        let demand = Demand::new(processors, Span(estimate));
        market.apply(&Event::Submitted { job, demand }).unwrap();
        let first = shares.first().copied();
        if let Some(first) = first {
            let apart = shares.len() > 1 && estimate % 3 == 0;
            market.apply(&Event::Started { job, place: Place::of(shares) }).unwrap();
            if apart {
                market.apply(&Event::Released { job, pool: first.pool }).unwrap();
            }
        }
    }
    market.pass_to(now).unwrap();
    market
}

/// Free nodes of a pool in one second.
fn free(market: &Market, taken: &[Taken], pool: PoolId, at: Time) -> i64 {
    let mut free = i64::from(market.pools().pool(pool).nodes);
    for job in market.running() {
        let length = market.pools().pool(pool).length_of(job.demand);
        let end = job.start + expected_span(length, market.now() - job.start);
        if at < end {
            free -= i64::from(job.nodes_in(pool));
        }
    }
    let history = market.history();
    for (closure, Outage { nodes, from, until, .. }) in
        market.outages().filter(|(_, it)| it.pool == pool)
    {
        let missing = match history.contains(&Event::Closed { closure }) {
            true => at < from + expected_span(until - from, market.now() - from),
            false => from <= at && at < until,
        };
        free -= if missing { i64::from(nodes) } else { 0 };
    }
    for it in taken.iter().filter(|it| it.share.pool == pool && it.from <= at && at < it.until) {
        free -= i64::from(it.share.nodes);
    }
    free
}

/// The earliest start at which `tasks` nodes are free for as long as a task takes on each.
fn earliest(market: &Market, taken: &[Taken], demand: &Demand, horizon: Horizon) -> Option<Time> {
    let fits = |start: Time| {
        let in_pool = |(id, pool): (PoolId, &Pool)| {
            let end = start + pool.length_of(demand);
            if end > horizon.end {
                return 0;
            }
            let seconds = (start.0..end.0).map(|at| free(market, taken, id, Time(at)));
            seconds.min().unwrap_or(0).max(0)
        };
        market.pools().iter().map(in_pool).sum::<i64>() >= i64::from(demand.processors)
    };
    (horizon.start.max(market.now()).0..horizon.end.0).map(Time).find(|start| fits(*start))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Every window that a quote shows is available, and no window starts before the earliest.
    #[test]
    fn windows_are_free_second_by_second(
        (drawn, now) in (
            prop::collection::vec(
                (1u32..5, prop::sample::select(vec![500u32, 1_000, 2_000]), 0i64..4), 1..4),
            0i64..20,
        ),
        running in prop::collection::vec((0u32..4, [0u32..3, 0u32..3], 0i64..20, 1i64..15), 0..6),
        missing in prop::collection::vec((0u32..4, 1u32..4, 0i64..30, 1i64..20, any::<bool>()), 0..4),
        ahead in prop::collection::vec((0u32..4, 1u32..4, 0i64..30, 1i64..20), 0..4),
        (processors, estimate, times) in (1u32..7, 1i64..12, any_mode()),
    ) {
        let market = market(pools(&drawn), &running, &missing, Time(now));
        let count = drawn.len() as u32;
        let booked = |(pool, nodes, from, length): (u32, u32, i64, i64)| Taken {
            share: Share { pool: PoolId(pool % count), nodes },
            from: Time(from),
            until: Time(from + length),
            memory: 0,
        };
        let taken: Vec<Taken> = ahead.into_iter().map(booked).collect();
        let terms = Some(Arc::new(Terms { times, ..Terms::NONE }));
        let demand = Demand { terms, ..Demand::new(processors, Span(estimate)) };
        let horizon = Horizon { start: Time(0), end: Time(END) };
        let problem = FreeTime::new(&market, &demand, &taken, horizon).unwrap();
        let Snapshot { grid, slots, .. } = &problem.snapshot;
        let quotes = quote::quotes(grid, slots, &demand.request(), u64::MAX);
        for quote in &quotes {
            let Ok(found) = &quote.answer else { continue };
            let parts = problem.taken(&found.window);
            for Taken { share: Share { pool, nodes }, from, until, .. } in &parts {
                let length = market.pools().pool(*pool).length_of(&demand);
                prop_assert_eq!(*until, *from + length);
                for at in (from.0..until.0).map(Time) {
                    prop_assert!(free(&market, &taken, *pool, at) >= i64::from(*nodes));
                }
            }
            let shares: Vec<Share> = problem.place(&found.window).shares(processors).collect();
            let expected: Vec<Share> = parts.iter().map(|part| part.share).collect();
            prop_assert_eq!(&shares, &expected);
            prop_assert_eq!(shares.iter().map(|share| share.nodes).sum::<u32>(), processors);
        }
        let first = quotes[0].answer.as_ref().ok().map(|found| found.window.start());
        prop_assert_eq!(first, earliest(&market, &taken, &demand, horizon));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A limit of wall-clock time is as long everywhere, whatever windows are best by: quotes are
    /// those of a market in which all nodes have performance 1.
    #[test]
    fn wall_clock_time_does_not_depend_on_performance(
        drawn in prop::collection::vec(
            (1u32..5, prop::sample::select(vec![500u32, 1_000, 2_000]), 0i64..4), 1..4),
        ahead in prop::collection::vec((0u32..4, 1u32..4, 0i64..30, 1i64..20), 0..4),
        (processors, estimate, budget) in (1u32..7, 1i64..12, prop::option::of(0i64..200)),
    ) {
        let count = drawn.len() as u32;
        let booked = |(pool, nodes, from, length): (u32, u32, i64, i64)| Taken {
            share: Share { pool: PoolId(pool % count), nodes },
            from: Time(from),
            until: Time(from + length),
            memory: 0,
        };
        let taken: Vec<Taken> = ahead.into_iter().map(booked).collect();
        let terms =
            Terms { times: TimeMode::WALL, budget: budget.map(Money::credits), ..Terms::NONE };
        let demand =
            Demand { terms: Some(Arc::new(terms)), ..Demand::new(processors, Span(estimate)) };
        let horizon = Horizon { start: Time(0), end: Time(END) };
        let windows = |drawn: &[(u32, u32, i64)]| {
            let market = market(pools(drawn), &[], &[], Time(0));
            let problem = FreeTime::new(&market, &demand, &taken, horizon).unwrap();
            let Snapshot { grid, slots, .. } = &problem.snapshot;
            let quotes = quote::quotes(grid, slots, &demand.request(), u64::MAX).into_iter();
            quotes.map(|it| it.answer.map(|found| found.window)).collect::<Vec<_>>()
        };
        let found = windows(&drawn);
        for task in found.iter().flatten().flat_map(Window::tasks) {
            prop_assert_eq!(task.length, Span(estimate));
        }
        let reference: Vec<(u32, u32, i64)> =
            drawn.iter().map(|&(nodes, _, price)| (nodes, 1_000, price)).collect();
        prop_assert_eq!(found, windows(&reference));
    }
}

fn two_pools() -> Arc<Pools> {
    pools(&[(3, 1_000, 1), (4, 2_000, 3)])
}

#[test]
fn no_more_nodes_have_names_than_the_job_could_take() {
    let market = Market::new(two_pools(), Time(0));
    let horizon = Horizon { start: Time(0), end: Time(100) };
    let problem = FreeTime::new(&market, &Demand::new(2, Span(10)), &[], horizon).unwrap();
    let names: Vec<_> =
        problem.snapshot.grid.nodes().iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["p0/0", "p0/1", "p1/0", "p1/1"]);
    assert_eq!(problem.snapshot.slots.as_slice().len(), 4);
}

#[test]
fn pools_that_do_not_admit_the_job_are_not_in_it() {
    let open = two_pools();
    let mut drawn = open.as_slice().to_vec();
    drawn.insert(1, Pool { name: "mid".to_owned(), ..drawn[0].clone() });
    drawn[0].admission.max_processors = Some(1);
    drawn[1].admission.max_time = Some(Span(9));
    let pools = Arc::new(Pools::new(open.sites().to_vec(), drawn).unwrap());
    let market = Market::new(pools, Time(0));
    let horizon = Horizon { start: Time(0), end: Time(100) };
    let demand = Demand::new(3, Span(10));
    let problem = FreeTime::new(&market, &demand, &[], horizon).unwrap();
    let Snapshot { grid, slots, .. } = &problem.snapshot;
    assert_eq!(grid.nodes()[0].name, "p1/0");
    let quotes = quote::quotes(grid, slots, &demand.request(), u64::MAX);
    let window = &quotes[3].answer.as_ref().unwrap().window;
    assert_eq!(problem.place(window), Place::Pool(PoolId(2)));
}

#[test]
fn fronts_and_explanations_are_for_the_market_of_now() {
    let mut market = Market::new(two_pools(), Time(5));
    let terms = Terms { budget: Some(Money::credits(5)), ..Terms::NONE };
    let demand = Demand { terms: Some(Arc::new(terms)), ..Demand::new(2, Span(10)) };
    let horizon = Horizon { start: Time(0), end: Time(100) };
    let look = |market: &Market, demand: &Demand| {
        FreeTime::new(market, demand, &[], horizon).unwrap().snapshot
    };
    let Snapshot { grid, slots, .. } = look(&market, &demand);
    let search = Search::best(Criterion::Start);
    let told = explain(&grid, &slots, &demand.request(), &search);
    assert_eq!(told.relaxations[0].change, crate::explain::Change::Budget(Money::credits(15)));
    let free = Demand::new(2, Span(10));
    let points = |market: &Market| {
        let Snapshot { grid, slots, .. } = look(market, &free);
        let front = quote::front(&grid, &slots, &free.request(), 9);
        let point = |it: &Window| (it.cost(), it.finish().0);
        front.windows.iter().map(point).collect::<Vec<_>>()
    };
    let credits = Money::credits;
    assert_eq!(points(&market), [(credits(20), 15), (credits(30), 10)]);
    // The owner of the cheap nodes asks more; the fast ones cost less than they do now.
    market.apply(&Event::Priced { pool: PoolId(0), price: Price::credits(2) }).unwrap();
    assert_eq!(points(&market), [(credits(30), 10)]);
}

#[test]
fn horizons_without_time_are_refused() {
    let market = Market::new(two_pools(), Time(50));
    let horizon = Horizon { start: Time(0), end: Time(50) };
    let found = FreeTime::new(&market, &Demand::new(1, Span(1)), &[], horizon);
    assert!(matches!(found, Err(FreeError::Snapshot(SnapshotError::Horizon(_)))));
}
