//! `tradewind price`: an owner sets what a pool costs.

use serde_json::Value;
use tradewind_io::{decimal, input};
use tradewind_web::documents::{Credits, PriceChange, SiteList};

use super::{Sheet, sites};
use crate::client::{Market, MarketArgs, Sent, encode};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;

/// Arguments of `tradewind price`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind price alpha/main
  tradewind price alpha/main 0.004
  tradewind price alpha/main tariff.toml
  tradewind price alpha/main --reset

A table is as in the configuration: first `price = 0.002`, then `[[site.price]]` with `hours`,
`load` and `price`. Jobs that run go on paying what they agreed on; jobs that wait are planned
again.")]
pub(crate) struct Args {
    /// As `tradewind sites` calls it.
    #[arg(value_name = "SITE/POOL")]
    pool: String,
    /// Credits per node and second; or a file in TOML with prices by hours and load, `-` for
    /// standard input. Without it, shows what the pool costs now.
    #[arg(value_name = "CREDITS|FILE")]
    price: Option<String>,
    /// Go back to the prices of the configuration.
    #[arg(long, conflicts_with = "price")]
    reset: bool,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let (site, pool) = args.pool.split_once('/').ok_or_else(|| {
        let hint = "write `SITE/POOL`; `tradewind sites` lists all";
        Failure::usage(format!("`{}` is no pool", args.pool)).hint(hint)
    })?;
    let change = change(args)?;
    let market = Market::open(&args.place)?;
    let path = format!("/v1/sites/{}/pools/{}/price", encode(site), encode(pool));
    let sent = match change {
        Some(change) => market.put(&path, &change)?,
        None => market.get("/v1/sites")?,
    };
    let sent = only(sent, &args.pool);
    let SiteList { sites, .. } = sent.read()?;
    let sheet: Sheet = sites::sheet(&sites);
    if sheet.rows.is_empty() {
        let names = "`tradewind sites` lists all";
        return Err(Failure::negative(format!("there is no pool `{}`", args.pool)).hint(names));
    }
    match (args.price.is_some() || args.reset, format) {
        // What was set is seen a moment later.
        (true, Format::Table | Format::Csv) => Ok(Exit::Ok),
        _ => sheet.print(&sent, format).map(|()| Exit::Ok),
    }
}

/// The list of sites with this pool and no other.
fn only(mut sent: Sent, name: &str) -> Sent {
    let sites = sent.0.get_mut("sites").and_then(Value::as_array_mut);
    if let Some(sites) = sites {
        sites.retain_mut(|site| {
            let pools = site.get_mut("pools").and_then(Value::as_array_mut);
            pools.is_some_and(|pools| {
                pools.retain(|pool| pool.get("name").is_some_and(|it| it == name));
                !pools.is_empty()
            })
        });
    }
    sent
}

/// What is to be changed, if anything is.
fn change(args: &Args) -> Result<Option<PriceChange>, Failure> {
    let Some(text) = &args.price else {
        return Ok(args.reset.then(PriceChange::default));
    };
    if let Ok(price) = decimal::parse(text, 6) {
        let price = Some(Credits(price.into()));
        return Ok(Some(PriceChange { price, tariff: None }));
    }
    let looks_like_a_number =
        text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && text != "-";
    if looks_like_a_number && !std::path::Path::new(text).exists() {
        let hint = "credits per node and second, with at most six decimals";
        return Err(Failure::usage(format!("`{text}` is no price")).hint(hint));
    }
    let tariff = Some(input::read(text)?.text()?.to_owned());
    Ok(Some(PriceChange { price: None, tariff }))
}
