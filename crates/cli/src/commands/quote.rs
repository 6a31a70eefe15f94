//! `tradewind quote`: what one job could get, in a scenario or on the live market.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;
use tradewind_io::wire;
use tradewind_model::{
    Job, LicenceShare, Money, Price, Request, Shapes, Site, SiteId, Snapshot, Window,
};
use tradewind_sched::quote::{self, Quote, Rejected, WindowFront};
use tradewind_sched::window::{Proof, Search};

use crate::client::MarketArgs;
use crate::commands::live::{self, options::Unlisted};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::report::Report;
use crate::tables::{self, Column, Side};
use crate::{documents, input, output};
use tradewind_io::scenario::criterion_name;

/// Arguments of `tradewind quote`.
#[derive(Debug, clap::Args)]
#[command(infer_long_args = true)]
#[command(override_usage = "tradewind quote [OPTIONS] SCENARIO --job NAME\n       \
                            tradewind quote [OPTIONS] SCRIPT [ARGS]...\n       \
                            tradewind quote [OPTIONS] -- COMMAND [ARGS]...")]
#[command(after_help = "\
Examples:
  tradewind quote examples/batch.toml --job forecast
  tradewind quote examples/batch.toml --job forecast --format json
  tradewind quote --time 10 --nodes 2 train.sh
  tradewind quote --time fast:10m,slow:30m -- ./simulate

With `--job`, of a scenario in a file. Without it, of the live market, with the options of `submit`:
each window has a number by which `submit --quote` accepts it until it expires. Exit code 4 if there
is no window by any criterion.")]
pub(crate) struct Args {
    /// With `--job`: a scenario in JSON or TOML; `-` reads standard input. Without it: what `submit`
    /// takes, a script or, behind `--`, a command.
    #[arg(value_name = "SCENARIO|SCRIPT")]
    words: Vec<String>,
    /// The name of a job of the scenario.
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// The most points of the front of cost against finish, of a scenario.
    #[arg(long, value_name = "N", default_value_t = 50)]
    max_points: usize,
    /// Steps that a bounded search (processor-time, sum) may take, of a scenario.
    #[arg(long, value_name = "N", default_value_t = Search::DEFAULT_WORK_LIMIT)]
    work_limit: u64,
    #[command(flatten)]
    place: MarketArgs,
    #[command(flatten)]
    options: Unlisted,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let Some(job) = &args.job else {
        scenario_without_job(&args.words)?;
        return live::quote::run(&args.words, (&args.options.0, &args.place), format, report);
    };
    match (&args.words[..], args.options.0.0.first()) {
        ([scenario], None) => of_scenario(scenario, job, args, format, report),
        (_, Some(given)) => {
            let message = format!("`--{}` is for the live market", given.option.name);
            Err(Failure::usage(message).hint("leave out it or `--job`"))
        }
        _ => Err(Failure::usage("with `--job`, one scenario is wanted")),
    }
}

/// A file of this name is not meant as a job script.
fn scenario_without_job(words: &[String]) -> Result<(), Failure> {
    match words {
        [file] if file.ends_with(".json") || file.ends_with(".toml") => {
            let message = format!("`{file}` is a scenario, and no job of it is named");
            Err(Failure::usage(message).hint("give `--job NAME`"))
        }
        _ => Ok(()),
    }
}

fn of_scenario(scenario: &str, job: &str, args: &Args, format: Format, report: &Report) -> Outcome {
    let snapshot = input::scenario(scenario, report)?.snapshot;
    let job = input::job(&snapshot, job)?;
    let (grid, slots, request) = (&snapshot.grid, &snapshot.slots, &job.request);
    let quotes = quote::quotes(grid, slots, request, args.work_limit);
    let front = quote::front(grid, slots, request, args.max_points);
    let rejected = quote::rejected(grid, slots, request);
    if !front.complete {
        let shown = front.windows.len();
        report.note(&format!("the front is cut after {shown} points (--max-points)"));
    }
    match format {
        Format::Json => {
            output::json(&documents::quotes(&snapshot, job, &quotes, &front, rejected))?;
        }
        Format::Csv => output::print(&output::csv(&csv(&snapshot, &quotes, &front))?)?,
        Format::Table => {
            output::print_styled(&table(&snapshot, job, &quotes, &front, rejected))?;
        }
    }
    let found = quotes.iter().any(|quote| quote.answer.is_ok());
    Ok(if found { Exit::Ok } else { Exit::Infeasible })
}

