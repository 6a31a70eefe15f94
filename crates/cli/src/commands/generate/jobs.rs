//! Models of streams of jobs, as logs.

use clap::ValueEnum;
use tradewind_campaign::drawing::DrawRequest;
use tradewind_io::swf::transform::Factor;
use tradewind_sim::models::Requests;

use super::{Target, values};
use crate::exit::Outcome;
use crate::report::Report;

pub(super) const WEIBULL: &str = "\
Examples:
  tradewind generate weibull --jobs 2000 --procs 64 --seed 1 -o weibull.swf
  tradewind generate weibull --set gap=8 --seed 1 | tradewind simulate - --policy easy --out run";

pub(super) const EXPONENTIAL: &str = "\
Examples:
  tradewind generate exponential --jobs 2000 --offered 0.7 --seed 1 -o exponential.swf
  tradewind generate exponential --request exact --seed 1 -o exact.swf";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind generate lublin --jobs 5000 --procs 256 --offered 0.8 --seed 1 -o lublin.swf
  tradewind generate lublin --kind mixed --seed 1 | tradewind simulate - --policy easy --out run")]
pub(super) struct LublinArgs {
    /// The published set of parameters.
    #[arg(long, value_enum, default_value_t)]
    kind: JobKind,
    #[command(flatten)]
    rest: Args,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum JobKind {
    /// Jobs that wait in queues.
    #[default]
    Batch,
    /// Jobs that people wait for.
    Interactive,
    /// Both, not distinguished.
    Mixed,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Number of jobs.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=50_000_000))]
    jobs: u32,
    /// Processors of the machine, and of the widest job [default: 128; `exponential`: 64].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    procs: Option<u32>,
    /// Another value for one of the model's parameters; may be repeated.
    #[arg(long = "set", value_name = "NAME=NUMBER", value_parser = values::assignment)]
    parameters: Vec<(String, f64)>,
    /// Scale the time between arrivals so that this share of the machine is asked for.
    #[arg(long, value_name = "LOAD", value_parser = values::factor)]
    offered: Option<Factor>,
    /// How many users the jobs belong to; the r-th has 1/r of the first one's jobs.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    users: u32,
    /// Requested over run time: `exact`, or a factor drawn within `A..B`, in whole minutes.
    #[arg(long, value_name = "exact|A..B", default_value = "1..4", value_parser = request)]
    request: Request,
    /// For everything that is drawn; printed on standard error.
    #[arg(long, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy)]
enum Request {
    Exact,
    Factor((u32, u32)),
}

fn request(text: &str) -> Result<Request, String> {
    match text {
        "exact" => Ok(Request::Exact),
        text => values::thousandths(text).map(Request::Factor),
    }
}

pub(super) fn lublin(args: &LublinArgs, report: &Report) -> Outcome {
    let name = match args.kind {
        JobKind::Batch => "lublin",
        JobKind::Interactive => "lublin-interactive",
        JobKind::Mixed => "lublin-mixed",
    };
    run(name, &args.rest, report)
}

pub(super) fn run(name: &str, args: &Args, report: &Report) -> Outcome {
    let log = args.drawing(name).draw(args.seed)?;
    report.seed(args.seed);
    let (first, last) = log.span();
    report.detail(|| format!("{} jobs from {first} to {last}", log.jobs.len()));
    args.target.write_log(&log)
}

impl Args {
    fn drawing<'a>(&'a self, name: &'a str) -> DrawRequest<'a> {
        let requests = match self.request {
            Request::Exact => Requests { users: self.users, ..Requests::exact() },
            Request::Factor(factor) => {
                Requests { users: self.users, factor, ..Requests::default() }
            }
        };
        DrawRequest {
            jobs: self.jobs as usize,
            processors: self.procs.unwrap_or(if name == "exponential" { 64 } else { 128 }),
            parameters: &self.parameters,
            offered: self.offered,
            requests,
            ..DrawRequest::of(name)
        }
    }
}
