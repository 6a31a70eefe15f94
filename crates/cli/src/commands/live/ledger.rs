//! `tradewind ledger`: balances, and what moved on an account.

use std::fmt::Write as _;

use tradewind_web::documents::{Account, AccountList, Myself, POSTING_COLUMNS, Posting, Statement};

use super::{Sheet, budget};
use crate::client::words::moment;
use crate::client::{Market, MarketArgs, encode};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::Side;

/// Arguments of `tradewind ledger`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind ledger
  tradewind ledger user:ana
  tradewind ledger owner:alpha --format csv
  tradewind ledger --accounts

Accounts are `user:NAME`, `project:NAME`, `owner:SITE`, `peer:NAME`, `held:JOB` and `bank`; a bare
name is that of a user. The sum over all accounts never changes.")]
pub(crate) struct Args {
    /// An account; without one, your own.
    #[arg(value_name = "ACCOUNT")]
    account: Option<String>,
    /// The balances of all accounts that you may see instead.
    #[arg(long, conflicts_with = "account")]
    accounts: bool,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let market = Market::open(&args.place)?;
    if args.accounts {
        let sent = market.pages("/v1/accounts", "accounts")?;
        let AccountList { accounts, .. } = sent.read()?;
        balances(&accounts).print(&sent, format)?;
        return Ok(Exit::Ok);
    }
    let name = match &args.account {
        Some(name) => account(name),
        None => own(&market)?,
    };
    let sent = market.pages(&format!("/v1/accounts/{}", encode(&name)), "postings")?;
    let Statement { account, postings, .. } = sent.read()?;
    match format {
        Format::Json => sent.print()?,
        Format::Csv => csv(&postings).print_csv()?,
        Format::Table => output::print_styled(&table(&account, &postings))?,
    }
    Ok(Exit::Ok)
}

/// The account that `name` stands for.
pub(super) fn account(name: &str) -> String {
    match name.contains(':') || name == "bank" {
        true => name.to_owned(),
        false => format!("user:{name}"),
    }
}

fn own(market: &Market) -> Result<String, Failure> {
    let Myself { user, .. } = market.get("/v1/me")?.read()?;
    Ok(format!("user:{user}"))
}

pub(super) fn balances(accounts: &[Account]) -> Sheet {
    let columns = vec![("ACCOUNT", Side::Left), ("BALANCE", Side::Right), ("HELD", Side::Right)];
    let row = |it: &Account| vec![it.account.clone(), it.balance.to_string(), it.held.to_string()];
    Sheet { columns, rows: accounts.iter().map(row).collect() }
}

fn table(account: &Account, postings: &[Posting]) -> String {
    let columns = vec![
        ("TIME", Side::Left),
        ("WHAT", Side::Left),
        ("JOBID", Side::Right),
        ("AMOUNT", Side::Right),
        ("WITH", Side::Left),
        ("NOTE", Side::Left),
    ];
    let row = |it: &Posting| {
        let (sign, with) = match it.to == account.account {
            true => ("+", &it.from),
            false => ("-", &it.to),
        };
        vec![
            moment(it.at),
            it.motive.clone(),
            it.job.map(|job| job.to_string()).unwrap_or_default(),
            format!("{sign}{}", it.amount),
            with.clone(),
            it.note.clone().unwrap_or_default(),
        ]
    };
    let Account { account: name, balance, held, consumed, budget } = account;
    let mut text = format!("{name}: {balance} credits, {held} held for jobs\n");
    if let Some(consumed) = consumed {
        let _ = writeln!(text, "consumed: {consumed}");
    }
    if let Some(budget) = budget {
        text.push_str(&budget::sentences(budget));
    }
    if !postings.is_empty() {
        let rows = postings.iter().map(row).collect();
        let _ = write!(text, "\n{}", Sheet { columns, rows }.table());
    }
    text
}

fn csv(postings: &[Posting]) -> Sheet {
    Sheet {
        columns: POSTING_COLUMNS.map(|head| (head, Side::Left)).to_vec(),
        rows: postings.iter().map(|it| it.cells().to_vec()).collect(),
    }
}
