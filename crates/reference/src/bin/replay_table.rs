//! Whole replays and long queues, as Markdown tables. Each row is measured in a process of its
//! own, so that its peak memory (VmHWM) is its own, too.
//!
//! - `replay_table log FILE…`: reading, simulating and writing `jobs.csv`, for each policy.
//! - `replay_table waiting [JOBS…]`: as many jobs that all wait at once.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it prints a table")]

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_campaign::workload::dated;
use tradewind_io::batsim::{self, BatsimRow, FinalState, Life};
use tradewind_io::swf;
use tradewind_model::{Pools, Span, Time};
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth, Order};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Estimate, ReplaySettings, Run, Semantics, placement};

const SEED: u64 = 2026;
const BEST_OF: usize = 5;
const PROCESSORS: u32 = 256;

const POLICIES: [(&str, BackfillSettings); 5] = [
    ("FCFS", in_order(Depth::First(0), Order::Arrival)),
    ("SJF", in_order(Depth::First(0), Order::Shortest)),
    ("EASY", in_order(Depth::First(1), Order::Arrival)),
    ("EASY, shortest candidates", SJBF),
    ("conservative", in_order(Depth::All, Order::Arrival)),
];

const SJBF: BackfillSettings = BackfillSettings {
    candidates: Some(Order::Shortest),
    ..in_order(Depth::First(1), Order::Arrival)
};

const fn in_order(depth: Depth, order: Order) -> BackfillSettings {
    BackfillSettings { depth, order, candidates: None }
}

/// What is known about run times in a long queue.
const KNOWLEDGE: [(&str, Estimate); 2] =
    [("exact", Estimate::Exact), ("up to 5 × the run", Estimate::Requested)];

/// Where each early end moves most of the queue, more jobs take too long to measure.
const MOST_MOVING: usize = 3_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["log", files @ ..] if !files.is_empty() => log_table(files),
        ["waiting"] => waiting_table(&[1_000, 3_000, 10_000, 30_000, 100_000, 300_000]),
        ["waiting", sizes @ ..] => {
            let sizes: Vec<usize> = sizes.iter().filter_map(|size| size.parse().ok()).collect();
            waiting_table(&sizes);
        }
        ["one-log", file, policy] => one_log(file, knobs(policy)),
        ["one-queue", jobs, policy, knowledge] => {
            let estimate = KNOWLEDGE.iter().find(|(name, _)| name == knowledge);
            let estimate = estimate.map_or(Estimate::Requested, |(_, estimate)| *estimate);
            one_queue(jobs.parse().unwrap_or(1_000), knobs(policy), estimate);
        }
        _ => {
            eprintln!("usage: replay_table log FILE… | waiting [JOBS…]");
            std::process::exit(2);
        }
    }
}

fn knobs(policy: &str) -> BackfillSettings {
    POLICIES.iter().find(|(name, _)| *name == policy).map_or(POLICIES[0].1, |(_, knobs)| *knobs)
}

