//! Worlds for the tests of the window search, and the tests by kind.

mod brute;
mod data;
mod groups;
pub(super) mod large;
mod licences;
mod metamorphic;
mod paper;
mod priced;
mod rules;
mod shapes;
mod sites;

use proptest::prelude::*;
use tradewind_model::{
    Attribute, Attributes, Criterion, Grid, Horizon, Money, Node, NodeId, Performance, Price,
    Request, Site, SiteId, Slot, SlotList, Span, Time, Times,
};

use super::*;

const CRITERIA: [Criterion; 5] = [
    Criterion::Start,
    Criterion::Finish,
    Criterion::Runtime,
    Criterion::Cost,
    Criterion::ProcessorTime,
];

/// A grid, what is free on it, and a request.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) grid: Grid,
    pub(super) slots: SlotList,
    pub(super) request: Request,
}

fn speed(thousandths: u32) -> Performance {
    Performance::from_thousandths(thousandths).unwrap()
}

fn node(name: &str, thousandths: u32, price: i64) -> Node {
    Node {
        name: name.into(),
        site: SiteId(0),
        host: None,
        performance: speed(thousandths),
        price: Price(price),
        attributes: Attributes::new(),
        times: Times::Work,
    }
}

fn grid_of(nodes: Vec<Node>) -> Grid {
    Grid::new(vec![Site { name: "site".into() }], nodes).unwrap()
}

/// Nodes n0, n1, … of (performance in thousandths, price in micro-credits).
fn grid(nodes: &[(u32, i64)]) -> Grid {
    let all = nodes.iter().enumerate();
    grid_of(all.map(|(i, &(fast, price))| node(&format!("n{i}"), fast, price)).collect())
}

/// Slots of (node, start, end), in list order.
fn slots(all: &[(u32, i64, i64)]) -> SlotList {
    let slot = |&(node, start, end): &(u32, i64, i64)| Slot {
        start: Time(start),
        end: Time(end),
        node: NodeId(node),
    };
    SlotList::new(all.iter().map(slot).collect()).unwrap()
}

/// Up to six nodes with prices from 0, ties on purpose, some with `watts` and some with `arch`.
fn any_grid() -> impl Strategy<Value = Grid> {
    let one = (
        prop::sample::select(vec![500_u32, 1_000, 1_000, 1_500, 2_000, 3_000]),
        0_i64..5,
        prop::option::weighted(0.8, -1_i64..4),
        any::<bool>(),
    );
    prop::collection::vec(one, 1..=6).prop_map(|nodes| {
        let build = |(i, (fast, price, watts, arch)): (usize, (u32, i64, Option<i64>, bool))| {
            let mut node = node(&format!("n{i}"), fast, price);
            node.times = if i % 2 == 0 { Times::Work } else { Times::Wall };
            if let Some(watts) = watts {
                node.attributes.insert("watts".into(), Attribute::Number(watts));
            }
            let name = if arch { "arm" } else { "x86" };
            node.attributes.insert("arch".into(), Attribute::Text(name.into()));
            node
        };
        grid_of(nodes.into_iter().enumerate().map(build).collect())
    })
}

pub(super) fn any_request() -> impl Strategy<Value = Request> {
    let limits = (
        prop::option::weighted(0.6, 0_i64..80),
        prop::option::weighted(0.3, 0_i64..5),
        prop::option::weighted(0.3, prop::sample::select(vec![800_u32, 1_000, 1_500])),
    );
    let times = (prop::option::weighted(0.3, 0_i64..25), prop::option::weighted(0.3, 5_i64..45));
    let times = (times, crate::testing::any_mode());
    (1_u32..5, 1_i64..13, limits, times, prop::bool::weighted(0.15)).prop_map(
        |(tasks, work, (budget, cap, min), ((earliest, deadline), mode), arm)| {
            let mut request = Request::new(tasks, Span(work));
            request.times = mode;
            request.budget = budget.map(Money);
            request.max_price = cap.map(Price);
            request.min_performance = min.map(speed);
            request.earliest_start = earliest.map(Time);
            request.deadline = deadline.map(Time);
            if arm {
                request.attributes.insert("arch".into(), Attribute::Text("arm".into()));
            }
            request
        },
    )
}

/// A small world: horizon 40, several slots per node, every limit now and then.
pub(super) fn any_world() -> impl Strategy<Value = World> {
    let busy = prop::collection::vec((0_u32..6, 0_i64..40, 1_i64..8), 0..14);
    (any_grid(), busy, any_request()).prop_map(|(grid, busy, request)| {
        let here = |&(node, ..): &(u32, i64, i64)| (node as usize) < grid.len();
        let span = |(node, start, length): (u32, i64, i64)| Slot {
            start: Time(start),
            end: Time(start + length),
            node: NodeId(node),
        };
        let busy: Vec<Slot> = busy.into_iter().filter(here).map(span).collect();
        let horizon = Horizon { start: Time(0), end: Time(40) };
        let slots = SlotList::from_busy(&grid, horizon, &busy);
        World { grid, slots, request }
    })
}

pub(super) fn any_criterion() -> impl Strategy<Value = Criterion> {
    let mut all = CRITERIA.to_vec();
    all.push(Criterion::Sum("watts".into()));
    prop::sample::select(all)
}

fn best(criterion: &Criterion) -> Search {
    Search::best(criterion.clone())
}

/// The criterion's value of a window.
fn value(criterion: &Criterion, window: &tradewind_model::Window, grid: &Grid) -> i64 {
    match criterion {
        Criterion::Start => window.start().0,
        Criterion::Finish => window.finish().0,
        Criterion::Runtime => window.runtime().0,
        Criterion::Cost => window.cost().0,
        Criterion::ProcessorTime => window.processor_time().0,
        Criterion::Sum(name) => {
            let rate = |node| match grid.node(node).attributes.get(name) {
                Some(Attribute::Number(rate)) => *rate,
                _ => panic!("a node without the number"),
            };
            window.tasks().iter().map(|task| rate(task.node) * task.length.0).sum()
        }
    }
}
