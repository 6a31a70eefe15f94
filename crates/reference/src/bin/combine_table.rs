//! The combination step's row of tables for BENCHMARKS.md, as Markdown on stdout.
//!
//! `combine_table [--instances DIR] [--sizes 20,200,2000] [--mip-seeds N] [--mip-seconds S]`
//!
//! DIR has a folder per row, with files that `tradewind combine` reads; `scripts/instances.sh`
//! makes them from a log. Every row runs in a process of its own, so that its peak memory (VmHWM in
//! `/proc/self/status`, input and program included) is its own. Times are wall-clock, one
//! thread; each instance counts with the best of three runs. With the feature `mip` the solver
//! runs beside it on the first N instances of the rows up to 200 jobs, in the same process and
//! after the memory is read.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tradewind_io::{input, wire};
use tradewind_model::Objective;
use tradewind_reference::instances::{Class, Scale, bounds, drawn, objectives};
use tradewind_sched::combine::{Choice, best};

type Anyhow<T> = Result<T, Box<dyn Error>>;

const SCALE: Scale = Scale { time: 100_000, cost: 1_000_000_000 };
const INSTANCES: u64 = 20;
const RUNS: usize = 3;
#[cfg(feature = "mip")]
const MOST_JOBS_FOR_MIP: usize = 200;

const HEAD: &str = "| instances | objective | jobs | median | slowest | peak memory | MIP: same \
                    optimum | MIP: slowest | least ratio |\n|---|---|--:|--:|--:|--:|--:|--:|--:|";

struct Options {
    instances: Option<PathBuf>,
    sizes: Vec<usize>,
    mip_seeds: usize,
    mip_seconds: f64,
}

fn main() -> Anyhow<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [mode, row, objective, size, seeds, seconds] if mode == "row" => {
            let options = Options {
                instances: None,
                sizes: vec![size.parse()?],
                mip_seeds: seeds.parse()?,
                mip_seconds: seconds.parse()?,
            };
            print_row(row, objective.parse()?, &options)
        }
        _ => print_table(&options(&arguments)?),
    }
}

fn options(arguments: &[String]) -> Anyhow<Options> {
    let mut options =
        Options { instances: None, sizes: vec![20, 200, 2_000], mip_seeds: 5, mip_seconds: 20.0 };
    for pair in arguments.chunks(2) {
        match pair {
            [flag, value] if flag == "--instances" => options.instances = Some(value.into()),
            [flag, value] if flag == "--sizes" => {
                options.sizes = value.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            [flag, value] if flag == "--mip-seeds" => options.mip_seeds = value.parse()?,
            [flag, value] if flag == "--mip-seconds" => options.mip_seconds = value.parse()?,
            other => return Err(format!("not understood: {other:?}").into()),
        }
    }
    Ok(options)
}

fn print_table(options: &Options) -> Anyhow<()> {
    writeln!(std::io::stdout(), "{HEAD}")?;
    for &size in &options.sizes {
        for class in Class::ALL {
            for &objective in objectives(class) {
                spawn_row(class.name(), objective, size, options)?;
            }
        }
    }
    let Some(folder) = &options.instances else { return Ok(()) };
    for class in entries(folder)? {
        for objective in OBJECTIVES {
            spawn_row(&class.to_string_lossy(), objective, 0, options)?;
        }
    }
    Ok(())
}

const OBJECTIVES: [Objective; 4] =
    [Objective::MaxIncome, Objective::MinTime, Objective::MinCost, Objective::MinIdle];

/// Runs this program for one row, which prints it.
fn spawn_row(row: &str, objective: Objective, size: usize, options: &Options) -> Anyhow<()> {
    let at = OBJECTIVES.iter().position(|&it| it == objective).unwrap_or_default();
    let (seeds, seconds) = (options.mip_seeds.to_string(), options.mip_seconds.to_string());
    let status = Command::new(std::env::current_exe()?)
        .args(["row", row, &at.to_string(), &size.to_string(), &seeds, &seconds])
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("the row {row} failed").into()) }
}

