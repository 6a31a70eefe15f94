//! The experiment of figure 5: one job, cycle after cycle, by every strategy.

use tradewind_model::{Criterion, Request, Snapshot, Span, Window};
use tradewind_sched::policy::cyclic::{Cyclic, SearchBy, plan};
use tradewind_sched::window::{self, Algorithm, Search, Variant};

use super::parameters::{
    BUDGET, DEVIATION, LOAD_STEPS, LOCAL_TASK, MARKET, PRICE_BASE, SEARCHES, WINDOWS, WORK,
};
use super::world::{CREDIT, draw_single, seed, single_job, variant};
use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// 5,000 cycles at full size. Names in the tally: `strategy/measure`; `csa/best-…` of the
/// alternative that is best by one measure; `exact/strategy/measure` of our search for the same,
/// and `best/measure` of our search by that measure beside AMP's window, in pairs of ours and the
/// paper's.
pub(in crate::papers) static SINGLE: Experiment = Experiment {
    id: "single-job",
    summary: "draws 100 nodes with local load, and searches windows for one job by every strategy",
    parameters: &[
        &BUDGET,
        &WORK,
        &MARKET,
        &PRICE_BASE,
        &DEVIATION,
        &LOCAL_TASK,
        &LOAD_STEPS,
        &SEARCHES,
        &WINDOWS,
    ],
    logs: &[],
    parts,
    part,
};

const PART: u32 = 50;
const NODES: u32 = 100;
const HORIZON: Span = Span(600);

/// The strategies that search one window, and what each minimises.
pub(super) const STRATEGIES: [(&str, Criterion); 5] = [
    ("amp", Criterion::Start),
    ("min-runtime", Criterion::Runtime),
    ("min-finish", Criterion::Finish),
    ("min-cost", Criterion::Cost),
    ("min-proc-time", Criterion::ProcessorTime),
];

/// What is compared.
pub(super) struct Measure {
    pub(super) name: &'static str,
    of: fn(&Window) -> f64,
    criterion: Criterion,
}

const fn measure(name: &'static str, criterion: Criterion, of: fn(&Window) -> f64) -> Measure {
    Measure { name, of, criterion }
}

/// The panels of the figure, then the cost.
pub(super) static MEASURES: [Measure; 5] = [
    measure("start", Criterion::Start, |window| window.start().0 as f64),
    measure("runtime", Criterion::Runtime, |window| window.runtime().0 as f64),
    measure("finish", Criterion::Finish, |window| window.finish().0 as f64),
    measure("proc-time", Criterion::ProcessorTime, |window| window.processor_time().0 as f64),
    measure("cost", Criterion::Cost, |window| window.cost().0 as f64 / CREDIT),
];

fn parts(case: &Case) -> u32 {
    match case.size {
        Size::Full => 100,
        Size::Quick => 2,
    }
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    let environment = single_job(case, NODES, HORIZON);
    for cycle in 0..PART {
        let number = u64::from(index * PART + cycle);
        let seed = seed(case, "single-job", number);
        if let Some(snapshot) = draw_single(case, &environment, seed) {
            one(case, seed, &snapshot, &mut tally);
        }
    }
    tally
}

fn one(case: &Case, seed: u64, snapshot: &Snapshot, tally: &mut Tally) {
    let Some(job) = snapshot.jobs.first() else { return };
    let csa = alternatives(snapshot, variant(case));
    tally.add("csa/alternatives", csa.len() as f64);
    let mut all: Vec<Option<Window>> = Vec::new();
    for (strategy, criterion) in &STRATEGIES {
        let search = Search { variant: variant(case), seed, ..strategy_of(criterion) };
        let found = match criterion {
            Criterion::ProcessorTime => least_of(case, snapshot, &job.request, &search),
            _ => find(snapshot, &job.request, &search),
        };
        tally.add_if(&format!("{strategy}/found"), found.is_some());
        all.push(found.clone());
        let Some(found) = found else { continue };
        count(strategy, &found, tally);
        let exact = Search::best(criterion.clone());
        if let Some(exact) = find(snapshot, &job.request, &exact) {
            gain(strategy, &exact, &found, tally);
        }
    }
    count_csa(snapshot, &job.request, &csa, tally);
    if let Some(Some(amp)) = all.first() {
        beside_amp(snapshot, &job.request, amp, tally);
    }
    compare(&job.request, &all, &csa, tally);
}

