//! The bounds and the dropping of nodes against solving every start on its own.

use proptest::prelude::*;
use tradewind_model::{Criterion, Money, Request, Span};

use super::*;
use crate::window::nodes::NodeSearcher;
use crate::window::tests::large::random_world;
use crate::window::{Search, find as search};

/// The minimum (value, start) by solving each start alone, with all its nodes.
fn start_by_start(prepared: &PreparedRequest, slots: &[Slot]) -> Option<(i128, i64)> {
    let bracket = prepared.bracket(Time::MIN);
    let mut ranks = Vec::new();
    let mut best = None;
    for now in slots.iter().map(|slot| slot.start.0) {
        alive_at(&prepared.ranking, now, slots, bracket, &mut ranks);
        let items = items(&prepared.ranking, &ranks, |it| (it.value, it.cost));
        let mut work = Work::new(u64::MAX);
        let cutoff = best.map_or(i128::MAX >> 1, |(value, _)| value);
        let limit = prepared.ceiling();
        if let Some(set) = one::solve(items, prepared.wanted, limit, cutoff, &mut work).best {
            best = Some((set.objective, now));
        }
    }
    best
}

#[test]
fn many_starts_together_give_what_each_gives_alone() {
    let mut found = 0;
    for (seed, nodes, tasks) in [(1, 70, 3), (2, 150, 5), (3, 200, 2), (4, 100, 20), (5, 300, 4)] {
        let (grid, slots) = random_world(seed, nodes, 400);
        for each in [200, 100, 60, 30, 20] {
            let mut request = Request::new(tasks, Span(30));
            request.criterion = Criterion::ProcessorTime;
            request.budget = Some(Money(each * i64::from(tasks)));
            let best = Search::best(Criterion::ProcessorTime);
            let searcher = NodeSearcher::new(&grid, &request, &best);
            let wanted = start_by_start(&searcher.prepared, slots.as_slice());
            let window = search(&grid, &slots, &request, &best).map(|found| found.window);
            let got = window.map(|it| (i128::from(it.processor_time().0), it.start().0));
            assert_eq!(got, wanted, "seed {seed}, {tasks} tasks at {each}");
            found += u32::from(wanted.is_some());
        }
    }
    assert!(found >= 10, "too few worlds have a window to say anything: {found}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn one_start_is_solved_like_by_trying_all_subsets(
        numbers in prop::collection::vec((-3_i64..12, -2_i64..12), 1..9),
        wanted in 1_usize..5,
        limit in -3_i128..40,
        cutoff in prop::sample::select(vec![5_i128, 15, 1_000]),
    ) {
        let item = |((objective, constraint), rank)| AliveNode { objective, constraint, rank };
        let items: Vec<AliveNode> = numbers.iter().copied().zip(0..).map(item).collect();
        let mut min = None;
        for mask in 0_u32..1 << items.len() {
            let chosen = || items.iter().filter(|it| mask >> it.rank & 1 == 1);
            let constraint: i128 = chosen().map(|it| i128::from(it.constraint)).sum();
            let objective: i128 = chosen().map(|it| i128::from(it.objective)).sum();
            if chosen().count() == wanted && constraint <= limit && objective < cutoff {
                min = Some(min.map_or(objective, |min: i128| min.min(objective)));
            }
        }
        let answer = one::solve(items.clone(), wanted, limit, cutoff, &mut Work::new(u64::MAX));
        prop_assert!(answer.complete);
        prop_assert_eq!(answer.best.as_ref().map(|set| set.objective), min);
        if let Some(set) = answer.best {
            let sum: i128 = set.ranks.iter().map(|&i| i128::from(items[i as usize].objective)).sum();
            prop_assert!(set.ranks.len() == wanted && sum == set.objective);
            prop_assert!(set.constraint <= limit);
        }
    }
}
