//! What a quote's five criteria, and a front of cost and finish, cost on 30,000 nodes with 100,000
//! slots: nanoseconds per search and slot, and a sum over all windows.
//!
//! `cargo run --release -p tradewind-sched --example quotes -- [nodes] [slots] [rounds]`
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

mod lists;

use std::error::Error;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use tradewind_model::{Request, Span, Window};
use tradewind_sched::quote::{CRITERIA, front, quotes};

use lists::{grid, slots, used};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let nodes: u32 = arguments.next().map_or(Ok(30_000), |it| it.parse())?;
    let count: u32 = arguments.next().map_or(Ok(100_000), |it| it.parse())?;
    let rounds: i64 = arguments.next().map_or(Ok(10), |it| it.parse())?;
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let grid = grid(nodes)?;
    let slots = slots(&mut random, (nodes, count / nodes), 0)?;
    let mut sum = 0u64;
    let mut add = |window: &Window| {
        let (cost, finish) = (window.cost().0.unsigned_abs(), window.finish().0.unsigned_abs());
        sum = (sum ^ cost).wrapping_mul(0x0100_0000_01b3) ^ finish;
    };
    let per_slot = |searches: usize, begin: u64| {
        (used() - begin) as f64 / searches as f64 / slots.as_slice().len() as f64
    };
    let begin = used();
    for round in 0..rounds {
        let request = Request::new(5, Span(1_000 + round));
        let all = quotes(&grid, &slots, &request, 20_000_000);
        all.iter().filter_map(|it| it.answer.as_ref().ok()).for_each(|found| add(&found.window));
    }
    let of_quotes = per_slot(rounds as usize * CRITERIA.len(), begin);
    let (begin, mut searches) = (used(), 0);
    for round in 0..rounds {
        let all = front(&grid, &slots, &Request::new(5, Span(2_000 + round)), 10);
        searches += 2 * all.windows.len();
        all.windows.iter().for_each(&mut add);
    }
    let of_fronts = per_slot(searches, begin);
    println!("quote {of_quotes:.1} ns, front {of_fronts:.1} ns per search and slot; {sum:016x}");
    Ok(())
}