/// What the text compares: windows of the strategies, in their order, and CSA's.
fn compare(request: &Request, all: &[Option<Window>], csa: &[Window], tally: &mut Tally) {
    let [_, _, finish, cost, processor] = all else { return };
    let credits = |window: &Window| window.cost().0 as f64;
    if let (Some(finish), Some(cost), Some(budget)) = (finish, cost, request.budget) {
        tally.add_pair("min-finish/over-min-cost", credits(finish), credits(cost));
        tally.add("min-finish/budget-used", credits(finish) / budget.0 as f64);
    }
    let time = |window: &Window| window.processor_time().0 as f64;
    let min = csa.iter().map(time).min_by(f64::total_cmp);
    if let (Some(processor), Some(min)) = (processor, min) {
        tally.add_pair("min-proc-time/over-csa", time(processor), min);
    }
}

fn strategy_of(criterion: &Criterion) -> Search {
    match criterion {
        Criterion::Start => Search::new(Algorithm::Amp),
        criterion => Search::best(criterion.clone()),
    }
}

fn find(snapshot: &Snapshot, request: &Request, search: &Search) -> Option<Window> {
    window::find(&snapshot.grid, &snapshot.slots, request, search).map(|found| found.window)
}

/// The minimum of several random searches, each a window at each slot; exact ones are all the same.
fn least_of(
    case: &Case,
    snapshot: &Snapshot,
    request: &Request,
    search: &Search,
) -> Option<Window> {
    let draws = match search.variant {
        Variant::Exact => 1,
        Variant::Paper => case.number(&WINDOWS).round() as u64,
    };
    let draw = |number: u64| {
        let seed = search.seed.wrapping_add(number);
        find(snapshot, request, &Search { seed, ..search.clone() })
    };
    (0..draws).filter_map(draw).min_by_key(Window::processor_time)
}

/// What an exact search finds by each measure, beside AMP's window.
fn beside_amp(snapshot: &Snapshot, request: &Request, amp: &Window, tally: &mut Tally) {
    for Measure { name, of, criterion } in &MEASURES {
        if let Some(exact) = find(snapshot, request, &Search::best(criterion.clone())) {
            tally.add_pair(&format!("best/{name}"), of(&exact), of(amp));
        }
    }
}

/// All disjoint windows of AMP.
pub(super) fn alternatives(snapshot: &Snapshot, variant: Variant) -> Vec<Window> {
    let search = SearchBy::All(Algorithm::Amp);
    let cyclic = Cyclic { search, variant, max_alternatives: None, ..Cyclic::default() };
    let plan = plan(snapshot, &cyclic, &mut |_| {});
    plan.jobs.into_iter().next().map(|job| job.alternatives).unwrap_or_default()
}

fn count(strategy: &str, window: &Window, tally: &mut Tally) {
    for Measure { name, of, .. } in &MEASURES {
        tally.add(&format!("{strategy}/{name}"), of(window));
    }
}

/// Ours beside the paper's for the same strategy.
fn gain(strategy: &str, exact: &Window, paper: &Window, tally: &mut Tally) {
    for Measure { name, of, .. } in &MEASURES {
        tally.add_pair(&format!("exact/{strategy}/{name}"), of(exact), of(paper));
    }
}

/// CSA's choice by each measure, and beside it what an exact search finds by it.
fn count_csa(snapshot: &Snapshot, request: &Request, csa: &[Window], tally: &mut Tally) {
    tally.add_if("csa/found", !csa.is_empty());
    for Measure { name, of, criterion } in &MEASURES {
        let Some(best) = csa.iter().min_by(|a, b| of(a).total_cmp(&of(b))) else { return };
        tally.add(&format!("csa/best-{name}"), of(best));
        if let Some(exact) = find(snapshot, request, &Search::best(criterion.clone())) {
            tally.add_pair(&format!("csa/exact-{name}"), of(&exact), of(best));
        }
    }
}
