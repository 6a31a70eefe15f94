//! `tradewind sites`: nodes and prices, as `sinfo` shows them.

use tradewind_web::documents::{Licence, Link, Pool, Site, SiteList, SiteState};

use super::{Sheet, starts};
use crate::client::words::moment;
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Outcome, Problem};
use crate::options::Format;
use crate::output::print_styled;
use crate::report::Report;
use crate::tables::Side;

/// Arguments of `tradewind sites`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind sites
  tradewind sites --format json

OURS are nodes with jobs of the market, LOCAL those of the owner's own jobs, WITHHELD not offered
now, BOOKED set aside for accepted quotes. LATE is how much later than expected the last jobs
started there: half of them, and nine in ten; in seconds. 80% is how many of the last starts there
were within the range that was given for 80 of 100. REQ/MIN are the requests that the site's
manager got from the market in the last minute. A pool whose STATE is `error` has no nodes.
STATE is `up`, or how the site fails, with SINCE and REASON: `joining` (not surveyed since the start),
`never-reached`, `lost`, `hanging` (a call does not return), `refusing` (it answers and refuses
jobs), `partly-drained` or `drained`. Nothing is planned at the first five of these.")]
pub(crate) struct Args {
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let sent = Market::open(&args.place)?.get("/v1/sites")?;
    let SiteList { sites, licences, links } = sent.read()?;
    sheet(&sites).print(&sent, format)?;
    if format == Format::Table && !licences.is_empty() {
        print_styled(&format!("\n{}", licence_sheet(&licences).table()))?;
    }
    if format == Format::Table && !links.is_empty() {
        print_styled(&format!("\n{}", link_sheet(&links).table()))?;
    }
    let pools = sites.iter().flat_map(|site| &site.pools);
    for (pool, problem) in pools.filter_map(|pool| Some((pool, pool.problem.as_ref()?))) {
        let message = format!("pool {} has no nodes: {problem}", pool.name);
        let hint = Some("`tradewind doctor` says what to do".to_owned());
        report.warning(&Problem { message, hint });
    }
    for site in &sites {
        if let Some(why) = &site.reason {
            let since = site.since.map(|at| format!(" since {}", moment(at)));
            let (name, state) = (&site.name, site.state.name());
            report
                .note(&format!("the site `{name}` is {state}{}: {why}", since.unwrap_or_default()));
        }
    }
    Ok(Exit::Ok)
}

/// A row for each link.
fn link_sheet(links: &[Link]) -> Sheet {
    let columns = vec![("LINK", Side::Left), ("TO", Side::Left), ("BANDWIDTH", Side::Right)];
    let row = |it: &Link| vec![it.between[0].clone(), it.between[1].clone(), it.bandwidth.clone()];
    Sheet { columns, rows: links.iter().map(row).collect() }
}

/// A row for each licence.
fn licence_sheet(licences: &[Licence]) -> Sheet {
    let columns = vec![
        ("LICENCE", Side::Left),
        ("NUMBER", Side::Right),
        ("FREE", Side::Right),
        ("PRICE", Side::Right),
        ("SITE", Side::Left),
    ];
    let row = |it: &Licence| {
        let numbers = [it.count.to_string(), it.free.to_string(), it.price.to_string()];
        let mut row = vec![it.name.clone()];
        row.extend(numbers);
        row.push(it.site.clone());
        row
    };
    Sheet { columns, rows: licences.iter().map(row).collect() }
}

/// A row for each pool.
pub(super) fn sheet(sites: &[Site]) -> Sheet {
    let columns = vec![
        ("POOL", Side::Left),
        ("STATE", Side::Left),
        ("NODES", Side::Right),
        ("FREE", Side::Right),
        ("OURS", Side::Right),
        ("LOCAL", Side::Right),
        ("WITHHELD", Side::Right),
        ("BOOKED", Side::Right),
        ("DOWN", Side::Right),
        ("PERF", Side::Right),
        ("PRICE", Side::Right),
        ("OWNER", Side::Left),
        ("LATE", Side::Right),
        ("80%", Side::Right),
        ("REQ/MIN", Side::Right),
        ("SINCE", Side::Left),
        ("REASON", Side::Left),
    ];
    let row = |site: &Site, pool: &Pool| {
        let late = site.delay.map(|it| format!("{} {}", it.p50, it.p90));
        let counts = [pool.nodes, pool.free, pool.ours, pool.local, pool.withheld, pool.booked];
        let mut row = vec![pool.name.clone(), state(site, pool).to_owned()];
        row.extend(counts.map(|count| count.to_string()));
        row.push(pool.down.to_string());
        row.push(tradewind_io::decimal::format(pool.performance.0, 3));
        row.push(pool.price.to_string());
        row.push(site.owner.clone());
        row.push(late.unwrap_or_else(|| "N/A".to_owned()));
        row.push(site.start_ranges.as_ref().map_or_else(|| "N/A".to_owned(), starts::score));
        let requests = site.requests_per_minute.map(|it| it.to_string());
        row.push(requests.unwrap_or_else(|| "N/A".to_owned()));
        row.push(site.since.map_or_else(|| "N/A".to_owned(), moment));
        row.push(site.reason.clone().unwrap_or_default());
        row
    };
    let pools = sites.iter().flat_map(|site| site.pools.iter().map(move |pool| (site, pool)));
    Sheet { columns, rows: pools.map(|(site, pool)| row(site, pool)).collect() }
}

fn state(site: &Site, pool: &Pool) -> &'static str {
    match (site.state.is_counted_on(), &pool.problem) {
        (true, Some(_)) => "error",
        // Of a site that lacks some nodes, other pools may be whole.
        (true, None) if site.state.is_failure() && pool.down == 0 => SiteState::Up.name(),
        _ => site.state.name(),
    }
}
