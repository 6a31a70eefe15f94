//! The campaign's pictures and `report.html`. Made of the files of its runs alone, so a campaign
//! that was stopped or run in shards has the same as one run at once.

mod pictures;

use std::path::Path;

use serde_json::Value;
use tradewind_campaign::summary::{SEED, Summary};
use tradewind_io::campaign::Output;
use tradewind_io::chart::{Estimate, HAS_PNG, Unit};
use tradewind_io::report::{
    self, CampaignReport, DrawnPicture, FileLink, ReportMeasure, ReportPicture, ReportRow,
    ReportTable, RunReport, WorkloadReport,
};

use super::comparisons::{self, Comparisons};
use super::measures::{MEASURES, Measure, measures};
use super::overview::{self, Overview};
use super::part::Part;
use super::store::{Record, RunRecord};
use crate::exit::Failure;
use crate::output;
use crate::policy;
use pictures::Drawing;

/// A finished run with what it left.
struct FinishedRun<'a> {
    record: &'a RunRecord,
    summary: &'a Summary,
    part: Part,
}

/// The page of a campaign.
const PAGE: &str = "report.html";

/// The names of all files that a report may have.
pub(super) fn files() -> impl Iterator<Item = String> {
    let pictures = pictures::NAMES.iter().flat_map(|name| picture_files(name));
    std::iter::once(PAGE.to_owned()).chain(pictures)
}

/// A picture as a drawing, then as pixels.
fn picture_files(name: &str) -> [String; 2] {
    ["svg", "png"].map(|ending| format!("{name}.{ending}"))
}

/// Writes the campaign's pictures and `report.html` into its folder, if the campaign asks for a
/// report and has any finished run. Returns the names of the files.
pub(super) fn write(
    folder: &Path,
    record: &Record,
    all: &Comparisons<'_>,
    common: Option<&Comparisons<'_>>,
) -> Result<Vec<String>, Failure> {
    let overview = all.overview;
    if overview.runs.is_empty() || !record.outputs().contains(&Output::Report) {
        return Ok(Vec::new());
    }
    let finished = record.runs.iter().filter(|run| !overview.missing.contains(&run.folder));
    let finished = finished.zip(&overview.runs).map(|(run, summary)| {
        let part = Part::read(&run.path(folder)).unwrap_or_default();
        FinishedRun { record: run, summary, part }
    });
    let finished: Vec<FinishedRun<'_>> = finished.collect();
    let mut written = vec![PAGE.to_owned()];
    let mut shown = Vec::new();
    for Drawing { name, picture, caption } in pictures::all(all, &finished) {
        let files = output::write_picture(folder, name, &picture)?;
        written.extend(files.iter().map(|link| link.path.clone()));
        shown.push(ReportPicture { picture, caption: caption.to_owned(), files });
    }
    let mut page = page(folder, record, all, &finished, shown);
    page.tables = tables(all, common);
    let page = report::campaign(&page);
    output::write_file(&folder.join(PAGE), page.as_bytes())?;
    Ok(written)
}

fn link(name: impl Into<String>, path: impl Into<String>) -> FileLink {
    FileLink { name: name.into(), path: path.into() }
}

/// The policy, and what else differs.
fn label(run: &Summary, axes: &[&str]) -> String {
    let others = axes.iter().filter(|axis| **axis != "policy");
    let others = others.map(|axis| format!(" {axis}={}", run.cell(axis)));
    std::iter::once(run.cell("policy")).chain(others).collect()
}

fn estimate(cell: &[&Summary], metric: &str) -> Option<Estimate> {
    let found = overview::estimate(cell, metric)?;
    let interval = found.half_width.map(|half| (found.mean - half, found.mean + half));
    Some(Estimate { mean: found.mean, interval })
}

