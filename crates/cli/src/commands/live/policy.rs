//! `tradewind policy`: who decides, and the market as a whole.

use tradewind_web::documents::{Market as Whole, PolicyChoice};

use super::Sheet;
use crate::cli::Format;
use crate::client::words::moment;
use crate::client::{Market, Place};
use crate::exit::{Exit, Outcome};
use crate::tables::Side;

/// Which one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind policy
  tradewind policy css
  tradewind policy 'easy[depth=4]'

Without a name it shows who decides, and the market in numbers. Administrators may choose; jobs
that wait are planned anew. `tradewind whatif --policy NAME` says first what would change.")]
pub(crate) struct Args {
    /// A policy as `tradewind simulate` knows it.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let market = Market::open(&args.place)?;
    let sent = match &args.name {
        Some(policy) => {
            market.put("/v1/market/policy", &PolicyChoice { policy: policy.clone() })?
        }
        None => market.get("/v1/market")?,
    };
    let whole: Whole = sent.read()?;
    sheet(&whole).print(&sent, format)?;
    Ok(Exit::Ok)
}

fn sheet(it: &Whole) -> Sheet {
    let columns = vec![
        ("MARKET", Side::Left),
        ("POLICY", Side::Left),
        ("TIME", Side::Left),
        ("SITES", Side::Right),
        ("NODES", Side::Right),
        ("FREE", Side::Right),
        ("USERS", Side::Right),
        ("HELD", Side::Right),
        ("WAITING", Side::Right),
        ("RUNNING", Side::Right),
        ("OVER", Side::Right),
        ("GRANTED", Side::Right),
        ("CREDITS HELD", Side::Right),
    ];
    let mut row = vec![it.name.clone(), it.policy.clone(), moment(it.time)];
    row.extend([it.sites, it.nodes, it.free, it.users].map(|count| count.to_string()));
    let jobs = &it.jobs;
    row.extend([jobs.held, jobs.waiting, jobs.running, jobs.over].map(|count| count.to_string()));
    row.extend([it.money.granted, it.money.held].map(|amount| amount.to_string()));
    Sheet { columns, rows: vec![row] }
}
