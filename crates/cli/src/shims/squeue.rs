//! `squeue`: jobs that wait and run.

use super::fields::Field;
use super::format::{self, FormatColumn};
use super::job_name::JobName;
use super::local_account;
use super::select::{NO_STATE, Wanted};
use super::selected::SelectedJob;
use super::{args, json, refused};
use crate::client::{Market, MarketArgs, words};
use crate::exit::{Exit, Failure, Outcome};
use crate::output;

const USUAL: &str = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
const LONG: &str = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
const STARTS: &str = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20N %R";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[arg(short = 'A', long)]
    account: Vec<String>,
    /// Hidden partitions: there are none.
    #[arg(short, long)]
    all: bool,
    #[arg(short = 'r', long)]
    array: bool,
    #[arg(short = 'M', long, visible_alias = "cluster")]
    clusters: Vec<String>,
    #[arg(short = 'o', long, overrides_with = "long_format")]
    format: Option<String>,
    #[arg(short = 'O', long = "Format")]
    long_format: Option<String>,
    #[arg(short = 'h', long)]
    noheader: bool,
    #[arg(short, long, visible_alias = "job", num_args = 0..=1, default_missing_value = "")]
    jobs: Vec<String>,
    #[arg(long, num_args = 0..=1, default_missing_value = "list", require_equals = true)]
    json: Option<String>,
    #[arg(short = 'l', long)]
    long: bool,
    #[arg(long)]
    me: bool,
    #[arg(short, long)]
    name: Vec<String>,
    #[arg(short, long)]
    partition: Vec<String>,
    #[arg(short = 'S', long)]
    sort: Option<String>,
    #[arg(long)]
    start: bool,
    #[arg(short = 't', long)]
    states: Vec<String>,
    #[arg(short, long)]
    user: Vec<String>,
    #[arg(short, long)]
    verbose: bool,
    #[arg(short = 'w', long)]
    nodelist: Vec<String>,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let args: Args = args::read("squeue", words)?;
    let market = Market::open(&MarketArgs::default())?;
    let named = JobName::list(&args.jobs)?;
    let mut rows = wanted(&args, &market)?.rows(&market, &named)?;
    if named.len() == 1 && rows.is_empty() && args.states.is_empty() {
        known(&market, &named)?;
    }
    on_nodes(&mut rows, &args.nodelist)?;
    if args.json.is_some() {
        return output::json(&json::jobs("squeue", &rows)).map(|()| Exit::Ok);
    }
    sort(&mut rows, args.sort.as_deref())?;
    let columns = columns(&args)?;
    let mut text = match (args.noheader, args.long) {
        (true, _) => String::new(),
        (false, true) => format!("{}\n{}", words::moment(words::now()), format::heads(&columns)),
        (false, false) => format::heads(&columns),
    };
    let rows = if args.array { rows } else { folded(rows) };
    rows.iter().for_each(|row| text.push_str(&format::row(&columns, row)));
    output::print(&text).map(|()| Exit::Ok)
}

/// A job that the caller does not have, as Slurm says it.
fn known(market: &Market, named: &[JobName]) -> Result<(), Failure> {
    let all = Wanted::default().rows(market, named)?;
    match all.is_empty() {
        true => Err(refused("slurm_load_jobs error: Invalid job id specified")),
        false => Ok(()),
    }
}

fn columns(args: &Args) -> Result<Vec<FormatColumn>, Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    match (&args.long_format, &args.format) {
        (Some(names), _) => format::long_names(names),
        (None, Some(letters)) => format::letters(letters),
        (None, None) if args.start => format::letters(STARTS),
        (None, None) if args.long => format::letters(LONG),
        (None, None) => match (variable("SQUEUE_FORMAT2"), variable("SQUEUE_FORMAT")) {
            (Some(names), _) => format::long_names(&names),
            (None, Some(letters)) => format::letters(&letters),
            (None, None) => format::letters(USUAL),
        },
    }
}

fn wanted(args: &Args, market: &Market) -> Result<Wanted, Failure> {
    let states = match args::list(&args.states) {
        all if all.is_empty() && args.start => "PENDING".to_owned(),
        all if all.is_empty() => words::open_states(),
        all if all.iter().any(|it| it.eq_ignore_ascii_case("all")) => String::new(),
        all => state_names(&all)?,
    };
    let mut users = users(market, &args.user)?;
    if args.me {
        users.push(me(market)?);
    }
    Ok(Wanted {
        states: args::list(&[states]),
        users,
        names: args::list(&args.name),
        partitions: args::list(&args.partition),
        accounts: args::list(&args.account),
        clusters: args::list(&args.clusters),
    })
}