fn page(
    folder: &Path,
    record: &Record,
    all: &Comparisons<'_>,
    finished: &[FinishedRun<'_>],
    pictures: Vec<ReportPicture>,
) -> CampaignReport {
    let (overview, verdicts) = (all.overview, &all.verdicts);
    let axes = overview.axes();
    let measures: Vec<Measure> = measures(overview).collect();
    // The page compares along its first axis.
    let mut ordered = vec!["policy"];
    ordered.extend(axes.iter().filter(|axis| **axis != "policy"));
    let row = |(at, cell): (usize, &Vec<&Summary>)| ReportRow {
        place: ordered.iter().map(|axis| cell[0].cell(axis)).collect(),
        values: measures.iter().map(|(key, ..)| estimate(cell, key)).collect(),
        best: measures.iter().map(|(key, ..)| verdicts.is_best(at, key)).collect(),
    };
    let column =
        |&(_, name, unit, better): &Measure| ReportMeasure { name: name.to_owned(), unit, better };
    CampaignReport {
        title: record.title.clone().unwrap_or_else(|| names(record).join(", ")),
        version: format!("tradewind {}", record.version),
        command: command(record),
        settings: settings(record),
        workloads: workloads(record, finished),
        axes: ordered.iter().map(|axis| (*axis).to_owned()).collect(),
        measures: measures.iter().map(column).collect(),
        rows: overview.cells().iter().enumerate().map(row).collect(),
        verdicts: verdicts.sentences(),
        tables: Vec::new(),
        pictures,
        runs: finished.iter().map(|done| run(folder, done, &axes)).collect(),
        files: campaign_files(folder),
    }
}

/// What differs for sure, and how policies compare on the jobs that all of them ran.
fn tables(all: &Comparisons<'_>, common: Option<&Comparisons<'_>>) -> Vec<ReportTable> {
    let heads = || comparisons::HEADS.map(str::to_lowercase).to_vec();
    let differences = |of: &Comparisons<'_>, title: &str| {
        let note = "Of each measure the policy with the best mean, and the one that is hardest to \
                    tell from it. Differences are of pairs of runs with the same seed; interval \
                    and p are corrected for all pairs of policies (Holm). All pairs are in \
                    comparisons.csv.";
        let rows = if of.verdicts.is_tested() { of.rows() } else { Vec::new() };
        ReportTable { title: title.to_owned(), note: note.to_owned(), heads: heads(), rows }
    };
    let mut tables = vec![differences(all, "Differences")];
    if let Some(common) = common {
        tables.push(common_jobs(common.overview));
        tables.push(differences(common, "Differences on the jobs that all policies ran"));
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn common_jobs(overview: &Overview) -> ReportTable {
    let measures: Vec<Measure> = measures(overview).collect();
    let axes = overview.axes();
    let heads = axes.iter().map(|axis| (*axis).to_owned());
    let heads = heads.chain(measures.iter().map(|measure| measure.1.to_owned())).collect();
    let row = |cell: &Vec<&Summary>| {
        let value = |(key, _, unit, _): &Measure| {
            estimate(cell, key).map_or_else(|| "–".to_owned(), |found| unit.say(found.mean))
        };
        let places = axes.iter().map(|axis| cell[0].cell(axis));
        places.chain(measures.iter().map(value)).collect()
    };
    ReportTable {
        title: "On the jobs that all policies ran".to_owned(),
        note: "Some policies refused jobs that others ran. Here only jobs count that every policy \
               ran under the same seed; warm-up and cool-down do not matter."
            .to_owned(),
        heads,
        rows: overview.cells().iter().map(row).collect(),
    }
}

/// Links to the files of the whole campaign.
fn campaign_files(folder: &Path) -> Vec<FileLink> {
    let always = ["campaign.json", "summary.csv"].into_iter();
    let perhaps = ["summary.json", "replications.csv", "comparisons.csv"].into_iter();
    let there = perhaps.filter(|name| folder.join(name).exists());
    always.chain(there).map(|name| link(name, name)).collect()
}

/// The folded section of a run.
fn run(folder: &Path, done: &FinishedRun<'_>, axes: &[&str]) -> RunReport {
    let mut name = label(done.summary, axes);
    let seed = done.summary.cell(SEED);
    if !seed.is_empty() {
        name.push_str(&format!(" seed={seed}"));
    }
    let files = done.record.done(folder).map(|done| done.files).unwrap_or_default();
    let path = |file: &str| match done.record.folder.as_str() {
        "" => file.to_owned(),
        inner => format!("{inner}/{file}"),
    };
    let picture = |(stem, caption): (&str, &str)| {
        let link_of = |name: &str, ending: &str| link(name, path(&format!("{stem}.{ending}")));
        let svg = std::fs::read_to_string(folder.join(path(&format!("{stem}.svg")))).ok()?;
        let mut files = vec![link_of("SVG", "svg")];
        files.extend(HAS_PNG.then(|| link_of("PNG", "png")));
        Some(DrawnPicture { svg, caption: caption.to_owned(), files })
    };
    let pictures = [
        ("gantt", "Who ran where."),
        ("utilisation", "What was used over time, and how many jobs waited."),
    ];
    RunReport {
        name,
        facts: measures_of(done.summary),
        notes: done.summary.rejections().collect(),
        pictures: pictures.into_iter().filter_map(picture).collect(),
        files: files.iter().map(|file| link(file.clone(), path(file))).collect(),
    }
}

fn measures_of(run: &Summary) -> Vec<(String, String)> {
    let said = |(key, name, unit, _): Measure| Some((name.to_owned(), unit.say(run.number(key)?)));
    MEASURES.into_iter().filter(|(.., unit, _)| *unit != Unit::Credits).filter_map(said).collect()
}

/// What holds for all runs.
fn settings(record: &Record) -> Vec<(String, String)> {
    let campaign = &record.campaign;
    let mut all = Vec::new();
    for key in ["policies", "semantics", "overruns", "estimates", "loads"] {
        let values = words(&campaign[key]);
        if !values.is_empty() {
            all.push((key.to_owned(), values.join(", ")));
        }
    }
    if let Some(seeds) = campaign["seeds"].as_str() {
        all.push(("seeds".to_owned(), seeds.to_owned()));
    }
    for (at, name) in ["warm-up", "cool-down"].into_iter().enumerate() {
        let span = campaign["trim"][at].as_i64().unwrap_or(0);
        if span > 0 {
            all.push((name.to_owned(), format!("{span} s")));
        }
    }
    for input in &record.inputs {
        let hash = input.sha256.as_deref().unwrap_or("not read");
        all.push((format!("SHA-256 of {}", input.file), hash.to_owned()));
    }
    all
}

/// The texts and numbers of a list.
fn words(list: &Value) -> Vec<String> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    list.as_array().into_iter().flatten().map(word).collect()
}

/// What was known of each workload, by the first run that has it.
fn workloads(record: &Record, finished: &[FinishedRun<'_>]) -> Vec<WorkloadReport> {
    let workload = |name: &str| {
        let first = finished.iter().find(|done| done.summary.cell("log") == name);
        let facts = first.map(|done| {
            let jobs = done.part.jobs.to_string();
            let processors = done.summary.cell("processors");
            vec![("jobs that ran".to_owned(), jobs), ("processors".to_owned(), processors)]
        });
        WorkloadReport {
            name: name.to_owned(),
            facts: facts.unwrap_or_default(),
            notes: first.map(|done| done.part.notes.clone()).unwrap_or_default(),
        }
    };
    names(record).into_iter().map(workload).collect()
}

/// Names of the workloads.
fn names(record: &Record) -> Vec<&str> {
    let workloads = record.campaign["workloads"].as_array().into_iter().flatten();
    workloads.filter_map(|workload| workload["name"].as_str()).collect()
}

/// A value as an option takes it; `None` if there is none.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}

/// A command line that repeats the campaign, as far as one can: where a file said more than
/// options can, it names a file.
fn command(record: &Record) -> String {
    let campaign = &record.campaign;
    let workloads = campaign["workloads"].as_array().map_or(&[][..], Vec::as_slice);
    let [workload] = workloads else {
        return "tradewind simulate campaign.toml --out runs".to_owned();
    };
    let mut command = vec!["tradewind simulate".to_owned()];
    let logs = workload["logs"].as_array().map_or(0, Vec::len);
    command.extend(record.inputs.iter().take(logs).map(|input| quoted(&input.file)));
    let mut option = |name: &str, value: Option<String>| {
        command.extend(value.map(|value| format!("--{name} {}", quoted(&value))));
    };
    for key in ["model", "users", "procs", "grid", "outages", "side", "from", "to"] {
        option(key, plain(&workload[key]));
    }
    option("squeeze", plain(&workload["squeeze"]).filter(|times| times != "1"));
    option("moldable", plain(&workload["moldable"]));
    option("preemptible", plain(&workload["preemptible"]));
    let list = |key: &str, default: &str| {
        Some(words(&campaign[key]).join(",")).filter(|text| text != default)
    };
    let policies = words(&campaign["policies"]);
    let ours: Vec<&str> =
        policies.iter().map(String::as_str).filter(|it| *it != policy::COMMAND).collect();
    option("policy", Some(ours.join(",")).filter(|text| !text.is_empty()));
    option("policy-cmd", plain(&campaign["command"]));
    option("semantics", list("semantics", "textbook"));
    option("overrun", list("overruns", "kill"));
    option("estimate", list("estimates", "requested"));
    option("load", list("loads", ""));
    option("seeds", plain(&campaign["seeds"]));
    for (at, name) in ["warm-up", "cool-down"].into_iter().enumerate() {
        option(name, plain(&campaign["trim"][at]).filter(|span| span != "0"));
    }
    option("outputs", list("outputs", ""));
    command.push("--out runs".to_owned());
    command.join(" ")
}

/// As a shell takes it for one word.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,+:=".contains(c);
    match text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_part_them() {
        assert_eq!(quoted("a-b_c.swf"), "a-b_c.swf");
        assert_eq!(quoted("easy[depth=4]"), "'easy[depth=4]'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
