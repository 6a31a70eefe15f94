//! Against all ways to put tasks on nodes, at all times, second by second.

use proptest::prelude::*;
use tradewind_model::{
    Attribute, Attributes, Charge, Criterion, Grid, Horizon, Money, Node, NodeId, NodeResources,
    Packing, Performance, Price, Reason, Request, Resource, Resources, SharedFree, Sharing, Site,
    SiteId, Slot, SlotList, Span, TaskNeeds, Time, Times, UnitPrices, Window,
};

use crate::testing::{DrawnLicences, any_licences};
use crate::window::{Algorithm, Proof, Scratch, Search, Searcher, find};

const END: i64 = 16;

#[derive(Debug, Clone)]
struct World {
    grid: Grid,
    slots: SlotList,
    busy: Vec<(Slot, Option<Resources>)>,
    request: Request,
    licences: Option<DrawnLicences>,
}

fn amounts((cores, memory, gpus): (u32, u64, u32)) -> Resources {
    let gres = [("gpu".to_owned(), gpus)].into_iter().filter(|(_, count)| *count > 0).collect();
    Resources { cores, memory, gres }
}

fn any_charge() -> impl Strategy<Value = Charge> {
    let prices = (0_i64..4, 0_i64..4, 0_i64..4).prop_map(|(core, memory, gpu)| UnitPrices {
        core: Price(core),
        // Per GiB, and memory is a few KiB: every task pays for a part that is rounded up.
        memory: Price(memory * 700_000),
        gres: [("gpu".to_owned(), Price(gpu))].into(),
    });
    prop_oneof![
        Just(Charge::Share),
        prices.clone().prop_map(Charge::Greatest),
        prices.prop_map(Charge::Sum),
    ]
}

fn any_sharing() -> impl Strategy<Value = Sharing> {
    let shared = any_charge().prop_map(Sharing::Shared);
    prop_oneof![4 => shared, 1 => Just(Sharing::Whole)]
}

/// One to three nodes at up to two sites; some say nothing of what they have.
fn any_grid() -> impl Strategy<Value = Grid> {
    let speeds = prop::sample::select(vec![500_u32, 1_000, 1_000, 2_000]);
    let has = ((1_u32..5, 0_u64..7, 0_u32..3).prop_map(amounts), any_sharing());
    let has =
        prop::option::weighted(0.9, has.prop_map(|(all, sharing)| NodeResources { all, sharing }));
    let one = (speeds, 0_i64..4, 0_u32..2, has, prop::option::weighted(0.8, 0_i64..3));
    prop::collection::vec(one, 1..=3).prop_map(|nodes| {
        let build =
            |(i, (speed, price, site, _, watts)): (usize, &(u32, i64, u32, _, Option<i64>))| {
                let watts = watts.map(|it| ("watts".to_owned(), Attribute::Number(it)));
                Node {
                    name: format!("n{i}"),
                    site: SiteId(*site),
                    host: None,
                    performance: Performance::from_thousandths(*speed).unwrap(),
                    price: Price(*price),
                    attributes: watts.into_iter().collect::<Attributes>(),
                    times: Times::Work,
                }
            };
        let sites = ["a", "b"].map(|name| Site { name: name.into() }).to_vec();
        let grid = Grid::new(sites, nodes.iter().enumerate().map(build).collect()).unwrap();
        grid.with_resources(nodes.into_iter().map(|(_, _, _, has, _)| has).collect())
    })
}

fn any_request() -> impl Strategy<Value = Request> {
    let limits = (
        prop::option::weighted(0.5, 0_i64..60),
        prop::option::weighted(0.2, 0_i64..5),
        prop::option::weighted(0.3, 0_i64..10),
        prop::option::weighted(0.3, 3_i64..END),
        prop::bool::weighted(0.2),
    );
    let each = (1_u32..3, 0_u64..4, 0_u32..2).prop_map(amounts);
    let packing = prop::sample::select(Packing::ALL.map(|(it, _)| it).to_vec());
    (1_u32..5, 1_i64..8, each, packing, limits).prop_map(
        |(tasks, work, each, packing, (budget, cap, earliest, deadline, one_site))| Request {
            budget: budget.map(Money),
            max_price: cap.map(Price),
            earliest_start: earliest.map(Time),
            deadline: deadline.map(Time),
            spread: match one_site {
                true => tradewind_model::Spread::Site,
                false => tradewind_model::Spread::Grid,
            },
            needs: Some(Box::new(TaskNeeds { each, packing })),
            ..Request::new(tasks, Span(work))
        },
    )
}

