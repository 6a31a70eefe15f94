//! Against one vector for every second.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{
    Attributes, Charge, Money, Node, NodeResources, Performance, Price, Sharing, Site, SiteId,
    SlotList, Span, Task, Times,
};

const END: i64 = 20;

fn amounts(cores: u32, memory: u64) -> Resources {
    Resources { cores, memory, ..Resources::default() }
}

/// Two nodes of 4 cores and 8 KiB; the first is shared.
fn grid() -> Grid {
    let node = |name: &str| Node {
        name: name.into(),
        site: SiteId(0),
        host: None,
        performance: Performance::REFERENCE,
        price: Price::credits(1),
        attributes: Attributes::new(),
        times: Times::Work,
    };
    let has = |sharing| Some(NodeResources { all: amounts(4, 8), sharing });
    let sites = vec![Site { name: "site".into() }];
    let grid = Grid::new(sites, vec![node("shared"), node("whole")]).unwrap();
    grid.with_resources(vec![has(Sharing::Shared(Charge::Share)), has(Sharing::Whole)])
}

fn horizon() -> Horizon {
    Horizon { start: Time(0), end: Time(END) }
}

fn span(start: i64, end: i64) -> Slot {
    Slot { start: Time(start), end: Time(end), node: NodeId(0) }
}

/// (start, length, part) of what others take; `None` is the whole node.
fn any_busy() -> impl Strategy<Value = Vec<(Slot, Option<Resources>)>> {
    let part = prop::option::weighted(0.8, (0u32..4, 0u64..8).prop_map(|(c, m)| amounts(c, m)));
    let one = (-3i64..END, 1i64..9, part).prop_map(|(s, length, part)| (span(s, s + length), part));
    prop::collection::vec(one, 0..5)
}

/// What is free in each second.
fn flat(busy: &[(Slot, Option<Resources>)]) -> Vec<Resources> {
    let at = |second: i64| {
        let mut free = amounts(4, 8);
        for (_, part) in busy.iter().filter(|(s, _)| s.start.0 <= second && second < s.end.0) {
            free.take(part.as_ref().unwrap_or(&amounts(4, 8)), 1);
        }
        free
    };
    (0..END).map(at).collect()
}

proptest! {
    #[test]
    fn steps_are_what_every_second_has(
        busy in any_busy(),
        each in (1u32..4, 0u64..6),
        (start, length) in (0i64..END, 1i64..8),
    ) {
        let each = amounts(each.0, each.1);
        let shared = SharedFree::from_busy(&grid(), horizon(), &busy);
        let seconds = flat(&busy);
        let end = (start + length).min(END);
        let during = seconds[start as usize..end as usize].iter();
        let wanted = during.map(|free| free.places(&each)).min().unwrap();
        prop_assert_eq!(shared.places(span(start, end), Some(&each)), wanted);
        let steps = shared.steps(NodeId(0)).unwrap();
        prop_assert!(steps.windows(2).all(|pair| pair[0].from < pair[1].from));
        prop_assert!(steps.windows(2).all(|pair| pair[0].free != pair[1].free));
        prop_assert!(shared.places(span(END - 1, END + 1), Some(&each)) == 0);
    }

    #[test]
    fn windows_that_share_a_node_come_out_of_the_list(
        busy in any_busy(),
        (start, length) in (0i64..END, 1i64..8),
        (tasks, cores, memory) in (1u32..4, 1u32..3, 0u64..6),
        is_whole in any::<bool>(),
    ) {
        let grid = grid();
        let whole = SlotList::from_busy(&grid, horizon(), &[]);
        let mut list = whole.with_shared(SharedFree::from_busy(&grid, horizon(), &busy));
        let before = list.clone();
        let task = Task { node: NodeId(0), length: Span(length), cost: Money(0), group: 0 };
        let each = amounts(cores, memory);
        let window = match is_whole {
            true => Window::new(Time(start), vec![task]).unwrap(),
            false => {
                Window::sharing(Time(start), vec![task; tasks as usize], Arc::new(each.clone()))
                    .unwrap()
            }
        };
        let (each, count) = if is_whole { (amounts(4, 8), 1) } else { (each, tasks) };
        let fits = start + length <= END
            && flat(&busy)[start as usize..(start + length) as usize]
                .iter()
                .all(|free| free.places(&each) >= count);
        prop_assert_eq!(list.subtract_window(&window).is_ok(), fits);
        if !fits {
            prop_assert_eq!(&list, &before);
            return Ok(());
        }
        list.check().unwrap();
        let taken = std::iter::repeat_n((span(start, start + length), Some(each)), count as usize);
        let all: Vec<_> = busy.iter().cloned().chain(taken).collect();
        let shared = list.shared().unwrap();
        for (second, free) in (0..).zip(flat(&all)) {
            let one = amounts(1, 0);
            prop_assert_eq!(shared.places(span(second, second + 1), Some(&one)), free.places(&one));
            let is_listed = |slot: &&Slot| {
                slot.node == NodeId(0) && slot.start.0 <= second && second < slot.end.0
            };
            let listed = list.as_slice().iter().filter(is_listed).count();
            prop_assert_eq!(listed == 1, free == amounts(4, 8));
        }
    }
}

#[test]
fn slots_say_what_is_free_at_most_what_the_node_has() {
    let slots = [(span(2, 5), Some(amounts(9, 3))), (span(5, 8), None)];
    let shared = SharedFree::from_slots(&grid(), &slots);
    let steps: Vec<_> = shared.steps(NodeId(0)).unwrap().to_vec();
    let wanted = [(2, amounts(4, 3)), (5, amounts(4, 8)), (8, amounts(0, 0))];
    let wanted = wanted.map(|(from, free)| FreeStep { from: Time(from), free });
    assert_eq!(steps, wanted);
    assert!(shared.steps(NodeId(1)).is_none());
    let mut list = SlotList::default().with_shared(shared);
    assert_eq!(list.as_slice(), [span(5, 8)]);
    list.subtract(span(6, 7)).unwrap();
    assert_eq!(list.shared().unwrap().places(span(5, 6), Some(&amounts(4, 8))), 1);
    assert_eq!(list.shared().unwrap().places(span(6, 7), Some(&amounts(1, 0))), 0);
}
