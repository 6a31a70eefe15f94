//! `tradewind analyze queueing`: mean waits and slowdowns by theory.

mod answers;
mod args;
mod arrivals;
mod picture;
mod render;
mod stations;
mod values;

use std::time::Instant;

use crate::commands::plan;
use crate::exit::{Exit, Failure, Outcome, Problem};
use crate::options::Format;
use crate::output;
use crate::report::Report;

use answers::Point;
pub(crate) use args::Args;
use arrivals::Arrivals;

pub(super) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let kind = args.chart.as_deref().map(plan::picture_kind).transpose()?;
    let started = Instant::now();
    let asked = Arrivals::of(args, report)
        .and_then(|arrivals| stations::solve(args, &arrivals).map(|solved| (arrivals, solved)));
    let (arrivals, solved) = match asked {
        Err(failure) if failure.exit == Exit::Infeasible && format == Format::Json => {
            output::json(&render::refused(args, &failure))?;
            return Err(failure);
        }
        asked => asked?,
    };
    for option in args.idle() {
        report.note(&format!("`{option}` has no say in `{}`", args.station.name()));
    }
    report.detail(|| {
        let took = started.elapsed().as_secs_f64();
        format!("{} answers after {took:.3} s", solved.points.len())
    });
    if let (Some(path), Some(kind)) = (&args.chart, kind) {
        output::write_file(path, &picture::draw(args, &arrivals, &solved, kind)?)?;
    }
    match format {
        Format::Json => output::json(&render::document(args, &arrivals, &solved))?,
        Format::Csv => output::print(&output::csv(&render::csv(&solved.points))?)?,
        Format::Table => output::print(&render::table(args, &arrivals, &solved))?,
    }
    match problems(&solved.points) {
        none if none.is_empty() => Ok(Exit::Ok),
        problems => Err(Failure { exit: Exit::Infeasible, problems }),
    }
}

/// Why numbers are missing: each reason once, with where it is met first.
fn problems(points: &[Point]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for word in ["unstable", "infinite"] {
        let all: Vec<(&Point, &answers::Reason)> = points
            .iter()
            .flat_map(|point| point.reasons.iter().map(move |reason| (point, reason)))
            .filter(|(_, reason)| reason.reason == word)
            .collect();
        let Some((point, reason)) = all.first() else { continue };
        let others = match all.len() {
            1 => String::new(),
            count => format!(" ({} more like it)", count - 1),
        };
        let (model, rate) = (point.model, point.rate);
        let message = format!("{model}, at a rate of {rate}: {}{others}", reason.text);
        let has_wait = point.whole.wait.is_some();
        let hint =
            has_wait.then(|| "waits are finite: `--waits-only` leaves slowdowns out".to_owned());
        problems.push(Problem { message, hint });
    }
    problems
}
