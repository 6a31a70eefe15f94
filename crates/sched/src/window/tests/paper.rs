//! The papers' steps: what they do by hand, and how they stand to the exact searches.

use proptest::prelude::*;

use super::*;

fn paper(algorithm: Algorithm) -> Search {
    Search { variant: Variant::Paper, ..Search::new(algorithm) }
}

fn nodes(found: Option<Found>) -> Option<(i64, Vec<u32>)> {
    found.map(|it| (it.window.start().0, it.window.tasks().iter().map(|t| t.node.0).collect()))
}

#[test]
fn alp_takes_the_first_in_list_order_and_exact_the_cheapest() {
    let (grid, slots) =
        (grid(&[(1_000, 3), (1_000, 2), (1_000, 1)]), slots(&[(0, 0, 9), (1, 0, 9), (2, 0, 9)]));
    let request = Request::new(1, Span(5));
    let go = |search: &Search| nodes(find(&grid, &slots, &request, search));
    assert_eq!(go(&paper(Algorithm::Alp)), Some((0, vec![0])));
    assert_eq!(go(&Search::new(Algorithm::Alp)), Some((0, vec![2])));
}

#[test]
fn amp_tests_the_budget_after_every_slot() {
    let (grid, slots) =
        (grid(&[(1_000, 3), (1_000, 2), (1_000, 1)]), slots(&[(0, 0, 9), (1, 0, 9), (2, 0, 9)]));
    let mut request = Request::new(1, Span(5));
    request.budget = Some(Money(10));
    let go = |search: &Search| nodes(find(&grid, &slots, &request, search));
    // Node 0 costs 15; node 1 is the first that will do; node 2 would be cheaper.
    assert_eq!(go(&paper(Algorithm::Amp)), Some((0, vec![1])));
    assert_eq!(go(&Search::new(Algorithm::Amp)), Some((0, vec![2])));
}

#[test]
fn amp_keeps_list_order_among_equal_costs() {
    let (grid, slots) =
        (grid(&[(1_000, 1), (1_000, 1), (1_000, 1)]), slots(&[(2, 0, 9), (1, 0, 9), (0, 0, 9)]));
    let mut request = Request::new(2, Span(5));
    request.budget = Some(Money(10));
    let found = find(&grid, &slots, &request, &paper(Algorithm::Amp));
    assert_eq!(nodes(found), Some((0, vec![1, 2])));
}

#[test]
fn a_slot_expires_when_the_last_start_leaves_too_little() {
    // Node 0 ends at 9: at start 5 only 4 of 5 seconds are left.
    let grid = grid(&[(1_000, 1), (1_000, 1), (1_000, 1)]);
    let request = Request::new(2, Span(5));
    for (end, wanted) in [(9, (6, vec![1, 2])), (10, (5, vec![0, 1]))] {
        let slots = slots(&[(0, 0, end), (1, 5, 20), (2, 6, 20)]);
        for search in [paper(Algorithm::Alp), Search::new(Algorithm::Alp)] {
            assert_eq!(nodes(find(&grid, &slots, &request, &search)), Some(wanted.clone()));
        }
    }
}

#[test]
fn substitution_accepts_a_window_at_exactly_the_budget() {
    // Cheapest: nodes 0 (10 s for 10) and 1 (5 s for 15); node 2 (4 s for 16) replaces node 0.
    let grid = grid(&[(1_000, 1), (2_000, 3), (2_500, 4)]);
    let slots = slots(&[(0, 0, 20), (1, 0, 20), (2, 0, 20)]);
    let mut request = Request::new(2, Span(10));
    for (budget, wanted) in [(31, Some(vec![1, 2])), (30, Some(vec![0, 1])), (24, None)] {
        request.budget = Some(Money(budget));
        let found = find(&grid, &slots, &request, &paper(Algorithm::Best(Criterion::Runtime)));
        assert_eq!(nodes(found).map(|it| it.1), wanted);
    }
}

#[test]
fn random_windows_depend_on_the_seed_only() {
    let grid = grid(&[500, 600, 700, 800, 900, 1_000].map(|fast| (fast, 1)));
    let slots = slots(&[0, 1, 2, 3, 4, 5].map(|node| (node, 0, 20)));
    let request = Request::new(2, Span(5));
    let go = |seed| {
        let search = Search { seed, ..paper(Algorithm::Best(Criterion::ProcessorTime)) };
        nodes(find(&grid, &slots, &request, &search))
    };
    assert_eq!(go(7), go(7));
    assert!((0..20).any(|seed| go(seed) != go(0)), "every seed draws the same window");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// The claim of papers 001/002, for lists whose nodes cost at most C per second.
    #[test]
    fn amp_is_never_later_than_alp(world in any_world(), cap in 0_i64..5) {
        let mut world = world;
        world.request.budget = None;
        world.request.max_price = Some(Price(cap));
        // t/P_min is a whole number of seconds, so that rounding up does not exceed S.
        world.request.min_performance = None;
        let slow = |node: &Node| node.performance < Performance::REFERENCE;
        prop_assume!(!world.grid.nodes().iter().any(slow));
        for variant in [Variant::Exact, Variant::Paper] {
            let start = |algorithm| {
                let search = Search { variant, ..Search::new(algorithm) };
                find(&world.grid, &world.slots, &world.request, &search).map(|it| it.window.start())
            };
            if let Some(alp) = start(Algorithm::Alp) {
                prop_assert!(start(Algorithm::Amp).is_some_and(|amp| amp <= alp));
            }
        }
    }

    /// Testing after each slot sees the same sets at the end of a group, so the value is the same;
    /// random windows are not better than the best.
    #[test]
    fn the_papers_reach_the_exact_value_where_they_claim_to(world in any_world(), criterion in any_criterion()) {
        let World { grid, slots, request } = &world;
        let of = |search: &Search| {
            let found = find(grid, slots, request, search)?;
            found.window.check(request, grid).unwrap();
            assert!(request.budget.is_none_or(|budget| found.window.cost() <= budget));
            Some(value(&criterion, &found.window, grid))
        };
        let theirs = of(&paper(Algorithm::Best(criterion.clone())));
        let ours = of(&best(&criterion));
        match criterion {
            Criterion::ProcessorTime | Criterion::Sum(_) => {
                if let Some(theirs) = theirs {
                    prop_assert!(ours.is_some_and(|ours| ours <= theirs));
                }
            }
            _ => prop_assert_eq!(theirs, ours),
        }
    }

    #[test]
    fn csa_of_the_paper_is_the_best_of_its_amp_windows(world in any_world(), criterion in any_criterion()) {
        let World { grid, slots, request } = &world;
        prop_assume!(!matches!(criterion, Criterion::Sum(_)));
        let mut left = slots.clone();
        let mut values = Vec::new();
        while let Some(found) = find(grid, &left, request, &paper(Algorithm::Amp)) {
            left.subtract_window(&found.window).unwrap();
            values.push(value(&criterion, &found.window, grid));
        }
        let csa = find(grid, slots, request, &paper(Algorithm::Csa(criterion.clone())));
        let got = csa.map(|found| value(&criterion, &found.window, grid));
        prop_assert_eq!(got, values.into_iter().min());
    }
}
