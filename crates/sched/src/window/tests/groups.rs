//! Jobs whose tasks differ, against all assignments of all nodes at all times.

use std::sync::Arc;

use tradewind_model::{
    Rates, Reason, Rho, Series, Spread, Task, TaskGroup, TimeMode, Window, WindowError,
};

use super::brute::{InForce, Key, all_limits, key};
use super::*;

fn any_group() -> impl Strategy<Value = TaskGroup> {
    let min = prop::option::weighted(0.3, prop::sample::select(vec![800_u32, 1_000, 1_500]));
    (1_u32..3, 1_i64..13, min, prop::bool::weighted(0.2)).prop_map(|(tasks, work, min, arm)| {
        let mut attributes = Attributes::new();
        if arm {
            attributes.insert("arch".into(), Attribute::Text("arm".into()));
        }
        TaskGroup { tasks, work: Span(work), min_performance: min.map(speed), attributes }
    })
}

/// A price from 0 on, and another one from some moment on.
fn any_rate() -> impl Strategy<Value = Series> {
    (0_i64..5, 1_i64..40, 0_i64..5)
        .prop_map(|(first, at, then)| Series::new(&[(Time(0), first), (Time(at), then)]).unwrap())
}

/// Small worlds with jobs of two or three groups, at up to two sites; prices change in some.
pub(super) fn any_world_of_groups() -> impl Strategy<Value = World> {
    let groups = prop::collection::vec(any_group(), 1..3);
    let rates = prop::collection::vec(prop::option::weighted(0.6, any_rate()), 6);
    let rates = prop::option::weighted(0.4, rates);
    let sites = prop::option::weighted(0.3, prop::collection::vec(0_u32..2, 6));
    (any_world(), groups, rates, sites).prop_map(|(mut world, others, rates, sites)| {
        world.request.tasks = world.request.tasks.min(2);
        world.request.others = others;
        world.request.budget = world.request.budget.map(|it| Money(it.0 * 2));
        if let Some(of) = sites {
            let sites = ["a", "b"].map(|name| Site { name: name.to_owned() });
            let nodes = world.grid.nodes().iter().zip(of);
            let nodes = nodes.map(|(node, site)| Node { site: SiteId(site), ..node.clone() });
            world.grid = Grid::new(sites.to_vec(), nodes.collect()).unwrap();
            world.request.spread = Spread::Site;
        }
        if let Some(rates) = rates {
            let rates = rates.into_iter().map(|it| it.map(Arc::new)).collect();
            world.grid = world.grid.with_rates(Rates::new(rates));
        }
        world
    })
}

/// What each group may use at this start: by node, the task.
fn tasks_at(
    world: &World,
    criterion: &Criterion,
    start: i64,
    cap: Option<Price>,
) -> Vec<Vec<Task>> {
    let World { grid, slots, request } = world;
    let of_group = |(group, request): (u16, Request)| {
        let task = |(id, node): (NodeId, &Node)| {
            let length = request.length_on(node);
            let (from, end) = (Time(start), Time(start) + length);
            let within = |s: &Slot| s.node == id && s.start <= from && end <= s.end;
            let dearest = || match grid.rate(id) {
                Some(rate) => (start..end.0).map(|at| rate.at(Time(at))).max().unwrap(),
                None => node.price.0,
            };
            let counted = match criterion {
                Criterion::Sum(name) => node.attributes.contains_key(name),
                _ => true,
            };
            let in_time = request.deadline.is_none_or(|deadline| end <= deadline)
                && request.earliest_start.is_none_or(|earliest| from >= earliest);
            let fits = request.suits(node) && in_time && slots.as_slice().iter().any(within);
            let is_allowed = fits && counted && cap.is_none_or(|cap| dearest() <= cap.0);
            let cost = grid.cost(id, from, length);
            is_allowed.then_some(Task { node: id, length, cost, group })
        };
        grid.iter().filter_map(task).collect()
    };
    (0..).zip(request.groups()).map(of_group).collect()
}

