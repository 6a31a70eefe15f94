//! What it costs to know the best windows of many waiting requests again after the slots of one
//! node have changed: microseconds for each change, beside one search of the whole list for one
//! request.
//!
//! `cargo run --release -p tradewind-sched --example kept -- [nodes] [slots] [requests] [changes]`
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

mod lists;

use std::error::Error;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{Criterion, Grid, Money, NodeId, Request, Slot, SlotList, Span, Time};
use tradewind_sched::window::{KeptWindows, Scratch, Search, Searcher, SlotIndex};

use lists::{grid, slots, used};

const CRITERIA: [Criterion; 5] = [
    Criterion::Start,
    Criterion::Cost,
    Criterion::Runtime,
    Criterion::Finish,
    Criterion::ProcessorTime,
];

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let nodes: u32 = arguments.next().map_or(Ok(30_000), |it| it.parse())?;
    let count: u32 = arguments.next().map_or(Ok(100_000), |it| it.parse())?;
    let requests: u32 = arguments.next().map_or(Ok(1_000), |it| it.parse())?;
    let changes: usize = arguments.next().map_or(Ok(2_000), |it| it.parse())?;
    let grid = grid(nodes)?;
    for busy in [0, 99] {
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let list = slots(&mut random, (nodes, count.div_ceil(nodes)), busy)?;
        println!("{nodes} nodes, {} slots, {busy} % busy, {requests} requests", list.len());
        for criterion in CRITERIA {
            one_case((&grid, &list), requests, changes, &[criterion])?;
        }
        one_case((&grid, &list), requests, changes, &CRITERIA)?;
    }
    Ok(())
}

/// Up to 50 tasks of up to four hours; a third each without a budget, with twice the cost of the
/// cheapest window and with 1.3 times it.
fn request(
    index: &SlotIndex<'_>,
    list: &SlotList,
    random: &mut Pcg64Mcg,
    criterion: &Criterion,
) -> Request {
    let work = Span(random.random_range(600..14_400));
    let mut request = Request::new(random.random_range(1..=50), work);
    let percent = [None, Some(200), Some(130)][random.random_range(0..3)];
    // Sums under a budget are not kept.
    if let Some(percent) = percent.filter(|_| *criterion != Criterion::ProcessorTime) {
        let cheapest = Search::best(Criterion::Cost);
        let found = index.find(list, (&request, &cheapest), Time::MIN, &mut Scratch::default());
        request.budget = found.map(|it| Money(it.window.cost().0 / 100 * percent));
    }
    request
}

/// A node that is free an hour less, or two hours more, from some moment on; its slots then.
fn change(list: &[Vec<Slot>], random: &mut Pcg64Mcg, node: u32) -> Vec<Slot> {
    let mut slots = list[node as usize].clone();
    let Some(first) = slots.first_mut() else { return slots };
    match random.random_range(0..3) {
        // A job ends early.
        0 => first.start = Time(random.random_range(0..=first.start.0)),
        // An owner's job takes the node.
        1 => first.start = Time((first.start.0 + 3_600).min(first.end.0 - 1)),
        // One that was to come is withdrawn.
        _ => {
            let next = slots.get(1).map_or(i64::MAX, |it| it.start.0);
            let first = &mut slots[0];
            first.end = Time((first.end.0 + 7_200).min(next));
        }
    }
    slots
}

fn one_case(
    (grid, list): (&Grid, &SlotList),
    requests: u32,
    changes: usize,
    criteria: &[Criterion],
) -> Result<(), Failure> {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let index = SlotIndex::new(grid, list);
    let mut kept = KeptWindows::new(grid, list, Time(0));
    let mut asked = Vec::new();
    let begin = used();
    for at in 0..requests as usize {
        let criterion = &criteria[at % criteria.len()];
        let request = request(&index, list, &mut random, criterion);
        let search = Search::best(criterion.clone());
        kept.add(request.clone(), search.clone()).map_err(|_| "not for an index")?;
        asked.push((request, search));
    }
    let first = (used() - begin) as f64 / 1e6;
    let mut by_node = vec![Vec::new(); grid.len()];
    list.as_slice().iter().for_each(|slot| by_node[slot.node.0 as usize].push(*slot));
    let mut took = Vec::with_capacity(changes);
    let mut without = Vec::new();
    let mut others = 0;
    for _ in 0..changes {
        let node = random.random_range(0..grid.len() as u32);
        let slots = change(&by_node, &mut random, node);
        by_node[node as usize].clone_from(&slots);
        let begin = Instant::now();
        let new = kept.change(NodeId(node), slots)?.len();
        took.push(begin.elapsed().as_secs_f64() * 1e6);
        others += new;
        if new == 0 {
            without.extend(took.last());
        }
    }
    let mean = took.iter().sum::<f64>() / changes as f64;
    let (one, checked) = compare(grid, &kept, &by_node, &asked)?;
    println!(
        "{}: mean {mean:.0} µs, median {:.0}, 99 of 100 {:.0}, longest {:.0}; {others} windows became \
         others; the {} changes without others: median {:.0}, 99 of 100 {:.0}; all searched at first \
         {first:.0} ms; one search of the whole list {one:.0} µs; {checked} windows compared",
        if criteria.len() == 1 { format!("{:?}", criteria[0]) } else { "all".to_owned() },
        at(&mut took, 50),
        at(&mut took, 99),
        at(&mut took, 100),
        without.len(),
        at(&mut without, 50),
        at(&mut without, 99),
    );
    Ok(())
}

/// So many of 100 took no longer.
fn at(took: &mut [f64], percent: usize) -> f64 {
    took.sort_by(f64::total_cmp);
    let at = (took.len() * percent / 100).min(took.len().saturating_sub(1));
    took.get(at).copied().unwrap_or_default()
}

/// Some of the windows against searches of the whole list; the microseconds of one, and how many.
fn compare(
    grid: &Grid,
    kept: &KeptWindows<'_>,
    by_node: &[Vec<Slot>],
    asked: &[(Request, Search)],
) -> Result<(f64, usize), Failure> {
    let list = SlotList::new(by_node.iter().flatten().copied().collect())?;
    let (mut scratch, mut count) = (Scratch::default(), 0);
    let begin = used();
    for (key, (request, search)) in asked.iter().enumerate().step_by(7) {
        let plain = Searcher::new(grid, request, search).find(&list, Time(0), &mut scratch);
        if plain.as_ref().map(|it| &it.window) != kept.best(key) {
            return Err(format!("request {key}: another window").into());
        }
        count += 1;
    }
    Ok(((used() - begin) as f64 / count as f64 / 1e3, count))
}
