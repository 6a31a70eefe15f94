//! The experiment of table 1: a batch whose users have criteria of their own, by batch-slicer and
//! by CSS.

use tradewind_model::{Criterion, Snapshot};

use super::parameters::SUB_BATCHES;
use super::world::{
    BATCH_PARAMETERS, BatchScheme, MEASURES, Placed, batches, draw_batch, means, schedule, seed,
};
use crate::case::{Case, Parameter, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// 5,000 cycles at full size. Names in the tally: `row/measure`, means over the jobs of a row in
/// a cycle that both schemes place in full; `gain/measure`, of the jobs whose criterion it is, by
/// batch-slicer and by CSS; `css-whole/…`, the batch planned as one.
pub(in crate::papers) static USERS: Experiment = Experiment {
    id: "users-criteria",
    summary: "draws 24 nodes and 20 jobs with criteria, and plans them by batch-slicer and by CSS",
    parameters: &PARAMETERS,
    logs: &[],
    parts,
    part,
};

static PARAMETERS: [&Parameter; 11] = {
    let [a, b, c, d, e, f, g, h, i, j] = BATCH_PARAMETERS;
    [&SUB_BATCHES, a, b, c, d, e, f, g, h, i, j]
};

const PART: u32 = 50;

/// The rows of the table, and the measure that each criterion is about.
pub(super) const ROWS: [(&str, Criterion, &str); 4] = [
    ("start", Criterion::Start, "start"),
    ("runtime", Criterion::Runtime, "runtime"),
    ("finish", Criterion::Finish, "finish"),
    ("cost", Criterion::Cost, "cost"),
];

fn parts(case: &Case) -> u32 {
    match case.size {
        Size::Full => 100,
        Size::Quick => 2,
    }
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    let environment = batches(case);
    for cycle in 0..PART {
        let seed = seed(case, "users", u64::from(index * PART + cycle));
        if let Some(snapshot) = draw_batch(&environment, seed) {
            one(case, &snapshot, &mut tally);
        }
    }
    tally
}

fn one(case: &Case, snapshot: &Snapshot, tally: &mut Tally) {
    let count = case.number(&SUB_BATCHES).round() as u32;
    let slicer = schedule(case, snapshot, BatchScheme::Slicer(count));
    let css = schedule(case, snapshot, BatchScheme::FirstFit(count));
    let whole = schedule(case, snapshot, BatchScheme::FirstFit(1));
    tally.add_if("failed", slicer.is_none() || css.is_none());
    if let Some(means) = whole.as_deref().and_then(|all| means(all.iter())) {
        add(tally, "css-whole", means);
    }
    let (Some(slicer), Some(css)) = (slicer, css) else { return };
    if let Some(means) = means(css.iter()) {
        add(tally, "css", means);
    }
    for (row, criterion, about) in &ROWS {
        let mine = |plan: &'_ [Placed]| {
            let jobs = snapshot.jobs.iter().zip(plan);
            let mine = jobs.filter(|(job, _)| job.request.criterion == *criterion);
            mine.map(|(_, placed)| placed.clone()).collect::<Vec<_>>()
        };
        let (ours, theirs) = (mine(&slicer), mine(&css));
        tally.add(&format!("{row}/jobs"), ours.len() as f64);
        let (Some(ours), Some(theirs)) = (means(ours.iter()), means(theirs.iter())) else {
            continue;
        };
        add(tally, row, ours);
        let at = MEASURES.iter().position(|measure| measure == about).unwrap_or_default();
        tally.add_pair(&format!("gain/{about}"), ours[at], theirs[at]);
    }
}

fn add(tally: &mut Tally, row: &str, means: [f64; 6]) {
    for (measure, mean) in MEASURES.iter().zip(means) {
        tally.add(&format!("{row}/{measure}"), mean);
    }
}
