//! One window search under a profiler: `window_once CRITERION SLOTS NODES TASKS PERCENT [REPEATS]`.
//! The budget is PERCENT of the cheapest window's cost. `scripts/instructions.sh` counts what
//! happens inside [`measured`], and inside [`measured_new`] alone.

use std::hint::black_box;
use std::process::ExitCode;

use tradewind_model::{Criterion, Money, Request, Time};
use tradewind_reference::worlds::Market;
use tradewind_sched::window::{Scratch, Search, Searcher};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::from(2),
    }
}

fn run(args: &[String]) -> Option<()> {
    let number = |i: usize| args.get(i)?.parse::<usize>().ok();
    let criterion = match args.first()?.as_str() {
        "start" => Criterion::Start,
        "finish" => Criterion::Finish,
        "runtime" => Criterion::Runtime,
        "cost" => Criterion::Cost,
        "processor-time" => Criterion::ProcessorTime,
        _ => return None,
    };
    let market = Market::random(1, number(1)?, number(2)?);
    let tasks = number(3)? as u32;
    let mut request = market.request(tasks, criterion);
    request.budget = Some(Money(market.cheapest(tasks)?.0 / 100 * number(4)? as i64));
    let mut scratch = Scratch::default();
    for _ in 0..number(5).unwrap_or(1) {
        measured(&market, &request, &mut scratch);
    }
    Some(())
}

/// Ranking and scan.
#[inline(never)]
fn measured(market: &Market, request: &Request, scratch: &mut Scratch) {
    let searcher = measured_new(market, request);
    black_box(searcher.find(&market.slots, Time::MIN, scratch));
}

/// Builds a searcher, and prints the time that ranking takes.
#[inline(never)]
fn measured_new(market: &Market, request: &Request) -> Searcher {
    Searcher::new(&market.grid, request, &Search::best(request.criterion.clone()))
}
