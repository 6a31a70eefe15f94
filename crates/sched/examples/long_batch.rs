//! What it costs to plan a batch of 50 jobs on a long list: milliseconds of processor time per plan,
//! and a sum over all windows.
//!
//! `cargo run --release -p tradewind-sched --example long_batch -- [nodes] [slots]`
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

mod lists;

use std::error::Error;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{Criterion, Horizon, Job, Request, Snapshot, Span, Time, VoPolicy};
use tradewind_sched::policy::cyclic::{Cyclic, Offers, plan};

use lists::{grid, slots, used};

const END: i64 = 100_000;

fn snapshot(nodes: u32, count: u32) -> Result<Snapshot, Box<dyn Error>> {
    let grid = grid(nodes)?;
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let slots = slots(&mut random, (nodes, count.div_ceil(nodes)), 0)?;
    let criteria =
        [Criterion::Start, Criterion::Cost, Criterion::Finish, Criterion::Runtime].into_iter();
    let jobs = criteria.cycle().take(50).enumerate().map(|(at, criterion)| {
        let mut request =
            Request::new(random.random_range(1..17), Span(random.random_range(600..6_000)));
        request.criterion = criterion;
        Job { name: format!("j{at}"), priority: 0, request }
    });
    let jobs = jobs.collect();
    Ok(Snapshot {
        grid,
        slots,
        horizon: Horizon { start: Time(0), end: Time(END) },
        jobs,
        policy: VoPolicy::default(),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let nodes = arguments.next().map_or(Ok(30_000), |it| it.parse())?;
    let count = arguments.next().map_or(Ok(100_000), |it| it.parse())?;
    let snapshot = snapshot(nodes, count)?;
    for (name, offers) in [("css", Offers::Disjoint), ("whole-batch", Offers::Overlapping)] {
        let cyclic = Cyclic {
            offers,
            choice_limit: 20_000,
            max_alternatives: Some(10),
            ..Cyclic::default()
        };
        let begin = used();
        let plan = plan(&snapshot, &cyclic, &mut |_| {});
        let time = (used() - begin) as f64 / 1e6;
        let mut sum = 0u64;
        for window in plan.jobs.iter().flat_map(|job| &job.alternatives) {
            let (cost, finish) = (window.cost().0.unsigned_abs(), window.finish().0.unsigned_abs());
            sum = (sum ^ cost).wrapping_mul(0x0100_0000_01b3) ^ finish;
        }
        let placed = plan.jobs.iter().filter(|job| job.window().is_some()).count();
        println!("{name}: {time:.0} ms, {placed} placed, {sum:016x}");
    }
    Ok(())
}
