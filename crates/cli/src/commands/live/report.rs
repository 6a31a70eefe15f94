//! `tradewind report`: what users and sites did.

use std::fmt::Write as _;

use tradewind_web::documents::{PeerReport, Report as Document, SiteReport, UserReport};

use super::Sheet;
use crate::client::words::{length, moment};
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::Side;

/// Arguments of `tradewind report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind report
  tradewind report --format csv > users.csv

Over the jobs that are still known. You see your own use, and an administrator that of all users;
what sites earned is for their owners. CSV has the users.")]
pub(crate) struct Args {
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let sent = Market::open(&args.place)?.get("/v1/report")?;
    let report: Document = sent.read()?;
    match format {
        Format::Json => sent.print()?,
        Format::Csv => users(&report.users, seconds).print_csv()?,
        Format::Table => {
            let until = moment(report.until);
            let mut text = match report.from {
                Some(from) => format!("{} to {until}\n\n", moment(from)),
                None => format!("until {until}: no jobs\n\n"),
            };
            let _ = write!(
                text,
                "{}\n{}",
                users(&report.users, length).table(),
                sites(&report.sites).table()
            );
            if !report.peers.is_empty() {
                let _ = write!(text, "\n{}", peers(&report.peers).table());
            }
            for (it, how) in [(&report.together, "together"), (&report.apart, "part by part")] {
                let Some(it) = it else { continue };
                let (starts, mean, max) = (it.starts, it.mean_skew_ms, it.max_skew_ms);
                let jobs = if starts == 1 { "job" } else { "jobs" };
                let _ = write!(
                    text,
                    "\n{starts} {jobs} began {how} in several places, {mean:.1} ms apart on average \
                     and {max} ms at most\n"
                );
            }
            output::print_styled(&text)?;
        }
    }
    Ok(Exit::Ok)
}

fn seconds(span: i64) -> String {
    span.to_string()
}

/// Waits as `span` writes them; none where no job has begun.
fn users(all: &[UserReport], span: fn(i64) -> String) -> Sheet {
    let columns = vec![
        ("USER", Side::Left),
        ("JOBS", Side::Right),
        ("COMPLETED", Side::Right),
        ("FAILED", Side::Right),
        ("ACTIVE", Side::Right),
        ("MEAN WAIT", Side::Right),
        ("NODE SECONDS", Side::Right),
        ("SPENT", Side::Right),
    ];
    let row = |it: &UserReport| {
        let counts = [it.jobs, it.completed, it.failed, it.active];
        let mut row = vec![it.user.clone()];
        row.extend(counts.map(|count| count.to_string()));
        row.push(it.mean_wait.map_or_else(String::new, span));
        row.extend([it.node_seconds.to_string(), it.spent.to_string()]);
        row
    };
    let sheet = Sheet { columns, rows: all.iter().map(row).collect() };
    sheet.with_consumed(all.iter().map(|it| it.consumed))
}

fn sites(all: &[SiteReport]) -> Sheet {
    let columns = vec![
        ("SITE", Side::Left),
        ("OWNER", Side::Left),
        ("PARTS", Side::Right),
        ("NODE SECONDS", Side::Right),
        ("USED", Side::Right),
        ("EARNED", Side::Right),
    ];
    let row = |it: &SiteReport| {
        let used = it.utilisation.map(|it| format!("{:.1} %", it * 100.0));
        vec![
            it.site.clone(),
            it.owner.clone(),
            it.parts.to_string(),
            it.node_seconds.to_string(),
            used.unwrap_or_else(|| "N/A".to_owned()),
            it.earned.map(|it| it.to_string()).unwrap_or_else(|| "N/A".to_owned()),
        ]
    };
    let sheet = Sheet { columns, rows: all.iter().map(row).collect() };
    sheet.with_consumed(all.iter().map(|it| it.consumed))
}

fn peers(all: &[PeerReport]) -> Sheet {
    let columns = vec![
        ("PEER", Side::Left),
        ("JOBS", Side::Right),
        ("ACTIVE", Side::Right),
        ("COMPLETED", Side::Right),
        ("FAILED", Side::Right),
        ("LOST", Side::Right),
        ("BROKEN", Side::Right),
        ("PAID", Side::Right),
    ];
    let row = |it: &PeerReport| {
        let counts = [it.jobs, it.active, it.completed, it.failed, it.lost, it.broken];
        let mut row = vec![it.peer.clone()];
        row.extend(counts.map(|count| count.to_string()));
        row.push(it.paid.to_string());
        row
    };
    Sheet { columns, rows: all.iter().map(row).collect() }
}
