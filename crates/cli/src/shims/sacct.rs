//! `sacct`: jobs that ran, with their steps as far as the market knows them: the script.

use jiff::Zoned;

use super::fields::Field;
use super::format::{self, FormatColumn, Parsable};
use super::job_name::JobName;
use super::moments::moment;
use super::select::Wanted;
use super::selected::SelectedJob;
use super::squeue::{me, state_names, users};
use super::{args, json};
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Failure, Outcome};
use crate::output;

const USUAL: &str = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode";
const BRIEF: &str = "JobID,State,ExitCode";
const LONG: &str = "JobID,JobIDRaw,JobName,Partition,NTasks,AllocCPUS,Elapsed,State,ExitCode,\
                    ReqMem,MaxRSS,AllocTRES,NodeList,Cost";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[arg(short = 'A', long)]
    accounts: Vec<String>,
    #[arg(short, long)]
    allusers: bool,
    #[arg(short = 'X', long)]
    allocations: bool,
    #[arg(short, long)]
    brief: bool,
    #[arg(short = 'L', long)]
    allclusters: bool,
    #[arg(short = 'M', long, visible_alias = "cluster")]
    clusters: Vec<String>,
    #[arg(long, default_value = "|")]
    delimiter: String,
    #[arg(short = 'D', long)]
    duplicates: bool,
    #[arg(short = 'E', long)]
    endtime: Option<String>,
    #[arg(short = 'o', long)]
    format: Vec<String>,
    #[arg(short = 'e', long)]
    helpformat: bool,
    #[arg(short, long, visible_alias = "job")]
    jobs: Vec<String>,
    #[arg(long, num_args = 0..=1, default_missing_value = "list", require_equals = true)]
    json: Option<String>,
    #[arg(short, long)]
    long: bool,
    #[arg(long)]
    name: Vec<String>,
    #[arg(short, long)]
    noheader: bool,
    #[arg(short = 'N', long)]
    nodelist: Vec<String>,
    #[arg(long)]
    noconvert: bool,
    #[arg(short = 'p', long)]
    parsable: bool,
    #[arg(short = 'P', long)]
    parsable2: bool,
    #[arg(short = 'r', long)]
    partition: Vec<String>,
    #[arg(short = 'S', long)]
    starttime: Option<String>,
    #[arg(short, long)]
    state: Vec<String>,
    #[arg(short = 'T', long)]
    truncate: bool,
    #[arg(long)]
    units: Option<String>,
    #[arg(short, long, visible_alias = "uid")]
    user: Vec<String>,
    #[arg(short, long)]
    verbose: bool,
    #[arg(long)]
    array: bool,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let args: Args = args::read("sacct", words)?;
    if args.helpformat {
        let names = format::names().map(|name| format!("{name}\n"));
        return output::print(&names.collect::<String>()).map(|()| Exit::Ok);
    }
    let columns = columns(&args)?;
    let market = Market::open(&MarketArgs::default())?;
    let named = JobName::list(&args.jobs)?;
    let mut rows = wanted(&args, &market, &named)?.rows(&market, &named)?;
    rows.iter_mut().for_each(|row| row.job.state = accounted(&row.job.state).to_owned());
    within(&mut rows, &args, &named)?;
    if args.json.is_some() {
        return output::json(&json::jobs("sacct", &rows)).map(|()| Exit::Ok);
    }
    let mut text = String::new();
    if !args.noheader {
        text.push_str(&format::heads(&columns));
        if !(args.parsable || args.parsable2) {
            text.push_str(&format::dashes(&columns));
        }
    }
    for row in &rows {
        lines(row, &args, &columns, &named, &mut text);
    }
    output::print(&text).map(|()| Exit::Ok)
}

/// States that accounting does not know: a job waits until its work begins, and runs until it is
/// over. Tools take any other state for an end.
fn accounted(state: &str) -> &str {
    match state {
        "CONFIGURING" => "PENDING",
        "COMPLETING" | "UNKNOWN" => "RUNNING",
        other => other,
    }
}