/// What a process of our own prints, in words.
fn child(arguments: &[&str]) -> Vec<String> {
    let program = std::env::current_exe().unwrap_or_else(|error| fail(&error));
    let output =
        Command::new(program).args(arguments).output().unwrap_or_else(|error| fail(&error));
    if !output.status.success() {
        fail(&String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
}

fn log_table(files: &[&str]) {
    println!("| log | jobs | policy | read | simulate | write | all | jobs/s | peak memory |");
    println!("|---|--:|---|--:|--:|--:|--:|--:|--:|");
    for file in files {
        let name = file.rsplit('/').next().unwrap_or(file);
        let name = name.trim_end_matches(".gz").trim_end_matches(".swf");
        for (policy, _) in POLICIES {
            let words = child(&["one-log", file, policy]);
            let [jobs, read, simulate, write, all, rate, peak] = words.as_slice() else { continue };
            println!(
                "| {name} | {jobs} | {policy} | {read} s | {simulate} s | {write} s | {all} s | {rate} | {peak} MiB |"
            );
        }
    }
}

/// Reads, replays and writes a log several times; prints the best of each.
fn one_log(file: &str, knobs: BackfillSettings) {
    let target = std::env::temp_dir().join(format!("replay_table_{}.csv", std::process::id()));
    let (mut best, mut jobs) = ([f64::INFINITY; 4], 0);
    for _ in 0..BEST_OF {
        let begin = Instant::now();
        let log = swf::load(file).unwrap_or_else(|error| fail(&error));
        let read = begin.elapsed().as_secs_f64();
        let records: Vec<LogJob> = log.jobs.iter().map(|job| dated(job, 0)).collect();
        let processors = log.header.max_procs().unwrap_or(PROCESSORS);
        let pools = Arc::new(Pools::cluster(processors));
        let workload = prepare(&records, pools, Semantics::Textbook, Overrun::Kill);
        let run = replay(&workload, knobs, Estimate::Requested);
        let simulated = begin.elapsed().as_secs_f64();
        let rows = rows(&records, &workload, &run);
        std::fs::File::create(&target)
            .and_then(|mut to| {
                batsim::write_jobs_csv(&mut to, &["log"], rows.len(), |job| rows[job].clone())
            })
            .unwrap_or_else(|error| fail(&error));
        let all = begin.elapsed().as_secs_f64();
        for (best, time) in best.iter_mut().zip([read, simulated - read, all - simulated, all]) {
            *best = best.min(time);
        }
        jobs = workload.jobs.len();
    }
    std::fs::remove_file(&target).unwrap_or_else(|error| fail(&error));
    let [read, simulate, write, all] = best;
    let rate = jobs as f64 / all;
    println!("{jobs} {read:.3} {simulate:.3} {write:.3} {all:.3} {rate:.0} {}", peak_mib());
}

fn rows(records: &[LogJob], workload: &Workload, run: &Run) -> Vec<BatsimRow> {
    let row = |job: &LogJob| BatsimRow {
        log: 0,
        number: job.number,
        submit: job.submit,
        processors: job.processors,
        requested: job.requested,
        life: None,
    };
    let mut rows: Vec<BatsimRow> = records.iter().map(row).collect();
    let places = placement::place(workload, run);
    for ((job, ran), ranges) in workload.jobs.iter().zip(&run.jobs).zip(places.jobs.iter()) {
        rows[job.source].life = Some(Life {
            start: ran.start,
            end: ran.end,
            state: if job.killed { FinalState::WalltimeReached } else { FinalState::Completed },
            processors: ranges.iter().map(|range| (range.first, range.last)).collect(),
            energy: None,
        });
    }
    rows
}

fn replay(workload: &Workload, knobs: BackfillSettings, estimate: Estimate) -> Run {
    let settings = ReplaySettings { semantics: Semantics::Textbook, estimate };
    let mut policy = Backfill::new(knobs);
    tradewind_sim::run(workload, settings, &mut policy, &mut [])
        .unwrap_or_else(|error| fail(&error))
}

fn waiting_table(sizes: &[usize]) {
    let heads: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    println!("| policy | estimates | {} | exponent | peak memory |", heads.join(" | "));
    println!("|---|---|{}--:|--:|", "--:|".repeat(sizes.len()));
    for (policy, knobs) in POLICIES {
        for (knowledge, estimate) in KNOWLEDGE {
            if knobs.depth == Depth::First(0) && estimate != Estimate::Exact {
                continue; // nothing is foreseen, so nothing can be foreseen wrongly
            }
            let (mut cells, mut points, mut peak) = (Vec::new(), Vec::new(), String::new());
            for &size in sizes {
                let moving = knobs.depth == Depth::All && estimate != Estimate::Exact;
                if moving && size > MOST_MOVING {
                    cells.push("–".to_owned());
                    continue;
                }
                let words = child(&["one-queue", &size.to_string(), policy, knowledge]);
                let [per_event, memory] = words.as_slice() else { continue };
                points.push((size as f64, per_event.parse().unwrap_or(f64::NAN)));
                cells.push(per_event.clone());
                peak.clone_from(memory);
            }
            let exponent = exponent(&points);
            println!(
                "| {policy} | {knowledge} | {} | {exponent:.2} | {peak} MiB |",
                cells.join(" | ")
            );
        }
    }
}

/// Replays a workload in which all jobs wait at once; prints nanoseconds per event.
fn one_queue(jobs: usize, knobs: BackfillSettings, estimate: Estimate) {
    let workload = queue(jobs);
    let mut best = f64::INFINITY;
    let rounds = if jobs <= 1_000 { BEST_OF } else { 2 };
    for _ in 0..rounds {
        let begin = Instant::now();
        let run = replay(&workload, knobs, estimate);
        best = best.min(begin.elapsed().as_secs_f64());
        assert!(run.jobs.last().is_some_and(|ran| ran.end > Time(0)), "nothing was replayed");
    }
    println!("{:.0} {}", best * 1e9 / (2 * jobs) as f64, peak_mib());
}

/// Jobs submitted one a second, long before the machine gets round to them: widths of 1–64, half
/// of them powers of two, an hour's work on average, asking for up to five times as much.
fn queue(jobs: usize) -> Workload {
    let mut rng = Pcg64Mcg::seed_from_u64(SEED);
    let mut drawn = |number: usize| {
        let width = match rng.random_range(0..2) {
            0 => 1 << rng.random_range(0..7u32),
            _ => rng.random_range(1..=64u32),
        };
        let run = rng.random_range(60..7_200i64);
        LogJob {
            number: number as i64,
            submit: Some(Time(number as i64)),
            run: Some(Span(run)),
            processors: Some(width),
            requested: Some(Span(run * rng.random_range(100..=500) / 100)),
            user: 0,
            terms: None,
        }
    };
    let log: Vec<LogJob> = (0..jobs).map(&mut drawn).collect();
    let pools = Arc::new(Pools::cluster(PROCESSORS));
    prepare(&log, pools, Semantics::Textbook, Overrun::Kill)
}

/// Slope of the minimum-squares line through the logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs = || points.iter().map(|(x, y)| (x.ln(), y.ln()));
    let (mean_x, mean_y) =
        (logs().map(|p| p.0).sum::<f64>() / n, logs().map(|p| p.1).sum::<f64>() / n);
    let above: f64 = logs().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let below: f64 = logs().map(|(x, _)| (x - mean_x).powi(2)).sum();
    above / below
}

/// VmHWM of this process, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1_024
}

fn fail(error: &dyn std::fmt::Display) -> ! {
    eprintln!("cannot measure: {error}");
    std::process::exit(70)
}
