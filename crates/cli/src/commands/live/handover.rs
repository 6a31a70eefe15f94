//! `tradewind handover`: another daemon is to own the market.

use std::time::{Duration, Instant};

use serde_json::json;
use tradewind_web::documents::Market as Whole;

use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output;

/// Arguments of `tradewind handover`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind handover
  tradewind handover --url https://one.example.org:8460,https://two.example.org:8460

The owner of the market finishes what it has begun, writes it down, and gives the market up; a
standby owns it within a second. Running jobs go on, and clients with the addresses of both daemons
notice nothing. The old owner is a standby then and can be stopped. If no standby takes the market
within five seconds, the old owner owns it again, and the exit code is 1.")]
pub(crate) struct Args {
    #[command(flatten)]
    place: MarketArgs,
}

/// So long a standby may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let market = Market::open(&args.place)?;
    let begun = Instant::now();
    market.post_nothing("/v1/handover")?;
    // The daemon that has just answered follows its successor.
    let from = market.here();
    while begun.elapsed() < PATIENCE {
        let whole: Whole = market.get("/v1/market")?.read()?;
        let is_another = market.here() != from;
        let owner = whole.standby.as_ref().and_then(|it| it.owner.clone());
        if let Some(owner) = owner.or_else(|| is_another.then(|| market.here())) {
            let milliseconds = begun.elapsed().as_millis() as u64;
            tell(&owner, milliseconds, format)?;
            return Ok(Exit::Ok);
        }
        if whole.standby.is_none() {
            let message = "no standby took the market: the same daemon owns it again";
            return Err(Failure::negative(message)
                .hint("start another daemon with the same configuration: `tradewind up`"));
        }
        std::thread::sleep(PAUSE);
    }
    Err(Failure::negative("the market was given up, and no daemon owns it yet")
        .hint("look at the log of the standby"))
}

fn tell(owner: &str, milliseconds: u64, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::json(&json!({ "owner": owner, "milliseconds": milliseconds })),
        Format::Csv => output::print(&format!("owner,milliseconds\n{owner},{milliseconds}\n")),
        Format::Table => {
            output::print(&format!("{owner} owns the market, after {milliseconds} ms\n"))
        }
    }
}
