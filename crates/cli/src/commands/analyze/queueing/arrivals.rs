//! What arrives: by laws, or as a log has it.

use tradewind_io::swf::{self, Log, Record};
use tradewind_sim::queueing::{BadParameter, Law, Mix, QueueingError, Widths};

use super::args::{Args, RunTimes};
use super::values::Rates;
use crate::exit::Failure;
use crate::report::Report;

/// What arrives, and where.
pub(super) struct Arrivals {
    pub(super) rates: Vec<f64>,
    pub(super) mix: Mix,
    pub(super) sites: u32,
    pub(super) processors: u32,
    /// The log that they come from.
    pub(super) log: Option<String>,
}

/// Figure 5 of paper 003.
const SITES: u32 = 5;
const PROCESSORS: u32 = 128;
const WIDTHS: Widths = Widths::Uniform { low: 1, high: 64 };
const RUN: Law = Law::Weibull { shape: 2.0, scale: 20.0 };
const RATES: &str = "0.1..0.28:0.03";

impl Arrivals {
    pub(super) fn of(args: &Args, report: &Report) -> Result<Arrivals, Failure> {
        match &args.log {
            Some(path) => Arrivals::recorded(args, path, report),
            None => Arrivals::by_laws(args),
        }
    }

    fn by_laws(args: &Args) -> Result<Arrivals, Failure> {
        let run = args.run.clone().unwrap_or(RUN);
        let runs = run.moments().map_err(|error| refused("--run", &error))?;
        let widths = args.widths.clone().unwrap_or(WIDTHS);
        let mix = Mix::alike(&widths, runs)
            .map_err(|error| Failure::usage(format!("--widths: {error}")))?;
        let published = super::values::rates(RATES).map_err(Failure::usage);
        let Rates(rates) = args.rate.clone().map_or_else(|| published, Ok)?;
        Ok(Arrivals {
            rates,
            log: None,
            mix,
            sites: args.sites.unwrap_or(SITES),
            processors: args.procs.unwrap_or(PROCESSORS),
        })
    }

    fn recorded(args: &Args, path: &str, report: &Report) -> Result<Arrivals, Failure> {
        let log = swf::load(path)?;
        for remark in log.remarks() {
            report.note(&remark);
        }
        let used: Vec<&Record> = log.jobs.iter().filter(|job| job.ran()).collect();
        let jobs: Vec<(u32, f64)> = used.iter().filter_map(width_and_run).collect();
        let mix = Mix::recorded(&jobs)
            .map_err(|error| Failure::data(format!("{}: {error}", log.name)))?;
        let mix = match args.run_times {
            RunTimes::ByWidth => mix,
            RunTimes::Mingled => mix.mingled(),
        };
        let rates = match &args.rate {
            Some(Rates(rates)) => rates.clone(),
            None => vec![rate(&log, &used)?],
        };
        report.note(&format!(
            "{} jobs ran: a mean of {:.1} s, widths up to {}",
            jobs.len(),
            mix.runs().mean,
            mix.widest()
        ));
        let processors = args.procs.or(log.header.max_procs()).unwrap_or(mix.widest());
        let sites = args.sites.unwrap_or(1);
        Ok(Arrivals { rates, mix, sites, processors, log: Some(log.name) })
    }
}

fn width_and_run(job: &&Record) -> Option<(u32, f64)> {
    Some((job.held()?, job.run?.0 as f64))
}

/// Jobs after the first one, per second from the first submission to the last.
fn rate(log: &Log, used: &[&Record]) -> Result<f64, Failure> {
    let ends = used.first().zip(used.last());
    let span = ends.map_or(0, |(first, last)| (last.submit - first.submit).0);
    match span > 0 {
        true => Ok((used.len() - 1) as f64 / span as f64),
        false => Err(Failure::data(format!("{}: all jobs came at once", log.name))
            .hint("say how many arrive per second: `--rate 0.01`")),
    }
}

/// What is wrong with the value of an option, or with several of them.
pub(super) fn refused(option: &str, error: &QueueingError) -> Failure {
    let message = format!("{option}: {error}");
    let QueueingError::Bad(bad) = error else { return Failure::infeasible(message) };
    let failure = Failure::usage(message);
    match bad {
        BadParameter::TooManyCuts { .. } => failure.hint("give the sizes: `--partitions N,N,…`"),
        BadParameter::TooManyQueues { .. } => failure.hint("ask for fewer: `--queues N`"),
        BadParameter::TooWide { .. } => failure.hint("see `--widths`, `--procs`, `--partitions`"),
        _ => failure,
    }
}
