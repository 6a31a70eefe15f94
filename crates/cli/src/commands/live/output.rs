//! `tradewind output`: what a job has written.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tradewind_web::documents::Job;

use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Failure, Outcome};

/// Arguments of `tradewind output`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind output 7
  tradewind output 7 --bytes 1000000 > train.out

The end of the job's standard output as its site has it, byte for byte.")]
pub(crate) struct Args {
    /// Id of the job.
    #[arg(value_name = "ID")]
    job: u64,
    /// The last so many bytes.
    #[arg(long, value_name = "N", default_value_t = 65_536,
        value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    bytes: u64,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let market = Market::open(&args.place)?;
    crate::output::print_bytes(&tail(&market, args.job, args.bytes)?)?;
    Ok(Exit::Ok)
}

/// The last `max` bytes of what it has written: from its site, or, where the site has forgotten
/// the job and is on this machine, from the file.
pub(super) fn tail(market: &Market, job: u64, max: u64) -> Result<Vec<u8>, Failure> {
    let asked = market.bytes(&format!("/v1/jobs/{job}/output?bytes={max}"));
    let Err(failure) = asked else { return asked };
    if failure.exit != Exit::Negative || !market.is_here() {
        return Err(failure);
    }
    let job: Job = market.get(&format!("/v1/jobs/{job}"))?.read()?;
    let file = job.ended.and_then(|_| file(&job)).ok_or_else(|| failure.clone())?;
    end_of(&file, max)
        .map_err(|wrong| Failure::negative(format!("failed to read `{}`: {wrong}", file.display())))
}

/// The file for its output, if that has no pattern but the job's number.
fn file(job: &Job) -> Option<PathBuf> {
    let submission = job.submission.as_ref()?;
    let text = |key: &str| submission.get(key).and_then(Value::as_str);
    let name = text("output").unwrap_or("tradewind-%j.out").replace("%j", &job.id.to_string());
    (!name.contains('%')).then(|| Path::new(text("directory").unwrap_or(".")).join(name))
}

fn end_of(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(max)))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}
