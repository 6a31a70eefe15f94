//! `tradewind cancel`, `hold`, `release`, `requeue` and `update`.

use jiff::tz::TimeZone;
use serde_json::Value;
use tradewind_io::submission::script::Given;
use tradewind_web::documents::{Job, JobUpdate};

use super::joined;
use super::options::ChangeOptions;
use crate::client::{Market, MarketArgs, Sent};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::report::Report;

/// Arguments of `tradewind cancel`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind cancel 7
  tradewind cancel 7 8 9

A job that runs is over when its site has stopped it: `tradewind wait` waits for that. Exit code 1
if one of them could not be cancelled; the others are all the same.")]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    jobs: JobsArgs,
}

/// Arguments of `tradewind hold`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind hold 7

A job that waits stays out of the queue until it is released. Exit code 1 if one of them could not
be held, as when it runs already.")]
pub(crate) struct HoldArgs {
    #[command(flatten)]
    jobs: JobsArgs,
}

/// Arguments of `tradewind release`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind release 7

Exit code 1 if one of them could not be released.")]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    jobs: JobsArgs,
}

/// Arguments of `tradewind requeue`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind requeue 7

The job is stopped where it runs, pays for what it has used, and waits in the queue again under its
number. Exit code 1 if one of them could not be requeued, as when its work has not begun.")]
pub(crate) struct RequeueArgs {
    #[command(flatten)]
    jobs: JobsArgs,
}

/// Arguments of `tradewind update`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind update 7 --time 20 --job-name retry
  tradewind update 7 --deadline=
  tradewind update 7 --on-breach hold
  tradewind quote train.sh; tradewind update 7 --quote 13

Options of `submit` change a job that waits; one with nothing behind `=` takes away what was said. A
job that is planned again for it waits behind those that wait already. `--on-breach` is possible until the accepted offer is kept or broken. `--quote` is possible after a
breach, while the job waits: it takes that window, and pays no more than it was promised first. Exit
code 1 if the market refuses it.")]
pub(crate) struct UpdateArgs {
    /// What happens if the accepted offer is not kept: `requeue`, `cancel` or `hold`.
    #[arg(long, value_name = "WHAT")]
    on_breach: Option<String>,
    /// The number of another quote to accept.
    #[arg(long, value_name = "ID")]
    quote: Option<u64>,
    #[command(flatten)]
    options: ChangeOptions,
    #[command(flatten)]
    jobs: JobsArgs,
}

#[derive(Debug, clap::Args)]
struct JobsArgs {
    /// Numbers of jobs.
    #[arg(value_name = "ID", required = true)]
    jobs: Vec<u64>,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn cancel(args: &CancelArgs, format: Format, report: &Report) -> Outcome {
    each(&args.jobs, format, report, |market, job| {
        let sent = market.delete(&format!("/v1/jobs/{job}"))?;
        // A job at another place needs no note.
        if sent.0["reason"] == "PeerNotAvailable" {
            report.note(&format!("job {job}: {}", sent.0["message"].as_str().unwrap_or_default()));
        }
        Ok(sent)
    })
}

pub(crate) fn hold(args: &HoldArgs, format: Format, report: &Report) -> Outcome {
    each(&args.jobs, format, report, |market, job| {
        market.post_nothing(&format!("/v1/jobs/{job}/hold"))
    })
}

pub(crate) fn release(args: &ReleaseArgs, format: Format, report: &Report) -> Outcome {
    each(&args.jobs, format, report, |market, job| {
        market.post_nothing(&format!("/v1/jobs/{job}/release"))
    })
}

pub(crate) fn requeue(args: &RequeueArgs, format: Format, report: &Report) -> Outcome {
    each(&args.jobs, format, report, |market, job| {
        market.post_nothing(&format!("/v1/jobs/{job}/requeue"))
    })
}

pub(crate) fn update(args: &UpdateArgs, format: Format, report: &Report) -> Outcome {
    let (on_breach, quote) = (args.on_breach.clone(), args.quote);
    let wanted = match args.options.0.is_empty() {
        true => JobUpdate { on_breach, quote, ..JobUpdate::default() },
        false => JobUpdate { on_breach, quote, ..changed(&args.options.0) },
    };
    each(&args.jobs, format, report, |market, job| {
        market.post(&format!("/v1/jobs/{job}/update"), &wanted)
    })
}

/// Options as the market reads them, with this machine's time zone.
pub(crate) fn changed(given: &[Given]) -> JobUpdate {
    let words = |it: &Given| match &it.value {
        Some(value) => vec![format!("--{}={value}", it.option.name)],
        None => vec![format!("--{}", it.option.name)],
    };
    let time_zone = TimeZone::system().iana_name().map(str::to_owned);
    JobUpdate { options: given.iter().map(words).collect(), time_zone, ..JobUpdate::default() }
}

/// Does it to all of them, and reports those where it failed.
fn each(
    JobsArgs { jobs, place }: &JobsArgs,
    format: Format,
    report: &Report,
    act: impl Fn(&Market, u64) -> Result<Sent, Failure>,
) -> Outcome {
    let market = Market::open(place)?;
    let mut done: Vec<Value> = Vec::new();
    let mut exit = Exit::Ok;
    for job in jobs {
        match act(&market, *job) {
            Ok(sent) => done.push(sent.0),
            Err(failure) if failure.exit == Exit::Negative => {
                report.failure(&failure);
                exit = Exit::Negative;
            }
            Err(failure) => return Err(failure),
        }
    }
    match format {
        // As `scancel` and `scontrol`: nothing to say where all went well.
        Format::Table => {}
        Format::Json if done.is_empty() => {}
        Format::Json => joined(done).print()?,
        Format::Csv => {
            let jobs: Vec<Job> = Sent(Value::Array(done)).read()?;
            super::jobs::sheet_csv(&jobs).print_csv()?;
        }
    }
    Ok(exit)
}