fn any_world() -> impl Strategy<Value = World> {
    let part = prop::option::weighted(0.7, (0_u32..4, 0_u64..5, 0_u32..2).prop_map(amounts));
    let busy = prop::collection::vec((0_u32..3, 0..END, 1_i64..7, part), 0..8);
    (any_grid(), busy, any_request()).prop_map(|(grid, busy, request)| {
        let busy: Vec<(Slot, Option<Resources>)> = busy
            .into_iter()
            .filter(|(node, ..)| (*node as usize) < grid.len())
            .map(|(node, start, length, part)| {
                let (start, end) = (Time(start), Time(start + length));
                let part = part.filter(|_| grid.is_shared(NodeId(node)));
                (Slot { start, end, node: NodeId(node) }, part)
            })
            .collect();
        let horizon = Horizon { start: Time(0), end: Time(END) };
        let spans: Vec<Slot> = busy.iter().map(|(span, _)| *span).collect();
        let slots = SlotList::from_busy(&grid, horizon, &spans)
            .with_shared(SharedFree::from_busy(&grid, horizon, &busy));
        World { grid, slots, busy, request, licences: None }
    })
}

/// The same where the job takes licences along.
fn any_world_with_licences() -> impl Strategy<Value = World> {
    (any_world(), any_licences(1)).prop_map(|(world, mut drawn)| {
        for (_, start, end) in &mut drawn.busy {
            (*start, *end) = (*start / 4, *end / 4);
        }
        World {
            grid: drawn.grid(world.grid),
            slots: drawn.slots(world.slots),
            request: Request { licences: drawn.shares.clone(), ..world.request },
            licences: Some(drawn),
            ..world
        }
    })
}

impl World {
    /// What the licences cost from `start` on for so long; `None` if they are not free.
    fn licences(&self, start: i64, runtime: i64) -> Option<i64> {
        let Some(drawn) = &self.licences else { return Some(0) };
        let node = tradewind_model::Task {
            node: NodeId(0),
            length: Span(runtime),
            cost: Money(0),
            group: 0,
        };
        let window = Window::new(Time(start), vec![node]).unwrap();
        let window = drawn.with(window, &drawn.shares);
        drawn.suffice(&[&window]).then(|| window.cost().0)
    }

    /// How many tasks have a place on the node in every second of the span.
    fn places(&self, node: NodeId, start: i64, length: i64) -> u32 {
        let (Some(has), Some(needs)) = (self.grid.resources(node), &self.request.needs) else {
            return 0;
        };
        let in_second = |second: i64| {
            let mut free = has.all.clone();
            let is_here = |(span, _): &&(Slot, Option<Resources>)| {
                span.node == node && span.start.0 <= second && second < span.end.0
            };
            for (_, part) in self.busy.iter().filter(is_here) {
                free.take(part.as_ref().unwrap_or(&has.all), 1);
            }
            match has.sharing {
                Sharing::Whole => free.places(&needs.each).min(1),
                Sharing::Shared(_) => free.places(&needs.each),
            }
        };
        (start..start + length).map(in_second).min().unwrap_or(0)
    }

    /// Of every window: value, start, cost, finish.
    fn all(&self, criterion: &Criterion) -> Vec<(i64, i64, i64, i64)> {
        (0..END).flat_map(|start| self.at(criterion, start)).collect()
    }

