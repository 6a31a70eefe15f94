//! The files of a campaign as a whole: summary, tables and report.

use std::path::Path;

use tradewind_io::campaign::Output;

use super::overview::Overview;
use super::report;
use super::store::{Record, SUMMARY, remove};
use crate::exit::Failure;
use crate::output;

/// What the campaign writes beside that, but for its report.
const TABLES: [&str; 2] = ["summary.csv", "replications.csv"];

/// The names of all campaign-wide files but `campaign.json`, of campaigns with these outputs.
pub(super) fn overview_files(outputs: &[Output]) -> Vec<String> {
    let mut names: Vec<String> = [SUMMARY].into_iter().chain(TABLES).map(str::to_owned).collect();
    if outputs.contains(&Output::Report) {
        names.extend(report::files());
    }
    names
}

/// Writes the campaign-wide files, and removes those that an earlier overview left and this one
/// has not.
pub(in crate::commands) fn write_overview(
    folder: &Path,
    record: &Record,
    overview: &Overview,
) -> Result<(), Failure> {
    let [runs, replications] = TABLES;
    // The summary of a single run is that of the campaign.
    let summary = (!record.is_single()).then(|| overview.to_json());
    let files = [
        (SUMMARY, summary),
        (runs, Some(overview.to_csv()?)),
        (replications, overview.replications_csv()?),
    ];
    let mut kept = Vec::new();
    for (name, text) in files {
        let Some(text) = text else { continue };
        output::write_file(&folder.join(name), text.as_bytes())?;
        kept.push(name.to_owned());
    }
    kept.extend(report::write(folder, record, overview)?);
    clear_unless(folder, |name| name == SUMMARY || kept.iter().any(|it| it == name));
    Ok(())
}

/// Removes the campaign-wide files; `single`: but for the summary, which is that of a single run.
pub(super) fn clear_overview(folder: &Path, single: bool) {
    clear_unless(folder, |name| single && name == SUMMARY);
}

fn clear_unless(folder: &Path, kept: impl Fn(&str) -> bool) {
    let names = overview_files(&[Output::Report]);
    remove(folder, names.iter().map(String::as_str).filter(|name| !kept(name)));
}
