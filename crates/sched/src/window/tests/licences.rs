//! Jobs that take licences along, against all windows of all nodes at all times, and all seconds of
//! all licences.

use std::sync::Arc;

use tradewind_model::{LicenceShare, LicenceShares, Reason, Spread, Window};

use super::brute::{self, InForce, Key, key};
use super::groups::{self, any_world_of_groups};
use super::priced::priced_world;
use super::shapes::any_world_of_shapes;
use super::*;
use crate::testing::{DrawnLicences, any_licences, share};

/// A world whose job takes licences along.
fn with(world: World, drawn: &DrawnLicences) -> World {
    World {
        grid: drawn.grid(world.grid),
        slots: drawn.slots(world.slots),
        request: Request { licences: drawn.shares.clone(), ..world.request },
    }
}

/// All windows with these licences under these limits.
fn all_windows(
    world: &World,
    drawn: &DrawnLicences,
    (shares, limits): (&LicenceShares, InForce),
    criterion: &Criterion,
) -> Vec<Window> {
    let request = &world.request;
    let of_shape = |request: Request| {
        let world = World { request, ..world.clone() };
        let simple = world.request.others.is_empty() && world.request.spread == Spread::Grid;
        match simple {
            true => brute::all_windows(&world, criterion, (None, limits.1)),
            false => groups::all_windows(&world, criterion, (None, limits.1)),
        }
    };
    let all = request.in_shapes().into_iter().flat_map(of_shape);
    all.map(|window| drawn.with(window, shares))
        .filter(|window| drawn.suffice(&[window]))
        .filter(|window| limits.0.is_none_or(|budget| window.cost() <= budget))
        .collect()
}

fn best_of(
    world: &World,
    drawn: &DrawnLicences,
    limits: InForce,
    criterion: &Criterion,
) -> Option<Key> {
    let all = all_windows(world, drawn, (&drawn.shares, limits), criterion);
    all.iter().map(|window| key(criterion, window, &world.grid)).min()
}

/// That the search finds the best of all; nodes count where all tasks are equal.
fn finds_the_best(
    world: World,
    drawn: &DrawnLicences,
    criterion: &Criterion,
) -> Result<(), TestCaseError> {
    let world = with(world, drawn);
    let limits = brute::all_limits(&world.request);
    let wanted = best_of(&world, drawn, limits, criterion);
    let got = brute::found_key(&world, &best(criterion), criterion);
    match world.request.others.is_empty() && world.request.spread == Spread::Grid {
        true => brute::same_best(&world.request, criterion, got, wanted),
        false => {
            let is_sum = matches!(criterion, Criterion::ProcessorTime | Criterion::Sum(_));
            let finish = |key: &Key| if is_sum { 0 } else { key.3 };
            let known = |key: Key| (key.0, key.1, key.2, finish(&key));
            prop_assert_eq!(got.map(known), wanted.map(known));
            Ok(())
        }
    }
}

