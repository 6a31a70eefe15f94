//! Against all subsets of all nodes at all times.

use proptest::prelude::*;
use tradewind_model::{Reason, Task, Window};

use super::*;

/// What windows are ordered by: value, start, cost, finish, and the nodes by rank.
pub(super) type Key = (i64, i64, i64, i64, Vec<(i64, i64, u32)>);

pub(super) fn key(criterion: &Criterion, window: &Window, grid: &Grid) -> Key {
    let mut nodes: Vec<_> =
        window.tasks().iter().map(|t| (t.cost.0, t.length.0, t.node.0)).collect();
    nodes.sort_unstable();
    let value = value(criterion, window, grid);
    (value, window.start().0, window.cost().0, window.finish().0, nodes)
}

/// Which limits are in force: (budget, price cap).
pub(super) type InForce = (Option<Money>, Option<Price>);

/// All windows of the request at `start`.
fn windows_at(world: &World, criterion: &Criterion, start: i64, limits: InForce) -> Vec<Window> {
    let World { grid, slots, request } = world;
    if request.earliest_start.is_some_and(|earliest| start < earliest.0) {
        return Vec::new();
    }
    let free = |id: NodeId, length: Span| {
        let (start, end) = (Time(start), Time(start) + length);
        let within = |s: &Slot| s.node == id && s.start <= start && end <= s.end;
        request.deadline.is_none_or(|deadline| end <= deadline)
            && slots.as_slice().iter().any(within)
    };
    let mut tasks = Vec::new();
    for (id, node) in grid.iter() {
        let length = request.length_on(node);
        let dearest = || match grid.rate(id) {
            Some(rate) => (start..start + length.0).map(|at| rate.at(Time(at))).max().unwrap(),
            None => node.price.0,
        };
        let cheap = limits.1.is_none_or(|cap| dearest() <= cap.0);
        let counted = match criterion {
            Criterion::Sum(name) => node.attributes.contains_key(name),
            _ => true,
        };
        if cheap && counted && request.suits(node) && free(id, length) {
            tasks.push(Task {
                node: id,
                length,
                cost: grid.cost(id, Time(start), length),
                group: 0,
            });
        }
    }
    let mut windows = Vec::new();
    for mask in 0_u32..1 << tasks.len() {
        if mask.count_ones() == request.tasks {
            let chosen = tasks.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
            let window = Window::new(Time(start), chosen.map(|(_, task)| *task).collect()).unwrap();
            if limits.0.is_none_or(|budget| window.cost() <= budget) {
                windows.push(window);
            }
        }
    }
    windows
}

pub(super) fn all_windows(world: &World, criterion: &Criterion, limits: InForce) -> Vec<Window> {
    (0..=40).flat_map(|start| windows_at(world, criterion, start, limits)).collect()
}

pub(super) fn best_key(world: &World, criterion: &Criterion, limits: InForce) -> Option<Key> {
    let all = all_windows(world, criterion, limits);
    all.iter().map(|window| key(criterion, window, &world.grid)).min()
}

pub(super) fn all_limits(request: &Request) -> InForce {
    (request.budget, request.max_price)
}

/// That both are as good: a bounded search by a sum minimises value, start and cost, and others all.
pub(super) fn same_best(
    request: &Request,
    criterion: &Criterion,
    got: Option<Key>,
    wanted: Option<Key>,
) -> Result<(), TestCaseError> {
    let is_sum = matches!(criterion, Criterion::ProcessorTime | Criterion::Sum(_));
    let known = |key: Key| match is_sum && request.budget.is_some() {
        true => (key.0, key.1, key.2, 0, Vec::new()),
        false => key,
    };
    prop_assert_eq!(got.map(known), wanted.map(known));
    Ok(())
}

