//! Waits and slowdowns over the rate.

use tradewind_io::chart::{self, Sweep, SweepPanel, Unit};

use super::answers::{Numbers, Point};
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
    let picture = chart::Picture::Sweep(sweep(args, arrivals, solved));
    match kind {
        plan::Picture::Svg => Ok(picture.svg().into_bytes()),
        plan::Picture::Png => {
            picture.png().map_err(|error| Failure::data(format!("failed to draw: {error}")))
        }
    }
}

/// Of several models, the whole; of one, its parts beside it.
fn sweep(args: &Args, arrivals: &Arrivals, Solved { points, runs }: &Solved) -> Sweep {
    let rows: Vec<(String, Row<'_>)> = match args.model.as_slice() {
        [_] => with_parts(points),
        models => models.iter().map(|model| whole(model.name(), points)).collect(),
    };
    let panel = |name: &str, unit, of: fn(&Numbers) -> Option<f64>| {
        let line = |(_, row): &(String, Row<'_>)| {
            let value = |(rate, numbers): &(f64, Option<&Numbers>)| {
                (*rate, numbers.and_then(of).unwrap_or(f64::NAN))
            };
            row.iter().map(value).collect()
        };
        SweepPanel { name: name.to_owned(), unit, lines: rows.iter().map(line).collect() }
    };
    let mut panels = vec![panel("mean wait", Unit::Seconds, |it| it.wait)];
    if points.iter().any(|point| point.whole.slowdown.is_some()) {
        panels.push(panel("mean slowdown", Unit::Ratio, |it| it.slowdown));
    }
    let missing = points.iter().filter(|point| !point.reasons.is_empty()).count();
    let note = format!("{missing} of {} answers are infinite, at least in part.", points.len());
    Sweep {
        title: format!("Queueing theory: {}", args.station.name()),
        subtitle: match &arrivals.log {
            Some(log) => format!("run times and widths of {log}"),
            None => format!("mean run time {}", Unit::Seconds.say(runs.mean)),
        },
        over: "arrivals per second".to_owned(),
        names: rows.iter().map(|(name, _)| name.clone()).collect(),
        panels,
        notes: if missing > 0 { vec![note] } else { vec![] },
    }
}

/// Numbers by rate.
type Row<'a> = Vec<(f64, Option<&'a Numbers>)>;

fn whole<'a>(model: &str, points: &'a [Point]) -> (String, Row<'a>) {
    let of_model = points.iter().filter(|point| point.model == model);
    (model.to_owned(), of_model.map(|point| (point.rate, Some(&point.whole))).collect())
}

/// All, and those parts that anybody waits for.
fn with_parts(points: &[Point]) -> Vec<(String, Row<'_>)> {
    let all = points.iter().map(|point| (point.rate, Some(&point.whole))).collect();
    let mut rows = vec![("all".to_owned(), all)];
    // The network's stages say more than its classes and partitions.
    let parts = |point: &Point| -> usize {
        if point.stages.is_empty() { point.parts().count() } else { point.stages.len() }
    };
    let most = points.iter().map(parts).max().unwrap_or(0);
    for index in 0..most {
        let row: Row<'_> = points
            .iter()
            .map(|point| (point.rate, point.parts().nth(index).map(|part| &part.numbers)))
            .collect();
        let name = points.iter().find_map(|point| point.parts().nth(index)).map(|it| &it.name);
        let waits = |numbers: &Numbers| numbers.wait.is_some_and(|wait| wait > 0.0);
        if row.iter().any(|(_, numbers)| numbers.is_some_and(waits)) {
            rows.push((name.cloned().unwrap_or_default(), row));
        }
    }
    rows
}
