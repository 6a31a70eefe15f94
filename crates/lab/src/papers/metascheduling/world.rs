//! What is drawn for one scheduling cycle.

use tradewind_model::{
    JobPlan, Measure, Money, Objective, Snapshot, Span, VoPolicy, Window, random,
};
use tradewind_sched::policy::cyclic::{Cyclic, SearchBy, SubBatches, plan};
use tradewind_sched::window::{Algorithm, Variant};
use tradewind_sim::models::{Environment, LocalLoad};

use super::parameters::{
    ALTERNATIVES, BATCH_MARKET, BATCH_WORK, BUDGET, DEVIATION, LOAD_STEPS, LOCAL_TASK, MARKET,
    POOREST, PRICE_BASE, RICHEST, SEARCHES, TASKS, WORK,
};
use crate::case::{Case, Parameter};

/// Credits in a unit of money.
pub(super) const CREDIT: f64 = 1e6;

/// The market of single jobs: `nodes` nodes over `horizon`.
pub(super) fn single_job(case: &Case, nodes: u32, horizon: Span) -> Environment {
    let work = Span(case.number(&WORK).round() as i64);
    Environment {
        nodes,
        horizon,
        work: (work, work),
        price_scale: case.number(&MARKET),
        ..common(case, Environment::single_job())
    }
}

/// What all studies share.
pub(super) fn common(case: &Case, environment: Environment) -> Environment {
    let longest = Span(case.number(&LOCAL_TASK).round() as i64);
    let load = LocalLoad {
        lengths: (Span(40), longest),
        steps: case.number(&LOAD_STEPS).round() as u32,
        ..environment.load
    };
    Environment {
        price_base: case.number(&PRICE_BASE),
        price_deviation: case.number(&DEVIATION),
        load,
        ..environment
    }
}

/// The seed of cycle `number` of a study.
pub(super) fn seed(case: &Case, study: &str, number: u64) -> u64 {
    random::within(&mut random::stream(case.seed, study, number), 0, i64::MAX) as u64
}

/// Cycle `number` with one job of the case's budget.
pub(super) fn draw_single(case: &Case, environment: &Environment, seed: u64) -> Option<Snapshot> {
    let mut snapshot = environment.draw(seed)?.snapshot;
    let budget = Money((case.number(&BUDGET) * CREDIT).round() as i64);
    for job in &mut snapshot.jobs {
        job.request.budget = Some(budget);
    }
    Some(snapshot)
}

/// Whose steps the searches of the case follow.
pub(super) fn variant(case: &Case) -> Variant {
    match case.word(&SEARCHES) {
        "exact" => Variant::Exact,
        _ => Variant::Paper,
    }
}

/// The market of batches: the paper's 24 nodes and 20 jobs.
pub(super) fn batches(case: &Case) -> Environment {
    let work = case.number(&BATCH_WORK);
    let half = |part: f64| Span((work * part).round() as i64);
    let thousandths = |share: f64| (share * 1_000.0).round() as u32;
    Environment {
        tasks: (2, case.number(&TASKS).round() as u32),
        work: (half(0.5), half(1.5)),
        budget: (thousandths(case.number(&POOREST)), thousandths(case.number(&RICHEST))),
        price_scale: case.number(&BATCH_MARKET),
        ..common(case, Environment::default())
    }
}

/// What all studies of batches may be run with.
pub(super) const BATCH_PARAMETERS: [&Parameter; 10] = [
    &ALTERNATIVES,
    &TASKS,
    &BATCH_WORK,
    &BATCH_MARKET,
    &PRICE_BASE,
    &DEVIATION,
    &POOREST,
    &RICHEST,
    &LOCAL_TASK,
    &LOAD_STEPS,
];

/// How a batch is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchScheme {
    /// First windows, whatever the jobs' criteria, in so many sub-batches: CSS with 1.
    FirstFit(u32),
    /// Each job's own criterion, in so many sub-batches.
    Slicer(u32),
}

/// The windows that `scheme` chooses for all jobs, by job; `None` if one gets none: such a cycle
/// counts as failed in the paper.
pub(super) fn schedule(
    case: &Case,
    snapshot: &Snapshot,
    scheme: BatchScheme,
) -> Option<Vec<Placed>> {
    let (search, count) = match scheme {
        BatchScheme::FirstFit(count) => (SearchBy::All(Algorithm::Amp), count),
        BatchScheme::Slicer(count) => (SearchBy::Job, count),
    };
    schedule_by(case, snapshot, search, SubBatches::Count(count))
}

/// The same by any search.
pub(super) fn schedule_by(
    case: &Case,
    snapshot: &Snapshot,
    search: SearchBy,
    sub_batches: SubBatches,
) -> Option<Vec<Placed>> {
    let max_alternatives = Some(case.number(&ALTERNATIVES).round() as u32);
    let cyclic = Cyclic { sub_batches, search, max_alternatives, ..Cyclic::default() };
    let plan = plan(snapshot, &cyclic, &mut |_| {});
    let placed = |job: &JobPlan| {
        let window = job.window()?.clone();
        Some(Placed { window, alternatives: job.alternatives.len() })
    };
    plan.jobs.iter().map(placed).collect()
}

/// A job's window, and of how many.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) window: Window,
    pub(super) alternatives: usize,
}

/// What is averaged over jobs.
pub(super) const MEASURES: [&str; 6] = ["na", "start", "runtime", "finish", "cpu", "cost"];

impl Placed {
    /// In the order of [`MEASURES`].
    pub(super) fn measures(&self) -> [f64; 6] {
        let window = &self.window;
        [
            self.alternatives as f64,
            window.start().0 as f64,
            window.runtime().0 as f64,
            window.finish().0 as f64,
            window.processor_time().0 as f64,
            window.cost().0 as f64 / CREDIT,
        ]
    }
}

/// Means over `jobs`, in the order of [`MEASURES`]; `None` of none.
pub(super) fn means<'a>(jobs: impl Iterator<Item = &'a Placed>) -> Option<[f64; 6]> {
    let (mut sums, mut count) = ([0.0; 6], 0);
    for job in jobs {
        count += 1;
        for (sum, value) in sums.iter_mut().zip(job.measures()) {
            *sum += value;
        }
    }
    (count > 0).then(|| sums.map(|sum| sum / f64::from(count)))
}

/// A batch of `environment`, to be planned by [`batch_policy`].
pub(super) fn draw_batch(environment: &Environment, seed: u64) -> Option<Snapshot> {
    let mut snapshot = environment.draw(seed)?.snapshot;
    snapshot.policy = batch_policy();
    Some(snapshot)
}

/// The minimum processor time.
pub(super) fn batch_policy() -> VoPolicy {
    VoPolicy {
        objective: Objective::MinTime,
        measure: Measure::ProcessorTime,
        ..VoPolicy::default()
    }
}

/// The market of batches with so much more local load on every node, as a part of the interval.
pub(super) fn loaded(case: &Case, more: f64) -> Environment {
    let environment = batches(case);
    let LocalLoad { share: (min, max), .. } = environment.load;
    let add = |share: u32| (f64::from(share) + 1_000.0 * more).round().max(0.0) as u32;
    let load = LocalLoad { share: (add(min), add(max)), ..environment.load };
    Environment { load, ..environment }
}

/// What a node of this performance costs in the mean, where batches are planned.
pub(super) fn market_price(case: &Case, performance: f64) -> f64 {
    case.number(&BATCH_MARKET) * case.number(&PRICE_BASE).powf(performance)
}
