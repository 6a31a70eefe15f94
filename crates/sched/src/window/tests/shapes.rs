//! Windows of moldable jobs, against all windows of all shapes.

use proptest::prelude::*;
use tradewind_model::Window;

use super::brute::{best_key, found_key, key, same_best};
use super::*;
use crate::testing::with_shapes;

/// A world whose job has more shapes, perhaps.
pub(super) fn any_world_of_shapes() -> impl Strategy<Value = World> {
    let others = prop::collection::vec((1u32..5, 1i64..30), 0..4);
    (any_world(), others)
        .prop_map(|(world, others)| World { request: with_shapes(world.request, &others), ..world })
}

/// The world of each shape.
fn of_shapes(world: &World) -> impl Iterator<Item = World> + '_ {
    world.request.in_shapes().into_iter().map(|request| World { request, ..world.clone() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_window_is_the_best_of_all_windows_of_all_shapes(
        world in any_world_of_shapes(),
        criterion in any_criterion(),
    ) {
        let limits = (world.request.budget, world.request.max_price);
        let wanted = of_shapes(&world).filter_map(|it| best_key(&it, &criterion, limits)).min();
        let got = found_key(&world, &best(&criterion), &criterion);
        same_best(&world.request, &criterion, got, wanted)?;
    }

    /// The front has a window for every trade of cost against finish that any shape offers.
    #[test]
    fn the_front_is_that_of_all_shapes(world in any_world_of_shapes()) {
        let (grid, slots) = (&world.grid, &world.slots);
        let points = |request: &tradewind_model::Request| {
            let front = crate::quote::front(grid, slots, request, 1_000);
            prop_assert!(front.complete);
            for window in &front.windows {
                prop_assert!(window.check(request, grid).is_ok());
            }
            let point = |window: &Window| (window.finish(), window.cost());
            Ok(front.windows.iter().map(point).collect::<Vec<_>>())
        };
        let mut all = Vec::new();
        for shape in world.request.in_shapes() {
            all.extend(points(&shape)?);
        }
        let beats = |a: &(Time, Money), b: &(Time, Money)| a.0 <= b.0 && a.1 <= b.1 && a != b;
        let mut wanted: Vec<_> =
            all.iter().filter(|one| !all.iter().any(|other| beats(other, one))).copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut got = points(&world.request)?;
        got.sort_unstable();
        prop_assert_eq!(got, wanted);
    }
}

/// A cheap narrow shape and a quick wide one: each criterion takes its own.
#[test]
fn each_criterion_takes_its_shape() {
    let request = tradewind_model::Request::new(2, Span(20));
    let request = with_shapes(request, &[(1, 30), (4, 12)]);
    let world = World {
        grid: grid(&[(1_000, 1); 4]),
        slots: slots(&[(0, 0, 40), (1, 0, 40), (2, 5, 40), (3, 5, 40)]),
        request,
    };
    let taken = |criterion: Criterion| {
        let found = find(&world.grid, &world.slots, &world.request, &best(&criterion)).unwrap();
        let _ = key(&criterion, &found.window, &world.grid);
        (found.window.start().0, found.window.tasks().len())
    };
    assert_eq!(taken(Criterion::Start), (0, 1), "of equal starts the cheapest");
    assert_eq!(taken(Criterion::Finish), (5, 4));
    assert_eq!(taken(Criterion::Runtime), (5, 4));
    assert_eq!(taken(Criterion::Cost), (0, 1));
}
