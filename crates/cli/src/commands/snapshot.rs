//! `tradewind snapshot`: a moment of a log as a planning problem.

use std::path::PathBuf;
use std::time::Instant;

use tradewind_io::duration::parse_span;
use tradewind_io::snapshot::{
    self, Arrivals, At, Batch, LocalUntil, MissingRequest, SnapshotOptions, side,
};
use tradewind_io::swf;
use tradewind_model::Span;

use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::report::Report;

/// Which moment of which log, and how to fill in what logs lack.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind snapshot log.swf.gz --at 10d --horizon 24h --seed 1 | tradewind plan -
  tradewind snapshot log.swf.gz --at 2592000 --horizon 12h --seed 1 --batch arrivals --arrivals 2h
  tradewind snapshot examples/small.swf --at middle --horizon 6h --seed 7 -o moment.json

Prints a scenario as JSON whatever --format says, and plans nothing.")]
pub(crate) struct Args {
    /// A log in the Standard Workload Format 2.2, plain, gzip or zstd; `-` reads standard input.
    #[arg(value_name = "LOG")]
    log: String,
    /// The moment on the log's clock: seconds, `10d`, or `middle`.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: At,
    /// How far to plan from then on.
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    horizon: Span,
    /// For everything that the side model draws: speeds, prices, budgets, deadlines.
    #[arg(long, value_name = "N")]
    seed: u64,
    /// The batch: jobs that are `waiting`, or the next `arrivals` [default: waiting if the log has
    /// wait times and --arrivals is not given, else arrivals].
    #[arg(long, value_name = "waiting|arrivals")]
    batch: Option<Batch>,
    /// How many of the next arrivals: a count, or a span such as `2h` [default: 50].
    #[arg(long, value_name = "SPAN|COUNT")]
    arrivals: Option<Arrivals>,
    /// The work of jobs that requested no time: their `runtime`, or this long.
    #[arg(long, value_name = "runtime|SPAN", default_value = "runtime")]
    missing_request: MissingRequest,
    /// Running jobs keep their processors until they really `end`, or until their `requested`
    /// time ends.
    #[arg(long, value_name = "end|requested", default_value = "end")]
    local_until: LocalUntil,
    /// Processors of the machine [default: as the log's header says].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    procs: Option<u32>,
    /// Sites that the machine is split into.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    sites: u32,
    /// A side file: the model's parameters, and terms of single jobs and nodes.
    #[arg(long, value_name = "FILE")]
    side: Option<String>,
    /// Write to a file instead of standard output, whole or not at all.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, report: &Report) -> Outcome {
    if let (Some(Batch::Waiting), Some(_)) = (args.batch, args.arrivals) {
        let failure = Failure::usage("`--arrivals` has no meaning with the batch `waiting`");
        return Err(failure.hint("write `--batch arrivals`, or leave one of them out"));
    }
    let options = options(args)?;
    report.seed(args.seed);
    let started = Instant::now();
    let log = swf::load(&args.log)?;
    report.detail(|| {
        let took = started.elapsed().as_secs_f64();
        format!("read {} jobs in {took:.3} s", log.summary.jobs)
    });
    let taken = snapshot::take(&log, &options)?;
    for assumption in &taken.assumptions {
        report.note(assumption);
    }
    let text = taken.scenario.to_json();
    match &args.output {
        Some(path) => output::write_file(path, text.as_bytes())?,
        None => output::print(&text)?,
    }
    report.detail(|| format!("done after {:.3} s", started.elapsed().as_secs_f64()));
    Ok(Exit::Ok)
}

fn options(args: &Args) -> Result<SnapshotOptions, tradewind_io::diagnostics::Diagnostics> {
    Ok(SnapshotOptions {
        batch: args.batch,
        arrivals: args.arrivals,
        missing_request: args.missing_request,
        local_until: args.local_until,
        processors: args.procs,
        sites: args.sites,
        side: args.side.as_deref().map(side::load).transpose()?.unwrap_or_default(),
        ..SnapshotOptions::new(args.at, args.horizon, args.seed)
    })
}
