//! The files of a finished run. To add one: a word in `tradewind_io::campaign::Output`, a module
//! here that makes its bytes, a line in [`write()`] and in [`names()`].

mod batsim;
mod energy;
mod owners;
mod parquet;
mod pictures;
mod swf;
mod trades;

use std::path::Path;

use tradewind_campaign::fates::Fates;
use tradewind_campaign::replay::Finished;
use tradewind_campaign::summary::Summary;
use tradewind_io::campaign::Output;

use super::store::SUMMARY;
use crate::exit::Failure;
use crate::output;

/// The names of the files that these outputs may have; that of one log is said for `schedule.swf`.
pub(super) fn names(outputs: &[Output]) -> impl Iterator<Item = &'static str> {
    let of = |kind: &Output| -> &[&str] {
        match kind {
            Output::Summary => &[],
            Output::Jobs => &["jobs.csv", "owners.csv", "energy.csv", "energy_totals.csv"],
            Output::Schedule => &["schedule.csv", "schedule.json"],
            Output::Parquet => &["jobs.parquet"],
            Output::Trades => &["trades.csv"],
            Output::Refused => &["refused.csv"],
            Output::Report => &pictures::NAMES,
            Output::Swf => &["schedule.swf"],
        }
    };
    std::iter::once(SUMMARY).chain(outputs.iter().flat_map(of).copied())
}

/// Writes the summary alone into `folder`, and returns the name of its file.
pub(super) fn write_summary(folder: &Path, summary: &Summary) -> Result<Vec<String>, Failure> {
    output::write_file(&folder.join(SUMMARY), summary.to_json().as_bytes())?;
    Ok(vec![SUMMARY.to_owned()])
}

/// Writes what was asked for into `folder`, and returns the names of the files.
pub(super) fn write(
    folder: &Path,
    outputs: &[Output],
    finished: &Finished<'_>,
) -> Result<Vec<String>, Failure> {
    let fates = Fates::of(finished);
    // Always there: what the campaign sums up.
    let mut names = write_summary(folder, &finished.summary)?;
    let mut path = |name: &str| {
        names.push(name.to_owned());
        folder.join(name)
    };
    for kind in outputs {
        match kind {
            Output::Summary => {}
            Output::Jobs => {
                output::write_with(&path("jobs.csv"), |to| batsim::jobs(finished, &fates, to))?;
                if let Some(text) = owners::jobs(finished)? {
                    output::write_file(&path("owners.csv"), text.as_bytes())?;
                }
                if let Some((jobs, totals)) = energy::files(finished)? {
                    output::write_file(&path("energy.csv"), jobs.as_bytes())?;
                    output::write_file(&path("energy_totals.csv"), totals.as_bytes())?;
                }
            }
            Output::Schedule => {
                let (csv, json) = batsim::schedule(finished, &fates);
                output::write_file(&path("schedule.csv"), csv.as_bytes())?;
                output::write_file(&path("schedule.json"), json.as_bytes())?;
            }
            Output::Parquet => {
                output::write_file(&path("jobs.parquet"), &parquet::jobs(finished, &fates)?)?;
            }
            Output::Trades => {
                if let Some(text) = trades::trades(finished)? {
                    output::write_file(&path("trades.csv"), text.as_bytes())?;
                }
            }
            Output::Refused => {
                if let Some(text) = trades::refused(finished)? {
                    output::write_file(&path("refused.csv"), text.as_bytes())?;
                }
            }
            Output::Report => {
                for (name, bytes) in pictures::files(finished, &fates)? {
                    output::write_file(&path(name), &bytes)?;
                }
            }
            Output::Swf => {
                for (name, text) in swf::schedules(finished, &fates) {
                    output::write_file(&path(&name), text.as_bytes())?;
                }
            }
        }
    }
    Ok(names)
}
