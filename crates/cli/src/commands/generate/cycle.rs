//! The papers' scheduling cycles, as scenarios, and owners' load, as a table.

use tradewind_io::duration::{parse_span, parse_time};
use tradewind_io::scenario::Scenario;
use tradewind_model::{Horizon, Span, Time};
use tradewind_sim::models::{Environment, LocalLoad, Study1};

use super::{Target, values};
use crate::exit::{Failure, Outcome};
use crate::output;
use crate::report::Report;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind generate environment --seed 1 | tradewind plan -
  tradewind generate environment --nodes 100 --jobs 50 --sites 4 --seed 1 -o cycle.json")]
pub(super) struct EnvironmentArgs {
    /// Number of nodes.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    nodes: u32,
    /// Number of sites they are dealt out to.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    sites: u32,
    /// The interval to plan in.
    #[arg(long, value_name = "SPAN", default_value = "600", value_parser = parse_span)]
    horizon: Span,
    /// Number of jobs.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    jobs: u32,
    /// Number of nodes a job wants.
    #[arg(long, value_name = "A..B", default_value = "2..6", value_parser = values::range)]
    tasks: (u32, u32),
    /// How much work each of its tasks is, on a node of performance 1.
    #[arg(long, value_name = "A..B", default_value = "150..450", value_parser = values::spans)]
    work: (Span, Span),
    /// The minimum performance that a job takes, whole.
    #[arg(long, value_name = "A..B", default_value = "2", value_parser = values::range)]
    min_performance: (u32, u32),
    /// A job's budget over the market value of its request.
    #[arg(long, value_name = "A..B", default_value = "1..1.6", value_parser = values::thousandths)]
    budget: (u32, u32),
    #[command(flatten)]
    load: LoadShape,
    /// For everything that is drawn; printed on standard error.
    #[arg(long, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    target: Target,
}

/// How the owners' load looks.
#[derive(Debug, clap::Args)]
struct LoadShape {
    /// The share of each node's time that its owner takes.
    #[arg(long, value_name = "A..B", default_value = "0.1..0.5", value_parser = values::thousandths)]
    share: (u32, u32),
    /// How long the owners' tasks are.
    #[arg(long, value_name = "A..B", default_value = "40..150", value_parser = values::spans)]
    lengths: (Span, Span),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind generate study1 --seed 1 | tradewind plan - --search amp
  tradewind generate study1 --slots 120..149 --ticks 1000 --seed 1 -o study.json")]
pub(super) struct Study1Args {
    /// Number of slots.
    #[arg(long, value_name = "A..B", default_value = "120..149", value_parser = values::range)]
    slots: (u32, u32),
    /// Number of jobs.
    #[arg(long, value_name = "A..B", default_value = "3..6", value_parser = values::range)]
    jobs: (u32, u32),
    /// Number of nodes a job wants.
    #[arg(long, value_name = "A..B", default_value = "1..5", value_parser = values::range)]
    tasks: (u32, u32),
    /// Ticks of the clock per unit of time: 1 rounds the drawn times, 1000 keeps them.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    ticks: u32,
    /// For everything that is drawn; printed on standard error.
    #[arg(long, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind generate local-load --nodes 8 --horizon 1d --seed 1 -o load.csv
  tradewind generate local-load --share 0.2..0.3 --period 1h --seed 1")]
pub(super) struct LoadArgs {
    /// Number of nodes.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    nodes: u32,
    /// The first moment.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_time, allow_hyphen_values = true)]
    start: Time,
    /// For how long from then on.
    #[arg(long, value_name = "SPAN", default_value = "1d", value_parser = parse_span)]
    horizon: Span,
    /// How long a node's load stays the same.
    #[arg(long, value_name = "SPAN", default_value = "600", value_parser = parse_span)]
    period: Span,
    #[command(flatten)]
    load: LoadShape,
    /// For everything that is drawn; printed on standard error.
    #[arg(long, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    target: Target,
}

impl LoadShape {
    fn over(&self, period: Span, nodes: u32, horizon: Span) -> Result<LocalLoad, Failure> {
        if self.share.1 > 1_000 {
            let failure = Failure::usage("--share: a node has no more than all of its time");
            return Err(failure.hint("write shares from 0 to 1, such as `0.1..0.5`"));
        }
        let (share, lengths) = (self.share, self.lengths);
        let load = LocalLoad { share, lengths, period, ..LocalLoad::default() };
        let tasks = load.at_most(nodes, horizon);
        if tasks > MOST_TASKS {
            let what = format!("up to {tasks} local tasks: more than {MOST_TASKS}");
            let hint = "take fewer nodes, a shorter `--horizon`, longer `--lengths` or a longer \
                        `--period`";
            return Err(Failure::usage(what).hint(hint));
        }
        Ok(load)
    }
}

/// Local tasks of one file: half a gigabyte in memory.
const MOST_TASKS: u64 = 10_000_000;

pub(super) fn environment(args: &EnvironmentArgs, report: &Report) -> Outcome {
    let model = Environment {
        nodes: args.nodes,
        sites: args.sites,
        horizon: args.horizon,
        jobs: args.jobs,
        tasks: args.tasks,
        work: args.work,
        min_performance: args.min_performance,
        budget: args.budget,
        load: args.load.over(args.horizon, args.nodes, args.horizon)?,
        ..Environment::default()
    };
    let cycle = model.draw(args.seed).ok_or_else(impossible)?;
    report.seed(args.seed);
    let scenario = Scenario {
        title: Some(format!("one cycle in the environment of paper 000, seed {}", args.seed)),
        notes: vec![
            "no real nodes and jobs: drawn by rule".to_owned(),
            "market price, work and lengths of local tasks are not in the paper: they fit its \
             figures"
                .to_owned(),
        ],
        snapshot: cycle.snapshot,
        busy: Some(cycle.busy),
        busy_parts: Vec::new(),
    };
    args.target.write(&scenario.to_json())
}

pub(super) fn study1(args: &Study1Args, report: &Report) -> Outcome {
    let model = Study1 {
        slots: args.slots,
        jobs: args.jobs,
        tasks: args.tasks,
        ticks: args.ticks,
        ..Study1::default()
    };
    let snapshot = model.draw(args.seed).ok_or_else(impossible)?;
    report.seed(args.seed);
    let scenario = Scenario {
        title: Some(format!("slots and jobs of paper 001, section 5, seed {}", args.seed)),
        notes: vec!["no real nodes and jobs: drawn by rule".to_owned()],
        snapshot,
        busy: None,
        busy_parts: Vec::new(),
    };
    args.target.write(&scenario.to_json())
}

fn impossible() -> Failure {
    let failure = Failure::usage("no scenario can have these numbers");
    failure.hint("is a range empty, or a horizon 0?")
}

pub(super) fn local_load(args: &LoadArgs, report: &Report) -> Outcome {
    if args.start.0.saturating_add(args.horizon.0) > Time::MAX.0 {
        return Err(Failure::usage(format!("the horizon ends beyond {} s", Time::MAX)));
    }
    let horizon = Horizon { start: args.start, end: args.start + args.horizon };
    let load = args.load.over(args.period, args.nodes, args.horizon)?;
    let busy = load.draw(args.seed, args.nodes, horizon);
    report.seed(args.seed);
    let header = ["node", "start", "end"].map(str::to_owned).to_vec();
    let row = |task: &tradewind_model::Slot| {
        vec![task.node.0.to_string(), task.start.to_string(), task.end.to_string()]
    };
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(busy.iter().map(row)).collect();
    args.target.write(&output::csv(&rows)?)
}
