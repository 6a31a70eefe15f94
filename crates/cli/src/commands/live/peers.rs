//! `tradewind peers`: other markets that jobs are exchanged with.

use clap::ValueEnum;
use tradewind_web::documents::{Job, JobList, Peer, PeerList, PeerSettled, PeerSettlement};

use super::Sheet;
use crate::client::words::moment;
use crate::client::{Market, MarketArgs, Sent, encode};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::report::Report;
use crate::tables::Side;

/// Arguments of `tradewind peers`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  tradewind peers
  tradewind peers --format json
  tradewind peers settle 7 lost

THERE are jobs from here that are at the peer, HERE jobs of the peer that are here, DOUBT jobs that
may or may not have arrived there. HELD is what the jobs there and in doubt may cost. STANDING says
how far the peer keeps its offers, from 0 to 1000; KEPT and BROKEN are offers that it kept and did
not keep. RIGHT and WRONG are answers to check jobs. BALANCE is what the peer has here, for
administrators.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<PeersCommand>,
    #[command(flatten)]
    place: MarketArgs,
}

#[derive(Debug, clap::Subcommand)]
enum PeersCommand {
    /// Say what happened to jobs at a peer that does not answer any more.
    Settle(SettleArgs),
}

/// Arguments of `tradewind peers settle`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind peers settle 7 lost
  tradewind peers settle 7 lost --yes
  tradewind peers settle @vega ran --yes

Without `--yes` it is only said what would follow. `lost`: the job's user has chosen what happens to
lost jobs, and the peer is not paid. `ran`: the job counts as completed, and the peer is paid what
was held for it. Possible once the peer has not answered for five minutes, once the job should have
ended, and for peers that are not in the configuration any more. Administrators may. Exit code 1 if
a job could not be settled, and without `--yes`.")]
struct SettleArgs {
    /// Number of the job; `@NAME`: all jobs that are at this peer, or on their way there.
    #[arg(value_name = "JOB", value_parser = which)]
    jobs: Which,
    /// What happened to it.
    #[arg(value_enum)]
    outcome: SettledAs,
    /// Do it.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    place: MarketArgs,
}

/// Which jobs are settled.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    One(u64),
    At(String),
}

fn which(text: &str) -> Result<Which, String> {
    match text.strip_prefix('@') {
        Some(peer) if !peer.is_empty() => Ok(Which::At(peer.to_owned())),
        _ => text
            .parse()
            .map(Which::One)
            .map_err(|_| "expected the number of a job, or `@` and a peer's name".to_owned()),
    }
}

/// What happened to a job at a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SettledAs {
    /// It is lost.
    Lost,
    /// It ran to its end.
    Ran,
}

impl SettledAs {
    fn name(self) -> &'static str {
        match self {
            SettledAs::Lost => "lost",
            SettledAs::Ran => "ran",
        }
    }
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    if let Some(PeersCommand::Settle(args)) = &args.what {
        return settle(args, format, report);
    }
    let sent = Market::open(&args.place)?.get("/v1/peers")?;
    let PeerList { peers, receipt_key, .. } = sent.read()?;
    sheet(&peers).print(&sent, format)?;
    if let Some(key) = receipt_key {
        report.note(&format!("this market signs receipts with the key {key}"));
    }
    Ok(Exit::Ok)
}

fn settle(args: &SettleArgs, format: Format, report: &Report) -> Outcome {
    let market = Market::open(&args.place)?;
    let jobs = match &args.jobs {
        Which::At(peer) => jobs_at(&market, peer)?,
        Which::One(job) => vec![*job],
    };
    let wanted = PeerSettlement { outcome: args.outcome.name().to_owned(), confirmed: args.yes };
    let (mut told, mut exit) = (Vec::new(), Exit::Ok);
    for job in jobs {
        match market.post(&format!("/v1/jobs/{job}/settle"), &wanted) {
            Ok(sent) => told.push(sent.read::<PeerSettled>()?),
            Err(failure) if failure.exit == Exit::Negative => {
                report.failure(&failure);
                exit = Exit::Negative;
            }
            Err(failure) => return Err(failure),
        }
    }
    print(&told, format)?;
    if !told.is_empty() && !args.yes {
        report.note("nothing was done: `--yes` does it");
        exit = Exit::Negative;
    }
    Ok(exit)
}

fn jobs_at(market: &Market, peer: &str) -> Result<Vec<u64>, Failure> {
    let site = encode(&format!("@{peer}"));
    let states = "PENDING,RUNNING,COMPLETING,UNKNOWN";
    let sent = market.pages(&format!("/v1/jobs?state={states}&site={site}"), "jobs")?;
    let JobList { jobs, .. } = sent.read()?;
    if jobs.is_empty() {
        let message = format!("no job is at a peer `{peer}`, or on its way there");
        return Err(Failure::negative(message).hint("see `peers`"));
    }
    Ok(jobs.iter().map(|job: &Job| job.id).collect())
}

fn print(told: &[PeerSettled], format: Format) -> Result<(), Failure> {
    let columns = vec![("JOBID", Side::Right), ("DONE", Side::Left), ("WHAT FOLLOWS", Side::Left)];
    let row = |it: &PeerSettled| {
        let done = if it.done { "yes" } else { "no" };
        vec![it.job.to_string(), done.to_owned(), it.message.clone()]
    };
    let document = Sent(serde_json::to_value(told).unwrap_or_default());
    Sheet { columns, rows: told.iter().map(row).collect() }.print(&document, format)
}

fn sheet(peers: &[Peer]) -> Sheet {
    let columns = vec![
        ("PEER", Side::Left),
        ("MARKET", Side::Left),
        ("STATE", Side::Left),
        ("SINCE", Side::Left),
        ("THERE", Side::Right),
        ("HERE", Side::Right),
        ("DOUBT", Side::Right),
        ("HELD", Side::Right),
        ("STANDING", Side::Right),
        ("KEPT", Side::Right),
        ("BROKEN", Side::Right),
        ("RIGHT", Side::Right),
        ("WRONG", Side::Right),
        ("BALANCE", Side::Right),
    ];
    let none = || "N/A".to_owned();
    let row = |it: &Peer| {
        let counts = [it.jobs_there, it.jobs_here, it.in_doubt];
        let mut row = vec![
            it.name.clone(),
            it.market.clone().unwrap_or_else(none),
            state(it).to_owned(),
            it.since.map_or_else(none, moment),
        ];
        row.extend(counts.map(|count| count.to_string()));
        row.push(it.held.to_string());
        row.push(it.standing.to_string());
        let counts = [it.kept, it.broken, it.checks_right, it.checks_wrong];
        row.extend(counts.map(|count| count.to_string()));
        row.push(it.balance.map_or_else(none, |balance| balance.to_string()));
        row
    };
    Sheet { columns, rows: peers.iter().map(row).collect() }
}

fn state(peer: &Peer) -> &'static str {
    match peer.reachable {
        _ if !peer.configured => "gone",
        Some(true) if peer.standing < peer.min_standing => "distrusted",
        Some(true) => "up",
        Some(false) => "down",
        None => "unknown",
    }
}
