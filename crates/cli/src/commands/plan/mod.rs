//! `tradewind plan`: a whole batch.

mod args;
mod front;
mod render;

use std::collections::{BTreeMap, BTreeSet};

use tradewind_io::chart::{self, Chart};
use tradewind_io::scenario;
use tradewind_io::wire::{self, combine::Alternative};
use tradewind_model::{
    Attribute, Criterion, Energy, Job, JobPlan, Node, Plan, Quantity, Snapshot, Window,
};
use tradewind_sched::policy::cyclic::{self, Cyclic, SearchBy};
use tradewind_sched::window::{Algorithm, Variant};

use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::progress::Progress;
use crate::report::Report;
use crate::{input, output};

pub(crate) use args::{Args, ObjectiveName, Picture, picture_kind};

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let picture = args.chart.as_deref().map(args::picture_kind).transpose()?;
    let mut scenario = input::scenario(&args.scenario, report)?;
    args.override_policy(&mut scenario.snapshot.policy);
    let snapshot = &scenario.snapshot;
    let cyclic = args.cyclic(snapshot)?;
    check_search(&cyclic.search, snapshot)?;
    check_variant(&cyclic, snapshot)?;
    snapshot.policy.criteria.quantities().try_for_each(|it| check_quantity(it, snapshot))?;
    if cyclic.variant == Variant::Paper {
        report.seed(cyclic.seed);
    }
    let plan = plan_with_progress(snapshot, &cyclic, report);
    let title = args.title(&scenario, plan.sub_batches);
    if let Some(max) = args.front {
        let file = args.chart.as_deref().zip(picture);
        let (max, limit) = (max.get(), cyclic.choice_limit);
        return front::show((snapshot, &plan), &title, (max, limit), format, file);
    }
    let chart = || Chart::of_plan(title.clone(), snapshot, &plan);
    if let (Some(path), Some(kind)) = (&args.chart, picture) {
        output::write_file(path, &draw(kind, &chart())?)?;
    }
    if let Some(path) = &args.alternatives {
        let document = wire::to_json(&alternatives(snapshot, &plan));
        output::write_file(path, document.as_bytes())?;
    }
    notes(snapshot, &plan, report);
    note_performance(&cyclic, snapshot, report);
    match format {
        Format::Json => output::json(&args.document(snapshot, &plan))?,
        Format::Csv => output::print(&output::csv(&render::csv(snapshot, &plan))?)?,
        Format::Table => {
            output::print_styled(&render::table(snapshot, &plan, &title, &chart()))?;
        }
    }
    let placed = plan.jobs.iter().any(|job| job.window().is_some());
    Ok(if placed { Exit::Ok } else { Exit::Infeasible })
}

/// A sum over an attribute needs nodes that have it as a number.
fn check_search(search: &SearchBy, snapshot: &Snapshot) -> Result<(), Failure> {
    let SearchBy::All(Algorithm::Best(Criterion::Sum(name))) = search else { return Ok(()) };
    let known = numbers(snapshot);
    if known.contains(name) {
        return Ok(());
    }
    Err(Failure::usage(format!("no node has a number `{name}` to sum up"))
        .hint(known_numbers(known)))
}

/// The papers' own steps know one price for each node.
fn check_variant(cyclic: &Cyclic, snapshot: &Snapshot) -> Result<(), Failure> {
    match cyclic.variant == Variant::Paper && snapshot.grid.rates().is_some() {
        true => Err(Failure::usage("`--variant paper` knows no prices that change")
            .hint("leave it out: the exact searches do".to_owned())),
        false => Ok(()),
    }
}

/// A quantity that counts an attribute needs it on every node: without it, a node would be free.
fn check_quantity(quantity: &Quantity, snapshot: &Snapshot) -> Result<(), Failure> {
    let Some(attribute) = quantity.attribute() else { return Ok(()) };
    let lacks =
        |node: &&Node| !matches!(node.attributes.get(attribute), Some(Attribute::Number(_)));
    match snapshot.grid.nodes().iter().find(lacks) {
        None => Ok(()),
        Some(node) => {
            let (node, quantity) = (&node.name, quantity.name());
            let message =
                format!("node `{node}` has no number `{attribute}`, which `{quantity}` sums up");
            Err(Failure::usage(message).hint(match attribute {
                Energy::BUSY => {
                    "give `watts = { idle = 90, busy = 250 }` for all nodes or their sites"
                        .to_owned()
                }
                _ => known_numbers(numbers(snapshot)),
            }))
        }
    }
}

