//! Replays under policies on several sites, as Markdown tables: jobs per second of the cyclic
//! schemes against the number of nodes and the horizon, and, with a log as the argument, whole
//! replays of it on one cluster.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it prints a table")]

use std::sync::Arc;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_campaign::workload::dated;
use tradewind_io::swf;
use tradewind_model::{
    Attributes, Money, Performance, Pool, Pools, Price, Site, SiteId, Span, Terms, Time, Times,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::bsf::{self, Bsf};
use tradewind_sched::policy::cyclic::market::{CycleSettings, Cycles, Replan, Stretch};
use tradewind_sched::policy::gridfill::{Depth, GridFill, GridFillSettings};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Semantics, metrics, run};

const SEED: u64 = 2026;
const JOBS: usize = 1_000;

fn main() {
    match std::env::args().nth(1) {
        Some(log) => replay_log(&log),
        None => grow(),
    }
}

/// A policy and its name.
type Named = (String, Box<dyn Policy>);

fn grow() {
    println!("| policy | nodes | horizon | jobs/s | mean wait |");
    println!("|---|---:|---:|---:|---:|");
    for nodes in [64, 256, 1_024] {
        for horizon in [1, 4, 16] {
            let ahead = Span(horizon * 600);
            let css = CycleSettings { horizon: Some(ahead), ..CycleSettings::css() };
            let slicer = CycleSettings { horizon: Some(ahead), ..CycleSettings::batch_slicer() };
            let both = bsf::BsfSettings { cycles: slicer.clone(), ..bsf::BsfSettings::default() };
            let policies: [Named; 3] = [
                ("css".to_owned(), Box::new(Cycles::new(css))),
                ("batch-slicer".to_owned(), Box::new(Cycles::new(slicer))),
                ("bsf".to_owned(), Box::new(Bsf::new(both))),
            ];
            let workload = market(nodes);
            for (name, mut policy) in policies {
                let (seconds, metrics) = timed(&workload, &mut *policy);
                let (speed, wait) = (JOBS as f64 / seconds, of(&metrics, "mean_wait_s"));
                println!("| {name} | {nodes} | {} s | {speed:.0} | {wait:.0} s |", ahead.0);
            }
        }
    }
}

/// Four sites of unequal speed and price, loaded to some four fifths by jobs with budgets around
/// the market price.
fn market(nodes: u32) -> Workload {
    let mut rng = Pcg64Mcg::seed_from_u64(SEED);
    let speeds = [1_000u32, 1_500, 2_000, 3_000];
    let prices = [1_700_000i64, 2_216_000, 2_890_000, 4_913_000];
    let pool = |(at, (speed, price)): (usize, (u32, i64))| Pool {
        name: format!("pool{at}"),
        site: SiteId(at as u32),
        nodes: nodes / 4,
        performance: Performance::from_thousandths(speed).unwrap_or(Performance::REFERENCE),
        price: Price(price),
        attributes: Attributes::new(),
        admission: tradewind_model::Admission::NONE,
        times: Times::Work,
    };
    let pools = speeds.into_iter().zip(prices).enumerate().map(pool).collect();
    let sites = (0..4).map(|at| Site { name: format!("site{at}") }).collect();
    let pools = Pools::new(sites, pools).unwrap_or_else(|error| fail(&error));
    let mut at = 0i64;
    let log: Vec<LogJob> = (0..JOBS as i64)
        .map(|number| {
            let tasks = 1u32 << rng.random_range(0..5);
            let work = rng.random_range(300..7_200i64);
            at += rng.random_range(0..2 * 6 * 3_750 / (3 * i64::from(nodes)) + 2);
            let budget = i64::from(tasks) * work * rng.random_range(1_700_000..2_500_000i64);
            let terms = Terms { budget: Some(Money(budget)), ..Terms::NONE };
            LogJob {
                number,
                submit: Some(Time(at)),
                run: Some(Span(work * rng.random_range(200..1_000i64) / 1_000)),
                processors: Some(tasks),
                requested: Some(Span(work)),
                user: 0,
                terms: Some(Arc::new(terms)),
            }
        })
        .collect();
    prepare(&log, Arc::new(pools), Semantics::Textbook, Overrun::Kill)
}

fn replay_log(path: &str) {
    let log = swf::load(path).unwrap_or_else(|error| fail(&error));
    let processors = log.header.max_procs().unwrap_or(128);
    let jobs: Vec<LogJob> = log.jobs.iter().map(|job| dated(job, 0)).collect();
    let pools = Arc::new(Pools::cluster(processors));
    let workload = prepare(&jobs, pools, Semantics::Textbook, Overrun::Kill);
    println!("| policy | replay | jobs/s | mean wait | mean bounded slowdown | refused |");
    println!("|---|---:|---:|---:|---:|---:|");
    let only = std::env::args().nth(2);
    for (name, make) in of_log() {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let mut policy = make();
        let (seconds, metrics) = timed(&workload, &mut *policy);
        let refused = workload.jobs.len() - of(&metrics, "jobs") as usize;
        println!(
            "| {name} | {seconds:.2} s | {:.0} | {:.0} s | {:.2} | {refused} |",
            workload.jobs.len() as f64 / seconds,
            of(&metrics, "mean_wait_s"),
            of(&metrics, "mean_bounded_slowdown"),
        );
    }
}

type Make = Box<dyn Fn() -> Box<dyn Policy>>;

fn of_log() -> Vec<(String, Make)> {
    let fill = |depth| -> Make {
        Box::new(move || {
            Box::new(GridFill::new(GridFillSettings { depth, ..GridFillSettings::default() }))
        })
    };
    let cycles = |settings: CycleSettings| -> Make {
        Box::new(move || Box::new(Cycles::new(settings.clone())))
    };
    let mut all = vec![
        ("easy on pools".to_owned(), fill(Depth::First(1))),
        ("conservative on pools".to_owned(), fill(Depth::All)),
    ];
    for (stretch, name) in Stretch::ALL {
        for (replan, when) in Replan::ALL {
            let css = CycleSettings { stretch, replan, ..CycleSettings::css() };
            let slicer = CycleSettings { stretch, replan, ..CycleSettings::batch_slicer() };
            all.push((format!("css[stretch={name},replan={when}]"), cycles(css)));
            let both = bsf::BsfSettings { cycles: slicer.clone(), ..bsf::BsfSettings::default() };
            all.push((format!("batch-slicer[stretch={name},replan={when}]"), cycles(slicer)));
            let both: Make = Box::new(move || Box::new(Bsf::new(both.clone())));
            all.push((format!("bsf[stretch={name},replan={when}]"), both));
        }
    }
    all
}

fn timed(workload: &Workload, policy: &mut dyn Policy) -> (f64, metrics::Metrics) {
    let begin = Instant::now();
    let replay = run(workload, ReplaySettings::default(), policy, &mut []);
    let replay = replay.unwrap_or_else(|error| fail(&error));
    let seconds = begin.elapsed().as_secs_f64();
    (seconds, metrics::measure(workload, &replay, metrics::MetricOptions::default()))
}

fn fail(error: &dyn std::fmt::Display) -> ! {
    eprintln!("{error}");
    std::process::exit(70)
}

/// A measure as a number; 0 where there is nothing to measure.
fn of(metrics: &metrics::Metrics, name: &str) -> f64 {
    metrics.get(name).map_or(0.0, metrics::Value::as_f64)
}
