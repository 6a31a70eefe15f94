//! The files of a finished run. To add one: a word in `tradewind_io::campaign::Output`, a module
//! here that makes its bytes, a line in [`write()`].

mod batsim;
mod fates;
mod parquet;
mod pictures;
mod swf;
mod trades;

use std::path::Path;

use tradewind_io::campaign::Output;

use super::replay::Finished;
use crate::exit::Failure;
use crate::output;
use fates::Fates;
pub(super) use pictures::png;

/// Writes what was asked for into `folder`, and returns the names of the files.
pub(super) fn write(
    folder: &Path,
    outputs: &[Output],
    finished: &Finished<'_>,
) -> Result<Vec<String>, Failure> {
    let fates = Fates::of(finished);
    let mut names = Vec::new();
    let mut file = |name: &str, bytes: &[u8]| {
        names.push(name.to_owned());
        output::write_file(&folder.join(name), bytes)
    };
    // Always there: what the campaign sums up.
    file("summary.json", finished.summary.to_json().as_bytes())?;
    for kind in outputs {
        match kind {
            Output::Summary => {}
            Output::Jobs => file("jobs.csv", &batsim::jobs(finished, &fates))?,
            Output::Schedule => {
                let (csv, json) = batsim::schedule(finished, &fates);
                file("schedule.csv", csv.as_bytes())?;
                file("schedule.json", json.as_bytes())?;
            }
            Output::Trades => {
                if let Some(text) = trades::trades(finished)? {
                    file("trades.csv", text.as_bytes())?;
                }
            }
            Output::Refused => {
                if let Some(text) = trades::refused(finished)? {
                    file("refused.csv", text.as_bytes())?;
                }
            }
            Output::Parquet => file("jobs.parquet", &parquet::jobs(finished, &fates)?)?,
            Output::Report => {
                for (name, bytes) in pictures::files(finished, &fates)? {
                    file(name, &bytes)?;
                }
            }
            Output::Swf => {
                for (name, text) in swf::schedules(finished, &fates) {
                    file(&name, text.as_bytes())?;
                }
            }
        }
    }
    Ok(names)
}
