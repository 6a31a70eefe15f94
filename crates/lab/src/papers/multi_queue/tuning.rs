//! Figure 11: the mean response over α and β.

use super::outcome::measure;
use super::parameters::{
    ALPHA, BETA, CHOOSE, DATA, GUARD, HOMES, JOBS, LATENCY, OVERESTIMATE, OVERFLOW, PATIENCE, RATE,
    RESERVE, WARM_UP,
};
use super::schemes::{HYBRID, play};
use super::world::{Draw, SITES, draw, jobs, seed, stated_load};
use crate::case::{Case, Size, Value};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// Names in the tally: `α/β`, the mean response in hours; and pairs of two such cells on the same
/// jobs, `α/β:α/β`.
pub(in crate::papers) static TUNING: Experiment = Experiment {
    id: "multi-queue-tuning",
    summary: "the paper's mechanism at the stated rate, for every α and β",
    parameters: &[
        &RATE,
        &JOBS,
        &WARM_UP,
        &HOMES,
        &OVERESTIMATE,
        &PATIENCE,
        &GUARD,
        &RESERVE,
        &CHOOSE,
        &OVERFLOW,
        &LATENCY,
        &DATA,
    ],
    logs: &[],
    parts,
    part,
};

const ALPHAS: [f64; 5] = [0.1, 0.2, 0.3, 0.4, 0.5];
const BETAS: [f64; 5] = [4.0, 16.0, 64.0, 128.0, 256.0];

fn parts(case: &Case) -> u32 {
    match case.size {
        Size::Full => 16,
        Size::Quick => 3,
    }
}

fn part(case: &Case, number: u32) -> Tally {
    let mut tally = Tally::default();
    let to = Draw { sites: SITES, jobs: jobs(case), load: stated_load(case), number };
    let Some(workload) = draw(case, to) else { return tally };
    let response = |alpha: f64, beta: f64| {
        let case = case.clone().with(&ALPHA, Value::Number(alpha));
        let case = case.with(&BETA, Value::Number(beta));
        let played = play(&case, HYBRID, &workload, seed(&case, number));
        played.map_or(f64::NAN, |played| measure(&case, &workload, &played).response_h)
    };
    let cells = ALPHAS.map(|alpha| BETAS.map(|beta| response(alpha, beta)));
    for (alpha, row) in ALPHAS.iter().zip(&cells) {
        for (beta, hours) in BETAS.iter().zip(row) {
            tally.add(&cell(*alpha, *beta), *hours);
        }
        let [min, _, middle, _, max] = *row;
        tally.add(&format!("small-beta/{alpha}"), min - middle);
        tally.add(&format!("levels-off/{alpha}"), (min - middle).abs() - (middle - max).abs());
    }
    let last = ALPHAS.len() - 1;
    for (at, beta) in BETAS.iter().enumerate() {
        tally.add(&format!("large-alpha/{beta}"), cells[last][at] - cells[0][at]);
    }
    let beyond = |row: &[f64; 5]| (row[2] - row[4]).abs();
    tally.add("flatter-for-small-alpha", beyond(&cells[last]) - beyond(&cells[0]));
    tally
}

fn cell(alpha: f64, beta: f64) -> String {
    format!("{alpha}/{beta}")
}
