//! Prints what figure 6 of paper 000 shows, measured: the mean working time of each search on 50 to
//! 400 nodes, and over intervals of 600 to 3,600, by the paper's steps and by ours.
//!
//! `cargo run --release -p tradewind-reference --bin working_table [CYCLES]`
#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use tradewind_model::{Criterion, Money, Request, Time};
use tradewind_reference::worlds::Market;
use tradewind_sched::window::{Algorithm, Scratch, Search, Searcher, Variant};

/// Cycles per point; the paper has 1,000.
const CYCLES: u64 = 100;
const TASKS: u32 = 5;

/// The searches of the figure. All read the whole list but AMP, which ends with its window.
fn searches() -> [(&'static str, Algorithm); 6] {
    [
        ("AMP", Algorithm::Amp),
        ("minRunTime", Algorithm::Best(Criterion::Runtime)),
        ("minFinish", Algorithm::Best(Criterion::Finish)),
        ("minCost", Algorithm::Best(Criterion::Cost)),
        ("minProcTime", Algorithm::Best(Criterion::ProcessorTime)),
        ("CSA", Algorithm::Csa(Criterion::Finish)),
    ]
}

fn main() {
    let cycles = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(CYCLES);
    for variant in [Variant::Paper, Variant::Exact] {
        let whose = if variant == Variant::Paper { "the paper's steps" } else { "our searches" };
        println!("Mean of {cycles} cycles in µs, {whose}:\n");
        print!("| nodes | interval | slots |");
        searches().iter().for_each(|(name, _)| print!(" {name} |"));
        println!(" alternatives | CSA per alternative |\n|{}", "---|".repeat(11));
        let by_nodes = [50, 100, 200, 300, 400].map(|nodes| (nodes, 600));
        let by_interval = [600, 1_200, 1_800, 2_400, 3_000, 3_600].map(|interval| (100, interval));
        for (nodes, interval) in by_nodes.into_iter().chain(by_interval) {
            row((nodes, interval), variant, cycles.max(1));
        }
        println!();
    }
}

fn row((nodes, interval): (usize, i64), variant: Variant, cycles: u64) {
    let (mut times, mut slots, mut alternatives) = ([Duration::ZERO; 6], 0, 0);
    for seed in 1..=cycles {
        let market = Market::of_paper(seed, nodes, interval);
        let mut request = market.request(TASKS, Criterion::Finish);
        request.budget = market.cheapest(TASKS).map(|money| Money(money.0 * 1_500 / 1_027));
        slots += market.slots.len();
        alternatives += windows(&market, &request);
        for (time, (_, algorithm)) in times.iter_mut().zip(searches()) {
            *time += once(&market, &request, &Search { variant, ..Search::new(algorithm) });
        }
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / cycles as f64;
    print!("| {nodes} | {interval} | {} |", slots as u64 / cycles);
    times.iter().for_each(|time| print!(" {:.1} |", micros(*time)));
    let each = times[5].as_secs_f64() * 1e6 / alternatives.max(1) as f64;
    println!(" {} | {each:.2} |", alternatives as u64 / cycles);
}

/// One whole search, after one to warm up.
fn once(market: &Market, request: &Request, search: &Search) -> Duration {
    let mut scratch = Scratch::default();
    let mut find = || {
        let searcher = Searcher::new(&market.grid, request, search);
        black_box(searcher.find(&market.slots, Time::MIN, &mut scratch));
    };
    find();
    let start = Instant::now();
    find();
    start.elapsed()
}

/// How many windows CSA cuts.
fn windows(market: &Market, request: &Request) -> usize {
    let searcher = Searcher::new(&market.grid, request, &Search::new(Algorithm::Amp));
    let mut left = market.slots.clone();
    let (mut scratch, mut count, mut from) = (Scratch::default(), 0, Time::MIN);
    while let Some(found) = searcher.find(&left, from, &mut scratch) {
        from = found.window.start();
        if left.subtract_window(&found.window).is_err() {
            break;
        }
        count += 1;
    }
    count
}
