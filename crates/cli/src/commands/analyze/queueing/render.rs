//! Answers as a document and as tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use tradewind_sim::queueing::{Equation, Reading};

use super::answers::{NamedNumbers, Point, Reason, StationNumbers};
use super::args::{Args, Station};
use super::arrivals::Arrivals;
use super::stations::Solved;
use crate::exit::{Failure, Problem};
use crate::tables::{self, Column, Side};

/// The JSON document.
#[derive(Serialize)]
pub(super) struct QueueingDocument<'a> {
    station: &'static str,
    /// By model, then by number: `printed` or `corrected`.
    equations: BTreeMap<&'static str, BTreeMap<u32, &'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sites: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processors: Option<u32>,
    runs: Runs,
    points: &'a [Point],
}

/// Moments of the run times, in seconds.
#[derive(Serialize)]
struct Runs {
    mean: f64,
    mean_square: Option<f64>,
    mean_inverse: Option<f64>,
}

pub(super) fn document<'a>(
    args: &Args,
    arrivals: &Arrivals,
    Solved { points, runs }: &'a Solved,
) -> QueueingDocument<'a> {
    let of_sites = matches!(args.station, Station::Network | Station::Partitioned);
    let of_servers = matches!(args.station, Station::Mmm | Station::Mgm);
    QueueingDocument {
        station: args.station.name(),
        equations: equations(args),
        servers: of_servers.then(|| args.servers.unwrap_or(arrivals.sites)),
        sites: of_sites.then_some(arrivals.sites),
        processors: of_sites.then_some(arrivals.processors),
        runs: Runs {
            mean: runs.mean,
            mean_square: runs.square.ok(),
            mean_inverse: runs.inverse.ok(),
        },
        points,
    }
}

/// The document when a law has not even a mean.
pub(super) fn refused(args: &Args, failure: &Failure) -> impl Serialize {
    #[derive(Serialize)]
    struct StationRefusal {
        station: &'static str,
        points: [Point; 0],
        reasons: Vec<Reason>,
    }
    let reason = |problem: &Problem| Reason::said("infinite", problem.message.clone());
    let reasons = failure.problems.iter().map(reason).collect();
    StationRefusal { station: args.station.name(), points: [], reasons }
}

fn equations(args: &Args) -> BTreeMap<&'static str, BTreeMap<u32, &'static str>> {
    let of_model = |model: &super::args::FormulaSet| {
        let readings = args.readings(*model);
        let reading = |(equation, number): (Equation, u32)| {
            let reading = match readings.of(equation) {
                Reading::Corrected => "corrected",
                Reading::Printed => "printed",
            };
            (number, reading)
        };
        (model.name(), Equation::ALL.into_iter().map(reading).collect())
    };
    args.model.iter().map(of_model).collect()
}

