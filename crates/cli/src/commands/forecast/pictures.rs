//! The score in pictures.

use tradewind_io::chart::{Mark, Picture, Plot, PlotAcross, PlotPanel, PlotSeries, PlotValue};
use tradewind_sim::forecast::Score;

use super::document;

/// A month, in seconds.
const MONTH: f64 = 30.0 * 86_400.0;

/// Each with its file's name and caption.
pub(super) fn all(score: &Score, log: &str) -> Vec<(&'static str, Picture, &'static str)> {
    let plot = |title: &str, panels| {
        Picture::Plot(Plot {
            title: format!("{title}: {log}"),
            subtitle: "forecasts made at submission, of jobs that had to wait".to_owned(),
            panels,
            notes: Vec::new(),
        })
    };
    vec![
        (
            "reliability",
            plot("Forecasts and starts", vec![reliability(score), coverage(score)]),
            "Left: of all bounds of forecasts, the share of starts that was said to come no later, and the \
             share that did. Right: the same for the ranges. On the line forecasts hold exactly.",
        ),
        (
            "months",
            plot("Coverage by month", vec![months(score)]),
            "Starts within each range, by month (30 days) of submission.",
        ),
        (
            "widths",
            plot("Widths of ranges", vec![widths(score)]),
            "Mean and median width of our ranges, of binomial bounds on earlier waits, and of all times up to \
             the start that a look-ahead with requested times gives.",
        ),
    ]
}

fn series(name: &str, mark: Mark, values: impl Iterator<Item = (f64, f64)>) -> PlotSeries {
    let values = values.map(|(x, y)| PlotValue::exact(x, y)).collect();
    PlotSeries { name: name.to_owned(), mark, values }
}

fn exact() -> PlotSeries {
    series("as said", Mark::Line, [(0.0, 0.0), (100.0, 100.0)].into_iter())
}

fn reliability(score: &Score) -> PlotPanel {
    let bounds = score.bounds.iter().map(|bound| (bound.said, bound.came));
    PlotPanel {
        up: "starts no later, %".to_owned(),
        across: PlotAcross::Numbers("said, %".to_owned()),
        series: vec![exact(), series("came", Mark::Points, bounds)],
    }
}

fn coverage(score: &Score) -> PlotPanel {
    let ours = score.levels.iter().map(|held| (f64::from(held.level), held.covered()));
    // What gave no range covers nothing: it has no point.
    let baseline = |name, held: &tradewind_sim::forecast::Held| {
        let point = (held.jobs > 0).then(|| (f64::from(held.level), held.covered()));
        series(name, Mark::Points, point.into_iter())
    };
    PlotPanel {
        up: "starts within, %".to_owned(),
        across: PlotAcross::Numbers("said, %".to_owned()),
        series: vec![
            exact(),
            series("came", Mark::Points, ours),
            baseline("binomial bounds", &score.binomial.held),
            baseline("requested times", &score.requested.held),
        ],
    }
}

fn months(score: &Score) -> PlotPanel {
    let first = score.months.first().map_or(0, |month| month.from.0);
    let number = |from: i64| (from - first) as f64 / MONTH + 1.0;
    let level = |at: usize| {
        let covered =
            score.months.iter().map(move |month| (number(month.from.0), month.covered[at]));
        series(&format!("{} %", score.levels[at].level), Mark::Line, covered)
    };
    PlotPanel {
        up: "starts within, %".to_owned(),
        across: PlotAcross::Numbers("month".to_owned()),
        series: (0..score.levels.len()).map(level).collect(),
    }
}

fn widths(score: &Score) -> PlotPanel {
    let ways: Vec<_> = document::ways(score).collect();
    let hours = |of: &dyn Fn(&tradewind_sim::forecast::Held) -> f64| {
        let hours = ways.iter().map(|(_, held)| of(held) / 3_600.0);
        hours.enumerate().map(|(at, hours)| (at as f64, hours)).collect::<Vec<_>>()
    };
    let mean = hours(&|held| held.mean_width);
    let median = hours(&|held| held.median_width.0 as f64);
    PlotPanel {
        up: "width, hours".to_owned(),
        across: PlotAcross::Cases(ways.iter().map(|(name, _)| name.clone()).collect()),
        series: vec![
            series("mean", Mark::Bars, mean.into_iter()),
            series("median", Mark::Bars, median.into_iter()),
        ],
    }
}
