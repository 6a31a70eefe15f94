//! A long log replayed in little memory, under EASY: `cargo run --release -p tradewind-sim --example
//! stream -- LOG` (plain, gzip or zstd), or `… stream -- make JOBS [FILE]` for a made-up log of 1,024
//! processors, replayed as it is made or written to a file. Prints jobs per second, peak memory, and a
//! sum over all starts; `… whole LOG` replays the same log as a whole, for comparison.
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it reads its arguments and measures time")]

mod logs;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::time::Instant;

use logs::log_job;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{Pools, Span, Time};
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings};
use tradewind_sim::metrics::{Tally, Value};
use tradewind_sim::stream::{Streamed, stream};
use tradewind_sim::workload::{Job, LogJob, Overrun, prepare, replayable};
use tradewind_sim::{Estimate, Ran, ReplaySettings, Semantics, run};
use tradewind_swf as swf;

const PROCESSORS: u32 = 1_024;

/// Jobs of 1 to 64 processors that run half an hour on average and ask for up to five times as
/// much, at a load of 0.8.
fn made_up(jobs: u64) -> impl Iterator<Item = LogJob> {
    let mut random = Pcg64Mcg::seed_from_u64(44);
    let mut at = 0.0;
    (1..=jobs as i64).map(move |number| {
        let processors = 1u32 << random.random_range(0..7u32);
        let run = random.random_range(1..3_600i64);
        at += random.random_range(0.0..2.0) * 18.14 * 1_800.5 / 0.8 / f64::from(PROCESSORS);
        LogJob {
            number,
            submit: Some(Time(at as i64)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: Some(Span(run * random.random_range(100..=500) / 100)),
            user: random.random_range(0..500i64),
            terms: None,
        }
    })
}

/// A sum that says whether two replays are the same, whatever the order of ends.
fn sum(job: &Job, ran: &Ran) -> u64 {
    let both = (job.number.unsigned_abs() << 32) ^ ran.start.0.unsigned_abs();
    both.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) ^ u64::from(ran.backfilled)
}

fn streamed<E: Error + 'static>(
    processors: u32,
    jobs: &mut dyn Iterator<Item = Result<Job, E>>,
) -> Result<(Streamed, u64), Box<dyn Error>> {
    let (mut all, mut tally) = (0u64, Tally::default());
    let mut done = |id, job: Job, ran: Ran| {
        all = all.wrapping_add(sum(&job, &ran));
        tally.add(id, &job, &ran);
    };
    let pools = Arc::new(Pools::cluster(processors));
    let mut easy = Backfill::new(BackfillSettings::default());
    let of = Arc::clone(&pools);
    let result = stream(pools, jobs, Estimate::Requested, &mut easy, &mut done)?;
    let measured = tally.measure(&of, &result, BTreeMap::new());
    for name in ["mean_wait_s", "p99_wait_s", "mean_bounded_slowdown", "utilisation"] {
        println!("{name}: {}", measured.get(name).map_or(0.0, Value::as_f64));
    }
    Ok((result, all))
}

fn whole(path: &str) -> Result<(u64, u64), Box<dyn Error>> {
    let log = swf::load(path)?;
    let jobs: Vec<LogJob> = log.jobs.iter().map(log_job).collect();
    let pools = Arc::new(Pools::cluster(log.header.max_procs().unwrap_or(PROCESSORS)));
    let workload = prepare(&jobs, pools, Semantics::Textbook, Overrun::Kill);
    let mut easy = Backfill::new(BackfillSettings::default());
    let run = run(&workload, ReplaySettings::default(), &mut easy, &mut [])?;
    let sums = workload.jobs.iter().zip(&run.jobs).map(|(job, ran)| sum(job, ran));
    Ok((workload.jobs.len() as u64, sums.fold(0, u64::wrapping_add)))
}

fn write(jobs: u64, path: &str) -> std::io::Result<()> {
    let mut to = BufWriter::new(std::fs::File::create(path)?);
    writeln!(to, "; MaxProcs: {PROCESSORS}")?;
    for LogJob { number, submit, run, processors, requested, user, .. } in made_up(jobs) {
        let (submit, run) = (submit.unwrap_or_default(), run.unwrap_or_default());
        let (wide, asked) = (processors.unwrap_or(1), requested.unwrap_or_default());
        let (submit, run, asked) = (submit.0, run.0, asked.0);
        writeln!(
            to,
            "{number} {submit} -1 {run} {wide} -1 -1 {wide} {asked} -1 1 {user} 1 1 1 1 -1 -1"
        )?;
    }
    to.flush()
}

/// Peak memory of this process, in MiB, and the seconds of processor time that it used.
fn used() -> (u64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks =
        stat.split_whitespace().skip(13).take(2).filter_map(|word| word.parse::<u64>().ok());
    (kib.unwrap_or_default() / 1_024, ticks.sum::<u64>() as f64 / 100.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let begin = Instant::now();
    let (jobs, all) = match words.as_slice() {
        ["make", jobs, path] => return Ok(write(jobs.parse()?, path)?),
        ["make", jobs] => {
            let replayed = |job| replayable(&job, Semantics::Textbook, Overrun::Kill);
            let ok = |job| replayed(job).map_err(|why| std::io::Error::other(why.text()));
            let (result, all) = streamed(PROCESSORS, &mut made_up(jobs.parse()?).map(ok))?;
            println!("at most {} jobs at once", result.most_at_once);
            (result.jobs, all)
        }
        ["whole", path] => whole(path)?,
        [path] => {
            let records = swf::records(path)?;
            let processors = records.header.max_procs().unwrap_or(PROCESSORS);
            let mut jobs = records.filter_map(|job| match job {
                Ok(job) => {
                    let job =
                        replayable(&log_job(&job), Semantics::Textbook, Overrun::Kill).ok()?;
                    (job.processors <= processors).then_some(Ok(job))
                }
                Err(wrong) => Some(Err(wrong)),
            });
            let (result, all) = streamed(processors, &mut jobs)?;
            println!("at most {} jobs at once", result.most_at_once);
            (result.jobs, all)
        }
        _ => return Err("give a log, `whole LOG`, or `make JOBS [FILE]`".into()),
    };
    let took = begin.elapsed().as_secs_f64();
    let (memory, processor) = used();
    println!(
        "{jobs} jobs in {took:.1} s ({processor:.1} s of processor time): {:.0} a second; {memory} MiB; {all:016x}",
        jobs as f64 / took
    );
    Ok(())
}
