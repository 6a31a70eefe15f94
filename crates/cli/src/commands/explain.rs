//! `tradewind explain`: which limit binds, and the minimum that would help.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;
use tradewind_io::wire::{self, Amount};
use tradewind_model::{Job, JobPlan, Money, Request, SlotList, Snapshot, Window};
use tradewind_sched::explain::{self, Explanation};
use tradewind_sched::policy::cyclic::{self, Cyclic};
use tradewind_sched::window::Search;

use crate::client::MarketArgs;
use crate::commands::live;
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::report::Report;
use crate::{documents, input, output, tables};

/// Arguments of `tradewind explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind explain examples/batch.toml --job wing-study
  tradewind explain examples/batch.toml --job wing-study --format json
  tradewind explain examples/batch.toml --job wing-study --after-batch
  tradewind explain 7

A number without `--job` is a job of the live market. A job of a scenario is judged alone, as if it came first; with `--after-batch` on what the plan of all other
jobs leaves.")]
pub(crate) struct Args {
    /// A scenario in JSON or TOML, `-` reads standard input; or the number of a job of the live
    /// market.
    #[arg(value_name = "SCENARIO|ID")]
    what: String,
    /// The name of a job of the scenario.
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Plan all other jobs first (as `plan` does without options), and judge on what they leave.
    #[arg(long, requires = "job")]
    after_batch: bool,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let job = match (&args.job, args.what.parse()) {
        (Some(job), _) => job,
        (None, Ok(number)) => return live::explain::run(number, &args.place, format),
        (None, Err(_)) => {
            let hint = "give `--job NAME` for a job of a scenario, or the number of a live one";
            return Err(Failure::usage(format!("`{}` is no number of a job", args.what)).hint(hint));
        }
    };
    let snapshot = input::scenario(&args.what, report)?.snapshot;
    let job = input::job(&snapshot, job)?;
    let search = Search::best(job.request.criterion.clone());
    let left = args.after_batch.then(|| after_batch(&snapshot, &job.name));
    let slots = left.as_ref().unwrap_or(&snapshot.slots);
    let explanation = explain::explain(&snapshot.grid, slots, &job.request, &search);
    let document = documents::explanation(&snapshot, job, &explanation);
    match format {
        Format::Json => output::json(&document)?,
        Format::Csv => output::print(&output::csv(&csv(&document))?)?,
        Format::Table => output::print_styled(&sentences(&snapshot, job, &explanation, &document))?,
    }
    Ok(Exit::Ok)
}

/// What is free once all jobs but `name` have their windows.
fn after_batch(snapshot: &Snapshot, name: &str) -> SlotList {
    let mut others = snapshot.clone();
    others.jobs.retain(|job| job.name != name);
    let plan = cyclic::plan(&others, &Cyclic::default(), &mut |_| {});
    let mut left = others.slots;
    for window in plan.jobs.iter().filter_map(JobPlan::window) {
        let taken = left.subtract_window(window);
        debug_assert!(taken.is_ok(), "windows of a plan do not intersect");
    }
    left
}

fn sentences(
    snapshot: &Snapshot,
    job: &Job,
    explanation: &Explanation,
    document: &wire::Explanation,
) -> String {
    let name = document.job.bold();
    let reason = match &explanation.answer {
        Ok(window) => {
            return format!(
                "{name} can be placed: from {} s to {} s for {} credits on {}{}.\n",
                window.start(),
                window.finish(),
                window.cost(),
                tables::nodes_of(&snapshot.grid, window, &job.request),
                with_parts(snapshot, window, &job.request)
            );
        }
        Err(reason) => reason,
    };
    let mut text = format!("{name} cannot be placed: {reason}.\n");
    let relaxations = &document.relaxations;
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
            window.start,
            window.finish,
            window.cost
        );
    }
    text
}

/// What of the window is for licences and for the transfer of data.
fn with_parts(snapshot: &Snapshot, window: &Window, request: &Request) -> String {
    let staged = wire::staged(window, request, &snapshot.grid);
    let at = |(site, it): (&String, &wire::StagedData)| {
        let seconds = it.stage_in + it.stage_out;
        format!(", with {seconds} s for its data at {site} for {} of these credits", it.cost)
    };
    let data: String = staged.iter().map(at).collect();
    data + &licences(snapshot, window)
}

/// ", with 4 abaqus for 14.4 of these credits".
fn licences(snapshot: &Snapshot, window: &Window) -> String {
    let Some(shares) = window.licences() else { return String::new() };
    let names = tables::licences_in_words(&snapshot.grid, shares);
    match window.licences_cost() {
        Money(0) => format!(", with {names}"),
        cost => format!(", with {names} for {cost} of these credits"),
    }
}

/// "budget + 12.5 credits (to 812.5)".
fn words(relaxation: &wire::Relaxation) -> String {
    let wire::Relaxation { limit, attribute, by, to, .. } = relaxation;
    let sign =
        if ["budget", "max_price", "deadline"].contains(&limit.as_str()) { "+" } else { "-" };
    match (attribute, by, to) {
        (Some(name), ..) => match limit.strip_suffix(".attributes") {
            Some(group) => format!("{group} without the attribute `{name}`"),
            None => format!("without the attribute `{name}`"),
        },
        (None, Some(by), Some(to)) => format!("{limit} {sign} {by}{} (to {to})", unit(*by)),
        (None, Some(by), None) => format!("{limit} {sign} {by}{} (to none)", unit(*by)),
        (None, None, _) if limit == "data" => "without its `data`".to_owned(),
        (None, None, _) => limit.clone(),
    }
}

fn unit(amount: Amount) -> &'static str {
    match amount {
        Amount::Credits(_) => " credits",
        Amount::Price(_) => " credits per node-second",
        Amount::Seconds(_) => " s",
        Amount::Energy(_) => " kWh",
        Amount::Carbon(_) => " gCO2e",
        Amount::Performance(_) | Amount::Count(_) | Amount::Memory(_) | Amount::Thousandths(_) => {
            ""
        }
    }
}

fn csv(document: &wire::Explanation) -> Vec<Vec<String>> {
    let head = "job,placed,reason,limit,by,to,start_s,finish_s,cost";
    let mut rows = vec![head.split(',').map(str::to_owned).collect()];
    let reason = document.reason.as_ref().map_or("", |reason| reason.code);
    let placed = document.placed.is_some().to_string();
    let first = [document.job.clone(), placed, reason.to_owned()];
    if document.relaxations.is_empty() {
        let mut row = first.to_vec();
        row.extend(std::iter::repeat_n(String::new(), 6));
        rows.push(row);
    }
    let text = |amount: Option<Amount>| amount.map(|it| it.to_string());
    for relaxation in &document.relaxations {
        let by = text(relaxation.by).or(relaxation.attribute.clone());
        let mut row = first.to_vec();
        row.extend([
            relaxation.limit.clone(),
            by.unwrap_or_default(),
            text(relaxation.to).unwrap_or_default(),
            relaxation.window.start.to_string(),
            relaxation.window.finish.to_string(),
            relaxation.window.cost.to_string(),
        ]);
        rows.push(row);
    }
    rows
}
