//! `tradewind generate`: synthetic workloads, and logs made from logs.

mod cycle;
mod from;
pub(super) mod jobs;
mod sacct;
mod values;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use tradewind_io::log_table;
use tradewind_io::swf::{self, Log};

use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::report::Report;

/// Arguments of `tradewind generate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind generate lublin --jobs 5000 --procs 256 --offered 0.8 --seed 1 -o lublin.swf
  tradewind generate weibull --set gap=8 --seed 1 | tradewind simulate - --policy easy --out run
  tradewind generate environment --seed 1 | tradewind plan -
  tradewind generate from log.swf.gz --from 30d --to 60d --load 1.2 -o month.swf.gz
  tradewind generate from log.swf.gz --users 100 --weeks 8 --seed 1 -o resampled.swf
  tradewind generate sacct march.txt -o march.swf --grid march.toml")]
pub(crate) struct Args {
    #[command(subcommand)]
    model: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    /// Rigid jobs with a daily cycle, after Lublin and Feitelson (2003): a log.
    Lublin(jobs::LublinArgs),
    /// Weibull run times, Poisson arrivals, uniform widths, after paper 003: a log.
    #[command(after_help = jobs::WEIBULL)]
    Weibull(jobs::Args),
    /// Exponential run times, Poisson arrivals, uniform widths, after paper 004: a log.
    #[command(after_help = jobs::EXPONENTIAL)]
    Exponential(jobs::Args),
    /// One cycle of a virtual organisation, after paper 000: a scenario.
    Environment(cycle::EnvironmentArgs),
    /// Slots and jobs of the study of ALP and AMP, after paper 001: a scenario.
    Study1(cycle::Study1Args),
    /// The owners' load on each node over a long time, after paper 000: CSV.
    LocalLoad(cycle::LoadArgs),
    /// A log made from a log: a part of it, a heavier one, one of other users.
    From(from::Args),
    /// A log and a grid from the accounting of a Slurm cluster, without names.
    Sacct(sacct::Args),
}

/// Where a result goes.
#[derive(Debug, clap::Args)]
struct Target {
    /// Write to a file instead of standard output (`-`), whole or not at all; gzip if its name ends
    /// in `.gz`, and a log as a Parquet table if it ends in `.parquet`.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, report: &Report) -> Outcome {
    match &args.model {
        ModelCommand::Lublin(args) => jobs::lublin(args, report),
        ModelCommand::Weibull(args) => jobs::run("weibull", args, report),
        ModelCommand::Exponential(args) => jobs::run("exponential", args, report),
        ModelCommand::Environment(args) => cycle::environment(args, report),
        ModelCommand::Study1(args) => cycle::study1(args, report),
        ModelCommand::LocalLoad(args) => cycle::local_load(args, report),
        ModelCommand::From(args) => from::run(args, report),
        ModelCommand::Sacct(args) => sacct::run(args, report),
    }
}

impl Target {
    /// The file, unless the result goes to standard output.
    fn file(&self) -> Option<&PathBuf> {
        self.output.as_ref().filter(|path| path.as_os_str() != "-")
    }

    fn write_log(&self, log: &Log) -> Result<Exit, Failure> {
        match self.file().filter(|path| is_table(path)) {
            Some(path) => output::write_with(path, |file| log_table::write(file, log).map(drop))?,
            None => return self.write(&swf::write(log)),
        }
        Ok(Exit::Ok)
    }

    fn write(&self, text: &str) -> Result<Exit, Failure> {
        match self.file() {
            None => output::print(text)?,
            Some(path) if is_table(path) => return Err(no_table()),
            Some(path) if is_packed(path) => {
                output::write_file(path, &tradewind_io::input::pack(text.as_bytes()))?;
            }
            Some(path) => output::write_file(path, text.as_bytes())?,
        }
        Ok(Exit::Ok)
    }

    /// Writes piece by piece what may be too large for the memory.
    fn write_with(&self, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let Some(path) = self.file() else { return output::print_with(write) };
        if is_table(path) {
            return Err(no_table());
        }
        output::write_with(path, |file| {
            let mut to = BufWriter::new(file);
            match is_packed(path) {
                true => tradewind_io::input::pack_to(&mut to, |to| write(to))?,
                false => write(&mut to)?,
            }
            to.flush()
        })
    }
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "parquet")
}

fn no_table() -> Failure {
    let failure = Failure::usage("this is not written as a Parquet table");
    failure.hint("`tradewind generate from LOG -o FILE.parquet` makes a table of a log")
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "gz")
}