/// States as the API names them. Those that jobs of the market are never in select nothing.
pub(super) fn state_names(given: &[String]) -> Result<String, Failure> {
    /// States of Slurm that the market has no jobs in, long and short.
    const NEVER: [&str; 26] = [
        "BOOT_FAIL",
        "BF",
        "PREEMPTED",
        "PR",
        "REQUEUED",
        "RQ",
        "RESIZING",
        "RS",
        "REVOKED",
        "RV",
        "SUSPENDED",
        "S",
        "STOPPED",
        "ST",
        "SIGNALING",
        "SI",
        "SPECIAL_EXIT",
        "SE",
        "STAGE_OUT",
        "SO",
        "REQUEUE_FED",
        "RF",
        "REQUEUE_HOLD",
        "RH",
        "RESV_DEL_HOLD",
        "RD",
    ];
    let is_never = |it: &&String| !NEVER.contains(&it.to_uppercase().as_str());
    let known: Vec<String> = given.iter().filter(is_never).cloned().collect();
    match known.is_empty() {
        true => Ok(NO_STATE.to_owned()),
        false => words::states(&known.join(",")).map_err(|known| {
            refused(format!("Invalid job state specified: {}", given.join(","))).hint(known)
        }),
    }
}

/// The caller's name in the market.
pub(super) fn me(market: &Market) -> Result<String, Failure> {
    let sent = market.get("/v1/me")?;
    Ok(sent.0["user"].as_str().unwrap_or_default().to_owned())
}

/// Users by name. The caller's account on this machine is the caller, whatever the market's name is:
/// tools ask for the jobs of `$USER`.
pub(super) fn users(market: &Market, given: &[String]) -> Result<Vec<String>, Failure> {
    let mut users = args::list(given);
    let accounts = local_account::names();
    if users.iter().any(|it| accounts.contains(it)) {
        let me = me(market)?;
        users.iter_mut().filter(|it| accounts.contains(it)).for_each(|it| it.clone_from(&me));
    }
    Ok(users)
}

/// Keeps jobs on these nodes; without nodes, all.
pub(super) fn on_nodes(rows: &mut Vec<SelectedJob>, nodes: &[String]) -> Result<(), Failure> {
    if nodes.is_empty() {
        return Ok(());
    }
    let text = nodes.join(",");
    let names = super::hostlist::unfold(&text);
    let names = names.ok_or_else(|| refused(format!("Invalid node list: {text}")))?;
    rows.retain(|row| row.nodes().iter().any(|node| names.contains(node)));
    Ok(())
}

/// By number, or as `-S` says: `i`, `-u`, `S` and the like.
fn sort(rows: &mut [SelectedJob], keys: Option<&str>) -> Result<(), Failure> {
    let keys: Vec<&str> = keys.map_or(Vec::new(), |keys| keys.split(',').collect());
    for key in keys.into_iter().rev() {
        let (letter, down) = match key.strip_prefix('-') {
            Some(letter) => (letter, true),
            None => (key.trim_start_matches('+'), false),
        };
        let column = format::letters(&format!("%{letter}"))?;
        let Some(field) = column.first().map(|it| it.field) else { continue };
        rows.sort_by_cached_key(|row| sort_key(row, field));
        if down {
            rows.reverse();
        }
    }
    Ok(())
}

fn sort_key(row: &SelectedJob, field: Field) -> (i64, String) {
    let number = match field {
        Field::Id | Field::IdRaw => i64::try_from(row.job.id).unwrap_or(i64::MAX),
        Field::Start => row.start().unwrap_or(i64::MAX),
        Field::End => row.end().unwrap_or(i64::MAX),
        Field::Submit => row.job.submitted,
        Field::Nodes => i64::from(row.job.nodes),
        Field::TimeUsed => row.used(),
        Field::Limit => row.limit().unwrap_or(i64::MAX),
        Field::Priority => row.asked["priority"].as_i64().unwrap_or(0),
        _ => 0,
    };
    (number, if number == 0 { row.field(field) } else { String::new() })
}

/// Jobs of an array that wait stand in one line, as Slurm has not made jobs of them yet.
fn folded(rows: Vec<SelectedJob>) -> Vec<SelectedJob> {
    let mut lines: Vec<SelectedJob> = Vec::new();
    for mut row in rows {
        let Some(place) = row.job.array.filter(|_| row.job.state == "PENDING") else {
            lines.push(row);
            continue;
        };
        let is_same = |line: &&mut SelectedJob| {
            !line.folded.is_empty() && line.job.array.is_some_and(|it| it.first == place.first)
        };
        match lines.iter_mut().find(is_same) {
            Some(line) => line.folded.push(place.index),
            None => {
                row.folded.push(place.index);
                lines.push(row);
            }
        }
    }
    lines
}
