//! Small worlds for tests.

use proptest::prelude::*;
use tradewind_model::{
    Attributes, Criterion, Grid, Horizon, Job, JobShape, Money, Node, NodeId, Performance, Price,
    Request, Shapes, Site, SiteId, Slot, SlotList, Snapshot, Span, TaskGroup, Time, TimeMode,
    Times, VoPolicy,
};

pub(crate) fn performance(thousandths: u32) -> Performance {
    Performance::from_thousandths(thousandths).unwrap()
}

/// A grid of nodes with (performance in thousandths, price in credits).
pub(crate) fn grid(nodes: &[(u32, i64)]) -> Grid {
    let node = |(i, &(speed, price)): (usize, &(u32, i64))| Node {
        name: format!("n{i}"),
        site: SiteId(0),
        host: None,
        performance: performance(speed),
        price: Price::credits(price),
        attributes: Attributes::new(),
        // Every second node, so that a request that leaves it to owners has both.
        times: if i % 2 == 0 { Times::Work } else { Times::Wall },
    };
    let sites = vec![Site { name: "site".into() }];
    Grid::new(sites, nodes.iter().enumerate().map(node).collect()).unwrap()
}

/// A slot list of (node, start, end).
pub(crate) fn slots(slots: &[(u32, i64, i64)]) -> SlotList {
    SlotList::new(spans(slots)).unwrap()
}

pub(crate) fn spans(spans: &[(u32, i64, i64)]) -> Vec<Slot> {
    let slot = |&(node, start, end): &(u32, i64, i64)| Slot {
        start: Time(start),
        end: Time(end),
        node: NodeId(node),
    };
    spans.iter().map(slot).collect()
}

pub(crate) fn job(name: &str, request: Request) -> Job {
    Job { name: name.into(), priority: 0, request }
}

pub(crate) fn snapshot(grid: Grid, horizon: i64, slots: SlotList, jobs: Vec<Job>) -> Snapshot {
    let horizon = Horizon { start: Time(0), end: Time(horizon) };
    let policy = VoPolicy::default();
    let snapshot = Snapshot { horizon, grid, slots, jobs, policy };
    snapshot.check().unwrap();
    snapshot
}

/// Free spans on up to five nodes within [0, 60), with ties on purpose.
pub(crate) fn any_market() -> impl Strategy<Value = (Grid, SlotList)> {
    let node = (prop::sample::select(vec![500u32, 1_000, 1_500, 2_000]), 0i64..4);
    let busy = (0u32..5, 0i64..60, 1i64..25);
    (prop::collection::vec(node, 1..=5), prop::collection::vec(busy, 0..6)).prop_map(
        |(nodes, busy)| {
            let grid = grid(&nodes);
            let here = |&(n, ..): &(u32, i64, i64)| (n as usize) < nodes.len();
            let busy: Vec<_> =
                busy.into_iter().filter(here).map(|(n, s, len)| (n, s, s + len)).collect();
            let horizon = Horizon { start: Time(0), end: Time(60) };
            let slots = SlotList::from_busy(&grid, horizon, &spans(&busy));
            (grid, slots)
        },
    )
}

/// Every way of counting times; work most often.
pub(crate) fn any_mode() -> impl Strategy<Value = TimeMode> {
    let modes = [TimeMode::WORK, TimeMode::WORK, TimeMode::WALL, TimeMode::Owner];
    prop::sample::select(modes.to_vec())
}

pub(crate) fn any_criterion() -> impl Strategy<Value = Criterion> {
    prop::sample::select(crate::quote::CRITERIA.to_vec())
}

/// A request with each limit present or absent.
pub(crate) fn any_request() -> impl Strategy<Value = Request> {
    let limits = (
        prop::option::of(prop::sample::select(vec![500u32, 1_000, 1_500, 2_000, 3_000])),
        prop::option::of(0i64..90),
        prop::option::of(0i64..5),
        prop::option::of(0i64..40),
        prop::option::of(5i64..70),
    );
    (1u32..5, 1i64..30, limits, any_criterion(), any_mode()).prop_map(
        |(tasks, work, (speed, budget, price, earliest, deadline), criterion, times)| Request {
            times,
            min_performance: speed.map(performance),
            budget: budget.map(Money::credits),
            max_price: price.map(Price::credits),
            earliest_start: earliest.map(Time),
            deadline: deadline.map(Time),
            criterion,
            ..Request::new(tasks, Span(work))
        },
    )
}

/// Requests of which some have several shapes and some have tasks that differ.
pub(crate) fn any_request_of_shapes() -> impl Strategy<Value = Request> {
    let others = prop::collection::vec((1u32..5, 1i64..30), 0..3);
    (any_request_of_groups(), others).prop_map(|(request, others)| {
        if request.others.is_empty() { with_shapes(request, &others) } else { request }
    })
}

/// The request with those of the other shapes that go together with its own.
pub(crate) fn with_shapes(request: Request, others: &[(u32, i64)]) -> Request {
    let mut all = vec![JobShape { nodes: request.tasks, time: request.work }];
    for (nodes, time) in others {
        all.push(JobShape { nodes: *nodes, time: Span(*time) });
        if Shapes::new(&all).is_err() {
            all.pop();
        }
    }
    Request { shapes: Shapes::new(&all).unwrap(), ..request }
}

/// Requests of which some have tasks that differ.
pub(crate) fn any_request_of_groups() -> impl Strategy<Value = Request> {
    let other = prop::option::weighted(0.3, any_request());
    (any_request(), other).prop_map(|(request, other)| {
        let group = |other: Request| TaskGroup {
            tasks: other.tasks.min(2),
            work: other.work,
            min_performance: other.min_performance,
            attributes: other.attributes,
        };
        Request { others: other.into_iter().map(group).collect(), ..request }
    })
}
