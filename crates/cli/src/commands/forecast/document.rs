//! The score as a document and as tables.

use serde::Serialize;
use tradewind_io::chart::Unit;
use tradewind_io::present;
use tradewind_sim::forecast::{Baseline, Held, Score};

use super::{Args, Finished};
use crate::exit::Failure;
use crate::options::Format;
use crate::output;
use crate::tables::{self, Column, Side};

/// The JSON document. Times are in seconds, shares are of 100.
#[derive(Serialize)]
pub(super) struct ForecastDocument {
    settings: serde_json::Map<String, serde_json::Value>,
    processors: u32,
    jobs: u64,
    at_once: u64,
    waited: u64,
    correlation: f64,
    correlation_waited: f64,
    mean_wait: i64,
    mean_error: i64,
    levels: Vec<Level>,
    bounds: Vec<Bound>,
    months: Vec<Month>,
    /// The largest distance of a month's coverage from its level.
    worst_month: f64,
    baselines: [BaselineDocument; 2],
}

#[derive(Serialize)]
struct Level {
    level: u8,
    jobs: u64,
    covered: f64,
    later: f64,
    width: i64,
    median_width: i64,
}

#[derive(Serialize)]
struct Bound {
    said: f64,
    came: f64,
}

#[derive(Serialize)]
struct Month {
    from: i64,
    jobs: u64,
    apart: u64,
    covered: [f64; 3],
}

#[derive(Serialize)]
struct BaselineDocument {
    name: &'static str,
    #[serde(flatten)]
    held: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_error: Option<i64>,
}

/// To two decimals: a hundredth of a point is more than a log can show.
fn percent(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn correlation(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

fn seconds(value: f64) -> i64 {
    value.round() as i64
}

fn level(held: &Held) -> Level {
    Level {
        level: held.level,
        jobs: held.jobs,
        covered: percent(held.covered()),
        later: percent(held.later()),
        width: seconds(held.mean_width),
        median_width: held.median_width.0,
    }
}

fn baseline(name: &'static str, baseline: &Baseline) -> BaselineDocument {
    BaselineDocument {
        name,
        held: level(&baseline.held),
        correlation: baseline.correlation.map(correlation),
        mean_error: baseline.mean_error.map(seconds),
    }
}

/// The largest distance of a month's coverage from its level.
pub(super) fn worst_month(score: &Score) -> f64 {
    let levels = score.levels.iter().map(|held| f64::from(held.level));
    let off = |(level, covered): (f64, &f64)| (covered - level).abs();
    let months = score.months.iter();
    months.flat_map(|month| levels.clone().zip(&month.covered).map(off)).fold(0.0, f64::max)
}

pub(super) fn document(args: &Args, finished: &Finished) -> ForecastDocument {
    let Finished { score, processors, .. } = finished;
    let settings =
        args.settings().0.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
    ForecastDocument {
        settings: settings.collect(),
        processors: *processors,
        jobs: score.jobs,
        at_once: score.at_once,
        waited: score.jobs - score.at_once,
        correlation: correlation(score.correlation),
        correlation_waited: correlation(score.correlation_waiting),
        mean_wait: seconds(score.mean_wait),
        mean_error: seconds(score.mean_error),
        levels: score.levels.iter().map(level).collect(),
        bounds: score
            .bounds
            .iter()
            .map(|bound| Bound { said: bound.said, came: percent(bound.came) })
            .collect(),
        months: score
            .months
            .iter()
            .map(|month| Month {
                from: month.from.0,
                jobs: month.jobs,
                apart: month.apart,
                covered: month.covered.map(percent),
            })
            .collect(),
        worst_month: percent(worst_month(score)),
        baselines: [baseline("binomial", &score.binomial), baseline("requested", &score.requested)],
    }
}

/// Ranges of all kinds: their name, then how they held.
pub(super) fn ways(score: &Score) -> impl Iterator<Item = (String, &Held)> {
    let ours = score.levels.iter().map(|held| (format!("{} %", held.level), held));
    let baselines = [
        ("binomial bounds, 80 %", &score.binomial.held),
        ("up to requested times", &score.requested.held),
    ];
    ours.chain(baselines.into_iter().map(|(name, held)| (name.to_owned(), held)))
}

pub(super) fn print(args: &Args, finished: &Finished, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::json(&document(args, finished)),
        Format::Csv => output::print(&csv(&finished.score)?),
        Format::Table => output::print(&table(&finished.score)),
    }
}

fn csv(score: &Score) -> Result<String, Failure> {
    let head = ["ranges", "jobs", "covered", "later", "width", "median_width"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, held) in ways(score) {
        let Level { jobs, covered, later, width, median_width, .. } = level(held);
        rows.push(vec![
            name,
            jobs.to_string(),
            covered.to_string(),
            later.to_string(),
            width.to_string(),
            median_width.to_string(),
        ]);
    }
    output::csv(&rows)
}

const COLUMNS: [Column; 6] = [
    ("ranges", Side::Left),
    ("jobs", Side::Right),
    ("covered, %", Side::Right),
    ("later, %", Side::Right),
    ("mean width", Side::Right),
    ("median width", Side::Right),
];

fn table(score: &Score) -> String {
    let span = |seconds: f64| Unit::Seconds.say(seconds);
    let row = |(name, held): (String, &Held)| {
        vec![
            name,
            present::grouped(held.jobs as usize),
            format!("{:.2}", held.covered()),
            format!("{:.2}", held.later()),
            span(held.mean_width),
            span(held.median_width.0 as f64),
        ]
    };
    let waited = score.jobs - score.at_once;
    format!(
        "{} jobs: {} started at once, {} waited {} on average\n\
         correlation of median and wait: {:.3}, of jobs that waited: {:.3}; mean error {}\n\
         largest distance of a month's coverage: {:.1} points\n\n{}",
        present::grouped(score.jobs as usize),
        present::grouped(score.at_once as usize),
        present::grouped(waited as usize),
        span(score.mean_wait),
        score.correlation,
        score.correlation_waiting,
        span(score.mean_error),
        worst_month(score),
        tables::table(&COLUMNS, ways(score).map(row).collect()),
    )
}
