use proptest::prelude::*;
use tradewind_model::Task;

use super::*;
use crate::testing::{any_market, any_request};
use crate::window::Proof;

/// Every window that answers `request`, by trying every start and every set of nodes.
pub(super) fn all_windows(grid: &Grid, slots: &SlotList, request: &Request) -> Vec<Window> {
    let mut windows = Vec::new();
    for start in (0..60).map(Time) {
        let free = |id, length| {
            slots
                .as_slice()
                .iter()
                .any(|slot| slot.node == id && slot.start <= start && slot.end >= start + length)
        };
        for set in 1u32..1 << grid.len() {
            let chosen = grid.iter().filter(|(id, _)| set & (1 << id.0) != 0);
            let tasks: Vec<Task> = chosen
                .map(|(id, node)| {
                    let length = request.length_on(node);
                    Task { node: id, length, cost: node.price * length, group: 0 }
                })
                .collect();
            let fits = tasks.iter().all(|task| free(task.node, task.length));
            let window = Window::new(start, tasks).unwrap();
            let cheap = request.max_price.is_none_or(|cap| {
                window.tasks().iter().all(|task| grid.node(task.node).price <= cap)
            });
            let within = request.budget.is_none_or(|budget| window.cost() <= budget);
            if fits && cheap && within && window.check(request, grid).is_ok() {
                windows.push(window);
            }
        }
    }
    windows
}

proptest! {
    #[test]
    fn the_front_is_every_trade_of_cost_for_finish(
        (grid, slots) in any_market(), request in any_request()
    ) {
        let all = all_windows(&grid, &slots, &request);
        let mut points: Vec<(Money, Time)> = all.iter().map(|w| (w.cost(), w.finish())).collect();
        points.sort_unstable();
        let mut expected: Vec<(Money, Time)> = Vec::new();
        for point in points {
            if expected.last().is_none_or(|last| point.1 < last.1) {
                expected.push(point);
            }
        }
        let front = front(&grid, &slots, &request, 1_000);
        prop_assert!(front.complete);
        let found: Vec<_> = front.windows.iter().map(|w| (w.cost(), w.finish())).collect();
        prop_assert_eq!(found, expected);
        for window in &front.windows {
            prop_assert!(all.contains(window));
        }
    }

    #[test]
    fn quotes_agree_with_every_window_there_is(
        (grid, slots) in any_market(), request in any_request()
    ) {
        let all = all_windows(&grid, &slots, &request);
        for quote in quotes(&grid, &slots, &request, u64::MAX) {
            let value = |w: &Window| match quote.criterion {
                Criterion::Start => w.start().0,
                Criterion::Finish => w.finish().0,
                Criterion::Runtime => w.runtime().0,
                Criterion::Cost => w.cost().0,
                _ => w.processor_time().0,
            };
            match &quote.answer {
                Ok(found) => {
                    prop_assert_eq!(&found.proof, &Proof::Exact);
                    prop_assert!(all.contains(&found.window));
                    prop_assert_eq!(Some(value(&found.window)), all.iter().map(value).min());
                }
                Err(_) => prop_assert!(all.is_empty()),
            }
        }
    }
}

#[test]
fn a_cut_front_says_so() {
    let grid = crate::testing::grid(&[(1_000, 1), (2_000, 3), (3_000, 9)]);
    let slots = crate::testing::slots(&[(0, 0, 60), (1, 0, 60), (2, 0, 60)]);
    let request = Request::new(1, Span(30));
    assert_eq!(front(&grid, &slots, &request, 10).windows.len(), 3);
    let cut = front(&grid, &slots, &request, 2);
    assert_eq!((cut.windows.len(), cut.complete), (2, false));
}

#[test]
fn points_one_second_apart_are_both_on_the_front() {
    let grid = crate::testing::grid(&[(1_000, 1), (1_112, 9)]);
    let slots = crate::testing::slots(&[(0, 0, 60), (1, 0, 60)]);
    let front = front(&grid, &slots, &Request::new(1, Span(10)), 10);
    let finishes: Vec<Time> = front.windows.iter().map(Window::finish).collect();
    assert_eq!(finishes, [Time(10), Time(9)]);
}

#[test]
fn every_node_is_counted_once_in_what_was_rejected() {
    let grid = crate::testing::grid(&[(500, 1), (1_000, 9), (1_000, 1), (1_000, 2), (2_000, 1)]);
    let slots = crate::testing::slots(&[(1, 0, 60), (2, 0, 9), (3, 0, 60), (4, 0, 60)]);
    let request = Request {
        min_performance: tradewind_model::Performance::from_thousandths(1_000),
        max_price: Some(tradewind_model::Price::credits(5)),
        budget: Some(Money::credits(15)),
        ..Request::new(1, Span(10))
    };
    let expected = Rejected {
        too_slow: 1,
        too_dear: 1,
        never_free: 1,
        over_budget: 1,
        usable: 1,
        lacks_attribute: 0,
        no_link: 0,
        too_small: 0,
    };
    assert_eq!(rejected(&grid, &slots, &request), expected);
}
