//! The folder of a report: a page, pictures, the score, and the forecast of each job.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use tradewind_io::chart::{Better, Estimate, Unit};
use tradewind_io::report::{
    self, CampaignReport, FileLink, ReportMeasure, ReportPicture, ReportRow, WorkloadReport,
};
use tradewind_io::wire;
use tradewind_sim::forecast::Forecasted;

use super::{Args, Finished, Logged, document, pictures};
use crate::exit::Failure;
use crate::output;

const MEASURES: [(&str, Unit, Better); 5] = [
    ("jobs", Unit::Count, Better::Neither),
    ("said", Unit::Share, Better::Neither),
    ("covered", Unit::Share, Better::Neither),
    ("mean width", Unit::Seconds, Better::Neither),
    ("median width", Unit::Seconds, Better::Neither),
];

/// Writes all files; those of an earlier report are replaced.
pub(super) fn write(folder: &Path, args: &Args, finished: &Finished) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("failed to make `{}`: {error}", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    output::write_with(&folder.join("forecasts.csv"), |to| {
        let mut to = BufWriter::new(to);
        writeln!(to, "{}", HEAD.join(","))?;
        for job in &finished.made {
            writeln!(to, "{}", line(job, &finished.logged))?;
        }
        to.flush()
    })?;
    let summary = wire::to_json(&document::document(args, finished));
    output::write_file(&folder.join("summary.json"), summary.as_bytes())?;
    let mut shown = Vec::new();
    for (name, picture, caption) in pictures::all(&finished.score, args.log_name()) {
        let files = output::write_picture(folder, name, &picture)?;
        shown.push(ReportPicture { picture, caption: caption.to_owned(), files });
    }
    let page = report::campaign(&page(args, finished, shown));
    output::write_file(&folder.join("report.html"), page.as_bytes())
}

fn link(path: &str) -> FileLink {
    FileLink { name: path.to_owned(), path: path.to_owned() }
}

fn page(args: &Args, finished: &Finished, pictures: Vec<ReportPicture>) -> CampaignReport {
    let (settings, command) = args.settings();
    let score = &finished.score;
    let row = |(name, held): (String, &tradewind_sim::forecast::Held)| ReportRow {
        place: vec![name],
        values: vec![
            Some(Estimate::exact(held.jobs as f64)),
            Some(Estimate::exact(f64::from(held.level) / 100.0)),
            Some(Estimate::exact(held.covered() / 100.0)),
            Some(Estimate::exact(held.mean_width)),
            Some(Estimate::exact(held.median_width.0 as f64)),
        ],
        best: Vec::new(),
    };
    let measure = |(name, unit, better): (&str, Unit, Better)| ReportMeasure {
        name: name.to_owned(),
        unit,
        better,
    };
    let facts = [
        ("jobs", score.jobs.to_string()),
        ("started at once", score.at_once.to_string()),
        ("mean wait of the others", Unit::Seconds.say(score.mean_wait)),
        ("mean error of the median", Unit::Seconds.say(score.mean_error)),
        ("correlation of median and wait", format!("{:.3}", score.correlation)),
        ("of jobs that waited", format!("{:.3}", score.correlation_waiting)),
        ("largest distance of a month", format!("{:.1} points", document::worst_month(score))),
    ];
    CampaignReport {
        title: format!("Forecasts of starts: {}", args.log_name()),
        version: format!("tradewind {}", env!("CARGO_PKG_VERSION")),
        command,
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        workloads: vec![WorkloadReport {
            name: args.log_name().to_owned(),
            facts: facts.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            notes: Vec::new(),
        }],
        axes: vec!["ranges".to_owned()],
        measures: MEASURES.into_iter().map(measure).collect(),
        rows: document::ways(score).map(row).collect(),
        verdicts: Vec::new(),
        tables: Vec::new(),
        pictures,
        runs: Vec::new(),
        files: ["forecasts.csv", "summary.json"].map(link).to_vec(),
    }
}

const HEAD: [&str; 15] = [
    "job_id",
    "submission_time",
    "processors",
    "requested_time",
    "waiting_time",
    "median",
    "low_50",
    "high_50",
    "low_80",
    "high_80",
    "low_95",
    "high_95",
    "look_ahead",
    "look_ahead_requested",
    "binomial_high_80",
];

/// A line of the table of jobs; the cells of a job that started at once end with its wait.
fn line(job: &Forecasted, logged: &[Logged]) -> String {
    let Some(Logged { number, processors, requested }) = logged.get(job.job).copied() else {
        return String::new();
    };
    let mut cells = vec![number, job.at.0, i64::from(processors), requested.0, job.wait.0]
        .into_iter()
        .map(|number| number.to_string())
        .collect::<Vec<String>>();
    if let Some(said) = &job.said {
        cells.push(said.forecast.median.0.to_string());
        let ranges = said.forecast.ranges.iter();
        cells.extend(ranges.flat_map(|range| [range.low.0.to_string(), range.high.0.to_string()]));
        cells.extend([said.learned.0.to_string(), said.requested.0.to_string()]);
        cells.push(said.binomial.map_or_else(String::new, |range| range.high.0.to_string()));
    }
    cells.resize(HEAD.len(), String::new());
    cells.join(",")
}