pub(super) fn found_key(world: &World, search: &Search, criterion: &Criterion) -> Option<Key> {
    let found = find(&world.grid, &world.slots, &world.request, search)?;
    found.window.check(&world.request, &world.grid).unwrap();
    world.slots.clone().subtract_window(&found.window).unwrap();
    Some(key(criterion, &found.window, &world.grid))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn every_criterion_finds_the_best_of_all_windows(
        world in any_world(),
        criterion in any_criterion(),
    ) {
        let wanted = best_key(&world, &criterion, all_limits(&world.request));
        let got = found_key(&world, &best(&criterion), &criterion);
        same_best(&world.request, &criterion, got, wanted)?;
    }

    #[test]
    fn alp_and_amp_find_the_earliest_under_their_own_limit(
        world in any_world(),
        rho in prop::sample::select(vec![1_000_u32, 800, 333]),
    ) {
        let rho = tradewind_model::Rho::from_thousandths(rho).unwrap();
        let request = &world.request;
        let budget = request.budget.or_else(|| derived_budget(request, rho));
        for (algorithm, limits) in [
            (Algorithm::Alp, (None, request.max_price)),
            (Algorithm::Amp, (budget, None)),
        ] {
            let search = Search { rho, ..Search::new(algorithm) };
            let wanted = best_key(&world, &Criterion::Start, limits);
            prop_assert_eq!(found_key(&world, &search, &Criterion::Start), wanted);
        }
    }

    #[test]
    fn csa_is_the_best_of_repeated_amp(world in any_world(), criterion in any_criterion()) {
        let mut left = World {
            request: Request { max_price: None, ..world.request.clone() },
            ..world.clone()
        };
        left.request.budget =
            world.request.budget.or_else(|| derived_budget(&world.request, Search::best(Criterion::Start).rho));
        let mut wanted: Option<Key> = None;
        let limits = all_limits(&left.request);
        loop {
            // The earliest window among nodes that have what the criterion adds up.
            let all = all_windows(&left, &criterion, limits);
            let amp = |w: &Window| key(&Criterion::Start, w, &left.grid);
            let Some(first) = all.into_iter().min_by_key(amp) else { break };
            left.slots.subtract_window(&first).unwrap();
            let this = key(&criterion, &first, &left.grid);
            let stage = |k: &Key| (k.0, k.1, k.2, k.3);
            if wanted.as_ref().is_none_or(|best| stage(&this) < stage(best)) {
                wanted = Some(this);
            }
        }
        let search = Search::new(Algorithm::Csa(criterion.clone()));
        prop_assert_eq!(found_key(&world, &search, &criterion), wanted);
    }

    #[test]
    fn the_reason_is_the_first_that_holds(world in any_world(), criterion in any_criterion()) {
        let World { grid, slots, request } = &world;
        let searcher = Searcher::new(grid, request, &best(&criterion));
        let mut scratch = Scratch::default();
        if searcher.find(slots, Time(0), &mut scratch).is_none() {
            let needed = request.tasks;
            let width = |tasks: u32| {
                let mut world = world.clone();
                world.request.tasks = tasks;
                all_windows(&world, &criterion, (None, request.max_price))
            };
            match searcher.reason(slots, &mut scratch) {
                Reason::WiderThanGrid { needed: n, nodes } => {
                    prop_assert!(n == needed && nodes < n && nodes as usize == grid.len());
                }
                Reason::TooFewNodes { needed: n, suitable, .. } => {
                    let suits = |node: &&Node| {
                        request.suits(node)
                            && request.max_price.is_none_or(|cap| node.price <= cap)
                            && (!matches!(criterion, Criterion::Sum(_))
                                || node.attributes.contains_key("watts"))
                    };
                    prop_assert_eq!(suitable as usize, grid.nodes().iter().filter(suits).count());
                    prop_assert!(n == needed && suitable < n && grid.len() >= n as usize);
                }
                Reason::NoCommonTime { needed: n, max, deadline } => {
                    prop_assert!(n == needed && max < n && deadline == request.deadline);
                    prop_assert!(max == 0 || !width(max).is_empty());
                    prop_assert!(width(max + 1).is_empty());
                }
                Reason::BudgetShort { cheapest, budget } => {
                    prop_assert_eq!(Some(budget), request.budget);
                    prop_assert_eq!(Some(cheapest), width(needed).iter().map(Window::cost).min());
                    prop_assert!(cheapest > budget);
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }

    #[test]
    fn a_small_work_limit_gives_a_proven_bound(
        world in any_world(),
        limit in prop::sample::select(vec![0_u64, 3, 8, 15, 30]),
    ) {
        let criterion = Criterion::ProcessorTime;
        let search = Search { work_limit: limit, ..best(&criterion) };
        let wanted = best_key(&world, &criterion, all_limits(&world.request));
        let found = find(&world.grid, &world.slots, &world.request, &search);
        prop_assert_eq!(found.is_some(), wanted.is_some());
        if let (Some(found), Some(wanted)) = (found, wanted) {
            found.window.check(&world.request, &world.grid).unwrap();
            prop_assert!(world.request.budget.is_none_or(|budget| found.window.cost() <= budget));
            let reached = value(&criterion, &found.window, &world.grid);
            match found.proof {
                Proof::Exact => prop_assert_eq!(reached, wanted.0),
                Proof::Gap { bound } => prop_assert!(bound <= wanted.0 && wanted.0 <= reached),
                Proof::Heuristic => prop_assert!(false),
            }
        }
    }
}