const COLUMNS: [Column; 8] = [
    ("least", Side::Left),
    ("start s", Side::Right),
    ("finish s", Side::Right),
    ("runtime s", Side::Right),
    ("cost credits", Side::Right),
    ("proc.time s", Side::Right),
    ("proof", Side::Left),
    ("nodes", Side::Left),
];

/// Where parts of the cost stand: those of licences and of transfers, if the job has any.
const PARTS_AT: usize = 5;

fn table(
    snapshot: &Snapshot,
    job: &Job,
    quotes: &[Quote],
    front: &WindowFront,
    rejected: Rejected,
) -> String {
    let mut rows = Vec::new();
    let mut text = format!("{} {}\n\n", job.name.bold(), asked(snapshot, job).dimmed());
    let mut refused: Vec<(String, String)> = Vec::new();
    let (has_licences, has_data) = (job.request.licences.is_some(), job.request.data.is_some());
    let mut columns = COLUMNS.to_vec();
    let parts = [(has_data, "for transfers"), (has_licences, "for licences")];
    for (_, head) in parts.iter().filter(|(has, _)| *has) {
        columns.insert(PARTS_AT, (head, Side::Right));
    }
    for quote in quotes {
        let name = criterion_name(&quote.criterion);
        match &quote.answer {
            Ok(found) => {
                let proof = proof_words(found.proof);
                let mut row = row((snapshot, job), name, &found.window, proof);
                let staged = wire::staged(&found.window, &job.request, &snapshot.grid);
                let transfers = staged.values().map(|it| it.cost).sum::<Money>();
                let parts = [(has_data, transfers), (has_licences, found.window.licences_cost())];
                for (_, cost) in parts.iter().filter(|(has, _)| *has) {
                    row.insert(PARTS_AT, cost.to_string());
                }
                rows.push(row);
            }
            Err(reason) => refused.push((name, reason.to_string())),
        }
    }
    if !rows.is_empty() {
        text.push_str(&tables::table(&columns, rows));
    }
    text.push_str(&refusals(&refused, quotes.len()));
    if !front.windows.is_empty() {
        text.push_str("\ncost against finish: no window is both cheaper and earlier\n\n");
        text.push_str(&front_table(snapshot, job, front));
    }
    text.push_str(&prices(&documents::basis(&snapshot.grid, &job.request, quotes, front)));
    text.push_str(&licences(snapshot, &job.request));
    text.push_str(&transfers(snapshot, &job.request));
    let _ = writeln!(text, "\n{}", nodes_and_units(rejected));
    text
}

/// The most nodes whose prices the table shows; JSON shows all.
const MOST_PRICES: usize = 12;

/// What a task costs on each node that is quoted.
fn prices(basis: &[documents::Basis]) -> String {
    const COLUMNS: [Column; 5] = [
        ("node", Side::Left),
        ("performance", Side::Right),
        ("price credits/s", Side::Right),
        ("length s", Side::Right),
        ("task credits", Side::Right),
    ];
    if basis.is_empty() {
        return String::new();
    }
    let row = |it: &documents::Basis| {
        let numbers = [it.performance.to_string(), it.price.to_string(), it.length.to_string()];
        [vec![it.node.clone()], numbers.to_vec(), vec![it.cost.to_string()]].concat()
    };
    let rows = basis.iter().take(MOST_PRICES).map(row).collect();
    let mut text = "\nwhat a task costs: price × length\n\n".to_owned();
    text.push_str(&tables::table(&COLUMNS, rows));
    if basis.len() > MOST_PRICES {
        let _ = writeln!(text, "and {} nodes more (all in JSON)", basis.len() - MOST_PRICES);
    }
    text
}