/// All ways to take tasks for the groups from `group` on.
fn assignments(
    (groups, wanted): (&[Vec<Task>], &[usize]),
    from: usize,
    taken: &mut Vec<Task>,
    all: &mut Vec<Vec<Task>>,
) {
    let Some((wanted_here, wanted_then)) = wanted.split_first() else {
        return all.push(taken.clone());
    };
    if *wanted_here == 0 {
        return assignments((&groups[1..], wanted_then), 0, taken, all);
    }
    for at in from..groups[0].len() {
        let task = groups[0][at];
        if taken.iter().all(|it| it.node != task.node) {
            taken.push(task);
            let mut left = wanted.to_vec();
            left[0] -= 1;
            assignments((groups, &left), at + 1, taken, all);
            taken.pop();
        }
    }
}

pub(super) fn all_windows(world: &World, criterion: &Criterion, limits: InForce) -> Vec<Window> {
    let wanted: Vec<usize> = world.request.groups().map(|it| it.tasks as usize).collect();
    let mut windows = Vec::new();
    for start in 0..=40 {
        let groups = tasks_at(world, criterion, start, limits.1);
        let mut all = Vec::new();
        assignments((&groups, &wanted), 0, &mut Vec::new(), &mut all);
        for tasks in all {
            let window = Window::new(Time(start), tasks).unwrap();
            let at = |task: &Task| world.grid.node(task.node).site;
            let site = at(&window.tasks()[0]);
            let spread = world.request.spread == Spread::Grid
                || window.tasks().iter().all(|task| at(task) == site);
            if spread && limits.0.is_none_or(|budget| window.cost() <= budget) {
                windows.push(window);
            }
        }
    }
    windows
}

/// What windows are ordered by, without the nodes.
fn known(key: &Key) -> (i64, i64, i64, i64) {
    (key.0, key.1, key.2, key.3)
}

fn best_of(world: &World, criterion: &Criterion, limits: InForce) -> Option<(i64, i64, i64, i64)> {
    let all = all_windows(world, criterion, limits);
    all.iter().map(|it| known(&key(criterion, it, &world.grid))).min()
}

