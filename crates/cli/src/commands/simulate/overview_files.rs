//! The files of a campaign as a whole: summary, tables and report.

use std::path::Path;

use serde_json::Value;
use tradewind_io::campaign::Output;

use super::common;
use super::comparisons::{Comparisons, MeasuredJobs};
use super::overview::Overview;
use super::report;
use super::store::{Record, SUMMARY, remove};
use crate::exit::Failure;
use crate::output;

/// What the campaign writes beside that, but for its report.
const TABLES: [&str; 3] = ["summary.csv", "replications.csv", "comparisons.csv"];

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
    let [runs, replications, comparisons] = TABLES;
    let all = Comparisons::new(MeasuredJobs::All, overview);
    let common = common::of(folder, record, overview, &all.verdicts);
    let common = common.as_ref().map(|common| Comparisons::new(MeasuredJobs::Common, common));
    // The summary of a single run is that of the campaign.
    let summary = (!record.is_single()).then(|| overview.to_json(&compared(&all, common.as_ref())));
    let files = [
        (SUMMARY, summary),
        (runs, Some(overview.to_csv()?)),
        (replications, overview.replications_csv()?),
        (comparisons, comparisons_csv(&all, common.as_ref())?),
    ];
    let mut kept = Vec::new();
    for (name, text) in files {
        let Some(text) = text else { continue };
        output::write_file(&folder.join(name), text.as_bytes())?;
        kept.push(name.to_owned());
    }
    kept.extend(report::write(folder, record, &all, common.as_ref())?);
    clear_unless(folder, |name| name == SUMMARY || kept.iter().any(|it| it == name));
    Ok(())
}

/// Documents of both.
fn compared(all: &Comparisons<'_>, common: Option<&Comparisons<'_>>) -> Vec<Value> {
    let common = common.into_iter().flat_map(Comparisons::json);
    all.json().into_iter().chain(common).collect()
}

/// All pairs; `None` if there are no two policies.
fn comparisons_csv(
    all: &Comparisons<'_>,
    common: Option<&Comparisons<'_>>,
) -> Result<Option<String>, Failure> {
    if !all.verdicts.has_rivals() {
        return Ok(None);
    }
    let mut rows = vec![Comparisons::csv_head()];
    rows.extend(all.csv());
    rows.extend(common.into_iter().flat_map(Comparisons::csv));
    output::csv(&rows).map(Some)
}

/// Removes the campaign-wide files; `single`: but for the summary, which is that of a single run.
pub(super) fn clear_overview(folder: &Path, single: bool) {
    clear_unless(folder, |name| single && name == SUMMARY);
}

fn clear_unless(folder: &Path, kept: impl Fn(&str) -> bool) {
    let names = overview_files(&[Output::Report]);
    remove(folder, names.iter().map(String::as_str).filter(|name| !kept(name)));
}
