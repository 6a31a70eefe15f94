//! `tradewind shadow`: forecasts on clusters that are only observed, and what came of them.

use std::fmt::Write as _;

use tradewind_web::documents::{ObservedPolicy, ObservedSite, ObservedWaits, Shadow, StartErrors};

use super::Sheet;
use crate::client::words::{length, moment};
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::Side;

/// Hours that the table shows: the last ones. JSON has all.
const HOURS: usize = 24;
/// Users and projects that the table shows.
const NAMES: usize = 10;

/// Arguments of `tradewind shadow`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind shadow
  tradewind shadow --format json | jq .same
  tradewind shadow --format csv > users.csv

For administrators. Clusters are observed with `mode = \"observe\"` in the configuration: nothing is
submitted there. Errors are seconds between a forecast and the start of the job, without sign; JSON
has all hours, CSV the users. SAVED ELSEWHERE is what another observed cluster would have saved, SAVED
LATER and CHEAPER LATER what the best of the next 24 hours would have. The page Shadow shows the same.")]
pub(crate) struct Args {
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let sent = Market::open(&args.place)?.get("/v1/shadow")?;
    let shadow: Shadow = sent.read()?;
    match format {
        Format::Json => sent.print()?,
        Format::Csv => waits("USER", &shadow.users, seconds).print_csv()?,
        Format::Table => output::print_styled(&text(&shadow))?,
    }
    Ok(Exit::Ok)
}

fn text(shadow: &Shadow) -> String {
    if shadow.sites.is_empty() {
        return "no cluster is observed: `mode = \"observe\"` in the configuration of a site\n"
            .to_owned();
    }
    let first = |all: &[ObservedWaits]| all[..all.len().min(NAMES)].to_vec();
    let jobs = if shadow.jobs == 1 { "job has" } else { "jobs have" };
    let mut text = format!(
        "{} {jobs} started since these clusters are observed\n\n{}\n{}",
        shadow.jobs,
        errors(shadow).table(),
        sites(&shadow.sites).table()
    );
    for site in &shadow.sites {
        if let Some(problem) = &site.problem {
            let _ = writeln!(text, "\n{} could not be surveyed: {problem}", site.name);
        }
        for what in &site.unknown {
            let _ = writeln!(text, "\nnot known at {}: {what}", site.name);
        }
    }
    for (site, policy) in policies(&shadow.sites) {
        if let Some(problem) = &policy.problem {
            let since = policy.problem_since.map_or_else(String::new, moment);
            let name = &policy.name;
            let _ = writeln!(
                text,
                "\n{site}: `{name}` does not answer since {since}, the built-in policy decides: {problem}"
            );
        }
    }
    let advised = advised(&shadow.sites);
    if !advised.rows.is_empty() {
        let _ = write!(text, "\n{}", advised.table());
    }
    let _ = write!(text, "\n{}", hours(&shadow.sites).table());
    if shadow.jobs > 0 {
        let (users, projects) = (first(&shadow.users), first(&shadow.projects));
        let users = waits("USER", &users, length).table();
        let projects = waits("PROJECT", &projects, length).table();
        let _ = write!(text, "\n{users}\n{projects}");
    }
    text
}

fn seconds(span: i64) -> String {
    span.to_string()
}

fn errors(shadow: &Shadow) -> Sheet {
    let columns = vec![
        ("FORECAST", Side::Left),
        ("JOBS", Side::Right),
        ("MEDIAN ERROR", Side::Right),
        ("90 %", Side::Right),
    ];
    let row = |name: &str, it: &StartErrors| {
        let span = |it: Option<i64>| it.map_or_else(|| "N/A".to_owned(), length);
        vec![name.to_owned(), it.jobs.to_string(), span(it.median), span(it.p90)]
    };
    let rows = vec![
        row("ours, all jobs", &shadow.ours),
        row("Slurm, all jobs", &shadow.slurm),
        row("ours, the same jobs", &shadow.same.ours),
        row("Slurm, the same jobs", &shadow.same.slurm),
    ];
    Sheet { columns, rows }
}