/// The attributes that are numbers on some node.
fn numbers(snapshot: &Snapshot) -> BTreeSet<String> {
    let numbers = |node: &Node| -> Vec<String> {
        let all = node.attributes.iter();
        let numbers = all.filter(|(_, value)| matches!(value, Attribute::Number(_)));
        numbers.map(|(name, _)| name.clone()).collect()
    };
    snapshot.grid.nodes().iter().flat_map(numbers).collect()
}

fn known_numbers(known: BTreeSet<String>) -> String {
    let known: Vec<String> = known.into_iter().collect();
    match known.as_slice() {
        [] => "nodes say such numbers in `attributes`".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    }
}

fn plan_with_progress(snapshot: &Snapshot, cyclic: &Cyclic, report: &Report) -> Plan {
    let mut progress = Progress::new(report, "jobs");
    let plan = cyclic::plan(snapshot, cyclic, &mut |so_far| {
        progress.set(so_far.jobs_done, so_far.jobs, || format!("{} windows", so_far.windows));
    });
    let took = progress.finish();
    report.detail(|| {
        format!(
            "planned {} jobs on {} nodes with {} slots in {:.3} s",
            snapshot.jobs.len(),
            snapshot.grid.len(),
            snapshot.slots.as_slice().len(),
            took.as_secs_f64()
        )
    });
    plan
}

/// What `combine` would have to choose from.
fn alternatives(snapshot: &Snapshot, plan: &Plan) -> wire::combine::CombineInput {
    let measure = snapshot.policy.measure;
    let with_some = |(job, planned): (&Job, &JobPlan)| {
        let of = |window: &Window| Alternative {
            time: measure.of(window),
            cost: window.cost(),
            quantities: quantities(snapshot, window),
        };
        let alternatives: Vec<_> = planned.alternatives.iter().map(of).collect();
        (!alternatives.is_empty())
            .then(|| wire::combine::Job { name: job.name.clone(), alternatives })
    };
    let jobs = snapshot.jobs.iter().zip(&plan.jobs).filter_map(with_some).collect();
    wire::combine::CombineInput { jobs }
}

/// What is summed beside time and cost, in millionths of the unit shown.
fn quantities(snapshot: &Snapshot, window: &Window) -> BTreeMap<String, i64> {
    let at = (snapshot.policy.measure, snapshot.horizon.start);
    let all = wire::summed(snapshot).into_iter();
    let others = all.filter(|it| !matches!(it, Quantity::Cost | Quantity::Time));
    let millionths = |quantity: Quantity| {
        let sum = quantity.of(window, &snapshot.grid, at);
        let number = match &quantity {
            Quantity::Energy => Energy(sum).micro_kwh(),
            other => {
                let decimals = scenario::quantity_scale(other).0;
                sum.saturating_mul(10_i64.pow(6 - decimals))
            }
        };
        (quantity.name(), number)
    };
    others.map(millionths).collect()
}

fn draw(kind: args::Picture, chart: &Chart) -> Result<Vec<u8>, Failure> {
    match kind {
        args::Picture::Svg => Ok(chart::svg(chart).into_bytes()),
        args::Picture::Png => {
            chart::png(chart).map_err(|error| Failure::data(format!("failed to draw: {error}")))
        }
    }
}

/// AMP makes a budget of a price cap, for which it takes a performance.
fn note_performance(cyclic: &Cyclic, snapshot: &Snapshot, report: &Report) {
    if !matches!(cyclic.search, SearchBy::All(Algorithm::Amp | Algorithm::Csa(_))) {
        return;
    }
    let derived = |job: &&Job| {
        let request = &job.request;
        request.budget.is_none()
            && request.max_price.is_some()
            && request.groups().any(|group| group.min_performance.is_none())
    };
    let count = snapshot.jobs.iter().filter(derived).count();
    if count > 0 {
        report.note(&format!(
            "{count} of {} jobs have a `max_price`, no `budget` and no `min_performance`: their \
             budgets are derived for nodes of performance 1 (S = rho * max_price * work * nodes)",
            snapshot.jobs.len()
        ));
    }
}

/// What a reader of the plan should know and the result does not shout.
fn notes(snapshot: &Snapshot, plan: &Plan, report: &Report) {
    let cut = plan.jobs.iter().filter(|job| job.cut).count();
    if cut > 0 {
        report.note(&format!(
            "{cut} of {} jobs stopped at the most alternatives allowed (--max-alternatives)",
            snapshot.jobs.len()
        ));
    }
    let unproven: u32 = plan.jobs.iter().map(|job| job.unproven).sum();
    if unproven > 0 {
        report.note(&format!(
            "{unproven} alternatives are not proven best: the work limit was hit (--work-limit)"
        ));
    }
    if let Some(gap) = &plan.gap {
        report.note(&format!(
            "the choice is not proven best: {} (--choice-limit)",
            render::gap(gap, snapshot.policy.objective)
        ));
    }
}
