//! The experiment of figures 8 to 10 and of the text: every scheme on the same jobs, over loads.

use tradewind_model::{Span, Time};
use tradewind_sim::Semantics;
use tradewind_sim::workload::{LogJob, Overrun, prepare};

use super::outcome::{CLASSES, MEASURES, Outcome, measure};
use super::parameters::{
    ALPHA, BETA, CHOOSE, DATA, GUARD, HOMES, JOBS, LATENCY, OVERESTIMATE, OVERFLOW, PATIENCE,
    QUEUED, RATE, RESERVE, WARM_UP,
};
use super::schemes::{
    CONSERVATIVE, CONSERVATIVE_MOVING, EASY, EASY_MOVING, GUARDED, HYBRID, SCHEMES, Scheme, play,
};
use super::world::{Draw, PROCESSORS, SITES, draw, jobs, pools, seed, stated_load};
use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// Names in the tally: `load/scheme/measure`, and `load/scheme:hybrid/measure` for pairs on the
/// same jobs; `load` is `0.90`, or `stated` for the stated rate.
pub(in crate::papers) static LOAD: Experiment = Experiment {
    id: "multi-queue-load",
    summary: "8 sites of 64 processors under the paper's mechanism, its baselines and controls, from \
              half of what they can do to more than that",
    parameters: &[
        &RATE,
        &JOBS,
        &WARM_UP,
        &HOMES,
        &OVERESTIMATE,
        &ALPHA,
        &BETA,
        &PATIENCE,
        &GUARD,
        &RESERVE,
        &CHOOSE,
        &OVERFLOW,
        &LATENCY,
        &DATA,
        &QUEUED,
    ],
    logs: &[],
    parts,
    part,
};

/// Offered loads of figures 8 and 10.
pub(super) static LOADS: [(&str, f64); 7] = [
    ("0.50", 0.5),
    ("0.60", 0.6),
    ("0.70", 0.7),
    ("0.80", 0.8),
    ("0.90", 0.9),
    ("1.00", 1.0),
    ("1.10", 1.1),
];
/// The rate that the paper states, of the class-wise figure and the text.
pub(super) const STATED: &str = "stated";

const PER_REPLICATION: u32 = LOADS.len() as u32 + 1;

fn parts(case: &Case) -> u32 {
    let replications = match case.size {
        Size::Full => 20,
        Size::Quick => 4,
    };
    replications * PER_REPLICATION
}

fn part(case: &Case, part: u32) -> Tally {
    let mut tally = Tally::default();
    let (number, which) = (part / PER_REPLICATION, (part % PER_REPLICATION) as usize);
    let stated = (STATED, stated_load(case));
    let (name, load) = *LOADS.get(which).unwrap_or(&stated);
    let to = Draw { sites: SITES, jobs: jobs(case), load, number };
    let Some(workload) = draw(case, to) else { return tally };
    let outcome = |scheme: &Scheme| {
        let played = play(case, *scheme, &workload, seed(case, number))?;
        Some((*scheme, measure(case, &workload, &played)))
    };
    let all: Vec<(Scheme, Outcome)> = SCHEMES.iter().filter_map(outcome).collect();
    tally.add("failed", (SCHEMES.len() - all.len()) as f64);
    compare(name, &all, &mut tally);
    if name == STATED {
        classes(&all, &mut tally);
        if let (Some(first), Some(last)) = (workload.jobs.first(), workload.jobs.last()) {
            const MONTH: f64 = 30.0 * 86_400.0;
            let span = (last.submit - first.submit).0 as f64;
            tally.add_pair("jobs-per-month", workload.jobs.len() as f64 * MONTH, span);
        }
    }
    if part == 0 {
        starve(case, &mut tally);
    }
    tally
}

/// Each scheme by itself, and beside the others on the same jobs.
pub(super) fn compare(name: &str, all: &[(Scheme, Outcome)], tally: &mut Tally) {
    for (scheme, outcome) in all {
        outcome.count(&format!("{name}/{}", scheme.key), tally);
    }
    for (one, outcome) in all {
        for (base, other) in all {
            let rivals = [HYBRID, EASY, CONSERVATIVE, EASY_MOVING, CONSERVATIVE_MOVING];
            if one == base || !rivals.contains(base) {
                continue;
            }
            for (measure, of) in &MEASURES {
                let key = format!("{name}/{}:{}/{measure}", one.key, base.key);
                tally.add_pair(&key, of(outcome), of(other));
            }
        }
    }
}

/// Equation (14) for every single-queue scheme, class by class.
fn classes(all: &[(Scheme, Outcome)], tally: &mut Tally) {
    let of = |key: Scheme| all.iter().find(|(scheme, _)| *scheme == key).map(|(_, of)| of);
    let Some(hybrid) = of(HYBRID) else { return };
    for single in [EASY, CONSERVATIVE, EASY_MOVING, CONSERVATIVE_MOVING] {
        let Some(other) = of(single) else { continue };
        for (at, class) in CLASSES.iter().enumerate() {
            let key = |what: &str| format!("{what}/{}/{class}", single.key);
            let paper = slowdown_ratio(other.by_class[at], hybrid.by_class[at]);
            tally.add(&key("ratio"), paper);
            let bounded = slowdown_ratio(other.bounded_by_class[at], hybrid.bounded_by_class[at]);
            tally.add(&key("bounded-ratio"), bounded);
        }
    }
}

/// Slowdown ratio, by equation (14).
pub(super) fn slowdown_ratio(single: f64, multi: f64) -> f64 {
    (single - multi) / single.min(multi)
}

/// How long a medium job waits on one site among streams of small jobs, in hours: such streams
/// never leave more than 8 processors free. `starve/scheme/jobs of the stream`.
fn starve(case: &Case, tally: &mut Tally) {
    for stream in [1_000, 4_000] {
        let Some(pools) = pools(1) else { return };
        let job = |number, submit, processors| LogJob {
            number,
            submit: Some(Time(submit)),
            run: Some(Span(480)),
            processors: Some(processors),
            ..LogJob::default()
        };
        let small = (0..stream).map(|nth| job(nth + 1, 60 * nth, PROCESSORS / 8));
        let medium = job(stream + 1, 1_000, PROCESSORS * 3 / 8);
        let log: Vec<LogJob> = small.chain([medium]).collect();
        let workload = prepare(&log, pools, Semantics::Textbook, Overrun::Kill);
        for scheme in [HYBRID, GUARDED, EASY] {
            let Some(played) = play(case, scheme, &workload, 1) else { continue };
            let medium = workload.jobs.iter().zip(&played.run.jobs);
            for (job, ran) in medium.filter(|(job, _)| job.number == stream + 1) {
                let wait = (ran.start - job.submit).0 as f64 / 3_600.0;
                tally.add(&format!("starve/{}/{stream}", scheme.key), wait);
            }
        }
    }
}
