//! `tradewind output`: what a job has written.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tradewind_web::documents::Job;

use crate::client::{Market, MarketArgs, Patience};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{print_bytes, print_with};

/// Bytes that are asked for at once, at most.
const PIECE: u64 = 1 << 20;
/// Between two looks at an output that is followed.
const PAUSE: Duration = Duration::from_millis(500);

/// Arguments of `tradewind output`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind output 7
  tradewind output 7 --all > train.out
  tradewind output 7 --follow

The end of the job's standard output as its site or its peer has it, byte for byte. `--all` and
`--follow` fetch it in pieces, so it may be of any length.")]
pub(crate) struct Args {
    /// Id of the job.
    #[arg(value_name = "ID")]
    job: u64,
    /// The last so many bytes.
    #[arg(long, value_name = "N", default_value_t = 65_536,
        value_parser = clap::value_parser!(u64).range(1..=PIECE))]
    bytes: u64,
    /// From the first byte on.
    #[arg(long, conflicts_with = "bytes")]
    all: bool,
    /// Go on as the job writes, until it is over.
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if !args.all && !args.follow {
        print_bytes(&tail(&Market::open(&args.place)?, args.job, args.bytes)?)?;
        return Ok(Exit::Ok);
    }
    let mut next = args.all.then_some(0);
    let mut patience = Patience::new(&args.place);
    loop {
        match Market::open(&args.place).and_then(|market| step(&market, args, &mut next)) {
            Ok(true) => return Ok(Exit::Ok),
            Ok(false) => {
                patience.heard();
                std::thread::sleep(PAUSE);
            }
            // The reader of what is printed has gone.
            Err(failure) if failure.problems.is_empty() => return Err(failure),
            Err(failure) => patience.pause(failure)?,
        }
    }
}

/// Prints what there is from `next` on, or the end; whether nothing more will come.
fn step(market: &Market, args: &Args, next: &mut Option<u64>) -> Result<bool, Failure> {
    let job: Job = market.get(&format!("/v1/jobs/{}", args.job))?.read()?;
    if args.follow && job.started.is_none() && job.ended.is_none() {
        return Ok(false);
    }
    let failure = match pieces(market, args, next) {
        Ok(()) => return Ok(!args.follow || job.ended.is_some()),
        Err(failure) => failure,
    };
    // With a part of it printed, the market did know it.
    let kept = kept(market, &job, &failure).filter(|_| matches!(next, None | Some(0)));
    let Some(path) = kept else { return Err(failure) };
    let (last, mut file) = (args.bytes, File::open(&path).map_err(|it| unread(&path, &it))?);
    if !args.all {
        to_end(&mut file, last).map_err(|it| unread(&path, &it))?;
    }
    print_with(|to| io::copy(&mut file, to).map(drop))?;
    Ok(true)
}

/// Prints piece after piece, until there is no more.
fn pieces(market: &Market, args: &Args, next: &mut Option<u64>) -> Result<(), Failure> {
    loop {
        let part = match next {
            Some(next) => format!("bytes={PIECE}&from={next}"),
            None => format!("bytes={}", args.bytes),
        };
        let answer = market.part(&format!("/v1/jobs/{}/output?{part}", args.job))?;
        let older = "the market is of an earlier release: it does not say where the bytes begin";
        let (from, size) = answer.place.ok_or_else(|| Failure::usage(older.to_owned()))?;
        print_bytes(&answer.body)?;
        // A file that became shorter was begun again.
        let is_other = next.is_some_and(|next| from < next);
        let end = if is_other { 0 } else { from.saturating_add(answer.body.len() as u64) };
        *next = Some(end);
        if answer.body.is_empty() || end >= size {
            return Ok(());
        }
    }
}

/// The last `max` bytes of what it has written: from its site, or, where the site has forgotten
/// the job and is on this machine, from the file.
pub(super) fn tail(market: &Market, job: u64, max: u64) -> Result<Vec<u8>, Failure> {
    let failure = match market.part(&format!("/v1/jobs/{job}/output?bytes={max}")) {
        Ok(answer) => return Ok(answer.body),
        Err(failure) => failure,
    };
    let is_asked = failure.exit == Exit::Negative && market.is_here();
    let job: Option<Job> = match is_asked {
        true => Some(market.get(&format!("/v1/jobs/{job}"))?.read()?),
        false => None,
    };
    let path = job.and_then(|job| kept(market, &job, &failure)).ok_or(failure)?;
    end_of(&path, max).map_err(|wrong| unread(&path, &wrong))
}

/// The file itself, if the job's site has forgotten the job and is on this machine.
fn kept(market: &Market, job: &Job, failure: &Failure) -> Option<PathBuf> {
    let is_forgotten = failure.exit == Exit::Negative && market.is_here();
    job.ended.filter(|_| is_forgotten).and_then(|_| file(job))
}

fn unread(path: &Path, wrong: &io::Error) -> Failure {
    Failure::negative(format!("failed to read `{}`: {wrong}", path.display()))
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
    to_end(&mut file, max)?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The file is read from its last `max` bytes on.
fn to_end(file: &mut File, max: u64) -> io::Result<u64> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(max)))
}
