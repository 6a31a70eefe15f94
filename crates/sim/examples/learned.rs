//! The policy `learned` beside EASY: means of bounded slowdowns against worst cases, for the whole
//! policy, without parts of it, and along the strength of its bound.
//!
//! `cargo run --release -p tradewind-sim --example learned -- LOG [NODES]`
#![expect(clippy::print_stdout, reason = "an example")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_io::swf;
use tradewind_model::{Pools, Span, Terms};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::backfill::{self, Backfill, Order};
use tradewind_sched::policy::learned::{Basis, LearnedFill, Settings};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Estimate, Semantics, run};

/// The jobs of a log that ran and asked for a time, as published studies took them.
fn workload(log: &swf::Log, nodes: u32) -> Workload {
    let asks = |job: &&swf::Record| job.requested_time.is_some_and(|time| time.0 > 0);
    let ran = |job: &&swf::Record| job.run.is_some_and(|run| run.0 > 0);
    let jobs: Vec<LogJob> = log
        .jobs
        .iter()
        .filter(asks)
        .filter(ran)
        .map(|job| LogJob {
            number: job.number,
            submit: Some(job.submit),
            run: job.run,
            processors: job.requested_processors.filter(|count| *count > 0).or(job.held()),
            requested: job.requested_time,
            user: job.user,
            terms: Some(Arc::new(Terms { user: job.user, ..Terms::NONE })),
        })
        .collect();
    prepare(&jobs, Arc::new(Pools::cluster(nodes)), Semantics::Pyss, Overrun::Kill)
}

/// Mean and largest bounded slowdown (10 s), longest wait, and what the replay took.
fn replay(workload: &Workload, estimate: Estimate, policy: &mut dyn Policy) -> (f64, f64, i64, Duration) {
    let began = Instant::now();
    let settings = tradewind_sim::Settings { semantics: Semantics::Pyss, estimate };
    let run = match run(workload, settings, policy, &mut []) {
        Ok(run) => run,
        Err(error) => panic!("{error}"),
    };
    let took = began.elapsed();
    let (mut sum, mut most, mut longest) = (0.0, 0.0_f64, 0);
    for (job, ran) in workload.jobs.iter().zip(&run.jobs) {
        let wait = (ran.start - job.submit).0;
        let slowdown = ((wait + job.run.0) as f64 / job.run.0.max(10) as f64).max(1.0);
        sum += slowdown;
        most = most.max(slowdown);
        longest = longest.max(wait);
    }
    (sum / workload.jobs.len().max(1) as f64, most, longest, took)
}

fn row(name: &str, workload: &Workload, estimate: Estimate, policy: &mut dyn Policy) {
    let (mean, most, longest, took) = replay(workload, estimate, policy);
    println!("| {name} | {mean:.1} | {most:.0} | {longest} | {:.2} s |", took.as_secs_f64());
}

fn main() {
    let mut given = std::env::args().skip(1);
    let Some(path) = given.next() else { return println!("which log?") };
    let log = match swf::load(&path) {
        Ok(log) => log,
        Err(error) => return println!("{error:?}"),
    };
    let nodes = given.next().and_then(|nodes| nodes.parse().ok()).or(log.header.max_procs());
    let workload = workload(&log, nodes.unwrap_or(1));
    println!("{path}: {} jobs\n", workload.jobs.len());
    println!("| | mean | largest | longest wait, s | replay |\n|---|---|---|---|---|");
    let easy = |candidates| {
        Backfill::new(backfill::Settings { candidates, ..backfill::Settings::default() })
    };
    let shortest = Some(Order::Shortest);
    row("EASY", &workload, Estimate::Requested, &mut easy(None));
    row("EASY, shortest real run time first", &workload, Estimate::Exact, &mut easy(shortest));
    row("EASY, shortest learned run time first", &workload, Estimate::Learned, &mut easy(shortest));
    row("EASY, published learner", &workload, Estimate::PublishedLinear, &mut easy(shortest));
    let all = Settings::default();
    let mut own = |name: &str, settings| {
        row(name, &workload, Estimate::Requested, &mut LearnedFill::new(settings));
    };
    let never = Span(1 << 40);
    own("**learned**", all);
    own("planned by requests", Settings { plans: Basis::Requests, ..all });
    own("in the order of submission", Settings { patience: 0, width: Span(0), ..all });
    own("width counts for nothing", Settings { width: Span(0), wide: Span(0), ..all });
    own("nobody protected", Settings { long: never, ..all });
    for hours in [12, 24, 36, 48, 60, 72, 96] {
        let settings = Settings { long: Span(hours * 3_600), ..all };
        own(&format!("protected after {hours} h"), settings);
    }
}
