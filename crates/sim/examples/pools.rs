//! How the cost of a replay grows with the number of pools, as a Markdown table: microseconds per
//! job of the cyclic policies, and the exponent fitted to it (0: constant, 1: linear). The last
//! column is a sum over all starts: the same schedule, the same number.
//!
//! `cargo run --release -p tradewind-sim --example pools -- [jobs] [nodes of a pool] [load] [policy] [pools]…`
//!
//! The load is `kept` (jobs come as often as the pools can serve them, 80 % of all nodes) or
//! `same` (jobs come as they do for the smallest number of pools).
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it reads its arguments and measures time")]

use std::sync::Arc;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{
    Admission, Attributes, Money, Performance, Place, Pool, Pools, PoolsError, Price, Site, SiteId,
    Span, Terms, Time, Times,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::bsf::{self, Bsf};
use tradewind_sched::policy::cyclic::market::{CycleSettings as Cyclic, Cycles};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Run, Semantics, run};

/// Unequal sites: speeds and prices are drawn, faster nodes cost more.
fn pools(count: u32, nodes: u32) -> Result<Arc<Pools>, PoolsError> {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let pool = |at| {
        let speed = random.random_range(1_000..=3_000u32);
        let rate = random.random_range(900..1_300i64);
        Pool {
            name: format!("pool{at}"),
            site: SiteId(at),
            nodes,
            performance: Performance::from_thousandths(speed).unwrap_or(Performance::REFERENCE),
            price: Price(i64::from(speed) * rate),
            attributes: Attributes::new(),
            admission: Admission::NONE,
            times: Times::Work,
        }
    };
    let pools = (0..count).map(pool).collect();
    Pools::new((0..count).map(|at| Site { name: format!("site{at}") }).collect(), pools)
        .map(Arc::new)
}

/// Jobs of 1 to 16 tasks that ask for 5 to 120 minutes of a reference node and take 20 to 100 %
/// of it; half of them with a budget around the prices.
fn workload(pools: Arc<Pools>, jobs: usize, served: u64) -> Workload {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    // A job needs 6.2 nodes × 3,750 s × 0.6 / 2 (mean speed) on average.
    let gap_ms = 6.2 * 3_750.0 * 0.6 / 2.0 / 0.8 / served as f64 * 1_000.0;
    let mut at_ms = 0.0;
    let job = |number| {
        let tasks = 1u32 << random.random_range(0..5);
        let work = random.random_range(300..7_200i64);
        let budget = i64::from(tasks) * work * random.random_range(900_000..1_600_000i64);
        let budget = random.random::<bool>().then_some(Money(budget));
        at_ms += gap_ms * random.random_range(0.0..2.0f64);
        LogJob {
            number,
            submit: Some(Time(at_ms as i64 / 1_000)),
            run: Some(Span(work * random.random_range(200..1_000i64) / 1_000)),
            processors: Some(tasks),
            requested: Some(Span(work)),
            terms: Some(Arc::new(Terms { budget, ..Terms::NONE })),
            ..LogJob::default()
        }
    };
    let log: Vec<LogJob> = (1..=jobs as i64).map(job).collect();
    prepare(&log, pools, Semantics::Textbook, Overrun::Kill)
}

fn policy(name: &str) -> Box<dyn Policy> {
    match name {
        "batch-slicer" => Box::new(Cycles::new(Cyclic::batch_slicer())),
        "whole-batch" => Box::new(Cycles::new(Cyclic::whole_batch())),
        "bsf" => Box::new(Bsf::new(bsf::BsfSettings::default())),
        _ => Box::new(Cycles::new(Cyclic::css())),
    }
}

/// Over all starts and places.
fn checksum(run: &Run, pools: &Pools) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |number: u64| sum = (sum ^ number).wrapping_mul(0x0100_0000_01b3);
    for ran in &run.jobs {
        add(ran.start.0.unsigned_abs());
        add(u64::from(ran.refused.is_some()));
        match &ran.place {
            Place::Pool(pool) => add(u64::from(pool.0)),
            Place::Shares(shares) => {
                shares.iter().for_each(|it| add(u64::from(it.pool.0) << 24 | u64::from(it.nodes)));
            }
        }
    }
    sum ^ pools.as_slice().len() as u64
}

/// The slope of y over x, both as logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let (x, y) = (x / count, y / count);
    let up: f64 = points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum();
    let across: f64 = points.iter().map(|it| (it.0 - x) * (it.0 - x)).sum();
    up / across
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let mut next = |default: &str| given.next().unwrap_or_else(|| default.to_owned());
    let (jobs, nodes): (usize, u32) = (next("20000").parse()?, next("64").parse()?);
    let (load, wanted) = (next("kept"), next("all"));
    let mut counts: Vec<u32> = given.map(|it| it.parse()).collect::<Result<_, _>>()?;
    if counts.is_empty() {
        counts = vec![10, 100, 1_000, 10_000];
    }
    println!("| policy | load | pools | time | µs per job | passes | sum |");
    println!("|---|---|--:|--:|--:|--:|---|");
    for name in ["css", "batch-slicer", "whole-batch", "bsf"] {
        if wanted != "all" && wanted != name {
            continue;
        }
        let mut points = Vec::new();
        for &count in &counts {
            let pools = pools(count, nodes)?;
            let served = if load == "same" { counts[0] } else { count };
            let workload = workload(Arc::clone(&pools), jobs, u64::from(served) * u64::from(nodes));
            let begin = Instant::now();
            let done = run(&workload, ReplaySettings::default(), &mut *policy(name), &mut [])?;
            let took = begin.elapsed().as_secs_f64();
            let (each, sum) = (took * 1e6 / jobs as f64, checksum(&done, &pools));
            let passes = done.passes;
            println!(
                "| {name} | {load} | {count} | {took:.2} s | {each:.0} | {passes} | {sum:016x} |"
            );
            points.push((f64::from(count), each));
        }
        if points.len() > 1 {
            println!("| {name} | {load} | exponent | | {:.2} | | |", exponent(&points));
        }
    }
    Ok(())
}
