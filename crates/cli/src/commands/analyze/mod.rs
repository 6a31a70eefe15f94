//! `tradewind analyze`: what theory says.

mod queueing;

use clap::Subcommand;

use crate::exit::Outcome;
use crate::options::Format;
use crate::report::Report;

/// Arguments of `tradewind analyze`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind analyze queueing
  tradewind analyze queueing --station mgm --servers 16 --rate 0.5 --format json
  tradewind analyze queueing --help")]
pub(crate) struct Args {
    #[command(subcommand)]
    theory: Theory,
}

#[derive(Debug, Subcommand)]
enum Theory {
    /// Mean waits and slowdowns by queueing theory: textbook stations, and paper 003's model.
    Queueing(Box<queueing::Args>),
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    match &args.theory {
        Theory::Queueing(args) => queueing::run(args, format, report),
    }
}
