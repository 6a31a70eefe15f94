//! `tradewind explain`: which limit binds, and the least that would help.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;
use tradewind_model::{Job, Snapshot};
use tradewind_sched::explain::{self, Change, Explanation, Relaxation};
use tradewind_sched::window::Search;

use crate::cli::Format;
use crate::exit::{Exit, Outcome};
use crate::report::Report;
use crate::{documents, input, output, tables};

/// For which job.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind explain examples/batch.toml --job train
  tradewind explain examples/batch.toml --job train --format json

The job is judged alone, as if it came first: what other jobs of the batch take is not counted.")]
pub(crate) struct Args {
    /// A scenario in JSON or TOML; `-` reads standard input.
    #[arg(value_name = "SCENARIO")]
    scenario: String,
    /// The job's name.
    #[arg(long, value_name = "NAME")]
    job: String,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let snapshot = input::scenario(&args.scenario, report)?.snapshot;
    let job = input::job(&snapshot, &args.job)?;
    let search = Search::best(job.request.criterion.clone());
    let explanation = explain::explain(&snapshot.grid, &snapshot.slots, &job.request, &search);
    match format {
        Format::Json => output::json(&documents::explain(&snapshot, job, &explanation))?,
        Format::Csv => output::print(&output::csv(&csv(job, &explanation))?)?,
        Format::Table => output::print_styled(&sentences(&snapshot, job, &explanation))?,
    }
    Ok(Exit::Ok)
}

fn sentences(snapshot: &Snapshot, job: &Job, explanation: &Explanation) -> String {
    let name = job.name.bold();
    let reason = match &explanation.answer {
        Ok(window) => {
            return format!(
                "{name} can be placed: from {} s to {} s for {} credits on {}.\n",
                window.start(),
                window.finish(),
                window.cost(),
                tables::nodes_in_short(&snapshot.grid, window)
            );
        }
        Err(reason) => reason,
    };
    let mut text = format!("{name} cannot be placed: {reason}.\n");
    let relaxations = &explanation.relaxations;
    match (relaxations.is_empty(), explanation.possible_without_limits) {
        (false, _) => text.push_str("Any one of these alone, and no less, would place it:\n"),
        (true, true) => text.push_str("No single change would place it; several together would.\n"),
        (true, false) => {
            text.push_str("No limit of the job is to blame: the grid has no room for it.\n");
        }
    }
    for relaxation in relaxations {
        let window = &relaxation.window;
        let _ = writeln!(
            text,
            "  {}: it then runs from {} s to {} s for {} credits",
            words(relaxation).green(),
            window.start(),
            window.finish(),
            window.cost()
        );
    }
    text
}

/// "budget + 12.5 credits (to 812.5)".
fn words(relaxation: &Relaxation) -> String {
    let limit = relaxation.change.limit();
    let by = amount(&relaxation.change);
    let to = new_value(relaxation);
    match &relaxation.change {
        Change::Budget(_) => format!("{limit} + {by} credits (to {to})"),
        Change::MaxPrice(_) => format!("{limit} + {by} credits per node-second (to {to})"),
        Change::Deadline(_) => format!("{limit} + {by} s (to {to} s)"),
        Change::EarliestStart(_) => format!("{limit} - {by} s (to {to} s)"),
        Change::MinPerformance(_) => format!("{limit} - {by} (to {to})"),
        Change::Tasks(_) => format!("{limit} - {by} (to {to})"),
        Change::Attribute(name) => format!("without the attribute `{name}`"),
    }
}

fn amount(change: &Change) -> String {
    match change {
        Change::Attribute(name) => name.clone(),
        other => documents::change_by(other).to_string(),
    }
}

fn new_value(relaxation: &Relaxation) -> String {
    documents::change_to(relaxation).map(|value| value.to_string()).unwrap_or_default()
}

fn csv(job: &Job, explanation: &Explanation) -> Vec<Vec<String>> {
    let head = "job,placed,reason,limit,by,to,start_s,finish_s,cost";
    let mut rows = vec![head.split(',').map(str::to_owned).collect()];
    let (placed, reason) = match &explanation.answer {
        Ok(_) => ("true", String::new()),
        Err(reason) => ("false", reason.code().to_owned()),
    };
    let first = [job.name.clone(), placed.to_owned(), reason];
    if explanation.relaxations.is_empty() {
        let mut row = first.to_vec();
        row.extend(std::iter::repeat_n(String::new(), 6));
        rows.push(row);
    }
    for relaxation in &explanation.relaxations {
        let mut row = first.to_vec();
        row.extend([
            relaxation.change.limit().to_owned(),
            amount(&relaxation.change),
            new_value(relaxation),
            relaxation.window.start().to_string(),
            relaxation.window.finish().to_string(),
            relaxation.window.cost().to_string(),
        ]);
        rows.push(row);
    }
    rows
}