fn found_by(world: &World, search: &Search, criterion: &Criterion) -> Option<(i64, i64, i64, i64)> {
    let found = find(&world.grid, &world.slots, &world.request, search)?;
    found.window.check(&world.request, &world.grid).unwrap();
    world.slots.clone().subtract_window(&found.window).unwrap();
    Some(known(&key(criterion, &found.window, &world.grid)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_criterion_finds_the_best_of_all_windows(
        world in any_world_of_groups(),
        criterion in any_criterion(),
    ) {
        let wanted = best_of(&world, &criterion, all_limits(&world.request));
        let got = found_by(&world, &best(&criterion), &criterion);
        let is_sum = matches!(criterion, Criterion::ProcessorTime | Criterion::Sum(_));
        if is_sum && world.request.budget.is_some() {
            let finish_left_out = |it: (i64, i64, i64, i64)| (it.0, it.1, it.2);
            prop_assert_eq!(got.map(finish_left_out), wanted.map(finish_left_out));
        } else {
            prop_assert_eq!(got, wanted);
        }
    }

    #[test]
    fn alp_and_amp_find_the_earliest_under_their_own_limit(world in any_world_of_groups()) {
        let request = &world.request;
        let budget = request.budget.or_else(|| derived_budget(request, Rho::ONE));
        for (algorithm, limits) in [
            (Algorithm::Alp, (None, request.max_price)),
            (Algorithm::Amp, (budget, None)),
        ] {
            let wanted = best_of(&world, &Criterion::Start, limits);
            for variant in [Variant::Exact, Variant::Paper] {
                let search = Search { variant, ..Search::new(algorithm.clone()) };
                prop_assert_eq!(found_by(&world, &search, &Criterion::Start), wanted);
            }
        }
    }

    /// A bounded search says truly what it does not know.
    #[test]
    fn a_small_work_limit_gives_a_proven_bound(
        world in any_world_of_groups(),
        limit in prop::sample::select(vec![0_u64, 5, 20, 60]),
    ) {
        let criterion = Criterion::ProcessorTime;
        let search = Search { work_limit: limit, ..best(&criterion) };
        let wanted = best_of(&world, &criterion, all_limits(&world.request));
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

    #[test]
    fn csa_is_the_best_of_disjoint_windows(world in any_world_of_groups(), criterion in any_criterion()) {
        let budget = world.request.budget.or_else(|| derived_budget(&world.request, Rho::ONE));
        let search = Search::new(Algorithm::Csa(criterion.clone()));
        let first = best_of(&world, &criterion, (budget, None));
        let found = found_by(&world, &search, &criterion);
        prop_assert_eq!(found.is_some(), first.is_some());
        prop_assert!(found.is_none_or(|found| Some(found.0) >= first.map(|it| it.0)));
    }

    #[test]
    fn the_reason_is_true(world in any_world_of_groups()) {
        let World { grid, slots, request } = &world;
        let searcher = Searcher::new(grid, request, &best(&Criterion::Cost));
        let mut scratch = Scratch::default();
        if request.spread == Spread::Site || searcher.find(slots, Time(0), &mut scratch).is_some() {
            return Ok(());
        }
        let free = all_windows(&world, &Criterion::Cost, (None, request.max_price));
        match searcher.reason(slots, &mut scratch) {
            Reason::WiderThanGrid { needed, .. } => prop_assert_eq!(needed, request.all_tasks()),
            Reason::TooFewNodes { needed, suitable, .. } => prop_assert!(suitable < needed),
            Reason::NoCommonTime { needed, max, .. } => {
                prop_assert!(needed == request.all_tasks() && max < needed && free.is_empty());
            }
            Reason::BudgetShort { cheapest, .. } => {
                prop_assert_eq!(Some(cheapest), free.iter().map(Window::cost).min());
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    /// Equal tasks in two groups are the same as in one.
    #[test]
    fn equal_groups_are_one(world in any_world(), criterion in any_criterion(), more in 1_u32..3) {
        let mut one = world.clone();
        one.request.tasks += more;
        let request = &world.request;
        let mut two = world.clone();
        two.request.others = vec![TaskGroup {
            tasks: more,
            work: request.work,
            min_performance: request.min_performance,
            attributes: request.attributes.clone(),
        }];
        let found = |world: &World| {
            let found = find(&world.grid, &world.slots, &world.request, &best(&criterion))?;
            Some(known(&key(&criterion, &found.window, &world.grid)))
        };
        let is_sum = matches!(criterion, Criterion::ProcessorTime | Criterion::Sum(_));
        let (one, two) = (found(&one), found(&two));
        if is_sum && request.budget.is_some() {
            prop_assert_eq!(one.map(|it| (it.0, it.1, it.2)), two.map(|it| (it.0, it.1, it.2)));
        } else {
            prop_assert_eq!(one, two);
        }
    }
}

#[test]
fn a_fast_node_goes_to_the_group_that_needs_it() {
    // One task of 60 s on a node of performance 2 and two of 20 s anywhere; the fast node is the
    // cheapest for all of them.
    let grid = grid(&[(2_000, 1), (1_000, 5), (1_000, 5)]);
    let group = TaskGroup {
        tasks: 1,
        work: Span(60),
        min_performance: Some(speed(2_000)),
        attributes: Attributes::new(),
    };
    let request = Request { others: vec![group], ..Request::new(2, Span(20)) };
    let free = slots(&[(0, 0, 100), (1, 0, 100), (2, 0, 100)]);
    let found = find(&grid, &free, &request, &best(&Criterion::Cost)).unwrap();
    let of: Vec<(u32, u16, i64)> =
        found.window.tasks().iter().map(|it| (it.node.0, it.group, it.length.0)).collect();
    assert_eq!(of, [(0, 1, 30), (1, 0, 20), (2, 0, 20)]);
    assert_eq!((found.window.cost(), found.window.runtime()), (Money(230), Span(30)));
}

#[test]
fn a_window_of_the_wrong_groups_is_none() {
    let grid = grid(&[(1_000, 1), (1_000, 1)]);
    let group =
        TaskGroup { tasks: 1, work: Span(9), min_performance: None, attributes: Attributes::new() };
    let request = Request { others: vec![group], ..Request::new(1, Span(9)) };
    assert_eq!(request.times, TimeMode::WORK);
    let task = |node, group| Task { node: NodeId(node), length: Span(9), cost: Money(9), group };
    let of = |tasks| Window::new(Time(0), tasks).unwrap().check(&request, &grid);
    assert_eq!(of(vec![task(0, 0), task(1, 1)]), Ok(()));
    let wrong = Err(WindowError::TaskCount { wanted: 1, found: 2 });
    assert_eq!(of(vec![task(0, 0), task(1, 0)]), wrong);
    assert_eq!(
        of(vec![task(0, 0), task(1, 7)]),
        Err(WindowError::TaskCount { wanted: 1, found: 0 })
    );
}
