//! Figure 11: the mean response over α and β.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel, PlotSeries};

use super::outcome::measure;
use super::parameters::{
    ALPHA, BETA, DATA, GUARD, HOMES, JOBS, LATENCY, OVERESTIMATE, OVERFLOW, PATIENCE, RATE, WARM_UP,
};
use super::schemes::{HYBRID, play};
use super::shown::{everywhere, picture, value};
use super::world::{Draw, SITES, draw, jobs, seed, stated_load};
use crate::case::{Case, Size, Value};
use crate::findings::{Claim, Findings};
use crate::study::{Experiment, Study};
use crate::tally::{Estimate, Tally};

/// Names in the tally: `α/β`, the mean response in hours; and pairs of two such cells on the same
/// jobs, `α/β:α/β`.
pub(super) static TUNING: Experiment = Experiment {
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

pub(super) static FIG11: Study =
    Study { id: "004-fig11", title: "Mean response over α and β", experiment: &TUNING, findings };

fn findings(_: &Case, tally: &Tally) -> Findings {
    let curve = |alpha: &f64| PlotSeries {
        name: format!("α = {alpha}"),
        mark: Mark::Line,
        values: BETAS.iter().map(|beta| value(*beta, tally.mean(&cell(*alpha, *beta)))).collect(),
    };
    let panel = PlotPanel {
        up: "mean response, h".to_owned(),
        across: PlotAcross::Numbers("β".to_owned()),
        series: ALPHAS.iter().map(curve).collect(),
    };
    Findings {
        claims: claims(tally),
        figure: picture(FIG11.title, "the hybrid mechanism at the stated rate", vec![panel]),
        notes: vec![
            "At the stated rate queues grow for as long as a run lasts, so that backfill queues \
             come to hold more jobs than the smaller values of β."
                .to_owned(),
        ],
        ..Findings::default()
    }
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let at = |name: &str, key: &str| tally.mean(&format!("{name}/{key}"));
    let by_alpha = |name: &str| {
        ALPHAS.map(|alpha| (format!("α = {alpha}"), at(name, &alpha.to_string()))).to_vec()
    };
    let by_beta = BETAS.map(|beta| (format!("β = {beta}"), at("large-alpha", &beta.to_string())));
    let hours = |alpha, beta| tally.mean(&cell(alpha, beta)).mean;
    let spread = |cases: &[(String, Estimate)]| {
        let all: Vec<String> =
            cases.iter().map(|(name, of)| format!("{:+.2} at {name}", of.mean)).collect();
        format!("in hours: {}", all.join(", "))
    };
    let (small, off) = (by_alpha("small-beta"), by_alpha("levels-off"));
    let flatter = tally.mean("flatter-for-small-alpha");
    vec![
        everywhere(
            "The response grows with α, whatever β",
            &by_beta,
            format!("α = 0.5 against 0.1, {}", spread(&by_beta)),
        )
        .because(FEW),
        everywhere(
            "A small β raises the response, whatever α",
            &small,
            format!("β = 4 against 64, {}", spread(&small)),
        )
        .because(
            "A small β lets jobs of all widths into the job queue soon, where short ones come \
             first whatever their width; a large one keeps wide jobs before all others, which \
             costs most in an overload. At a load of 0.90 (`jobs-per-minute=0.142`) a small β \
             does raise the response, but for α = 0.5 only.",
        ),
        everywhere(
            "From β = 64 on its influence is less, whatever α",
            &off,
            format!("what 4 to 64 changes less what 64 to 256 changes, {}", spread(&off)),
        )
        .because(FEW),
        Claim::positive(
            "That is more obvious for small α",
            flatter,
            format!(
                "β from 64 to 256 changes the response from {:.1} to {:.1} h for α = 0.1, from \
                 {:.1} to {:.1} h for α = 0.5",
                hours(0.1, 64.0),
                hours(0.1, 256.0),
                hours(0.5, 64.0),
                hours(0.5, 256.0)
            ),
        )
        .because(FEW),
    ]
}

const FEW: &str = "Reservations and moves matter for the jobs that reach the job queue; how many \
                   do depends on how long queues get, which the paper does not say.";