    fn at(&self, criterion: &Criterion, start: i64) -> Vec<(i64, i64, i64, i64)> {
        let request = &self.request;
        if request.earliest_start.is_some_and(|earliest| start < earliest.0) {
            return Vec::new();
        }
        let until = request.deadline.map_or(END, |deadline| deadline.0.min(END));
        // By node: places, length, cost, what the criterion adds up, site.
        let mut nodes = Vec::new();
        for (id, node) in self.grid.iter() {
            let length = request.length_on(node).0;
            let price = self.grid.price_for(id, request);
            let value = match criterion {
                Criterion::Sum(name) => match node.attributes.get(name) {
                    Some(Attribute::Number(rate)) => rate * length,
                    _ => continue,
                },
                _ => length,
            };
            if start + length <= until && request.max_price.is_none_or(|cap| price <= cap) {
                let places = self.places(id, start, length);
                nodes.push((places, length, (price * Span(length)).0, value, node.site));
            }
        }
        let mut counts = vec![0; nodes.len()];
        let mut windows = Vec::new();
        loop {
            let used = || nodes.iter().zip(&counts).filter(|(_, count)| **count > 0);
            let tasks: u32 = counts.iter().sum();
            let cost: i64 = used().map(|(node, count)| node.2 * i64::from(*count)).sum();
            let sites: std::collections::BTreeSet<_> = used().map(|(node, _)| node.4).collect();
            let at_one = request.spread == tradewind_model::Spread::Grid || sites.len() == 1;
            let runtime = used().map(|(node, _)| node.1).max().unwrap_or(0);
            let of_licences =
                if tasks == request.tasks { self.licences(start, runtime) } else { None };
            let cost = cost + of_licences.unwrap_or(0);
            let within = at_one && request.budget.is_none_or(|max| cost <= max.0);
            if within && of_licences.is_some() {
                let sum: i64 = used().map(|(node, count)| node.3 * i64::from(*count)).sum();
                let value = match criterion {
                    Criterion::Start => start,
                    Criterion::Finish => start + runtime,
                    Criterion::Runtime => runtime,
                    Criterion::Cost => cost,
                    Criterion::ProcessorTime | Criterion::Sum(_) => sum,
                };
                windows.push((value, start, cost, start + runtime));
            }
            // The next way to give each node at most as many tasks as it has places.
            let Some(at) = (0..counts.len()).find(|&at| counts[at] < nodes[at].0) else {
                return windows;
            };
            counts[at] += 1;
            counts[..at].fill(0);
        }
    }

    fn key(&self, criterion: &Criterion, window: &Window) -> (i64, i64, i64, i64) {
        let value = match criterion {
            Criterion::Start => window.start().0,
            Criterion::Finish => window.finish().0,
            Criterion::Runtime => window.runtime().0,
            Criterion::Cost => window.cost().0,
            Criterion::ProcessorTime => window.processor_time().0,
            Criterion::Sum(name) => {
                let rate =
                    |node| tradewind_model::thousandths(&self.grid.node(node).attributes, name);
                window.tasks().iter().map(|task| rate(task.node) * task.length.0).sum()
            }
        };
        (value, window.start().0, window.cost().0, window.finish().0)
    }
}

