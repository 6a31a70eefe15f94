//! `tradewind grant`: money moves from one account to another.

use tradewind_io::decimal;
use tradewind_model::Money;
use tradewind_web::documents::{Account, Statement, Transfer};

use super::ledger::{account, balances};
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output;

/// Arguments of `tradewind grant`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind grant ana 500
  tradewind grant project:flow 10000 --note 'October'
  tradewind grant user:ben 20 --from user:ana
  tradewind grant cleo 100 --create

Administrators may. Without `--from` it is new money, from the bank.")]
pub(crate) struct Args {
    /// `user:NAME` or just `NAME`, `project:NAME`, `owner:SITE`.
    #[arg(value_name = "ACCOUNT")]
    to: String,
    /// Credits, above 0.
    #[arg(value_name = "AMOUNT", value_parser = decimal::parse_credits)]
    amount: Money,
    /// Whose money it is.
    #[arg(long, value_name = "ACCOUNT", default_value = "bank")]
    from: String,
    /// Why; kept with the posting.
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// Make the user or the project if it does not exist yet; without this, unknown names are
    /// refused.
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    if args.amount == Money(0) {
        return Err(Failure::usage("there is nothing to grant: the amount is 0"));
    }
    let transfer = Transfer {
        from: account(&args.from),
        to: account(&args.to),
        amount: args.amount.into(),
        note: args.note.clone(),
        create: args.create,
    };
    let sent = Market::open(&args.place)?.post("/v1/transfers", &transfer)?;
    match format {
        Format::Json => sent.print()?,
        // The account of the receiver.
        Format::Table => {
            let Statement { account: Account { account, balance, .. }, .. } = sent.read()?;
            output::print(&format!("{account} has {balance} credits\n"))?;
        }
        Format::Csv => {
            let Statement { account, .. } = sent.read()?;
            balances(&[account]).print_csv()?;
        }
    }
    Ok(Exit::Ok)
}
