//! The experiment: cycle after cycle, ALP and AMP on the same slots and jobs.

use tradewind_model::{Criterion, Objective, Rho, Window};
use tradewind_sched::combine::Choice;
use tradewind_sched::window::{self, Algorithm, Search, Variant};

use super::parameters::{
    BUDGET_TEST, CAP, CAP_SPREAD, COUNTS, MEASURE, RESERVED, RHO, TICKS, TIME_LIMIT, rho, variant,
};
use super::world::{PerJob, SearchScheme, World, printed_limit};
use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// 25,000 cycles at full size. A cycle counts only if every job has an alternative under both.
///
/// Names in the tally: `all/…` of all cycles, the rest of those that count; `alp/…`, `amp/…` of a
/// search; `min-time/…`, `min-cost/…` of a combination, per job; `gain/…` of ours beside AMP.
pub(in crate::papers) static CYCLES: Experiment = Experiment {
    id: "alp-amp-cycles",
    summary: "draws slots and a batch, finds all alternatives by ALP and by AMP, and combines them \
              for least time and for least cost",
    parameters: &[
        &CAP,
        &CAP_SPREAD,
        &RESERVED,
        &RHO,
        &BUDGET_TEST,
        &TIME_LIMIT,
        &MEASURE,
        &COUNTS,
        &TICKS,
    ],
    logs: &[],
    parts,
    part,
};

/// Number of cycles the papers simulate.
pub(super) const PAPERS_CYCLES: u32 = 25_000;
const PART: u32 = 250;
/// Points are kept up to this cycle: enough for the figure, as a third of all cycles count.
const SHOWN_UPTO: u64 = 2_000;
/// What ours adds is measured on every so many cycles.
const GAINS_EVERY: u64 = 2;

/// The two problems, by what they minimise.
pub(super) const GOALS: [(&str, Objective); 2] =
    [("least-time", Objective::MinTime), ("least-cost", Objective::MinCost)];

/// What ours puts in place of AMP as the papers have it.
pub(super) const OURS: [&str; 5] =
    ["amp-each-start", "rho-0.8", "best-finish", "best-runtime", "best-cost"];

fn parts(case: &Case) -> u32 {
    match case.size {
        Size::Full => PAPERS_CYCLES / PART,
        Size::Quick => 4,
    }
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    for cycle in 0..PART {
        let number = u64::from(index * PART + cycle);
        if let Some(world) = World::draw(case, number) {
            one(case, number, &world, &mut tally);
        }
    }
    tally
}

fn one(case: &Case, number: u64, world: &World, tally: &mut Tally) {
    let (slots, jobs) = (world.snapshot.slots.len() as f64, world.snapshot.jobs.len() as f64);
    tally.add("all/slots", slots);
    tally.add("all/jobs", jobs);
    let alp = SearchScheme { algorithm: Algorithm::Alp, variant: variant(case), rho: Rho::ONE };
    let amp = SearchScheme { algorithm: Algorithm::Amp, variant: variant(case), rho: rho(case) };
    let found = [world.alternatives(&alp), world.alternatives(&amp)];
    for (name, found) in ["alp", "amp"].iter().zip(&found) {
        tally.add_if(&format!("all/{name}/lacks"), found.is_none());
    }
    let [Some(alp), Some(amp)] = found else {
        tally.add_if("all/counted", false);
        tally.add("all/alp/windows", 0.0);
        tally.add("all/amp/windows", 0.0);
        return;
    };
    tally.add_if("all/counted", true);
    tally.add("slots", slots);
    tally.add("jobs", jobs);
    count_windows(case, world, [&alp, &amp], tally);
    containment(case, world, tally);
    let choices = [&alp, &amp].map(|found| world.choices(case, found));
    for (goal, objective) in GOALS {
        let best = choices.each_ref().map(|jobs| world.combine(case, jobs, objective));
        for (name, best) in ["alp", "amp"].iter().zip(best) {
            tally.add_if(&format!("{goal}/{name}/solved"), best.is_some());
        }
        if let [Some(alp), Some(amp)] = best {
            compare(goal, number, alp, amp, tally);
        }
    }
    printed(world, &choices, tally);
    if number.is_multiple_of(GAINS_EVERY) {
        gains(case, world, &choices[1], tally);
    }
}

/// Alternatives, how much of the budget they take, and how much they differ.
fn count_windows(case: &Case, world: &World, found: [&Vec<Vec<Window>>; 2], tally: &mut Tally) {
    for (name, found) in ["alp", "amp"].iter().zip(found) {
        let windows = found.iter().map(Vec::len).sum::<usize>() as f64;
        tally.add(&format!("all/{name}/windows"), windows);
        tally.add(&format!("{name}/alternatives"), windows / found.len() as f64);
        for (job, windows) in world.snapshot.jobs.iter().zip(found) {
            let budget = job.request.budget.unwrap_or_default().0 as f64;
            for window in windows {
                tally.add(&format!("{name}/budget-used"), window.cost().0 as f64 / budget);
            }
        }
        for choices in world.choices(case, found).iter().filter(|choices| choices.len() > 1) {
            tally.add(&format!("{name}/spread-time"), spread(choices, |choice| choice.time));
            tally.add(&format!("{name}/spread-cost"), spread(choices, |choice| choice.cost));
        }
    }
}

