//! The experiment: the cycles of 001, each planned whole by CSS, in parts by batch-slicer, and as
//! a whole batch whose windows may overlap until the choice.

use tradewind_model::{Criterion, Limit, Limits, Measure, Objective, Snapshot, VoPolicy};
use tradewind_sched::policy::cyclic::{Cyclic, Offers, Progress, SearchBy, SubBatches, plan};
use tradewind_sched::window::{Algorithm, Variant};

use super::cycles::GOALS;
use super::parameters::{
    ALTERNATIVES, BUDGET_TEST, CAP, CHOICE_LIMIT, COUNTS, LIMITS_OF, MEASURE, RESERVED, RHO,
    SCARCE, SEARCH, TICKS, rho, variant,
};
use super::world::{SearchScheme, World};
use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// 2,500 cycles at full size; all of them count. Each is planned for both goals, and for least time
/// once more on a part of its slots ([`SCARCELY`]).
///
/// Names in the tally: `goal/scheme/…` with [`GOALS`] or [`SCARCELY`], and [`SCHEMES`]; `goal/scheme/over-css/…`
/// are pairs with CSS. Sums are per job, of the cycles in which every scheme (or both of a pair)
/// places all jobs.
pub(in crate::papers) static CYCLES: Experiment = Experiment {
    id: "whole-batch-cycles",
    summary: "draws slots and a batch as `alp-amp-cycles` does, and plans it by CSS, by \
              batch-slicer and by whole-batch, for least time and for least cost",
    parameters: &[
        &SEARCH,
        &ALTERNATIVES,
        &CHOICE_LIMIT,
        &LIMITS_OF,
        &SCARCE,
        &CAP,
        &RESERVED,
        &RHO,
        &BUDGET_TEST,
        &MEASURE,
        &COUNTS,
        &TICKS,
    ],
    logs: &[],
    parts,
    part,
};

const PART: u32 = 25;

/// In the order of the figure; the first is what the others are compared with, `slicer-best` the
/// best plan of all before it: most jobs, then the goal.
pub(super) const SCHEMES: [&str; 6] =
    ["css", "slicer-2", "slicer-3", "slicer-n", "slicer-best", "whole"];

/// The goal's name in the tally where slots are scarce.
pub(super) const SCARCELY: &str = "scarce";

fn parts(case: &Case) -> u32 {
    match case.size {
        Size::Full => 100,
        Size::Quick => 4,
    }
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    for cycle in 0..PART {
        if let Some(world) = World::draw(case, u64::from(index * PART + cycle)) {
            let snapshot = world.asked(&scheme(case));
            for (goal, objective) in GOALS {
                one(case, &world, snapshot.clone(), (goal, objective), &mut tally);
            }
            let scarce = thinned(snapshot, case.number(&SCARCE));
            one(case, &world, scarce, (SCARCELY, Objective::MinTime), &mut tally);
        }
    }
    tally
}

/// What matters of a plan, and what it took.
#[derive(Clone, Copy)]
struct Planned {
    limits: Limits,
    proven: bool,
    work: Progress,
    jobs: u32,
    placed: u32,
    /// What the goal is about, per job, in the paper's units.
    sum: f64,
}

impl Planned {
    fn is_complete(&self) -> bool {
        self.placed == self.jobs
    }
}

/// The snapshot with evenly chosen slots, so that not all jobs find a place.
fn thinned(mut snapshot: Snapshot, part: f64) -> Snapshot {
    let mut share = 0.0;
    snapshot.slots.retain(|_| {
        share += part;
        let kept = share >= 1.0;
        share -= if kept { 1.0 } else { 0.0 };
        kept
    });
    snapshot
}

fn one(
    case: &Case,
    world: &World,
    mut snapshot: Snapshot,
    (goal, objective): (&str, Objective),
    tally: &mut Tally,
) {
    snapshot.policy = VoPolicy { objective, measure: measure(case), ..VoPolicy::default() };
    let css = planned(case, world, &snapshot, "css");
    let limits = css.limits;
    if case.word(&LIMITS_OF) == "css" {
        give(&mut snapshot, limits);
    }
    let [two, three, each, whole] = ["slicer-2", "slicer-3", "slicer-n", "whole"]
        .map(|name| planned(case, world, &snapshot, name));
    let best = best_of([css, two, three, each]);
    let all = [css, two, three, each, best, whole];
    for (name, it) in SCHEMES.iter().zip(&all) {
        let key = |what: &str| format!("{goal}/{name}/{what}");
        tally.add(&key("placed"), f64::from(it.placed));
        tally.add_if(&key("complete"), it.is_complete());
        tally.add(&key("windows"), it.work.windows as f64);
        if all.iter().all(Planned::is_complete) {
            tally.add(&key("sum"), it.sum);
        }
        compare(&key("over-css"), it, &css, tally);
    }
    compare(&format!("{goal}/whole/over-best"), &whole, &best, tally);
    tally.add_if(&format!("{goal}/whole/proven"), whole.proven);
    tally.add(&format!("{goal}/whole/looks"), whole.work.looks as f64);
}

