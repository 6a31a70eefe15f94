//! Waits and slowdowns over the rate.

use tradewind_io::chart::{self, Mark, Plot, PlotAcross, PlotPanel, PlotSeries, PlotValue, Unit};

use super::answers::{Point, StationNumbers};
use super::args::Args;
use super::arrivals::Arrivals;
use super::stations::Solved;
use crate::commands::plan;
use crate::exit::Failure;

/// The picture's bytes.
pub(super) fn draw(
    args: &Args,
    arrivals: &Arrivals,
    solved: &Solved,
    kind: plan::Picture,
) -> Result<Vec<u8>, Failure> {
    let picture = chart::Picture::Plot(plot(args, arrivals, solved));
    match kind {
        plan::Picture::Svg => Ok(picture.svg().into_bytes()),
        plan::Picture::Png => {
            picture.png().map_err(|error| Failure::data(format!("failed to draw: {error}")))
        }
    }
}

/// Of several models, the whole; of one, its parts beside it.
fn plot(args: &Args, arrivals: &Arrivals, Solved { points, runs }: &Solved) -> Plot {
    let rows: Vec<(String, NumbersByRate<'_>)> = match args.model.as_slice() {
        [_] => with_parts(points),
        models => models.iter().map(|model| whole(model.name(), points)).collect(),
    };
    let panel = |up: &str, of: fn(&StationNumbers) -> Option<f64>| {
        let series = |(name, row): &(String, NumbersByRate<'_>)| {
            let value = |(rate, numbers): &(f64, &StationNumbers)| {
                PlotValue::exact(*rate, of(numbers).unwrap_or(f64::NAN))
            };
            let values = row.iter().map(value).collect();
            PlotSeries { name: name.clone(), mark: Mark::Line, values }
        };
        let across = PlotAcross::Numbers("arrivals per second".to_owned());
        PlotPanel { up: up.to_owned(), across, series: rows.iter().map(series).collect() }
    };
    let missing = points.iter().filter(|point| !point.reasons.is_empty()).count();
    let note = format!("{missing} of {} answers are infinite, at least in part.", points.len());
    Plot {
        title: format!("Queueing theory: {}", args.station.name()),
        subtitle: match &arrivals.log {
            Some(log) => format!("run times and widths of {log}"),
            None => format!("mean run time {}", Unit::Seconds.say(runs.mean)),
        },
        panels: vec![
            panel("mean wait, s", |numbers| numbers.wait),
            panel("mean slowdown", |numbers| numbers.slowdown),
        ],
        notes: if missing > 0 { vec![note] } else { vec![] },
    }
}

/// Numbers by rate.
type NumbersByRate<'a> = Vec<(f64, &'a StationNumbers)>;

fn whole<'a>(model: &str, points: &'a [Point]) -> (String, NumbersByRate<'a>) {
    let of_model = points.iter().filter(|point| point.model == model);
    (model.to_owned(), of_model.map(|point| (point.rate, &point.whole)).collect())
}

/// All, and those parts with a wait.
fn with_parts(points: &[Point]) -> Vec<(String, NumbersByRate<'_>)> {
    let all = points.iter().map(|point| (point.rate, &point.whole)).collect();
    let mut rows = vec![("all".to_owned(), all)];
    // The network's stages say more than its classes and partitions.
    let count = |point: &Point| match point.stages.len() {
        0 => point.parts().count(),
        stages => stages,
    };
    for index in 0..points.iter().map(count).max().unwrap_or(0) {
        let parts = || points.iter().filter_map(|point| Some((point, point.parts().nth(index)?)));
        let waited = parts().any(|(_, part)| part.numbers.wait.is_some_and(|wait| wait > 0.0));
        if let Some((_, first)) = parts().next().filter(|_| waited) {
            let row = parts().map(|(point, part)| (point.rate, &part.numbers)).collect();
            rows.push((first.name.clone(), row));
        }
    }
    rows
}
