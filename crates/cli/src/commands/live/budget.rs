//! `tradewind budget`: how much energy and carbon jobs of a user or a project may use.

use std::fmt::Write as _;

use tradewind_io::decimal;
use tradewind_web::documents::{Account, Budget, BudgetLimits, BudgetLine, Kwh, Thousandths};

use super::ledger::account;
use super::{Sheet, facts};
use crate::client::{Market, MarketArgs, encode};
use crate::exit::{Exit, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::Side;

/// Arguments of `tradewind budget`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind budget ana --energy 50
  tradewind budget project:flow --carbon-month 20000 --energy none
  tradewind budget project:flow

Administrators may set them. What a job may consume until its time limit is held when it gets its
nodes; a job for which too little is left waits. A user's budget counts all own jobs, a project's
those that it pays for, both since the budget was first set. Without options it is shown.")]
pub(crate) struct Args {
    /// `user:NAME` or just `NAME`, `project:NAME`.
    #[arg(value_name = "ACCOUNT")]
    holder: String,
    /// The most energy in all, in kWh; `none` lifts the limit.
    #[arg(long, value_name = "KWH", value_parser = kwh)]
    energy: Option<Limit>,
    /// The same in a calendar month, UTC.
    #[arg(long, value_name = "KWH", value_parser = kwh)]
    energy_month: Option<Limit>,
    /// The most emissions in all, in grams of CO2 equivalent; `none` lifts the limit.
    #[arg(long, value_name = "GRAMS", value_parser = grams)]
    carbon: Option<Limit>,
    /// The same in a calendar month, UTC.
    #[arg(long, value_name = "GRAMS", value_parser = grams)]
    carbon_month: Option<Limit>,
    #[command(flatten)]
    place: MarketArgs,
}

/// A limit as it was written, in its smallest unit; `None`: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit(Option<i64>);

fn kwh(text: &str) -> Result<Limit, String> {
    limit(text, 6)
}

fn grams(text: &str) -> Result<Limit, String> {
    limit(text, 3)
}

fn limit(text: &str, decimals: u32) -> Result<Limit, String> {
    if text == "none" {
        return Ok(Limit(None));
    }
    let read = decimal::parse(text, decimals).map_err(|wrong| wrong.to_string())?;
    match read >= 0 {
        true => Ok(Limit(Some(read))),
        false => Err("it is below 0".to_owned()),
    }
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let market = Market::open(&args.place)?;
    let path = format!("/v1/accounts/{}/budget", encode(&account(&args.holder)));
    let before: Account = market.get(&path)?.read()?;
    let asked = [args.energy, args.energy_month, args.carbon, args.carbon_month];
    let now = match asked.iter().any(Option::is_some) {
        true => {
            let limits = changed(args, before.budget.map(|it| it.limits).unwrap_or_default());
            market.put(&path, &limits)?.read()?
        }
        false => before,
    };
    match format {
        Format::Json => facts(&serde_json::to_value(&now).unwrap_or_default(), format)?,
        Format::Csv => sheet(&now).print_csv()?,
        Format::Table => output::print(&shown(&now))?,
    }
    Ok(Exit::Ok)
}

fn changed(args: &Args, before: BudgetLimits) -> BudgetLimits {
    let energy = |new: Option<Limit>, old: Option<Kwh>| new.map_or(old, |it| it.0.map(Kwh));
    let carbon =
        |new: Option<Limit>, old: Option<Thousandths>| new.map_or(old, |it| it.0.map(Thousandths));
    BudgetLimits {
        energy_kwh: energy(args.energy, before.energy_kwh),
        energy_kwh_month: energy(args.energy_month, before.energy_kwh_month),
        carbon_g: carbon(args.carbon, before.carbon_g),
        carbon_g_month: carbon(args.carbon_month, before.carbon_g_month),
    }
}

fn shown(of: &Account) -> String {
    match &of.budget {
        Some(budget) => format!("{}\n{}", of.account, sentences(budget)),
        None => format!("{} has no budget of energy or carbon\n", of.account),
    }
}

/// Each limit with what is used and held of it.
pub(super) fn sentences(budget: &Budget) -> String {
    let mut text = String::new();
    for BudgetLine { limit, used, held, span } in budget.lines() {
        let _ = writeln!(text, "budget {span}: {used} of {limit} used, {held} held for jobs");
    }
    text
}

fn sheet(of: &Account) -> Sheet {
    let columns = ["ACCOUNT", "LIMIT", "USED", "HELD", "SPAN"].map(|head| (head, Side::Left));
    let row =
        |it: BudgetLine| vec![of.account.clone(), it.limit, it.used, it.held, it.span.to_owned()];
    let rows = of.budget.iter().flat_map(Budget::lines).map(row).collect();
    Sheet { columns: columns.to_vec(), rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_an_amount_or_none() {
        assert_eq!((kwh("none"), kwh("2.5")), (Ok(Limit(None)), Ok(Limit(Some(2_500_000)))));
        assert_eq!(grams("0.5"), Ok(Limit(Some(500))));
        assert!(kwh("-1").is_err() && grams("0.0001").is_err() && kwh("").is_err());
    }
}