/// The states of the market that accounting shows as one of these.
fn of_market(states: &str) -> String {
    let one = |state: &str| match state {
        "PENDING" => "PENDING,CONFIGURING".to_owned(),
        "RUNNING" => "RUNNING,COMPLETING,UNKNOWN".to_owned(),
        other => other.to_owned(),
    };
    states.split(',').map(one).collect::<Vec<_>>().join(",")
}

fn columns(args: &Args) -> Result<Vec<FormatColumn>, Failure> {
    let variable = std::env::var("SACCT_FORMAT").ok().filter(|text| !text.is_empty());
    let parsable = match (args.parsable, args.parsable2) {
        (_, true) => Parsable::Between(&args.delimiter),
        (true, false) => Parsable::Behind(&args.delimiter),
        (false, false) => Parsable::No,
    };
    let given = args.format.join(",");
    let text = match (given.as_str(), args.brief, args.long) {
        ("", true, _) => BRIEF.to_owned(),
        ("", _, true) => LONG.to_owned(),
        ("", ..) => variable.unwrap_or_else(|| USUAL.to_owned()),
        (given, ..) => given.to_owned(),
    };
    format::accounting(&text, parsable)
}

fn wanted(args: &Args, market: &Market, named: &[JobName]) -> Result<Wanted, Failure> {
    let states = match args::list(&args.state) {
        all if all.is_empty() => String::new(),
        all => of_market(&state_names(&all)?),
    };
    let mut users = users(market, &args.user)?;
    if users.is_empty() && named.is_empty() && !args.allusers {
        users.push(me(market)?);
    }
    Ok(Wanted {
        states: args::list(&[states]),
        users,
        names: args::list(&args.name),
        partitions: args::list(&args.partition),
        accounts: args::list(&args.accounts),
        clusters: args::list(&args.clusters),
    })
}

/// Only jobs of the time that is asked for: of today, unless they are named.
fn within(rows: &mut Vec<SelectedJob>, args: &Args, named: &[JobName]) -> Result<(), Failure> {
    let now = Zoned::now();
    let begin = match &args.starttime {
        Some(text) => Some(moment(text, &now)?),
        None if named.is_empty() => now.start_of_day().ok().map(|it| it.timestamp().as_second()),
        None => None,
    };
    let end = args.endtime.as_ref().map(|text| moment(text, &now)).transpose()?;
    rows.retain(|row| {
        let over = row.job.ended.unwrap_or(i64::MAX);
        begin.is_none_or(|begin| over >= begin) && end.is_none_or(|end| row.job.submitted <= end)
    });
    super::squeue::on_nodes(rows, &args.nodelist)
}

/// The lines of a job: itself, and its script once it has started.
fn lines(
    row: &SelectedJob,
    args: &Args,
    columns: &[FormatColumn],
    named: &[JobName],
    text: &mut String,
) {
    let steps: Vec<&str> = named
        .iter()
        .filter(|it| {
            it.number == row.job.id || row.job.array.is_some_and(|at| at.first == it.number)
        })
        .filter_map(|it| it.step.as_deref())
        .collect();
    if steps.is_empty() {
        text.push_str(&format::row(columns, row));
    }
    let script = steps.is_empty() || steps.contains(&"batch");
    if script && !args.allocations && row.has_started() {
        text.push_str(&line_of_script(columns, row));
    }
}

/// The script as a step.
fn line_of_script(columns: &[FormatColumn], row: &SelectedJob) -> String {
    let mut script = row.clone();
    script.step = Some("batch");
    script.job.name = "batch".to_owned();
    let shown: Vec<FormatColumn> = columns
        .iter()
        .map(|it| match it.field {
            Field::User | Field::Partition | Field::Limit | Field::LimitMinutes | Field::Qos => {
                FormatColumn { field: Field::Nothing(""), ..it.clone() }
            }
            _ => it.clone(),
        })
        .collect();
    format::row(&shown, &script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounting_knows_jobs_that_wait_run_or_are_over() {
        assert_eq!((accounted("CONFIGURING"), accounted("COMPLETING")), ("PENDING", "RUNNING"));
        assert_eq!(accounted("NODE_FAIL"), "NODE_FAIL");
        assert_eq!(of_market("PENDING,FAILED"), "PENDING,CONFIGURING,FAILED");
    }
}
