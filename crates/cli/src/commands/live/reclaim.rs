//! `tradewind reclaim`: an owner takes nodes of a site back from preemptible jobs.

use tradewind_io::duration::parse_span;
use tradewind_model::Span;
use tradewind_web::documents::{ReclaimOrder, Reclaimed};

use super::Sheet;
use crate::client::words::{moment, nodes};
use crate::client::{Market, MarketArgs, encode};
use crate::exit::{Exit, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::Side;

/// Arguments of `tradewind reclaim`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind reclaim institute 16 --dry-run
  tradewind reclaim institute 16 --for 8h
  tradewind reclaim institute 16 --pool gpu --notice 10m

Free nodes are taken first, then those of the preemptible jobs that started last. These jobs get the
site's notice or a longer one; what still runs at its end is stopped and waits in the queue again.
Exit code 1 if too few nodes can be taken back.")]
pub(crate) struct Args {
    /// As `tradewind sites` calls it.
    #[arg(value_name = "SITE")]
    site: String,
    /// How many nodes.
    #[arg(value_name = "NODES", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: u32,
    /// Of which pool; needed where the site has several.
    #[arg(long, value_name = "POOL")]
    pool: Option<String>,
    /// How long before jobs learn of it, at most a day. Default: what the site promises; no less is
    /// possible.
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    notice: Option<Span>,
    /// How long the market leaves the nodes to the owner, at most 30 days. Jobs of the owner that
    /// start on them count from then on by themselves.
    #[arg(long = "for", value_name = "SPAN", default_value = "1h", value_parser = parse_span)]
    length: Span,
    /// Only say which jobs would be given notice.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let wanted = ReclaimOrder {
        nodes: args.nodes,
        pool: args.pool.clone(),
        notice: args.notice.map(|it| it.0),
        length: Some(args.length.0),
        dry_run: args.dry_run,
    };
    let market = Market::open(&args.place)?;
    let sent = market.post(&format!("/v1/sites/{}/reclaim", encode(&args.site)), &wanted)?;
    if format == Format::Table {
        let done: Reclaimed = sent.read()?;
        return output::print(&sentences(args, &done)).map(|()| Exit::Ok);
    }
    let Reclaimed { jobs, from, .. } = sent.read()?;
    let columns = vec![("JOB", Side::Right), ("NOTICE UNTIL", Side::Left)];
    let rows = jobs.iter().map(|job| vec![job.to_string(), moment(from)]).collect();
    Sheet { columns, rows }.print(&sent, format).map(|()| Exit::Ok)
}

/// What is done or would be, for people.
fn sentences(args: &Args, done: &Reclaimed) -> String {
    let Reclaimed { jobs, from, until } = done;
    let (is, get) = match (args.dry_run, args.nodes) {
        (true, _) => ("would be", "would get"),
        (false, 1) => ("is", "get"),
        (false, _) => ("are", "get"),
    };
    let nodes = format!(
        "{} of {} {is} the owner's from {} until {}\n",
        nodes(args.nodes),
        args.site,
        moment(*from),
        moment(*until)
    );
    let names: Vec<String> = jobs.iter().map(u64::to_string).collect();
    match names.is_empty() {
        true => format!("{nodes}no job has to leave\n"),
        false => format!("{nodes}jobs that {get} notice: {}\n", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Words {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn one_node_is_one_node() {
        let done = Reclaimed { jobs: vec![7], from: 0, until: 3_600 };
        for (words, begins) in [
            (&["reclaim", "alpha", "1"][..], "1 node of alpha is the owner's from "),
            (&["reclaim", "alpha", "2"], "2 nodes of alpha are the owner's from "),
            (&["reclaim", "alpha", "1", "--dry-run"], "1 node of alpha would be the owner's from "),
        ] {
            let said = sentences(&Words::parse_from(words).args, &done);
            assert!(said.starts_with(begins), "{said}");
        }
    }
}
