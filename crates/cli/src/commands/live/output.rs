//! `tradewind output`: what a job has written.

use crate::client::{Market, Place};
use crate::exit::{Exit, Failure, Outcome};

/// Of which job.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind output 7
  tradewind output 7 --bytes 1000000 > train.out

The end of the job's standard output as its site has it, byte for byte.")]
pub(crate) struct Args {
    /// Its number.
    #[arg(value_name = "ID")]
    job: u64,
    /// The last so many bytes.
    #[arg(long, value_name = "N", default_value_t = 65_536,
        value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    bytes: u64,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let market = Market::open(&args.place)?;
    let bytes = market.bytes(&format!("/v1/jobs/{}/output?bytes={}", args.job, args.bytes))?;
    crate::output::print_bytes(&bytes)?;
    Ok(Exit::Ok)
}

/// The end of what it has written.
pub(super) fn tail(market: &Market, job: u64) -> Result<Vec<u8>, Failure> {
    const SHOWN: u64 = 4_096;
    market.bytes(&format!("/v1/jobs/{job}/output?bytes={SHOWN}"))
}
