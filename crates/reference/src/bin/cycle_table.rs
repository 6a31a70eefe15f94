//! A whole CSS cycle: search, combination and decision for a batch on a large grid, as a
//! Markdown table with wall time on one core and the peak memory of the process.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it prints a table")]

use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{
    Attributes, Criterion, Grid, Horizon, Job, Money, Node, NodeId, Performance, Price, Request,
    Site, SiteId, Slot, SlotList, Snapshot, Span, Time, Times, VoPolicy,
};
use tradewind_sched::policy::cyclic::{Cyclic, plan};

const SEED: u64 = 2026;
const HORIZON: i64 = 86_400;

fn main() {
    println!("| jobs | nodes | slots | alternatives | criterion | placed | windows | best of 3 |");
    println!("|---:|---:|---:|---:|---|---:|---:|---:|");
    for (jobs, nodes) in [(100, 400), (300, 1_200), (1_000, 4_000)] {
        for mixed in [Mix::Start, Mix::Drawn] {
            row(jobs, nodes, mixed);
        }
    }
    println!("\nPeak memory of the whole run: {} MiB.", peak_mib());
}

#[derive(Clone, Copy)]
enum Mix {
    Start,
    Drawn,
}

fn row(jobs: usize, nodes: u32, mix: Mix) {
    let snapshot = market(jobs, nodes, mix);
    let cyclic = Cyclic { max_alternatives: Some(20), ..Cyclic::default() };
    let mut best = f64::INFINITY;
    let mut planned = None;
    for _ in 0..3 {
        let begin = Instant::now();
        let plan = plan(&snapshot, &cyclic, &mut |_| {});
        best = best.min(begin.elapsed().as_secs_f64());
        planned = Some(plan);
    }
    let Some(planned) = planned else { return };
    let placed = planned.jobs.iter().filter(|job| job.window().is_some()).count();
    let windows: usize = planned.jobs.iter().map(|job| job.alternatives.len()).sum();
    assert!(placed * 2 > jobs, "a plan that places nothing measures nothing");
    let criterion = match mix {
        Mix::Start => "start",
        Mix::Drawn => "drawn of start, finish, runtime, cost",
    };
    let slots = snapshot.slots.len();
    println!(
        "| {jobs} | {nodes} | {slots} | 20 | {criterion} | {placed} | {windows} | {best:.3} s |"
    );
}

/// A day on a grid of four speeds with owners' tasks on every node, and a batch of jobs of 1–16
/// tasks, small enough that nearly every job has its 20 alternatives.
fn market(jobs: usize, nodes: u32, mix: Mix) -> Snapshot {
    let mut rng = Pcg64Mcg::seed_from_u64(SEED);
    let speeds = [1_000u32, 1_500, 2_000, 3_000];
    let base = [1_700_000i64, 2_216_000, 2_890_000, 4_913_000];
    let node = |i: u32| {
        let class = (i as usize * speeds.len()) / nodes as usize;
        Node {
            name: format!("n{i:05}"),
            site: SiteId(0),
            host: None,
            performance: Performance::from_thousandths(speeds[class])
                .unwrap_or(Performance::REFERENCE),
            price: Price(base[class] * i64::from(750 + (i * 7_919) % 500) / 1_000),
            attributes: Attributes::new(),
            times: Times::Work,
        }
    };
    let sites = vec![Site { name: "site".into() }];
    let grid = Grid::new(sites, (0..nodes).map(node).collect()).unwrap_or_else(|e| fail(&e));
    let mut busy = Vec::new();
    for node in (0..nodes).map(NodeId) {
        let mut at = rng.random_range(-3_600..14_400i64);
        while at < HORIZON {
            let length = rng.random_range(1_800..14_400i64);
            busy.push(Slot { node, start: Time(at), end: Time(at + length) });
            at += length + rng.random_range(3_600..43_200i64);
        }
    }
    let horizon = Horizon { start: Time(0), end: Time(HORIZON) };
    let slots = SlotList::from_busy(&grid, horizon, &busy);
    let jobs = (0..jobs).map(|i| job(i, &mut rng, mix)).collect();
    Snapshot { horizon, grid, slots, jobs, policy: VoPolicy::default() }
}

fn job(i: usize, rng: &mut Pcg64Mcg, mix: Mix) -> Job {
    let drawn = [Criterion::Start, Criterion::Finish, Criterion::Runtime, Criterion::Cost];
    let tasks = 1u32 << rng.random_range(0..5);
    let work = rng.random_range(300..3_600i64);
    // Around the market value on nodes of middling speed: 2 credits per second of work.
    let budget = i64::from(tasks) * work * rng.random_range(1_500_000..2_500_000i64);
    let request = Request {
        budget: Some(Money(budget)),
        deadline: Some(Time(rng.random_range(HORIZON / 4..HORIZON))),
        criterion: match mix {
            Mix::Start => Criterion::Start,
            Mix::Drawn => drawn[i % drawn.len()].clone(),
        },
        ..Request::new(tasks, Span(work))
    };
    Job { name: format!("job{i}"), priority: 0, request }
}

/// VmHWM of this process, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1_024
}

fn fail(error: &dyn std::fmt::Display) -> ! {
    eprintln!("cannot build the market: {error}");
    std::process::exit(70)
}