fn any_criterion() -> impl Strategy<Value = Criterion> {
    let mut all = crate::quote::CRITERIA.to_vec();
    all.push(Criterion::Sum("watts".into()));
    prop::sample::select(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_criterion_finds_the_best_of_all_windows(
        world in prop_oneof![any_world(), any_world_with_licences()],
        criterion in any_criterion(),
    ) {
        let best = world.all(&criterion).into_iter().min();
        let search = Search::best(criterion.clone());
        let found = find(&world.grid, &world.slots, &world.request, &search);
        let got = found.as_ref().map(|found| world.key(&criterion, &found.window));
        let is_sum = matches!(criterion, Criterion::ProcessorTime | Criterion::Sum(_));
        if is_sum && world.request.budget.is_some() {
            // A bounded search minimises value, start and cost.
            let known = |(value, start, cost, _): (i64, i64, i64, i64)| (value, start, cost);
            prop_assert_eq!(got.map(known), best.map(known));
        } else {
            prop_assert_eq!(got, best);
        }
        let Some(found) = found else { return Ok(()) };
        prop_assert_eq!(found.proof, Proof::Exact);
        found.window.check(&world.request, &world.grid).unwrap();
        world.slots.clone().subtract_window(&found.window).unwrap();
    }

    #[test]
    fn the_packing_rule_changes_no_value(world in any_world(), criterion in any_criterion()) {
        let keys = Packing::ALL.map(|(packing, _)| {
            let mut request = world.request.clone();
            request.needs.as_mut().unwrap().packing = packing;
            let search = Search::best(criterion.clone());
            let window = find(&world.grid, &world.slots, &request, &search)?.window;
            world.slots.clone().subtract_window(&window).unwrap();
            Some(world.key(&criterion, &window))
        });
        prop_assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }

    #[test]
    fn a_resource_that_is_short_is_named_with_what_would_do(world in any_world()) {
        let search = Search::best(Criterion::Start);
        let searcher = Searcher::new(&world.grid, &world.request, &search);
        let mut scratch = Scratch::default();
        prop_assume!(searcher.find(&world.slots, Time::MIN, &mut scratch).is_none());
        let reason = searcher.reason_on(&world.grid, &world.request, &world.slots, &mut scratch);
        let with = |resource: &Resource, amount: u64| {
            let mut less = world.clone();
            let needs = less.request.needs.as_mut().unwrap();
            needs.each = needs.each.with(resource, amount);
            less.all(&Criterion::Start).into_iter().min()
        };
        match reason {
            Reason::ResourceShort { resource, needed, would_do, nodes, of } => {
                prop_assert!(would_do < needed && nodes <= of && of as usize <= world.grid.len());
                prop_assert!(with(&resource, would_do).is_some());
                prop_assert!(with(&resource, would_do + 1).is_none());
            }
            Reason::TooFewPlaces { needed, max, .. } => {
                prop_assert!(max < needed);
                let each = &world.request.needs.as_ref().unwrap().each;
                for resource in each.kinds() {
                    let least = super::least_demand(&resource);
                    prop_assert!(with(&resource, least).is_none());
                }
            }
            Reason::BudgetShort { .. } => {
                let mut rich = world.clone();
                rich.request.budget = None;
                prop_assert!(!rich.all(&Criterion::Start).is_empty());
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    /// Nodes of one core each with tasks of one core are whole nodes: the same windows, node by node.
    #[test]
    fn tasks_that_fill_their_nodes_are_tasks_on_whole_nodes(
        market in crate::testing::any_market(),
        request in crate::testing::any_request(),
        algorithm in prop::sample::select(vec![
            Algorithm::Alp,
            Algorithm::Amp,
            Algorithm::Csa(Criterion::Cost),
            Algorithm::Best(Criterion::Start),
            Algorithm::Best(Criterion::Finish),
            Algorithm::Best(Criterion::ProcessorTime),
        ]),
    ) {
        let (grid, slots) = market;
        let search = Search::new(algorithm);
        let whole = find(&grid, &slots, &request, &search);
        let one = amounts((1, 0, 0));
        let has = NodeResources { all: one.clone(), sharing: Sharing::Shared(Charge::Share) };
        let shared = grid.clone().with_resources(vec![Some(has); grid.len()]);
        let free: Vec<_> = slots.as_slice().iter().map(|slot| (*slot, None)).collect();
        let list = slots.with_shared(SharedFree::from_slots(&shared, &free));
        let needs = Some(Box::new(TaskNeeds { each: one, packing: Packing::FirstFit }));
        let parts = find(&shared, &list, &Request { needs, ..request }, &search);
        prop_assert_eq!(parts.as_ref().map(|it| it.proof), whole.as_ref().map(|it| it.proof));
        prop_assert_eq!(
            parts.as_ref().map(|it| (it.window.start(), it.window.tasks())),
            whole.as_ref().map(|it| (it.window.start(), it.window.tasks()))
        );
    }
}