/// What licences cost, if the job takes any along.
fn licences(snapshot: &Snapshot, request: &Request) -> String {
    const COLUMNS: [Column; 4] = [
        ("licence", Side::Left),
        ("count", Side::Right),
        ("price credits/s", Side::Right),
        ("all credits/s", Side::Right),
    ];
    let Some(shares) = &request.licences else { return String::new() };
    let all = snapshot.grid.licences();
    let row = |share: &LicenceShare| {
        let licence = all.get(share.licence.index())?;
        let each_second = Price(licence.price.0.saturating_mul(i64::from(share.count)));
        let numbers = [share.count.to_string(), licence.price.to_string(), each_second.to_string()];
        Some([vec![licence.name.clone()], numbers.to_vec()].concat())
    };
    let rows = shares.iter().filter_map(row).collect();
    let mut text = "\nwhat licences cost: price × count × runtime of the window\n\n".to_owned();
    text.push_str(&tables::table(&COLUMNS, rows));
    text
}

/// How long the job's data takes to each site and away.
fn transfers(snapshot: &Snapshot, request: &Request) -> String {
    const COLUMNS: [Column; 3] =
        [("site", Side::Left), ("stage in s", Side::Right), ("stage out s", Side::Right)];
    let Some(staging) = &request.data else { return String::new() };
    let row = |(id, site): (u32, &Site)| {
        let times = match staging.at(SiteId(id)) {
            Some(times) => [times.stage_in.to_string(), times.stage_out.to_string()],
            None => ["no link".to_owned(), String::new()],
        };
        [vec![site.name.clone()], times.to_vec()].concat()
    };
    let rows = (0..).zip(snapshot.grid.sites()).map(row).collect();
    let mut text = "\nhow long its data takes: a part of each task's length\n\n".to_owned();
    text.push_str(&tables::table(&COLUMNS, rows));
    text
}

/// One line per criterion without a window; one for all of them where they agree.
fn refusals(refused: &[(String, String)], criteria: usize) -> String {
    let same = refused.windows(2).all(|pair| pair[0].1 == pair[1].1);
    match refused.first() {
        Some((_, reason)) if same && refused.len() == criteria => {
            format!("no window by any criterion: {reason}\n")
        }
        _ => refused.iter().map(|(by, why)| format!("no window by {by}: {why}\n")).collect(),
    }
}

fn row(
    (snapshot, job): (&Snapshot, &Job),
    name: String,
    window: &Window,
    proof: String,
) -> Vec<String> {
    vec![
        name,
        window.start().to_string(),
        window.finish().to_string(),
        window.runtime().to_string(),
        window.cost().to_string(),
        window.processor_time().to_string(),
        proof,
        tables::nodes_of(&snapshot.grid, window, &job.request),
    ]
}

fn front_table(snapshot: &Snapshot, job: &Job, front: &WindowFront) -> String {
    const COLUMNS: [Column; 4] = [
        ("finish s", Side::Right),
        ("cost credits", Side::Right),
        ("start s", Side::Right),
        ("nodes", Side::Left),
    ];
    let row = |window: &Window| {
        vec![
            window.finish().to_string(),
            window.cost().to_string(),
            window.start().to_string(),
            tables::nodes_of(&snapshot.grid, window, &job.request),
        ]
    };
    tables::table(&COLUMNS, front.windows.iter().map(row).collect())
}

/// "2 nodes × 80 s of work, performance at least 2"; what is asked of a group alone.
fn asked_of_group(group: &Request) -> String {
    let nodes = match (&group.needs, group.tasks) {
        (None, 1) => "node".to_owned(),
        (None, _) => "nodes".to_owned(),
        (Some(needs), 1) => format!("task with {}", needs.each),
        (Some(needs), _) => format!("tasks with {} each", needs.each),
    };
    let mut words = format!("{} {nodes} × {} s of work", group.tasks, group.work);
    if let Some(min) = group.min_performance {
        let _ = write!(words, ", performance at least {min}");
    }
    words
}

/// "64 nodes × 3600 s, 32 nodes × 6600 s or 16 nodes × 12600 s of work".
fn asked_of_shapes(request: &Request, shapes: &Shapes) -> String {
    let each = shapes.as_slice().iter().map(|it| format!("{} nodes × {} s", it.nodes, it.time));
    let mut all: Vec<String> = each.collect();
    let last = all.pop().unwrap_or_default();
    let mut words = format!("{} or {last} of work", all.join(", "));
    if let Some(min) = request.min_performance {
        let _ = write!(words, ", performance at least {min}");
    }
    words
}

