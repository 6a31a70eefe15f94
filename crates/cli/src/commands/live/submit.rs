//! `tradewind submit`: a job is submitted.

use std::path::Path;

use serde_json::{Value, json};
use tradewind_io::submission::{Submission, document};
use tradewind_web::documents::Submitted;

use super::options::JobOptions;
use super::{quote, wait, work};
use crate::client::{self, Market, MarketArgs};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::report::Report;
use crate::{exit, output};

/// What is to run, and on which terms.
#[derive(Debug, clap::Args)]
#[command(infer_long_args = true)]
#[command(override_usage = "tradewind submit [OPTIONS] SCRIPT [ARGS]...\n       \
                            tradewind submit [OPTIONS] -- COMMAND [ARGS]...\n       \
                            tradewind submit [OPTIONS] --wrap LINE")]
#[command(after_help = "\
Examples:
  tradewind submit --time 10 --nodes 2 train.sh data.csv
  tradewind submit --time 1 --budget 5 -- ./simulate --steps 1000
  tradewind submit --time 1 --wrap 'sleep 10; echo done'
  tradewind submit --time 10 --quote 12 train.sh
  tradewind submit --time 10 --dry-run train.sh
  JOB=$(tradewind submit --parsable --time 5 prepare.sh)
  tradewind submit --dependency afterok:$JOB --time 30 train.sh

`-q` is `--quiet` here: write `--qos`. Options that are refused say why when they are given; all of
them are in docs/reference/submit.md.")]
pub(crate) struct Args {
    /// A script with `#SBATCH` and `#TRADEWIND` lines and its arguments; or, behind `--`, a
    /// command. `-` reads a script from standard input.
    #[arg(value_name = "SCRIPT", trailing_var_arg = true)]
    words: Vec<String>,
    /// Wait until the job is over, and exit as it did.
    #[arg(short = 'W', long)]
    wait: bool,
    /// Print the job's number and nothing else.
    #[arg(long)]
    parsable: bool,
    /// Submit nothing: print the request as JSON, and what the job could get.
    #[arg(long, conflicts_with_all = ["wait", "parsable"])]
    dry_run: bool,
    /// The same submission with the same key is not submitted again; another one is refused.
    #[arg(long, value_name = "TEXT")]
    key: Option<String>,
    #[command(flatten)]
    place: MarketArgs,
    #[command(flatten)]
    options: JobOptions,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let mut submission = work::read(&args.words, &args.options, report)?;
    let market = Market::open(&args.place)?;
    at_home(&mut submission, &market);
    let body = document::value(&submission);
    if args.dry_run {
        return dry_run(&market, &body);
    }
    let key = args.key.clone().unwrap_or_else(client::new_key);
    let sent = market.submit(&body, &key)?;
    let Submitted { jobs, warnings } = sent.read()?;
    for warning in warnings {
        report.warning(&exit::Problem { message: warning, hint: None });
    }
    let first = jobs.first().copied().unwrap_or_default();
    match format {
        Format::Json => sent.print()?,
        Format::Csv => {
            let rows = jobs.iter().map(|job| vec![job.to_string()]);
            let head = vec!["jobid".to_owned()];
            output::print(&output::csv(&std::iter::once(head).chain(rows).collect::<Vec<_>>())?)?;
        }
        Format::Table if args.parsable => output::print(&format!("{first}\n"))?,
        Format::Table => output::print(&said(&jobs))?,
    }
    match args.wait {
        true => wait::until_over(&args.place, &jobs, None, report).map(|(exit, _)| exit),
        false => Ok(Exit::Ok),
    }
}

/// A market on this machine runs jobs where they were submitted, as `sbatch` has it.
pub(super) fn at_home(submission: &mut Submission, market: &Market) {
    if !market.is_here() {
        return;
    }
    let Some(here) = run_from_here(submission) else { return };
    let around = &mut submission.surroundings;
    if around.directory.as_ref() != Some(&here) {
        // It runs elsewhere, and gets the folder of the submission, as by `sbatch`.
        around.environment.entry("SLURM_SUBMIT_DIR".to_owned()).or_insert(here);
    }
}

/// Has the job run in the current directory, or in the one that it names relative to this, as `sbatch`
/// has it; which one is the current directory, if that is known.
pub(crate) fn run_from_here(submission: &mut Submission) -> Option<String> {
    let here = std::env::current_dir().ok()?.into_os_string().into_string().ok()?;
    let directory = &mut submission.surroundings.directory;
    *directory = Some(match directory.take() {
        // A home folder of the site.
        Some(named) if named.starts_with('~') => named,
        Some(named) => Path::new(&here).join(named).to_string_lossy().into_owned(),
        None => here.clone(),
    });
    Some(here)
}

fn said(jobs: &[u64]) -> String {
    match jobs {
        [first, .., last] => {
            format!("Submitted batch job {first}\n{} jobs, up to {last}\n", jobs.len())
        }
        [one] => format!("Submitted batch job {one}\n"),
        [] => String::new(),
    }
}

/// Both documents, in one.
fn dry_run(market: &Market, body: &Value) -> Outcome {
    let quotes = match market.post("/v1/quotes", body) {
        Ok(sent) => sent,
        Err(Failure { exit: Exit::Negative, problems }) => {
            // The job stands as it is, and would be refused.
            output::json(&json!({"submission": body}))?;
            return Err(Failure { exit: Exit::Negative, problems });
        }
        Err(failure) => return Err(failure),
    };
    let found = quote::has_window(&quotes)?;
    let mut said = json!({"submission": body, "quotes": quotes.0["quotes"]});
    for name in ["without_offer", "advice", "unknown"] {
        if let Some(value) = quotes.0.get(name) {
            said[name] = value.clone();
        }
    }
    output::json(&said)?;
    Ok(if found { Exit::Ok } else { Exit::Infeasible })
}
