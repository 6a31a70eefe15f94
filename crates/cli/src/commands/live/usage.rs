//! `tradewind usage`: what was used and charged, by project, user, site and month.

use tradewind_web::documents::{Job, JobList, Usage, UsageList};

use super::Sheet;
use crate::client::words::is_over;
use crate::client::{Market, MarketArgs, encode};
use crate::exit::{Exit, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::Side;

/// Arguments of `tradewind usage`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind usage
  tradewind usage --by project,month --from 2027-01 --to 2027-03 --format csv
  tradewind usage --project apollo --by user
  tradewind usage --sacct --project apollo

You see what you used, and what was used of projects that you manage; an administrator sees all.
Months are in UTC; the last 36 are kept.")]
pub(crate) struct Args {
    /// What sums are grouped by: `month`, `project`, `user`, `site`, with commas between.
    #[arg(long, value_name = "COLUMNS", default_value = "month,project,user,site")]
    by: String,
    /// The first month.
    #[arg(long, value_name = "YYYY-MM")]
    from: Option<String>,
    /// The last month.
    #[arg(long, value_name = "YYYY-MM")]
    to: Option<String>,
    /// Only those of this project.
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// A row for each job that is over and still known, with `|` between fields as `sacct -P`
    /// prints them.
    #[arg(long, conflicts_with_all = ["by", "from", "to"])]
    sacct: bool,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let market = Market::open(&args.place)?;
    if args.sacct {
        return sacct(args, &market);
    }
    let mut path = format!("/v1/usage?by={}", encode(&args.by));
    for (name, value) in [("from", &args.from), ("to", &args.to), ("project", &args.project)] {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", encode(value)));
        }
    }
    let sent = market.get(&path)?;
    let UsageList { usage } = sent.read()?;
    sheet(&usage, &args.by).print(&sent, format)?;
    Ok(Exit::Ok)
}

fn sheet(usage: &[Usage], by: &str) -> Sheet {
    let is_meant = |name: &str| by.split(',').any(|it| it.trim() == name);
    let cell = |it: &Option<String>| it.clone().unwrap_or_default();
    let names = [("MONTH", "month"), ("PROJECT", "project"), ("USER", "user"), ("SITE", "site")];
    let mut columns: Vec<_> = names
        .into_iter()
        .filter(|(_, name)| is_meant(name))
        .map(|(head, _)| (head, Side::Left))
        .collect();
    let sums = ["PARTS", "NODE SECONDS", "CHARGED"];
    columns.extend(sums.map(|head| (head, Side::Right)));
    let row = |it: &Usage| {
        let cells = [&it.month, &it.project, &it.user, &it.site].map(cell);
        let cells = names.iter().zip(cells).filter(|((_, name), _)| is_meant(name));
        let mut row: Vec<String> = cells.map(|(_, cell)| cell).collect();
        row.extend([it.parts.to_string(), it.node_seconds.to_string(), it.charged.to_string()]);
        row
    };
    let sheet = Sheet { columns, rows: usage.iter().map(row).collect() };
    sheet.with_consumed(usage.iter().map(|it| it.consumed))
}

/// As `sacct -P --format` prints them, and what was charged.
const FIELDS: [&str; 12] = [
    "JobID",
    "JobName",
    "User",
    "Account",
    "Cluster",
    "AllocNodes",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "State",
    "Charged",
];

fn sacct(args: &Args, market: &Market) -> Outcome {
    let JobList { jobs, .. } = market.pages("/v1/jobs", "jobs")?.read()?;
    let is_meant = |job: &&Job| {
        is_over(Some(&job.state)) && (args.project.is_none() || job.project == args.project)
    };
    let mut text = FIELDS.join("|") + "\n";
    for job in jobs.iter().filter(is_meant) {
        text.push_str(&(line(job).join("|") + "\n"));
    }
    output::print(&text)?;
    Ok(Exit::Ok)
}

fn line(job: &Job) -> [String; 12] {
    // A field cannot end another one.
    let plain = |text: &str| text.replace('|', "_");
    let time = |at: Option<i64>| {
        let at = at.and_then(|at| jiff::Timestamp::from_second(at).ok());
        at.map_or("Unknown".to_owned(), |at| at.strftime("%Y-%m-%dT%H:%M:%S").to_string())
    };
    let took = job.started.zip(job.ended).map_or(0, |(start, end)| (end - start).max(0));
    let id = match &job.array {
        Some(place) => format!("{}_{}", place.first, place.index),
        None => job.id.to_string(),
    };
    [
        id,
        plain(&job.name),
        plain(&job.user),
        plain(job.project.as_deref().unwrap_or_default()),
        plain(&job.sites.join(",")),
        job.nodes.to_string(),
        time(Some(job.submitted)),
        time(job.started),
        time(job.ended),
        took.to_string(),
        job.state.clone(),
        job.paid.to_string(),
    ]
}