fn of_attributes(group: &Request) -> impl Iterator<Item = String> + '_ {
    group.attributes.iter().map(|(name, wanted)| format!("{name} {wanted}"))
}

/// "2 nodes × 80 s of work, budget 800, deadline 500 s".
fn asked(snapshot: &Snapshot, job: &Job) -> String {
    let request = &job.request;
    let differ = !request.others.is_empty();
    let group = |group: Request| {
        let attributes = of_attributes(&group).filter(|_| differ);
        [asked_of_group(&group)].into_iter().chain(attributes).collect::<Vec<_>>().join(", ")
    };
    let mut words = match &request.shapes {
        Some(shapes) => asked_of_shapes(request, shapes),
        None => request.groups().map(group).collect::<Vec<_>>().join("; and "),
    };
    let mut add = |what: Option<String>| {
        if let Some(what) = what {
            words.push_str(", ");
            words.push_str(&what);
        }
    };
    let along = request.licences.as_deref();
    add(along.map(|shares| format!("with {}", tables::licences_in_words(&snapshot.grid, shares))));
    add(request.data.as_ref().map(|staging| tables::data_in_words(staging.data())));
    add(request.max_price.map(|cap| format!("at most {cap} credits per node-second")));
    add(request.budget.map(|budget| format!("budget {budget} credits")));
    add(request.earliest_start.map(|start| format!("not before {start} s")));
    add(request.deadline.map(|deadline| format!("done by {deadline} s")));
    if !differ {
        of_attributes(request).for_each(|it| add(Some(it)));
    }
    words
}

fn nodes_and_units(rejected: Rejected) -> String {
    let counts = [
        (rejected.too_slow, "too slow"),
        (rejected.lacks_attribute, "without an attribute asked for"),
        (rejected.no_link, "where its data cannot be brought"),
        (rejected.too_small, "with less than a task takes"),
        (rejected.too_dear, "above the price cap"),
        (rejected.never_free, "never free for long enough"),
        (rejected.over_budget, "too dear for the budget with one task alone"),
    ];
    let some = counts.iter().filter(|(count, _)| *count > 0);
    let list: Vec<String> = some.map(|(count, why)| format!("{count} {why}")).collect();
    let rejected_words = match list.is_empty() {
        true => "none rejected".to_owned(),
        false => format!("rejected: {}", list.join(", ")),
    };
    format!(
        "nodes: {} usable; {rejected_words}\nprices: credits per node-second; a task takes work / \
         performance seconds, rounded up",
        rejected.usable
    )
}

fn proof_words(proof: Proof) -> String {
    match proof {
        Proof::Exact => "exact".to_owned(),
        Proof::Heuristic => "heuristic".to_owned(),
        Proof::Gap { bound } => format!("not below {bound}"),
    }
}

fn csv(snapshot: &Snapshot, quotes: &[Quote], front: &WindowFront) -> Vec<Vec<String>> {
    let head = "by,proof,start_s,finish_s,runtime_s,cost,processor_time_s,reason,nodes";
    let mut rows = vec![head.split(',').map(str::to_owned).collect()];
    let mut add = |name: String, proof: String, answer: Result<&Window, &str>| {
        let mut row = vec![name, proof];
        match answer {
            Ok(window) => row.extend([
                window.start().to_string(),
                window.finish().to_string(),
                window.runtime().to_string(),
                window.cost().to_string(),
                window.processor_time().to_string(),
                String::new(),
                tables::node_names(&snapshot.grid, window),
            ]),
            Err(reason) => {
                row.extend(std::iter::repeat_n(String::new(), 5));
                row.extend([reason.to_owned(), String::new()]);
            }
        }
        rows.push(row);
    };
    for quote in quotes {
        let name = criterion_name(&quote.criterion);
        match &quote.answer {
            Ok(found) => add(name, proof_words(found.proof), Ok(&found.window)),
            Err(reason) => add(name, String::new(), Err(reason.code())),
        }
    }
    for window in &front.windows {
        add("pareto".to_owned(), "exact".to_owned(), Ok(window));
    }
    rows
}
