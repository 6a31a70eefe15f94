//! The experiment of figure 7: one batch cut into ever more sub-batches, at three levels of load.

use tradewind_model::{Criterion, Snapshot};
use tradewind_sched::policy::cyclic::{SearchBy, SubBatches};
use tradewind_sched::window::Algorithm;

use super::parameters::{HIGH, LOW, MEDIUM, SLICES_SEARCH};
use super::world::{
    BATCH_PARAMETERS, BatchScheme, MEASURES, draw_batch, loaded, means, schedule, schedule_by, seed,
};
use crate::case::{Case, Parameter, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// 5,000 cycles for each level at full size. Names in the tally: `level/k/failed` of all cycles;
/// `level/k/measure` of those that every k places in full, so that all k are compared on the same
/// ones; `level/gain/…` of ours beside k = 5.
pub(in crate::papers) static SLICES: Experiment = Experiment {
    id: "slices",
    summary: "draws batches at three levels of load, and plans each in 1 to 20 sub-batches",
    parameters: &PARAMETERS,
    logs: &[],
    parts,
    part,
};

static PARAMETERS: [&Parameter; 14] = {
    let [a, b, c, d, e, f, g, h, i, j] = BATCH_PARAMETERS;
    [&HIGH, &MEDIUM, &LOW, &SLICES_SEARCH, a, b, c, d, e, f, g, h, i, j]
};

/// By how many sub-batches.
pub(super) const COUNTS: [u32; 7] = [1, 2, 3, 5, 6, 10, 20];
/// By how much load.
pub(super) const LEVELS: [(&str, &Parameter); 3] =
    [("high", &HIGH), ("medium", &MEDIUM), ("low", &LOW)];

const PART: u32 = 50;
const FULL: u32 = 100;
const QUICK: u32 = 1;
/// Ours are measured on every so many cycles: they take several times as long.
const GAINS_EVERY: u64 = 10;

fn of_level(case: &Case) -> u32 {
    match case.size {
        Size::Full => FULL,
        Size::Quick => QUICK,
    }
}

fn parts(case: &Case) -> u32 {
    of_level(case) * LEVELS.len() as u32
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    let (level, within) = (index / of_level(case), index % of_level(case));
    let Some((level, load)) = LEVELS.get(level as usize) else { return tally };
    let environment = loaded(case, case.number(load));
    for cycle in 0..PART {
        let number = u64::from(within * PART + cycle);
        let seed = seed(case, "slices", number);
        if let Some(snapshot) = draw_batch(&environment, seed) {
            one(case, level, &snapshot, &mut tally);
            if number.is_multiple_of(GAINS_EVERY) {
                gains(case, level, &snapshot, &mut tally);
            }
        }
    }
    tally
}

fn scheme(case: &Case, count: u32) -> BatchScheme {
    match case.word(&SLICES_SEARCH) {
        "own-criterion" => BatchScheme::Slicer(count),
        _ => BatchScheme::FirstFit(count),
    }
}

fn one(case: &Case, level: &str, snapshot: &Snapshot, tally: &mut Tally) {
    let plans = COUNTS.map(|count| schedule(case, snapshot, scheme(case, count)));
    let mut all = Vec::new();
    for (count, plan) in COUNTS.iter().zip(&plans) {
        tally.add_if(&format!("{level}/{count}/failed"), plan.is_none());
        all.extend(plan.as_ref().and_then(|plan| means(plan.iter())));
    }
    if all.len() < COUNTS.len() {
        return;
    }
    let cpu = |means: &[f64; 6]| means[4];
    for (count, means) in COUNTS.iter().zip(&all) {
        for (measure, mean) in MEASURES.iter().zip(means) {
            tally.add(&format!("{level}/{count}/{measure}"), *mean);
        }
        tally.add_pair(&format!("{level}/{count}/over-css"), cpu(means), cpu(&all[0]));
    }
}

/// What ours adds to five sub-batches: the best number of them for each batch, and windows
/// searched for what the combination wants.
fn gains(case: &Case, level: &str, snapshot: &Snapshot, tally: &mut Tally) {
    let Some(paper) = schedule(case, snapshot, scheme(case, 5)) else { return };
    let first_fit = SearchBy::All(Algorithm::Amp);
    let min = SearchBy::All(Algorithm::Best(Criterion::ProcessorTime));
    let ours =
        [("best-count", first_fit, SubBatches::Auto), ("least-time", min, SubBatches::Count(5))];
    for (name, search, count) in ours {
        let plan = schedule_by(case, snapshot, search, count);
        tally.add_if(&format!("{level}/gain/{name}/failed"), plan.is_none());
        let plan = plan.as_ref().and_then(|plan| means(plan.iter()));
        if let (Some(ours), Some(paper)) = (plan, means(paper.iter())) {
            for (at, measure) in MEASURES.iter().enumerate() {
                tally.add_pair(&format!("{level}/gain/{name}/{measure}"), ours[at], paper[at]);
            }
        }
    }
}
