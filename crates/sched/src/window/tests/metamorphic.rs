//! What must change with a changed question, and what must not.

use proptest::prelude::*;

use super::*;

fn best_value(world: &World, criterion: &Criterion) -> Option<i64> {
    let found = find(&world.grid, &world.slots, &world.request, &best(criterion))?;
    Some(value(criterion, &found.window, &world.grid))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn scaling_time_and_work_scales_the_answer(
        world in any_world(),
        criterion in any_criterion(),
        by in 2_i64..5,
    ) {
        // Only speeds at which the lengths scale without rounding.
        let mut world = world;
        world.request.work = Span(world.request.work.0 * 3);
        let stretch = |slot: &Slot| (slot.node.0, slot.start.0 * by, slot.end.0 * by);
        let all: Vec<_> = world.slots.as_slice().iter().map(stretch).collect();
        let mut larger = World { slots: slots(&all), ..world.clone() };
        larger.request.work = Span(world.request.work.0 * by);
        larger.request.budget = world.request.budget.map(|money| Money(money.0 * by));
        larger.request.earliest_start = world.request.earliest_start.map(|t| Time(t.0 * by));
        larger.request.deadline = world.request.deadline.map(|t| Time(t.0 * by));
        let exact = |node: &Node| world.request.work.0 * 1_000 % i64::from(node.performance.thousandths()) == 0;
        prop_assume!(world.grid.nodes().iter().all(exact));
        let small = best_value(&world, &criterion);
        prop_assert_eq!(best_value(&larger, &criterion), small.map(|v| v * by));
    }

    #[test]
    fn node_order_changes_no_value(world in any_world(), criterion in any_criterion(), turn in 0_usize..6) {
        let count = world.grid.len();
        let moved = |old: u32| ((old as usize + turn) % count) as u32;
        let mut nodes = world.grid.nodes().to_vec();
        nodes.rotate_right(turn % count);
        let all: Vec<_> = world.slots.as_slice().iter().rev().map(|s| (moved(s.node.0), s.start.0, s.end.0)).collect();
        let turned = World { grid: grid_of(nodes), slots: slots(&all), request: world.request.clone() };
        prop_assert_eq!(best_value(&turned, &criterion), best_value(&world, &criterion));
    }

    #[test]
    fn an_idle_node_and_more_money_never_hurt(
        world in any_world(),
        criterion in any_criterion(),
        more in 0_i64..40,
    ) {
        let before = best_value(&world, &criterion);
        let mut richer = world.clone();
        richer.request.budget = world.request.budget.map(|money| Money(money.0 + more));
        let mut wider = world.clone();
        let mut nodes = world.grid.nodes().to_vec();
        nodes.push(Node { name: "idle".into(), ..nodes[0].clone() });
        wider.grid = grid_of(nodes);
        let mut all: Vec<_> =
            world.slots.as_slice().iter().map(|s| (s.node.0, s.start.0, s.end.0)).collect();
        all.push((world.grid.len() as u32, 0, 40));
        wider.slots = slots(&all);
        for after in [best_value(&richer, &criterion), best_value(&wider, &criterion)] {
            if let Some(before) = before {
                prop_assert!(after.is_some_and(|after| after <= before));
            }
        }
    }

    #[test]
    fn from_is_a_later_earliest_start_and_buffers_do_not_matter(
        worlds in prop::collection::vec((any_world(), any_criterion(), 0_i64..30), 1..5),
    ) {
        let mut shared = Scratch::default();
        for (world, criterion, from) in worlds {
            let World { grid, slots, request } = &world;
            let later = request.earliest_start.map_or(from, |t| t.0.max(from));
            let request_later = Request { earliest_start: Some(Time(later)), ..request.clone() };
            for algorithm in [Algorithm::Amp, Algorithm::Csa(criterion.clone()), Algorithm::Best(criterion)] {
                for variant in [Variant::Exact, Variant::Paper] {
                    let search = Search { variant, ..Search::new(algorithm.clone()) };
                    let searcher = Searcher::new(grid, request, &search);
                    let first = searcher.find(slots, Time(from), &mut shared);
                    prop_assert_eq!(&first, &find(grid, slots, &request_later, &search));
                    prop_assert_eq!(&first, &searcher.find(slots, Time(from), &mut Scratch::default()));
                }
            }
        }
    }
}
