//! A log made from a log.

use std::time::Instant;

use clap::ValueEnum;
use tradewind_campaign::drawing::failed;
use tradewind_io::duration::parse_time;
use tradewind_io::swf::transform::{self, Factor, Resample, Slice, SliceClock, Wide};
use tradewind_io::swf::{self, Log};
use tradewind_model::Time;

use super::{Target, values};
use crate::exit::{Failure, Outcome};
use crate::report::Report;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind generate from log.swf.gz --from 30d --to 60d --load 1.2 -o month.swf.gz
  tradewind generate from log.swf.gz --users 100 --weeks 8 --seed 1 -o resampled.swf")]
pub(super) struct Args {
    /// A log in the Standard Workload Format 2.2, plain, gzip or zstd; `-` reads standard input.
    #[arg(value_name = "LOG")]
    log: String,
    /// Only jobs submitted from then on.
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    from: Option<Time>,
    /// Only jobs submitted before.
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    to: Option<Time>,
    /// Let the clock show 0 at --from, or else at the first submission.
    #[arg(long)]
    rebase: bool,
    /// Only the first N jobs of those.
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    /// Draw so many users, with replacement, each with a stream moved by whole weeks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    users: Option<u32>,
    /// Draw users for so many weeks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    weeks: Option<u32>,
    /// Multiply the load: divide the time between submissions by F.
    #[arg(long, value_name = "F", value_parser = values::factor, conflicts_with = "offered")]
    load: Option<Factor>,
    /// Multiply run times and requested times by F.
    #[arg(long, value_name = "F", value_parser = values::factor)]
    run_times: Option<Factor>,
    /// Scale the time between submissions so that this share of the machine is asked for.
    #[arg(long, value_name = "LOAD", value_parser = values::factor)]
    offered: Option<Factor>,
    /// Fit the log to a machine of N processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    procs: Option<u32>,
    /// What happens to jobs that are wider than --procs.
    #[arg(long, value_enum, default_value_t, requires = "procs")]
    wide: WideArg,
    /// For drawing users; printed on standard error.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum WideArg {
    /// They are made as wide as the machine.
    #[default]
    Narrow,
    /// They are left out.
    Drop,
}

pub(super) fn run(args: &Args, report: &Report) -> Outcome {
    let seed = seed(args)?;
    let started = Instant::now();
    let log = swf::load(&args.log)?;
    report.detail(|| {
        let took = started.elapsed().as_secs_f64();
        format!("read {} jobs in {took:.3} s", log.summary.jobs)
    });
    for remark in log.remarks() {
        report.note(&remark);
    }
    let made = make(log, args, seed)?;
    if let Some(seed) = seed {
        report.seed(seed);
    }
    report.note(&format!("jobs written: {}", made.summary.jobs));
    args.target.write_log(&made)
}

/// The seed, where one is used.
fn seed(args: &Args) -> Result<Option<u64>, Failure> {
    let draws = args.users.is_some() || args.weeks.is_some();
    match (draws, args.seed) {
        (true, None) => {
            let failure = Failure::usage("--users and --weeks draw users: they need a seed");
            Err(failure.hint("add `--seed 1`, or any other number"))
        }
        (draws, seed) => Ok(seed.filter(|_| draws)),
    }
}

/// In this order: the part, its users, its machine, its run times, its arrivals.
fn make(mut log: Log, args: &Args, seed: Option<u64>) -> Result<Log, Failure> {
    if args.from.is_some() || args.to.is_some() || args.rebase {
        let clock = if args.rebase { SliceClock::FromZero } else { SliceClock::Kept };
        log = transform::slice(&log, Slice { from: args.from, to: args.to, clock });
    }
    if let Some(count) = args.first {
        log = transform::first(&log, count);
    }
    if log.jobs.is_empty() {
        return Err(Failure::data(format!("{}: no job is left", log.name))
            .hint("its jobs are submitted at other times: see `--from` and `--to`"));
    }
    if let Some(seed) = seed {
        let options = Resample { users: args.users, weeks: args.weeks };
        log = transform::resample(&log, seed, options).map_err(failed)?;
    }
    if let Some(processors) = args.procs {
        let wide = match args.wide {
            WideArg::Narrow => Wide::Narrowed,
            WideArg::Drop => Wide::Dropped,
        };
        log = transform::fit_machine(&log, processors, wide);
    }
    if let Some(factor) = args.run_times {
        log = transform::scale_runs(&log, factor).map_err(failed)?;
    }
    if let Some(factor) = args.load {
        log = transform::scale_arrivals(&log, factor).map_err(failed)?;
    }
    if let Some(load) = args.offered {
        let processors = log.header.max_procs().ok_or_else(|| {
            let failure = Failure::data(format!("{}: {}", log.name, log.header.no_max_procs()));
            failure.hint("say how many processors the machine has: `--procs N`")
        })?;
        log = transform::scale_to_load(&log, processors, load).map_err(failed)?;
    }
    Ok(log)
}
