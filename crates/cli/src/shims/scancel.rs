//! `scancel`: ends jobs.

use super::job_name::JobName;
use super::select::{Wanted, jobs_of};
use super::selected::SelectedJob;
use super::squeue::{me, state_names, users};
use super::{args, error, refused};
use crate::client::{Market, MarketArgs, words};
use crate::exit::{Exit, Failure, Outcome};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[arg(short = 'A', long)]
    account: Vec<String>,
    #[arg(short = 'M', long, visible_alias = "cluster")]
    clusters: Vec<String>,
    #[arg(long)]
    ctld: bool,
    #[arg(short, long)]
    full: bool,
    #[arg(long)]
    me: bool,
    #[arg(short, long, visible_alias = "jobname")]
    name: Vec<String>,
    #[arg(short, long)]
    partition: Vec<String>,
    #[arg(short = 'Q', long)]
    quiet: bool,
    #[arg(short, long)]
    signal: Option<String>,
    #[arg(short = 't', long)]
    state: Vec<String>,
    #[arg(short, long)]
    user: Vec<String>,
    #[arg(short, long)]
    verbose: bool,
    jobs: Vec<String>,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let args: Args = args::read("scancel", words)?;
    check_signal(args.signal.as_deref())?;
    let market = Market::open(&MarketArgs::default())?;
    let named = JobName::list(&args.jobs)?;
    if let Some(step) = named.iter().find_map(|it| it.step.as_ref()) {
        return Err(refused(format!("job steps cannot be cancelled alone: `{step}`")));
    }
    let (wanted, is_filtered) = wanted(&args, &market)?;
    if named.is_empty() && !is_filtered {
        return Err(refused("No job identification provided"));
    }
    let mut exit = Exit::Ok;
    let mut rows = Vec::new();
    for name in &named {
        let found = jobs_of(&market, name)?;
        // As Slurm 24.11 has it, that is no error.
        if found.is_empty() && args.verbose {
            let number = name.number;
            error(
                "scancel",
                &format!("Kill job error on job id {number}: Invalid job id specified"),
            );
        }
        rows.extend(found.into_iter().map(SelectedJob::new));
    }
    if named.is_empty() {
        rows = wanted.rows(&market, &[])?;
    } else if is_filtered {
        rows.retain(|row| wanted.takes(row));
    }
    for row in rows.iter().filter(|row| !words::is_over(Some(&row.job.state))) {
        exit = cancel(&market, row)?.unwrap_or(exit);
    }
    Ok(exit)
}

/// A signal that ends a job is what cancelling is.
fn check_signal(signal: Option<&str>) -> Result<(), Failure> {
    let Some(text) = signal else { return Ok(()) };
    let name = text.to_uppercase();
    match name.strip_prefix("SIG").unwrap_or(&name) {
        "KILL" | "9" => Ok(()),
        _ => Err(refused(format!(
            "--signal={text} cannot be honoured: the market sends signals before the limit only \
             (`sbatch --signal`)"
        ))),
    }
}

/// Jobs by what they are, and whether anything was said of that.
fn wanted(args: &Args, market: &Market) -> Result<(Wanted, bool), Failure> {
    let mut users = users(market, &args.user)?;
    if args.me {
        users.push(me(market)?);
    }
    let states = args::list(&args.state);
    let wanted = Wanted {
        states: match states.is_empty() {
            true => args::list(&[words::open_states()]),
            false => args::list(&[state_names(&states)?]),
        },
        users,
        names: args::list(&args.name),
        partitions: args::list(&args.partition),
        accounts: args::list(&args.account),
        clusters: args::list(&args.clusters),
    };
    let lists = [&wanted.users, &wanted.names, &wanted.partitions, &wanted.accounts, &states];
    let is_filtered = lists.iter().any(|it| !it.is_empty());
    Ok((wanted, is_filtered))
}

/// The exit code if it could not be cancelled; a job that is over meanwhile is none of these.
fn cancel(market: &Market, row: &SelectedJob) -> Result<Option<Exit>, Failure> {
    match market.delete(&format!("/v1/jobs/{}", row.job.id)) {
        Ok(_) => Ok(None),
        Err(failure) if failure.exit == Exit::Negative => {
            for problem in &failure.problems {
                error("scancel", &format!("job {}: {}", row.id(), problem.message));
            }
            Ok(Some(Exit::Negative))
        }
        Err(failure) => Err(failure),
    }
}
