//! The papers' figures, drawn anew: bars of ALP and AMP, published beside measured, and the first
//! experiments one by one.

use tradewind_io::chart::{Mark, Picture, Plot, PlotAcross, PlotPanel, PlotSeries, PlotValue};

use super::cycles::SHOWN;
use crate::findings::{Figure, Number};
use crate::tally::Tally;

/// A panel per pair of `numbers`, ALP's and AMP's; percentages are left out.
pub(super) fn bars(title: &str, numbers: &[Number]) -> Figure {
    let drawn: Vec<&Number> =
        numbers.iter().filter(|number| number.published.unit != "%").collect();
    let panels = drawn.chunks_exact(2).map(|pair| PlotPanel {
        up: format!("{} per job, {}", quantity(pair[0].published.unit), pair[0].published.unit),
        across: PlotAcross::Cases(vec!["ALP".to_owned(), "AMP".to_owned()]),
        series: vec![
            series("published", pair, |number| (number.published.value, None)),
            series("measured", pair, |number| {
                (number.measured.mean, Some((number.measured.low, number.measured.high)))
            }),
        ],
    });
    let subtitle = "means over the experiments that count".to_owned();
    picture(Plot { title: title.to_owned(), subtitle, panels: panels.collect(), notes: Vec::new() })
}

fn quantity(unit: &str) -> &'static str {
    if unit == "credits" { "cost" } else { "time" }
}

/// A value and its interval.
type Bar = (f64, Option<(f64, f64)>);

fn series(name: &str, pair: &[&Number], of: impl Fn(&Number) -> Bar) -> PlotSeries {
    let value = |(x, number): (usize, &&Number)| {
        let (y, interval) = of(number);
        PlotValue { x: x as f64, y, interval }
    };
    let values = pair.iter().enumerate().map(value).collect();
    PlotSeries { name: name.to_owned(), mark: Mark::Bars, values }
}

/// The time of a job in each of the first experiments that count.
pub(super) fn experiments(title: &str, tally: &Tally) -> Figure {
    let line = |name: &str, key: &str| {
        let points = tally.points(&format!("least-time/{key}/time"));
        let numbered = points.iter().take(SHOWN).enumerate();
        let values = numbered.map(|(at, point)| PlotValue::exact(at as f64 + 1.0, point.1));
        PlotSeries { name: name.to_owned(), mark: Mark::Line, values: values.collect() }
    };
    let panel = PlotPanel {
        up: "time per job, units".to_owned(),
        across: PlotAcross::Numbers("experiment".to_owned()),
        series: vec![line("ALP", "alp"), line("AMP", "amp")],
    };
    let subtitle = "each experiment that counts by itself".to_owned();
    let notes = Vec::new();
    picture(Plot { title: title.to_owned(), subtitle, panels: vec![panel], notes })
}

fn picture(plot: Plot) -> Figure {
    Figure::Picture(Box::new(Picture::Plot(plot)))
}
