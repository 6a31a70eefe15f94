//! `tradewind peers`: other markets that jobs are exchanged with.

use tradewind_web::documents::{Peer, PeerList};

use super::Sheet;
use crate::client::words::moment;
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Outcome};
use crate::options::Format;
use crate::tables::Side;

/// Arguments of `tradewind peers`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind peers
  tradewind peers --format json

THERE are jobs from here that are at the peer, HERE jobs of the peer that are here, DOUBT jobs that
may or may not have arrived there. BALANCE is what the peer has here, for administrators.")]
pub(crate) struct Args {
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let sent = Market::open(&args.place)?.get("/v1/peers")?;
    let PeerList { peers } = sent.read()?;
    sheet(&peers).print(&sent, format)?;
    Ok(Exit::Ok)
}

fn sheet(peers: &[Peer]) -> Sheet {
    let columns = vec![
        ("PEER", Side::Left),
        ("MARKET", Side::Left),
        ("STATE", Side::Left),
        ("SINCE", Side::Left),
        ("THERE", Side::Right),
        ("HERE", Side::Right),
        ("DOUBT", Side::Right),
        ("BALANCE", Side::Right),
    ];
    let none = || "N/A".to_owned();
    let row = |it: &Peer| {
        let counts = [it.jobs_there, it.jobs_here, it.in_doubt];
        let mut row = vec![
            it.name.clone(),
            it.market.clone().unwrap_or_else(none),
            state(it).to_owned(),
            it.since.map_or_else(none, moment),
        ];
        row.extend(counts.map(|count| count.to_string()));
        row.push(it.balance.map_or_else(none, |balance| balance.to_string()));
        row
    };
    Sheet { columns, rows: peers.iter().map(row).collect() }
}

fn state(peer: &Peer) -> &'static str {
    match peer.reachable {
        _ if !peer.configured => "gone",
        Some(true) => "up",
        Some(false) => "down",
        None => "unknown",
    }
}