/// The first of the best; its windows are those of all.
fn best_of(all: [Planned; 4]) -> Planned {
    let mut best = all[0];
    for other in &all[1..] {
        let better =
            other.placed > best.placed || (other.placed == best.placed && other.sum < best.sum);
        best = if better { *other } else { best };
    }
    best.work.windows = all.iter().map(|it| it.work.windows).sum();
    best
}

/// `ours` beside `theirs`, on one cycle.
fn compare(key: &str, ours: &Planned, theirs: &Planned, tally: &mut Tally) {
    tally.add_pair(&format!("{key}/placed"), f64::from(ours.placed), f64::from(theirs.placed));
    tally.add_pair(&format!("{key}/windows"), ours.work.windows as f64, theirs.work.windows as f64);
    tally.add_if(&format!("{key}/no-fewer"), ours.placed >= theirs.placed);
    tally.add_if(&format!("{key}/more"), ours.placed > theirs.placed);
    if ours.placed == theirs.placed {
        tally.add_if(&format!("{key}/no-worse"), ours.sum <= theirs.sum);
        tally.add_if(&format!("{key}/better"), ours.sum < theirs.sum);
    }
    if ours.is_complete() && theirs.is_complete() {
        tally.add_pair(&format!("{key}/sum"), ours.sum, theirs.sum);
    }
}

fn planned(case: &Case, world: &World, snapshot: &Snapshot, name: &str) -> Planned {
    let scheme = scheme(case);
    let (offers, sub_batches) = match name {
        "slicer-2" => (Offers::Disjoint, SubBatches::Count(2)),
        "slicer-3" => (Offers::Disjoint, SubBatches::Count(3)),
        "slicer-n" => (Offers::Disjoint, SubBatches::Count(u32::MAX)),
        "whole" => (Offers::Overlapping, SubBatches::Count(1)),
        _ => (Offers::Disjoint, SubBatches::Count(1)),
    };
    let cyclic = Cyclic {
        offers,
        sub_batches,
        search: SearchBy::All(scheme.algorithm),
        variant: scheme.variant,
        max_alternatives: Some(case.number(&ALTERNATIVES) as u32),
        choice_limit: case.number(&CHOICE_LIMIT) as u64,
        ..Cyclic::default()
    };
    let mut work = Progress { jobs_done: 0, jobs: 0, windows: 0, looks: 0 };
    let plan = plan(snapshot, &cyclic, &mut |so_far| work = so_far);
    let totals = plan.totals(snapshot.policy.measure);
    let of_all = match snapshot.policy.objective {
        Objective::MinTime => totals.time.0 as f64 / world.ticks,
        _ => totals.cost.0 as f64 / 1e6,
    };
    let jobs = plan.jobs.len() as u32;
    let sum = of_all / f64::from(jobs);
    let (limits, proven) = (plan.limits, plan.gap.is_none());
    Planned { limits, proven, work, jobs, placed: totals.placed, sum }
}

/// The search of the case.
fn scheme(case: &Case) -> SearchScheme {
    let (algorithm, variant) = match case.word(&SEARCH) {
        "alp" => (Algorithm::Alp, variant(case)),
        "start" => (Algorithm::Best(Criterion::Start), Variant::Exact),
        "runtime" => (Algorithm::Best(Criterion::Runtime), Variant::Exact),
        "cost" => (Algorithm::Best(Criterion::Cost), Variant::Exact),
        _ => (Algorithm::Amp, variant(case)),
    };
    SearchScheme { algorithm, variant, rho: rho(case) }
}

fn measure(case: &Case) -> Measure {
    match case.word(&MEASURE) {
        "processor-time" => Measure::ProcessorTime,
        _ => Measure::Runtime,
    }
}

/// CSS's limits for all other schemes.
fn give(snapshot: &mut Snapshot, limits: Limits) {
    let policy = &mut snapshot.policy;
    policy.time_limit = limits.time.map_or(Limit::Auto, Limit::At);
    policy.budget_limit = limits.budget.map_or(Limit::Auto, Limit::At);
}
