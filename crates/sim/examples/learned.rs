//! The policy `learned` beside EASY: means of bounded slowdowns against worst cases, for the whole
//! policy, without parts of it, and along the strength of its bound.
//!
//! `cargo run --release -p tradewind-sim --example learned -- LOG [NODES]`
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a measurement by hand")]
#![expect(clippy::disallowed_methods, reason = "it reads its arguments and measures time")]

mod logs;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_model::{Pools, Span, Terms};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::backfill::{self, Backfill, Order};
use tradewind_sched::policy::learned::{Basis, LearnedFill, LearnedSettings};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Estimate, Semantics, run};
use tradewind_swf as swf;

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
            processors: job.requested_processors.filter(|count| *count > 0).or(job.held()),
            terms: Some(Arc::new(Terms { user: job.user, ..Terms::NONE })),
            ..logs::log_job(job)
        })
        .collect();
    prepare(&jobs, Arc::new(Pools::cluster(nodes)), Semantics::Pyss, Overrun::Kill)
}

/// Mean and largest bounded slowdown (10 s), longest wait, and what the replay took.
fn replay(
    workload: &Workload,
    estimate: Estimate,
    policy: &mut dyn Policy,
) -> (f64, f64, i64, Duration) {
    let began = Instant::now();
    let settings = tradewind_sim::ReplaySettings { semantics: Semantics::Pyss, estimate };
    let run = run(workload, settings, policy, &mut []).expect("a log that can be replayed");
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
    let path = given.next().expect("the path of a log");
    let log = swf::load(&path).expect("a log");
    let nodes = given.next().map(|nodes| nodes.parse().expect("a number"));
    let workload = workload(&log, nodes.or(log.header.max_procs()).expect("processors"));
    println!("{path}: {} jobs\n", workload.jobs.len());
    println!("| | mean | largest | longest wait, s | replay |\n|---|---|---|---|---|");
    others(&workload);
    own(&workload);
}

/// EASY, and its candidates shortest first by what is known, learned or published.
fn others(workload: &Workload) {
    let easy = |candidates| {
        Backfill::new(backfill::BackfillSettings {
            candidates,
            ..backfill::BackfillSettings::default()
        })
    };
    let shortest = Some(Order::Shortest);
    row("EASY", workload, Estimate::Requested, &mut easy(None));
    for (name, estimate) in [
        ("EASY, shortest first, real run times", Estimate::Exact),
        ("the same, published learner", Estimate::PublishedLinear),
        ("the same, our learner", Estimate::Learned),
    ] {
        row(name, workload, estimate, &mut easy(shortest));
    }
}

/// The policy, without parts of it, with other bounds and with constants that differ a little.
fn own(workload: &Workload) {
    let own = |name: &str, settings| {
        row(name, workload, Estimate::Requested, &mut LearnedFill::new(settings));
    };
    let all = LearnedSettings::default();
    own("**learned**", all);
    own("planned by requests", LearnedSettings { plans: Basis::Requests, ..all });
    own("in the order of submission", LearnedSettings { patience: 0, ..all });
    own("wide jobs not earlier", LearnedSettings { wide: Span(0), ..all });
    own("no job protected", LearnedSettings { long: Span(1 << 40), ..all });
    for hours in [36, 44, 60, 72, 96] {
        let settings = LearnedSettings { long: Span(hours * 3_600), ..all };
        own(&format!("protected after {hours} h"), settings);
    }
    own("patience 16", LearnedSettings { patience: 16, ..all });
    own("patience 24", LearnedSettings { patience: 24, ..all });
    own("due after 110,000 s at most", LearnedSettings { latest: Span(110_000), ..all });
    own("due after 150,000 s at most", LearnedSettings { latest: Span(150_000), ..all });
    own("protected after 180,000 s", LearnedSettings { long: Span(180_000), ..all });
    own("protected after 200,000 s", LearnedSettings { long: Span(200_000), ..all });
}
