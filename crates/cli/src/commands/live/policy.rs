//! `tradewind policy`: who decides, and the market as a whole.

use serde_json::{Value, json};
use tradewind_web::documents::{Market as Whole, PolicyChoice};

use super::facts;
use crate::cli::Format;
use crate::client::words::moment;
use crate::client::{Market, Place};
use crate::exit::{Exit, Outcome};

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
    let it: Whole = sent.read()?;
    match format {
        Format::Json => sent.print()?,
        Format::Table | Format::Csv => facts(&summary(&it), format)?,
    }
    Ok(Exit::Ok)
}

fn summary(it: &Whole) -> Value {
    json!({
        "market": it.name,
        "release": it.version,
        "policy": it.policy,
        "time": moment(it.time),
        "sites": it.sites,
        "nodes": it.nodes,
        "free_nodes": it.free,
        "users": it.users,
        "jobs_held": it.jobs.held,
        "jobs_waiting": it.jobs.waiting,
        "jobs_running": it.jobs.running,
        "jobs_over": it.jobs.over,
        "credits_granted": it.money.granted,
        "credits_held": it.money.held,
    })
}
