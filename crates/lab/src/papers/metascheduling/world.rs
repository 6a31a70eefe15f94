//! What is drawn for one scheduling cycle.

use tradewind_model::{Money, Snapshot, Span, random};
use tradewind_sched::window::Variant;
use tradewind_sim::models::{Environment, LocalLoad};

use super::parameters::{
    BUDGET, DEVIATION, LOAD_STEPS, LOCAL_TASK, MARKET, PRICE_BASE, SEARCHES, WORK,
};
use crate::case::Case;

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