fn print_row(row: &str, objective: usize, options: &Options) -> Anyhow<()> {
    let objective = OBJECTIVES[objective];
    let class = Class::ALL.into_iter().find(|class| class.name() == row);
    let batches = match class {
        Some(class) => {
            (1..=INSTANCES).map(|seed| drawn(class, options.sizes[0], 30, SCALE, seed)).collect()
        }
        None => read_all(Path::new(row))?,
    };
    let times: Vec<Duration> = batches.iter().map(|jobs| time(jobs, objective)).collect();
    let memory = peak_memory()?;
    let mut sorted = times.clone();
    sorted.sort();
    let name = match class {
        Some(class) => class.name().to_owned(),
        None => "a real log's".to_owned(),
    };
    let jobs = batches.iter().map(Vec::len).max().unwrap_or(0);
    let (median, slowest) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    writeln!(
        std::io::stdout(),
        "| {name} | {objective:?} | {jobs} | {} | {} | {memory} | {} |",
        shown(median),
        shown(slowest),
        mip(&batches, &times, objective, options),
    )?;
    Ok(())
}

fn time(jobs: &[Vec<Choice>], objective: Objective) -> Duration {
    let bounds = bounds(jobs, objective);
    let run = |_| {
        let start = Instant::now();
        let found = std::hint::black_box(best(jobs, objective, bounds));
        (start.elapsed(), found.is_ok())
    };
    (0..RUNS).map(run).map(|(time, _)| time).min().unwrap_or_default()
}

fn shown(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn peak_memory() -> Anyhow<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: f64 = line.and_then(|it| it.split_whitespace().next()).unwrap_or("0").parse()?;
    Ok(format!("{:.1} MiB", kibibytes / 1024.0))
}

#[cfg(not(feature = "mip"))]
fn mip(_: &[Vec<Vec<Choice>>], _: &[Duration], _: Objective, _: &Options) -> String {
    "– | – | –".into()
}

/// How many optima agree, the solver's slowest time, and the minimum ratio of its time to ours.
#[cfg(feature = "mip")]
fn mip(
    batches: &[Vec<Vec<Choice>>],
    times: &[Duration],
    objective: Objective,
    options: &Options,
) -> String {
    use tradewind_reference::mip::{self, Verdict};
    if batches.first().is_none_or(|jobs| jobs.len() > MOST_JOBS_FOR_MIP) {
        return "– | – | –".into();
    }
    let (mut same, mut unsolved, mut worse) = (0, 0, 0);
    let (mut slowest, mut ratio) = (Duration::ZERO, f64::INFINITY);
    for (jobs, ours_took) in batches.iter().zip(times).take(options.mip_seeds) {
        let bounds = bounds(jobs, objective);
        let start = Instant::now();
        let verdict = mip::best(jobs, objective, bounds, options.mip_seconds);
        let took = start.elapsed();
        slowest = slowest.max(took);
        ratio = ratio.min(took.as_secs_f64() / ours_took.as_secs_f64());
        let sum = |it: &tradewind_sched::combine::Combination| match objective {
            Objective::MinTime | Objective::MinIdle => it.time,
            Objective::MaxIncome | Objective::MinCost => it.cost,
        };
        match (verdict, best(jobs, objective, bounds)) {
            (Verdict::Optimal(theirs), Ok(ours)) if sum(&ours) == sum(&theirs) => same += 1,
            (Verdict::Optimal(_), _) => worse += 1,
            _ => unsolved += 1,
        }
    }
    let differ = if worse > 0 { format!(", {worse} differ") } else { String::new() };
    let late = if unsolved > 0 { format!(", {unsolved} not in time") } else { String::new() };
    format!("{same}{differ}{late} | {} | {ratio:.0} × |", shown(slowest))
        .trim_end_matches(" |")
        .into()
}

/// The jobs of every file of a folder, each as `tradewind combine` reads it.
fn read_all(folder: &Path) -> Anyhow<Vec<Vec<Vec<Choice>>>> {
    entries(folder)?.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> Anyhow<Vec<Vec<Choice>>> {
    let text = input::read(&file.to_string_lossy()).map_err(|all| all.to_string())?;
    let jobs = wire::combine::parse(&text).map_err(|all| all.to_string())?;
    let choice = |it: &wire::combine::Alternative| Choice { time: it.time.0, cost: it.cost.0 };
    Ok(jobs.iter().map(|job| job.alternatives.iter().map(choice).collect()).collect())
}

fn entries(folder: &Path) -> Anyhow<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    entries.sort();
    Ok(entries)
}
