//! Models of streams of jobs, as logs.

use clap::ValueEnum;
use tradewind_io::diagnostics;
use tradewind_io::swf::transform::{self, Factor, TransformError};
use tradewind_io::swf::{self, Header, Log, Record};
use tradewind_model::Span;
use tradewind_sim::models::{DrawnJob, JobModel, ParameterError, Requests};

use super::{Target, values};
use crate::exit::{Failure, Outcome};
use crate::report::Report;

#[derive(Debug, clap::Args)]
pub(super) struct LublinArgs {
    /// Whose parameters.
    #[arg(long, value_enum, default_value_t)]
    kind: Kind,
    #[command(flatten)]
    rest: Args,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Kind {
    /// Jobs that wait in queues.
    #[default]
    Batch,
    /// Jobs that people wait for.
    Interactive,
    /// Both, not told apart.
    Mixed,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many jobs.
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
        Kind::Batch => "lublin",
        Kind::Interactive => "lublin-interactive",
        Kind::Mixed => "lublin-mixed",
    };
    run(name, &args.rest, report)
}

pub(super) fn run(name: &str, args: &Args, report: &Report) -> Outcome {
    let log = draw(name, args)?;
    report.seed(args.seed);
    let (first, last) = log.span();
    report.detail(|| format!("{} jobs from {first} to {last}", log.jobs.len()));
    args.target.write(&swf::write(&log))
}

fn draw(name: &str, args: &Args) -> Result<Log, Failure> {
    let usual = if name == "exponential" { 64 } else { 128 };
    let processors = args.procs.unwrap_or(usual);
    let unknown = || Failure::usage(format!("there is no model `{name}`"));
    let mut model = JobModel::named(name, processors).ok_or_else(unknown)?;
    for (parameter, value) in &args.parameters {
        model.set(parameter, *value).map_err(|error| refused(&model, parameter, error))?;
    }
    let requests = match args.request {
        Request::Exact => Requests { users: args.users, ..Requests::exact() },
        Request::Factor(factor) => Requests { users: args.users, factor, ..Requests::default() },
    };
    let mut jobs = model.draw(args.seed, args.jobs as usize);
    requests.apply(args.seed, &mut jobs);
    let log = log_of(&Model { name, model: &model, seed: args.seed, processors }, &jobs);
    match args.offered {
        None => Ok(log),
        Some(load) => transform::scale_to_load(&log, processors, load).map_err(failed),
    }
}

fn refused(model: &JobModel, parameter: &str, error: ParameterError) -> Failure {
    let names: Vec<&str> = model.parameters().into_iter().map(|(name, _)| name).collect();
    let failure = Failure::usage(format!("--set {parameter}: {error}"));
    match diagnostics::suggestion(parameter, names.iter().copied()) {
        _ if error != ParameterError::Unknown => failure,
        Some(best) => failure.hint(format!("did you mean `{best}`?")),
        None => failure.hint(format!("its parameters: {}", names.join(", "))),
    }
}

/// A transformation that cannot be made is asked for by options.
pub(super) fn failed(error: TransformError) -> Failure {
    Failure::usage(error.to_string())
}

/// Where jobs come from.
pub(in crate::commands) struct Model<'a> {
    pub(in crate::commands) name: &'a str,
    pub(in crate::commands) model: &'a JobModel,
    pub(in crate::commands) seed: u64,
    pub(in crate::commands) processors: u32,
}

/// Drawn jobs as a log, whose header names the model, its parameters and the seed.
pub(in crate::commands) fn log_of(model: &Model<'_>, jobs: &[DrawnJob]) -> Log {
    let mut header = Header::default();
    let (count, procs) = (jobs.len().to_string(), model.processors.to_string());
    for (key, value) in [
        ("Version", "2.2"),
        ("Computer", "none"),
        ("Installation", "made up"),
        ("MaxJobs", &count),
        ("MaxRecords", &count),
        ("UnixStartTime", "0"),
        ("TimeZoneString", "UTC"),
        ("MaxNodes", &procs),
        ("MaxProcs", &procs),
    ] {
        header.set(key, value);
    }
    let parameters: Vec<String> =
        model.model.parameters().iter().map(|(name, value)| format!("{name}={value}")).collect();
    header.note(&format!(
        "no real jobs: drawn by Tradewind's model {} from seed {}",
        model.name, model.seed
    ));
    header.note(&parameters.join(" "));
    let records = (1..).zip(jobs).map(|(number, job)| record(number, job)).collect();
    Log::new(model.name, header, records)
}

fn record(number: i64, job: &DrawnJob) -> Record {
    Record {
        number,
        submit: job.submit,
        wait: None,
        run: Some(job.run),
        processors: Some(job.processors),
        cpu_time: None,
        memory: None,
        requested_processors: Some(job.processors),
        requested_time: Some(job.requested).filter(|it| *it > Span::ZERO),
        requested_memory: None,
        status: 1,
        user: i64::from(job.user),
        group: -1,
        application: -1,
        queue: -1,
        partition: -1,
        preceding: -1,
        think_time: -1,
    }
}
