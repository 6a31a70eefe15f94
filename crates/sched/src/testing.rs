//! Small worlds for tests.

use proptest::prelude::*;
use tradewind_model::{
    Attributes, Criterion, FreeLicences, Grid, Horizon, Job, JobShape, Licence, LicenceId,
    LicenceShare, LicenceShares, Money, Node, NodeId, Performance, Price, Request, Shapes, Site,
    SiteId, Slot, SlotList, Snapshot, Span, TaskGroup, Time, TimeMode, Times, VoPolicy, Window,
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

/// Licences, when others have them, and what a job takes along.
#[derive(Debug, Clone)]
pub(crate) struct DrawnLicences {
    pub(crate) all: Vec<Licence>,
    /// So many of which licence from when to when.
    pub(crate) busy: Vec<(LicenceShare, i64, i64)>,
    pub(crate) shares: LicenceShares,
}

pub(crate) fn share(licence: u32, count: u32) -> LicenceShare {
    LicenceShare { licence: LicenceId(licence), count }
}

/// One or two licences within [0, 60), some for nothing; others cost multiples of `unit`.
pub(crate) fn any_licences(unit: i64) -> impl Strategy<Value = DrawnLicences> {
    let licence = (1u32..5, prop::sample::select(vec![0, 0, 1, 2, 5]));
    let busy = prop::collection::vec((0u32..2, 1u32..4, 0i64..60, 1i64..20), 0..6);
    let shares = prop::collection::vec(0u32..5, 2);
    (prop::collection::vec(licence, 1..3), busy, shares).prop_map(move |(all, busy, shares)| {
        let known = all.len() as u32;
        let licence = |(i, (count, price)): (usize, (u32, i64))| Licence {
            name: format!("l{i}"),
            count,
            price: Price(price * unit),
        };
        let shares: Vec<LicenceShare> = (0..known).zip(shares).map(|(i, n)| share(i, n)).collect();
        let shares = shares.into_iter().filter(|it| it.count > 0).collect::<Vec<_>>();
        let busy = busy.into_iter().filter(|(licence, ..)| *licence < known);
        DrawnLicences {
            all: all.into_iter().enumerate().map(licence).collect(),
            busy: busy.map(|(id, n, start, span)| (share(id, n), start, start + span)).collect(),
            shares: (!shares.is_empty()).then(|| shares.into()),
        }
    })
}

impl DrawnLicences {
    pub(crate) fn grid(&self, grid: Grid) -> Grid {
        grid.with_licences(self.all.clone())
    }

    pub(crate) fn slots(&self, slots: SlotList) -> SlotList {
        let mut free = FreeLicences::new(&self.all, Time(0));
        for (share, start, end) in &self.busy {
            free.take(*share, Time(*start), Time(*end));
        }
        slots.with_licences(free)
    }

    /// Whether so many windows have their licences in every second.
    pub(crate) fn suffice(&self, windows: &[&Window]) -> bool {
        let in_second = |second: i64| {
            let busy = self.busy.iter().filter(|(_, start, end)| (*start..*end).contains(&second));
            let running =
                windows.iter().filter(|it| (it.start().0..it.finish().0).contains(&second));
            let held = running.filter_map(|it| it.licences()).flat_map(|it| it.iter());
            let mut taken = vec![0; self.all.len()];
            for share in held.chain(busy.map(|(share, ..)| share)) {
                taken[share.licence.index()] += share.count;
            }
            // Others may have more than there are.
            let held_here = |id: usize| {
                windows.iter().any(|it| {
                    let all = it.licences().map_or(&[][..], |all| all);
                    let of = all.iter().any(|share| share.licence.index() == id);
                    of && (it.start().0..it.finish().0).contains(&second)
                })
            };
            (0..taken.len()).all(|id| !held_here(id) || taken[id] <= self.all[id].count)
        };
        (0..60).all(in_second)
    }

    /// The window with licences at their cost.
    pub(crate) fn with(&self, window: Window, shares: &LicenceShares) -> Window {
        let Some(shares) = shares.clone() else { return window };
        let per_second =
            |it: &LicenceShare| self.all[it.licence.index()].price.0 * i64::from(it.count);
        let cost = shares.iter().map(per_second).sum::<i64>() * window.runtime().0;
        window.taking(shares, Money(cost))
    }
}