/// One line per rate, and one for each part of it.
pub(super) fn csv(points: &[Point]) -> Vec<Vec<String>> {
    let head =
        ["model", "rate", "part", "share", "processors", "load", "wait_s", "slowdown", "reason"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for point in points {
        let row =
            |part: &str, share, processors: Option<u32>, numbers: &StationNumbers, reason: &str| {
                let number =
                    |value: Option<f64>| value.map(|it| format!("{it:?}")).unwrap_or_default();
                vec![
                    point.model.to_owned(),
                    point.rate.to_string(),
                    part.to_owned(),
                    number(share),
                    processors.map(|it| it.to_string()).unwrap_or_default(),
                    number(numbers.load),
                    number(numbers.wait),
                    number(numbers.slowdown),
                    reason.to_owned(),
                ]
            };
        let reason = point.reasons.first().map_or("", |reason| reason.reason);
        rows.push(row("all", None, None, &point.whole, reason));
        for part in point.parts() {
            rows.push(row(&part.name, part.share, part.processors, &part.numbers, ""));
        }
    }
    rows
}

/// A line per rate; the network's with its three waits, other stations' with a line per part.
pub(super) fn table(args: &Args, arrivals: &Arrivals, solved: &Solved) -> String {
    let Solved { points, runs } = solved;
    let mut text = match args.station {
        Station::Network => network(points),
        _ => station(points),
    };
    let of = match args.station {
        Station::Network | Station::Partitioned => {
            format!(", {} of {} processors", counted(arrivals.sites, "site"), arrivals.processors)
        }
        Station::Mmm | Station::Mgm => {
            format!(", {}", counted(args.servers.unwrap_or(arrivals.sites), "server"))
        }
        Station::Mg1 | Station::Priority => String::new(),
    };
    let mean = figures(runs.mean);
    let _ = writeln!(text, "\n{}{of}; mean run time {mean} s", args.station.name());
    text
}

/// `1 site`, `5 sites`.
fn counted(count: u32, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

fn network(points: &[Point]) -> String {
    const COLUMNS: [Column; 9] = [
        ("model", Side::Left),
        ("rate 1/s", Side::Right),
        ("load", Side::Right),
        ("W1 s", Side::Right),
        ("W2 s", Side::Right),
        ("W3 s", Side::Right),
        ("wait s", Side::Right),
        ("slowdown", Side::Right),
        ("partitions", Side::Left),
    ];
    let row = |point: &Point| {
        let stage = |index: usize| {
            number(point.stages.get(index).and_then(|stage| stage.numbers.wait), "–")
        };
        let sizes = point.partitions.iter().filter_map(|part| part.processors);
        let sizes: Vec<String> = sizes.map(|size| size.to_string()).collect();
        vec![
            point.model.to_owned(),
            rate(point),
            number(point.whole.load, "–"),
            stage(0),
            stage(1),
            stage(2),
            number(point.whole.wait, point.word()),
            number(point.whole.slowdown, point.word()),
            sizes.join(" "),
        ]
    };
    tables::table(&COLUMNS, points.iter().map(row).collect())
}

fn station(points: &[Point]) -> String {
    const COLUMNS: [Column; 8] = [
        ("model", Side::Left),
        ("rate 1/s", Side::Right),
        ("part", Side::Left),
        ("share", Side::Right),
        ("processors", Side::Right),
        ("load", Side::Right),
        ("wait s", Side::Right),
        ("slowdown", Side::Right),
    ];
    let mut rows = Vec::new();
    for point in points {
        let cells = |of: &StationNumbers| {
            let word = point.word();
            [number(of.load, "–"), number(of.wait, word), number(of.slowdown, word)]
        };
        let head = [point.model, &rate(point), "all", "", ""].map(str::to_owned);
        rows.push([&head[..], &cells(&point.whole)].concat());
        for NamedNumbers { name, share, processors, numbers } in point.parts() {
            let share = share.map(figures).unwrap_or_default();
            let processors = processors.map(|it| it.to_string()).unwrap_or_default();
            let head = [String::new(), String::new(), name.clone(), share, processors];
            rows.push([&head[..], &cells(numbers)].concat());
        }
    }
    tables::table(&COLUMNS, rows)
}

/// As it was given, unless a log gave it with all the digits of a quotient.
fn rate(point: &Point) -> String {
    const DIGITS_MOST: usize = 9;
    let exact = point.rate.to_string();
    match point.rate {
        _ if exact.len() <= DIGITS_MOST => exact,
        1e-3..1e6 => format!("{:.6}", point.rate),
        rate => format!("{rate:.4e}"),
    }
}

/// A number for people, or why there is none.
fn number(value: Option<f64>, why: &str) -> String {
    value.map_or_else(|| why.to_owned(), figures)
}

/// Four decimals, fewer for large numbers, and powers of ten for tiny and huge ones.
fn figures(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        ..1e-4 => format!("{value:.3e}"),
        ..100.0 => format!("{value:.4}"),
        ..1e9 => format!("{value:.1}"),
        _ => format!("{value:.4e}"),
    }
}