/// The standard deviation over the mean.
fn spread(choices: &[Choice], of: impl Fn(&Choice) -> i64) -> f64 {
    let n = choices.len() as f64;
    let mean = choices.iter().map(|choice| of(choice) as f64).sum::<f64>() / n;
    let squares = choices.iter().map(|choice| (of(choice) as f64 - mean).powi(2)).sum::<f64>();
    (squares / n).sqrt() / mean
}

/// Of each job alone on the whole list: whether AMP could have taken ALP's window.
fn containment(case: &Case, world: &World, tally: &mut Tally) {
    let find = |request: &_, algorithm| {
        let search = Search { variant: variant(case), ..Search::new(algorithm) };
        let (grid, slots) = (&world.snapshot.grid, &world.snapshot.slots);
        window::find(grid, slots, request, &search).map(|found| found.window)
    };
    for job in &world.snapshot.jobs {
        let Some(alp) = find(&job.request, Algorithm::Alp) else { continue };
        let within = job.request.budget.is_some_and(|budget| alp.cost() <= budget);
        tally.add_if("alp-window/within-budget", within);
        let amp = find(&job.request, Algorithm::Amp);
        let no_later = amp.is_some_and(|amp| amp.start() <= alp.start());
        tally.add_if("alp-window/amp-no-later", no_later);
    }
}

fn compare(goal: &str, number: u64, alp: PerJob, amp: PerJob, tally: &mut Tally) {
    for (name, of) in [("alp", alp), ("amp", amp)] {
        tally.add(&format!("{goal}/{name}/time"), of.time);
        tally.add(&format!("{goal}/{name}/cost"), of.cost);
        if number < SHOWN_UPTO {
            tally.add_point(&format!("{goal}/{name}/time"), number as f64, of.time);
        }
    }
    tally.add_pair(&format!("{goal}/time"), amp.time, alp.time);
    tally.add_pair(&format!("{goal}/cost"), alp.cost, amp.cost);
    tally.add_if(&format!("{goal}/amp-faster"), amp.time < alp.time);
    tally.add_if(&format!("{goal}/amp-dearer"), amp.cost > alp.cost);
}

/// Whether T* of equation (2) as printed can be kept.
fn printed(world: &World, choices: &[Vec<Vec<Choice>>; 2], tally: &mut Tally) {
    for (name, jobs) in ["alp", "amp"].iter().zip(choices) {
        let min = |job: &Vec<Choice>| job.iter().map(|choice| choice.time).min().unwrap_or(0);
        let min: i64 = jobs.iter().map(min).sum();
        tally
            .add_if(&format!("{name}/printed-limit-kept"), min <= printed_limit(jobs, world.ticks));
    }
}

/// Ours in place of the paper's AMP, on the same cycle: `amp` are its alternatives.
fn gains(case: &Case, world: &World, amp: &[Vec<Choice>], tally: &mut Tally) {
    let windows = |jobs: &[Vec<Choice>]| jobs.iter().map(Vec::len).sum::<usize>() as f64;
    let paper = GOALS.map(|(_, objective)| world.combine(case, amp, objective));
    for name in OURS {
        let found = world.alternatives(&ours(case, name));
        tally.add_if(&format!("gain/{name}/lacks"), found.is_none());
        let Some(found) = found else { continue };
        let jobs = world.choices(case, &found);
        tally.add_pair(&format!("gain/{name}/windows"), windows(&jobs), windows(amp));
        for ((goal, objective), paper) in GOALS.into_iter().zip(paper) {
            let (Some(ours), Some(paper)) = (world.combine(case, &jobs, objective), paper) else {
                continue;
            };
            tally.add_pair(&format!("gain/{name}/{goal}/time"), ours.time, paper.time);
            tally.add_pair(&format!("gain/{name}/{goal}/cost"), ours.cost, paper.cost);
        }
    }
    for ((goal, objective), exact) in GOALS.into_iter().zip(paper) {
        let table = world.by_recursion(case, amp, objective);
        tally.add_if(&format!("gain/combination/{goal}/table-solved"), table.is_some());
        if let (Some(exact), Some(table)) = (exact, table) {
            tally.add_pair(&format!("gain/combination/{goal}/time"), exact.time, table.time);
            tally.add_pair(&format!("gain/combination/{goal}/cost"), exact.cost, table.cost);
        }
    }
}

fn ours(case: &Case, name: &str) -> SearchScheme {
    let best = |criterion| Algorithm::Best(criterion);
    let (algorithm, variant) = match name {
        "rho-0.8" => (Algorithm::Amp, variant(case)),
        "best-finish" => (best(Criterion::Finish), Variant::Exact),
        "best-runtime" => (best(Criterion::Runtime), Variant::Exact),
        "best-cost" => (best(Criterion::Cost), Variant::Exact),
        _ => (Algorithm::Amp, Variant::Exact),
    };
    let eight_tenths = Rho::from_thousandths(rho(case).thousandths() * 8 / 10);
    let rho = if name == "rho-0.8" { eight_tenths.unwrap_or(Rho::ONE) } else { rho(case) };
    SearchScheme { algorithm, variant, rho }
}