fn share(used: f64) -> String {
    format!("{:.1} %", used * 100.0)
}

fn sites(all: &[ObservedSite]) -> Sheet {
    let columns = vec![
        ("SITE", Side::Left),
        ("SINCE", Side::Left),
        ("STARTED", Side::Right),
        ("WAITING", Side::Right),
        ("WITH FORECAST", Side::Right),
        ("SEEN AFTER END", Side::Right),
        ("SEEN RUNNING", Side::Right),
        ("NOT WATCHED", Side::Right),
        ("USED", Side::Right),
        ("VALUE", Side::Right),
        ("VALUE OF IDLE", Side::Right),
    ];
    let row = |it: &ObservedSite| {
        vec![
            it.name.clone(),
            it.since.map_or_else(|| "N/A".to_owned(), moment),
            it.jobs.to_string(),
            it.waiting.to_string(),
            it.ours.jobs.to_string(),
            it.brief.to_string(),
            it.unpredicted.to_string(),
            length(i64::try_from(it.unwatched).unwrap_or(i64::MAX)),
            it.utilisation.map_or_else(|| "N/A".to_owned(), share),
            it.value.to_string(),
            it.idle_value.to_string(),
        ]
    };
    Sheet { columns, rows: all.iter().map(row).collect() }
}

fn policies(all: &[ObservedSite]) -> impl Iterator<Item = (&str, &ObservedPolicy)> {
    all.iter().filter_map(|site| Some((site.name.as_str(), site.policy.as_ref()?)))
}

/// What policies of the user's would have done.
fn advised(all: &[ObservedSite]) -> Sheet {
    let columns = vec![
        ("SITE", Side::Left),
        ("POLICY", Side::Left),
        ("JOBS", Side::Right),
        ("EARLIER", Side::Right),
        ("SAVED", Side::Right),
        ("LATER", Side::Right),
        ("BUILT-IN", Side::Right),
    ];
    let row = |(site, it): (&str, &ObservedPolicy)| {
        let numbers = [it.jobs, it.earlier, it.later, it.built_in].map(|it| it.to_string());
        let [jobs, earlier, later, built_in] = numbers;
        let (site, name) = (site.to_owned(), it.name.clone());
        vec![site, name, jobs, earlier, length(it.saved), later, built_in]
    };
    Sheet { columns, rows: policies(all).map(row).collect() }
}

fn hours(all: &[ObservedSite]) -> Sheet {
    let columns = vec![
        ("SITE", Side::Left),
        ("HOUR", Side::Left),
        ("USED", Side::Right),
        ("VALUE", Side::Right),
    ];
    let rows = all.iter().flat_map(|site| {
        let last = &site.hours[site.hours.len().saturating_sub(HOURS)..];
        last.iter().map(|it| {
            let used = if it.up > 0 { share(it.used as f64 / it.up as f64) } else { "N/A".into() };
            vec![site.name.clone(), moment(it.from), used, it.value.to_string()]
        })
    });
    Sheet { columns, rows: rows.collect() }
}

/// Waits as `span` writes them.
fn waits(head: &'static str, all: &[ObservedWaits], span: fn(i64) -> String) -> Sheet {
    let columns = vec![
        (head, Side::Left),
        ("JOBS", Side::Right),
        ("WAITED", Side::Right),
        ("EXAMINED", Side::Right),
        ("SAVED ELSEWHERE", Side::Right),
        ("EXAMINED LATER", Side::Right),
        ("SAVED LATER", Side::Right),
        ("CHEAPER LATER", Side::Right),
    ];
    let row = |it: &ObservedWaits| {
        vec![
            it.name.clone().unwrap_or_else(|| "N/A".to_owned()),
            it.jobs.to_string(),
            span(it.waited),
            it.examined.to_string(),
            span(it.saved),
            it.examined_later.to_string(),
            span(it.saved_later),
            it.cheaper_later.to_string(),
        ]
    };
    Sheet { columns, rows: all.iter().map(row).collect() }
}
