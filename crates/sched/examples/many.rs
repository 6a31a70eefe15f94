//! What 50 searches of one list cost: each by itself, and all on one index, with the same windows.
//! Nanoseconds of processor time per search and slot, rankings and the index included.
//!
//! `cargo run --release -p tradewind-sched --example many -- [nodes] [slots] [tasks] [requests]`
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

mod lists;

use std::error::Error;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use tradewind_model::{Criterion, Grid, Money, Request, SlotList, Span, Time, Window};
use tradewind_sched::window::{Scratch, Search, Searcher, SlotIndex};

use lists::{grid, slots, used};

/// What the cheapest window costs, in hundredths, that each request may spend; `None`: no limit.
const BUDGETS: [Option<i64>; 4] = [None, Some(200), Some(130), Some(99)];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let nodes: u32 = arguments.next().map_or(Ok(30_000), |it| it.parse())?;
    let count: u32 = arguments.next().map_or(Ok(100_000), |it| it.parse())?;
    let tasks = arguments.next().map_or(Ok(5), |it| it.parse())?;
    let requests: i64 = arguments.next().map_or(Ok(50), |it| it.parse())?;
    let grid = grid(nodes)?;
    for busy in [0, 99] {
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let slots = slots(&mut random, (nodes, count.div_ceil(nodes)), busy)?;
        for budget in BUDGETS {
            one_case((&grid, &slots), (tasks, requests), budget, busy);
        }
    }
    Ok(())
}

fn one_case(
    (grid, slots): (&Grid, &SlotList),
    (tasks, requests): (u32, i64),
    budget: Option<i64>,
    busy: u32,
) {
    let mut scratch = Scratch::default();
    let cost = Search::best(Criterion::Cost);
    let request = |at: i64, scratch: &mut Scratch| {
        let mut it = Request::new(tasks, Span(1_000 + 37 * at));
        it.budget = budget.and_then(|share| {
            let cheapest =
                SlotIndex::new(grid, slots).find(slots, (&it, &cost), Time::MIN, scratch);
            cheapest.map(|found| Money(found.window.cost().0 / 100 * share))
        });
        it
    };
    let all: Vec<Request> = (0..requests).map(|at| request(at, &mut scratch)).collect();
    for criterion in [Criterion::Start, Criterion::Cost, Criterion::Runtime, Criterion::Finish] {
        let search = Search::best(criterion.clone());
        let begin = used();
        let plain: Vec<Option<Window>> = all
            .iter()
            .map(|it| Searcher::new(grid, it, &search).find(slots, Time::MIN, &mut scratch))
            .map(|found| found.map(|it| it.window))
            .collect();
        let middle = used();
        let index = SlotIndex::new(grid, slots);
        let made = used();
        let ours: Vec<Option<Window>> = all
            .iter()
            .map(|it| index.find(slots, (it, &search), Time::MIN, &mut scratch))
            .map(|found| found.map(|it| it.window))
            .collect();
        let end = used();
        let per = |time: u64| time as f64 / requests as f64 / slots.len() as f64;
        let same = if ours == plain { "same windows" } else { "DIFFERENT WINDOWS" };
        println!(
            "{busy} % busy, budget {budget:?}, {criterion:?}: {:.2} ns each by itself, {:.2} on an \
             index (of which {:.2} to make it), {same}",
            per(middle - begin),
            per(end - middle),
            per(made - middle),
        );
    }
}
