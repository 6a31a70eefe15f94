//! `tradewind jobs`: the queue, as `squeue` shows it.

use tradewind_web::documents::{CONSUMED_COLUMNS, Consumed, Job, JobList};

use super::{Sheet, starts};
use crate::client::words::{self, length, moment};
use crate::client::{Market, MarketArgs, encode};
use crate::exit::{Exit, Outcome};
use crate::options::Format;
use crate::tables::Side;

/// Arguments of `tradewind jobs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind jobs
  tradewind jobs --all --user ana
  tradewind jobs --states PD,R --site alpha --format csv

Without options: your jobs that have not ended; an administrator sees the jobs of all users. START
is when the job started, or is expected to; COST is the most that it can cost in all, if there is a
bound: what it has cost once it is over. 80% is the range in which 80 of 100 such jobs start; it is
there once enough starts are known.")]
pub(crate) struct Args {
    /// Also those that are over and still known.
    #[arg(short, long)]
    all: bool,
    /// Only those of this user.
    #[arg(short, long, value_name = "NAME")]
    user: Option<String>,
    /// In these states, long or short, with commas: `PENDING,R`.
    #[arg(short = 't', long, value_name = "STATES", value_parser = words::states)]
    states: Option<String>,
    /// With nodes at this site; `@NAME` is a peer.
    #[arg(long, value_name = "NAME")]
    site: Option<String>,
    /// Only those of this name.
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    place: MarketArgs,
}

impl Args {
    fn path(&self) -> String {
        let states = match (&self.states, self.all) {
            (Some(states), _) => Some(states.clone()),
            (None, true) => None,
            (None, false) => Some(words::open_states()),
        };
        let fields = [
            ("state", states.as_ref()),
            ("user", self.user.as_ref()),
            ("site", self.site.as_ref()),
            ("name", self.name.as_ref()),
        ];
        let given = fields.into_iter().filter_map(|(key, value)| Some((key, value?)));
        let given: Vec<String> =
            given.map(|(key, value)| format!("{key}={}", encode(value))).collect();
        match given.is_empty() {
            true => "/v1/jobs".to_owned(),
            false => format!("/v1/jobs?{}", given.join("&")),
        }
    }
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let sent = Market::open(&args.place)?.pages(&args.path(), "jobs")?;
    let JobList { jobs, .. } = sent.read()?;
    match format {
        Format::Csv => sheet_csv(&jobs).print_csv()?,
        _ => sheet(&jobs).print(&sent, format)?,
    }
    Ok(Exit::Ok)
}

/// Behind START.
const RANGE: usize = 7;

fn sheet(jobs: &[Job]) -> Sheet {
    let range = |job: &Job| job.expected_start.as_ref().and_then(starts::cell);
    let has_ranges = jobs.iter().any(|job| range(job).is_some());
    let mut columns = vec![
        ("JOBID", Side::Right),
        ("NAME", Side::Left),
        ("USER", Side::Left),
        ("ST", Side::Left),
        ("TIME", Side::Right),
        ("NODES", Side::Right),
        ("START", Side::Left),
        ("COST", Side::Right),
        ("SITES(REASON)", Side::Left),
    ];
    if has_ranges {
        columns.insert(RANGE, ("80%", Side::Left));
    }
    let row = |job: &Job| {
        let mut row = vec![
            job.id.to_string(),
            job.title(),
            job.user.clone(),
            words::short(&job.state).to_owned(),
            length(time(job).unwrap_or(0)),
            job.nodes.to_string(),
            start(job),
            job.cost_at_most.map_or_else(|| "N/A".to_owned(), |most| most.to_string()),
            place(job),
        ];
        if has_ranges {
            row.insert(RANGE, range(job).unwrap_or_else(|| "N/A".to_owned()));
        }
        row
    };
    Sheet { columns, rows: jobs.iter().map(row).collect() }
}

/// How long it has run, if it has begun: of parts that begin together, since they did.
pub(super) fn time(job: &Job) -> Option<i64> {
    let until = job.ended.unwrap_or_else(words::now);
    let together = job.together.filter(|it| !it.apart).and_then(|it| it.begin);
    together.or(job.started).map(|began| (until - began).max(0))
}

fn start(job: &Job) -> String {
    match (job.started, &job.expected_start) {
        (Some(at), _) => moment(at),
        (None, Some(expected)) => moment(expected.at),
        (None, None) => "N/A".to_owned(),
    }
}

/// The sites, or why it has none, as `squeue` writes it.
fn place(job: &Job) -> String {
    match (&job.sites[..], &job.reason) {
        ([], Some(reason)) => match &job.peer {
            Some(peer) => match job.peer_silent_since {
                Some(since) => format!("@{peer} ({reason} since {})", moment(since)),
                None => format!("@{peer} ({reason})"),
            },
            None => format!("({reason})"),
        },
        // It waits in its site's own queue, or is held there.
        (sites, Some(reason)) if job.started.is_none() && job.ended.is_none() => {
            format!("{} ({reason})", sites.join(","))
        }
        ([], None) => job.peer.as_ref().map(|peer| format!("@{peer}")).unwrap_or_default(),
        (sites, _) => sites.join(","),
    }
}

/// Columns of the CSV.
const HEADS: [&str; 22] = [
    "jobid",
    "name",
    "user",
    "project",
    "state",
    "reason",
    "array",
    "index",
    "nodes",
    "submitted",
    "expected_start",
    "started",
    "ended",
    "sites",
    "paid",
    "held",
    "exit_code",
    "signal",
    "restarts",
    "peer",
    "cost_so_far",
    "cost_at_most",
];

/// With all fields of a line, times in seconds since 1970.
pub(super) fn sheet_csv(jobs: &[Job]) -> Sheet {
    let number = |it: Option<i64>| it.map(|it| it.to_string()).unwrap_or_default();
    let row = |job: &Job| {
        vec![
            job.id.to_string(),
            job.name.clone(),
            job.user.clone(),
            job.project.clone().unwrap_or_default(),
            job.state.clone(),
            job.reason.clone().unwrap_or_default(),
            job.array.map(|it| it.first.to_string()).unwrap_or_default(),
            number(job.array.map(|it| it.index.into())),
            job.nodes.to_string(),
            job.submitted.to_string(),
            number(job.expected_start.map(|it| it.at)),
            number(job.started),
            number(job.ended),
            job.sites.join(" "),
            job.paid.to_string(),
            job.held.to_string(),
            number(job.exit.map(|it| it.code.into())),
            number(job.exit.map(|it| it.signal.into())),
            job.restarts.to_string(),
            job.peer.clone().unwrap_or_default(),
            job.cost_so_far.to_string(),
            job.cost_at_most.map(|most| most.to_string()).unwrap_or_default(),
        ]
    };
    let row = |job: &Job| {
        let ranges = starts::cells(job.expected_start.as_ref());
        row(job).into_iter().chain(ranges).chain(Consumed::cells(job.consumed)).collect()
    };
    let heads = HEADS.into_iter().chain(starts::HEADS).chain(CONSUMED_COLUMNS);
    let columns = heads.map(|head| (head, Side::Left)).collect();
    Sheet { columns, rows: jobs.iter().map(row).collect() }
}
