use proptest::prelude::*;

use super::*;
use crate::{Money, Task};

fn slot(node: u32, start: i64, end: i64) -> Slot {
    Slot { start: Time(start), end: Time(end), node: NodeId(node) }
}

fn list(slots: &[(u32, i64, i64)]) -> SlotList {
    SlotList::new(slots.iter().map(|&(n, s, e)| slot(n, s, e)).collect()).unwrap()
}

fn window(start: i64, tasks: &[(u32, i64)]) -> Window {
    let task = |&(node, length)| Task {
        node: NodeId(node),
        length: Span(length),
        cost: Money(0),
        group: 0,
    };
    Window::new(Time(start), tasks.iter().map(task).collect()).unwrap()
}

#[test]
fn the_middle_of_a_slot_leaves_two() {
    let mut it = list(&[(0, 0, 100), (1, 0, 50), (2, 60, 90)]);
    it.subtract(slot(0, 20, 60)).unwrap();
    assert_eq!(it, list(&[(0, 0, 20), (1, 0, 50), (2, 60, 90), (0, 60, 100)]));
}

#[test]
fn empty_remainders_are_not_kept() {
    let mut it = list(&[(0, 0, 100), (1, 0, 50)]);
    it.subtract(slot(1, 0, 50)).unwrap();
    it.subtract(slot(0, 0, 70)).unwrap();
    assert_eq!(it, list(&[(0, 70, 100)]));
    it.subtract(slot(0, 80, 100)).unwrap();
    assert_eq!(it, list(&[(0, 70, 80)]));
}

#[test]
fn what_is_not_free_cannot_be_taken() {
    let mut it = list(&[(0, 0, 100), (0, 120, 200)]);
    let before = it.clone();
    for taken in [slot(0, 90, 110), slot(1, 0, 10), slot(0, 100, 120), slot(0, 5, 5)] {
        assert_eq!(it.subtract(taken), Err(SlotError::NotFree(taken)));
        assert_eq!(it, before);
    }
    assert!(it.subtract_window(&window(10, &[(0, 5), (3, 5)])).is_err());
    assert_eq!(it, before);
}

#[test]
fn overlap_and_emptiness_are_refused() {
    let overlap = SlotList::new(vec![slot(0, 0, 10), slot(0, 9, 12)]);
    assert_eq!(overlap, Err(SlotError::Overlap(slot(0, 0, 10), slot(0, 9, 12))));
    assert_eq!(SlotList::new(vec![slot(0, 4, 4)]), Err(SlotError::Empty(slot(0, 4, 4))));
}

#[test]
fn nodes_with_the_same_last_bits_are_others() {
    let nodes = [5, 6, 5 + 1_024, 6 + 1_024, 5 + 2_048];
    let idle: Vec<(u32, i64, i64)> = nodes.iter().map(|node| (*node, 0, 100)).collect();
    for taken in [[5, 6], [6, 1_029], [1_029, 1_030], [1_030, 2_053]] {
        let mut it = list(&idle);
        it.subtract_window(&window(0, &taken.map(|node| (node, 60)))).unwrap();
        let left = nodes.map(|node| (node, if taken.contains(&node) { 60 } else { 0 }, 100));
        assert_eq!(it, list(&left), "{taken:?}");
        let mut together = list(&idle);
        let each = taken.map(|node| window(0, &[(node, 60)]));
        together.subtract_together(&each).unwrap();
        assert_eq!(together, it);
    }
    assert!(list(&idle).subtract_window(&window(0, &[(5, 60), (7, 60)])).is_err());
}

/// A second by second picture of one node's idle time.
fn idle(list: &SlotList, node: u32) -> Vec<i64> {
    let of_node = list.as_slice().iter().filter(|slot| slot.node.0 == node);
    let mut seconds: Vec<i64> = of_node.flat_map(|slot| slot.start.0..slot.end.0).collect();
    seconds.sort_unstable();
    seconds
}

proptest! {
    #[test]
    fn a_window_is_subtracted_like_its_tasks_one_by_one(
        cuts in prop::collection::vec((0i64..60, prop::collection::btree_map(0u32..6, 1i64..20, 1..5)), 1..12)
    ) {
        let mut at_once = list(&[(0, 0, 80), (1, 0, 60), (2, 5, 80), (3, 5, 40), (4, 30, 80), (5, 0, 10), (5, 20, 80)]);
        for (start, tasks) in cuts {
            let tasks: Vec<(u32, i64)> = tasks.into_iter().collect();
            let window = window(start, &tasks);
            let mut one_by_one = at_once.clone();
            let singly = window.taken().try_for_each(|taken| one_by_one.subtract(taken));
            let before = at_once.clone();
            match at_once.subtract_window(&window) {
                Ok(()) => {
                    prop_assert_eq!(singly, Ok(()));
                    for node in 0..6 {
                        prop_assert_eq!(idle(&at_once, node), idle(&one_by_one, node));
                    }
                }
                Err(_) => {
                    prop_assert!(singly.is_err());
                    prop_assert_eq!(&at_once, &before);
                }
            }
            prop_assert_eq!(at_once.check(), Ok(()));
            prop_assert_eq!(one_by_one.check(), Ok(()));
        }
    }

    #[test]
    fn free_time_is_the_horizon_minus_the_busy_spans(
        busy in prop::collection::vec((0u32..3, -10i64..60, 1i64..30), 0..10)
    ) {
        let site = crate::Site { name: "s".into() };
        let node = |name: &str| crate::Node {
            name: name.into(), site: crate::SiteId(0), host: None,
            performance: crate::Performance::REFERENCE, price: crate::Price(0),
            attributes: crate::Attributes::new(), times: crate::Times::Work,
        };
        let grid = Grid::new(vec![site], vec![node("a"), node("b"), node("c")]).unwrap();
        let horizon = Horizon { start: Time(0), end: Time(50) };
        let busy: Vec<Slot> = busy.into_iter().map(|(n, s, len)| slot(n, s, s + len)).collect();
        let free = SlotList::from_busy(&grid, horizon, &busy);
        prop_assert_eq!(free.check(), Ok(()));
        for node in 0..3 {
            let open = |t: &i64| !busy.iter().any(|b| b.node.0 == node && b.start.0 <= *t && *t < b.end.0);
            prop_assert_eq!(idle(&free, node), (0..50).filter(open).collect::<Vec<i64>>());
        }
    }
}
