//! `tradewind merge`: the parts of a campaign, run apart, become the whole.

use std::path::{Path, PathBuf};

use super::simulate::folder;
use super::simulate::overview::Overview;
use super::simulate::overview_files;
use super::simulate::store::{self, Record, RunRecord};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output;
use crate::report::Report;

/// Arguments of `tradewind merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind merge part-1 part-2 part-3 --out runs
  tradewind merge runs --out runs

The folders are those of `simulate --shard`. The second form sums up a folder that all shards
shared. The result is the same, byte for byte, as that of the campaign run at once.
Exit code 1: runs are missing.")]
pub(crate) struct Args {
    /// Folders of shards of one campaign.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// The folder for the whole; made if it is not there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let record = common_record(&args.folders)?;
    if let Some(there) = Record::read(&args.out)?
        && there != record
    {
        let message = format!("`{}` holds another campaign", args.out.display());
        return Err(Failure::usage(message).hint("merge into a new folder"));
    }
    folder::check_strangers(&args.out, &record)
        .map_err(|failure| failure.hint("merge into a new folder"))?;
    record.write(&args.out)?;
    let mut overview = Overview { runs: Vec::new(), missing: Vec::new() };
    for run in &record.runs {
        gather(run, &args.folders, &args.out)?;
        match run.summary(&args.out) {
            Some(summary) => overview.runs.push(summary),
            None => overview.missing.push(run.folder.clone()),
        }
    }
    overview_files::write_overview(&args.out, &record, &overview)?;
    if !overview.runs.is_empty() {
        overview.print(format)?;
    }
    Ok(conclude(&overview.missing, record.runs.len(), report))
}

/// The record that all folders have.
fn common_record(folders: &[PathBuf]) -> Result<Record, Failure> {
    let mut common: Option<(Record, &Path)> = None;
    for folder in folders {
        let record = Record::read(folder)?.ok_or_else(|| {
            let message = format!("`{}` has no campaign.json", folder.display());
            Failure::data(message).hint("name folders that `tradewind simulate` has written")
        })?;
        match &common {
            None => common = Some((record, folder)),
            Some((first, _)) if *first == record => {}
            Some((first, whose)) => {
                let mut differences = record.differences(first);
                differences.extend(record.causes(first));
                let (a, b, what) = (whose.display(), folder.display(), differences.join("; "));
                let message = format!("`{a}` and `{b}` are of different campaigns: {what}");
                return Err(Failure::data(message).hint("merge the shards of one campaign"));
            }
        }
    }
    common.map(|(record, _)| record).ok_or_else(|| Failure::usage("no folder is named"))
}

/// Brings the files of a run to `out`, from whichever folder has it. Folders that both have it
/// must agree in every byte.
fn gather(run: &RunRecord, folders: &[PathBuf], out: &Path) -> Result<(), Failure> {
    let finished = |folder: &&PathBuf| run.finished(folder).is_some();
    let mut finished = folders.iter().filter(finished);
    let Some(first) = finished.next() else { return Ok(()) };
    let Some(done) = run.done(first) else { return Ok(()) };
    let is_there = same_folder(first, out);
    let to = run.path(out);
    store::make(&to)?;
    for name in &done.files {
        let bytes = read(&run.path(first).join(name))?;
        if !is_there {
            output::write_file(&to.join(name), &bytes)?;
        }
        for other in finished.clone() {
            if read(&run.path(other).join(name))? != bytes {
                let (name, a, b) = (run.name(), first.display(), other.display());
                let message = format!("`{name}` differs between `{a}` and `{b}`");
                return Err(Failure::data(message).hint("one of them has been changed by hand"));
            }
        }
    }
    match is_there {
        true => Ok(()),
        false => run.close(out, done.files),
    }
}

fn same_folder(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| Failure::data(format!("failed to read `{}`: {error}", path.display())))
}

/// What is missing, said in a few lines.
fn conclude(missing: &[String], all: usize, report: &Report) -> Exit {
    const SHOWN: usize = 10;
    if missing.is_empty() {
        return Exit::Ok;
    }
    report.note(&format!("{} of {all} runs are missing:", missing.len()));
    for folder in missing.iter().take(SHOWN) {
        report.note(&format!("  {folder}"));
    }
    if missing.len() > SHOWN {
        report
            .note(&format!("  and {} more: see `missing` in summary.json", missing.len() - SHOWN));
    }
    Exit::Negative
}