/// Prices that matter beside those of nodes.
fn drawn() -> impl Strategy<Value = DrawnLicences> {
    any_licences(1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn every_criterion_finds_the_best_of_all_windows(
        world in any_world(), drawn in drawn(), criterion in any_criterion(),
    ) {
        finds_the_best(world, &drawn, &criterion)?;
    }

    /// Nodes of many lengths, a budget that is about what windows cost, and expensive licences.
    #[test]
    fn where_the_budget_binds(
        world in any_world(),
        drawn in drawn(),
        criterion in any_criterion(),
        (tasks, work, budget, price) in (1_u32..3, 6_i64..25, 20_i64..150, 1_i64..4),
    ) {
        let plain = Request::new(tasks, Span(work));
        let request = Request { budget: Some(Money(budget)), ..plain };
        let mut drawn = drawn;
        drawn.busy.clear();
        drawn.all[0].price = Price(price);
        drawn.shares = Some(Arc::from([share(0, 1)]));
        finds_the_best(World { request, ..world }, &drawn, &criterion)?;
    }

    #[test]
    fn where_prices_change_too(
        world in priced_world(), drawn in drawn(), criterion in any_criterion(),
    ) {
        finds_the_best(world, &drawn, &criterion)?;
    }

    #[test]
    fn of_all_shapes_too(
        world in any_world_of_shapes(), drawn in drawn(), criterion in any_criterion(),
    ) {
        finds_the_best(world, &drawn, &criterion)?;
    }

    #[test]
    fn alp_and_amp_find_the_earliest_under_their_own_limit(world in any_world(), drawn in drawn()) {
        let world = with(world, &drawn);
        let request = &world.request;
        let budget = request.budget.or_else(|| derived_budget(request, tradewind_model::Rho::ONE));
        for (algorithm, limits) in [
            (Algorithm::Alp, (None, request.max_price)),
            (Algorithm::Amp, (budget, None)),
        ] {
            let wanted = best_of(&world, &drawn, limits, &Criterion::Start);
            let found = brute::found_key(&world, &Search::new(algorithm), &Criterion::Start);
            prop_assert_eq!(found, wanted);
        }
    }

    /// Heuristics keep to the licences and to the budget.
    #[test]
    fn csa_and_the_papers_steps_find_windows_of_all(
        world in any_world(), drawn in drawn(), criterion in any_criterion(), csa in any::<bool>(),
    ) {
        let world = with(world, &drawn);
        let search = match csa {
            true => Search::new(Algorithm::Csa(criterion.clone())),
            false => Search { variant: Variant::Paper, ..best(&criterion) },
        };
        let request = Request { max_price: None, ..world.request.clone() };
        let world = World { request, ..world };
        let limits = brute::all_limits(&world.request);
        let all = all_windows(&world, &drawn, (&drawn.shares, limits), &criterion);
        let found = find(&world.grid, &world.slots, &world.request, &search);
        prop_assert!(found.is_none_or(|found| all.contains(&found.window)));
    }

    #[test]
    fn a_small_work_limit_gives_a_proven_bound(
        world in any_world(), drawn in drawn(), limit in prop::sample::select(vec![0_u64, 3, 8, 15]),
    ) {
        let world = with(world, &drawn);
        let criterion = Criterion::ProcessorTime;
        let limits = brute::all_limits(&world.request);
        let wanted = best_of(&world, &drawn, limits, &criterion);
        let search = Search { work_limit: limit, ..best(&criterion) };
        let found = find(&world.grid, &world.slots, &world.request, &search);
        prop_assert_eq!(found.is_some(), wanted.is_some());
        let (Some(found), Some(wanted)) = (found, wanted) else { return Ok(()) };
        prop_assert!(limits.0.is_none_or(|budget| found.window.cost() <= budget));
        let reached = value(&criterion, &found.window, &world.grid);
        match found.proof {
            Proof::Exact => prop_assert_eq!(reached, wanted.0),
            Proof::Gap { bound } => prop_assert!(bound <= wanted.0 && wanted.0 <= reached),
            Proof::Heuristic => prop_assert!(false),
        }
    }

    #[test]
    fn the_reason_names_a_licence_with_how_many_would_do(
        world in any_world(), drawn in drawn(), criterion in any_criterion(),
    ) {
        let world = with(world, &drawn);
        let World { grid, slots, request } = &world;
        let searcher = Searcher::new(grid, request, &best(&criterion));
        let mut scratch = Scratch::default();
        if searcher.find(slots, Time(0), &mut scratch).is_some() {
            return Ok(());
        }
        let anything = (None, request.max_price);
        let windows = |shares: &[LicenceShare]| {
            let shares = (!shares.is_empty()).then(|| Arc::from(shares));
            all_windows(&world, &drawn, (&shares, anything), &criterion)
        };
        let shares = request.licences.as_deref().unwrap_or_default();
        match searcher.reason(slots, &mut scratch) {
            Reason::LicenceShort { licence, needed, max, deadline } => {
                prop_assert!(max < needed && deadline == request.deadline);
                prop_assert!(!windows(&[]).is_empty());
                let at = shares.iter().position(|it| {
                    grid.licences()[it.licence.index()].name == licence
                }).unwrap();
                prop_assert_eq!(shares[at].count, needed);
                let with = |of: &[LicenceShare], count: u32| {
                    let mut all = of.to_vec();
                    all[at].count = count;
                    all.retain(|it| it.count > 0);
                    windows(&all)
                };
                let alone = !with(shares, max).is_empty() && with(shares, max + 1).is_empty();
                let first = &shares[..=at];
                let together = !with(first, max).is_empty() && with(first, max + 1).is_empty();
                prop_assert!(alone || together);
            }
            Reason::BudgetShort { cheapest, budget } => {
                prop_assert_eq!(Some(budget), request.budget);
                let all = windows(shares);
                prop_assert_eq!(Some(cheapest), all.iter().map(Window::cost).min());
                prop_assert!(cheapest > budget);
            }
            _ => prop_assert!(windows(&[]).is_empty()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(700))]

    #[test]
    fn where_tasks_differ_too(
        world in any_world_of_groups(), drawn in drawn(), criterion in any_criterion(),
    ) {
        finds_the_best(world, &drawn, &criterion)?;
    }

    /// No trade of cost, with licences, against finish is missing.
    #[test]
    fn the_front_is_that_of_all_windows(world in any_world(), drawn in drawn()) {
        let world = with(world, &drawn);
        let limits = brute::all_limits(&world.request);
        let all = all_windows(&world, &drawn, (&drawn.shares, limits), &Criterion::Cost);
        let point = |window: &Window| (window.finish(), window.cost());
        let beats = |a: &(Time, Money), b: &(Time, Money)| a.0 <= b.0 && a.1 <= b.1 && a != b;
        let all: Vec<_> = all.iter().map(point).collect();
        let mut wanted: Vec<_> =
            all.iter().filter(|one| !all.iter().any(|other| beats(other, one))).copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        let front = crate::quote::front(&world.grid, &world.slots, &world.request, 1_000);
        let mut got: Vec<_> = front.windows.iter().map(point).collect();
        got.sort_unstable();
        prop_assert_eq!(got, wanted);
    }
}

/// With licences at some price a quick and expensive node costs less in the end.
#[test]
fn licences_make_a_quick_node_the_cheaper_one() {
    let licence =
        |price| tradewind_model::Licence { name: "abaqus".into(), count: 2, price: Price(price) };
    let of = |price: i64| {
        let grid = grid(&[(1_000, 1), (2_000, 5)]).with_licences(vec![licence(price)]);
        let free = tradewind_model::FreeLicences::new(grid.licences(), Time(0));
        let slots = slots(&[(0, 0, 100), (1, 0, 100)]).with_licences(free);
        let licences: LicenceShares = Some(Arc::from([share(0, 2)]));
        let request = Request { licences, ..Request::new(1, Span(40)) };
        find(&grid, &slots, &request, &best(&Criterion::Cost)).unwrap().window
    };
    let nodes = |window: &Window| window.tasks()[0].node.0;
    assert_eq!((nodes(&of(0)), of(0).cost()), (0, Money(40)));
    assert_eq!((nodes(&of(1)), of(1).cost()), (0, Money(40 + 80)));
    assert_eq!((nodes(&of(2)), of(2).cost()), (1, Money(100 + 80)));
}

/// The earliest window is too expensive with its licences, a later one that is as long is not, though
/// it would be if it were longer.
#[test]
fn a_later_window_of_the_same_length_is_found() {
    let licence = tradewind_model::Licence { name: "abaqus".into(), count: 1, price: Price(2) };
    // Tasks of 20 s for 40 and for 20, of 30 s for 90, and of 10 s for 90.
    let nodes = grid(&[(3_000, 2), (3_000, 1), (2_000, 3), (6_000, 9)]);
    let grid = nodes.with_licences(vec![licence]);
    let free = tradewind_model::FreeLicences::new(grid.licences(), Time(0));
    let slots = slots(&[(0, 0, 50), (1, 10, 50), (2, 0, 50), (3, 0, 50)]).with_licences(free);
    let request = Request {
        budget: Some(Money(70)),
        licences: Some(Arc::from([share(0, 1)])),
        ..Request::new(1, Span(60))
    };
    let found = find(&grid, &slots, &request, &best(&Criterion::Start)).unwrap().window;
    assert_eq!(
        (found.start(), found.tasks()[0].node, found.cost()),
        (Time(10), NodeId(1), Money(60))
    );
}

/// A list that says nothing of licences has none.
#[test]
fn without_a_word_of_licences_there_is_no_window() {
    let (grid, slots) = (grid(&[(1_000, 1)]), slots(&[(0, 0, 100)]));
    let request = Request { licences: Some(Arc::from([share(0, 1)])), ..Request::new(1, Span(10)) };
    let searcher = Searcher::new(&grid, &request, &best(&Criterion::Start));
    assert_eq!(searcher.find(&slots, Time(0), &mut Scratch::default()), None);
    let reason = searcher.reason(&slots, &mut Scratch::default());
    assert!(matches!(reason, Reason::LicenceShort { needed: 1, max: 0, .. }), "{reason:?}");
}
