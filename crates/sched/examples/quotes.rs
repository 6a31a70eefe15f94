//! What a quote's five criteria, and a front of cost and finish, cost on 30,000 nodes with 100,000
//! slots: nanoseconds per search and slot, and a sum over all windows.
//!
//! `cargo run --release -p tradewind-sched --example quotes -- [nodes] [slots] [rounds]`
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::error::Error;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{
    Attributes, Grid, Node, NodeId, Performance, Price, Request, Site, SiteId, Slot, SlotList,
    Span, Time, Times, Window,
};
use tradewind_sched::quote::{CRITERIA, front, quotes};

fn grid(nodes: u32) -> Result<Grid, Box<dyn Error>> {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let node = |at: u32| Node {
        name: format!("n{at}"),
        site: SiteId(0),
        host: None,
        performance: Performance::from_thousandths(random.random_range(1_000..10_000u32))
            .unwrap_or(Performance::REFERENCE),
        price: Price(random.random_range(1_000_000..9_000_000i64)),
        attributes: Attributes::new(),
        times: Times::Work,
    };
    Ok(Grid::new(vec![Site { name: "site".to_owned() }], (0..nodes).map(node).collect())?)
}

/// As many slots on each node, with gaps between them.
fn slots(nodes: u32, count: u32) -> Result<SlotList, Box<dyn Error>> {
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let mut all = Vec::new();
    for node in 0..nodes {
        let mut at = random.random_range(0..2_000i64);
        for _ in 0..count / nodes {
            let end = at + random.random_range(600..7_200i64);
            all.push(Slot { start: Time(at), end: Time(end), node: NodeId(node) });
            at = end + random.random_range(60..3_600i64);
        }
    }
    Ok(SlotList::new(all)?)
}

/// Nanoseconds of processor time that this process has used.
fn used() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let nodes = arguments.next().map_or(Ok(30_000), |it| it.parse())?;
    let count = arguments.next().map_or(Ok(100_000), |it| it.parse())?;
    let rounds: i64 = arguments.next().map_or(Ok(10), |it| it.parse())?;
    let (grid, slots) = (grid(nodes)?, slots(nodes, count)?);
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
