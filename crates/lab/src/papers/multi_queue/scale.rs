//! Beyond the paper: what doing without a centre costs, against the number of sites.

use super::outcome::{MEASURES, measure};
use super::parameters::{ALPHA, BETA, DATA, HOMES, LATENCY, SCALE_LOAD, WARM_UP};
use super::schemes::{HYBRID, HYBRID_ALONE, HYBRID_TWO, Scheme, play};
use super::world::{Draw, draw, seed};
use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// Names in the tally: `sites/scheme/measure`, and pairs `sites/scheme:hybrid/measure`.
pub(in crate::papers) static SCALE: Experiment = Experiment {
    id: "multi-queue-scale",
    summary: "grids of 8 to 512 sites whose jobs stay at home, or are offered to all sites or two",
    parameters: &[&SCALE_LOAD, &WARM_UP, &HOMES, &ALPHA, &BETA, &LATENCY, &DATA],
    logs: &[],
    parts,
    part,
};

static GRIDS: [(&str, u32); 3] = [("8", 8), ("64", 64), ("512", 512)];
static COMPARED: [Scheme; 3] = [HYBRID, HYBRID_TWO, HYBRID_ALONE];

/// At quick size without the last.
fn grids(case: &Case) -> &'static [(&'static str, u32)] {
    match case.size {
        Size::Full => &GRIDS,
        Size::Quick => &GRIDS[..2],
    }
}

fn parts(case: &Case) -> u32 {
    let replications = match case.size {
        Size::Full => 6,
        Size::Quick => 3,
    };
    replications * grids(case).len() as u32
}

fn part(case: &Case, part: u32) -> Tally {
    let mut tally = Tally::default();
    let grids = grids(case);
    let number = part / grids.len() as u32;
    let (name, sites) = grids[part as usize % grids.len()];
    let each = match case.size {
        Size::Full => 30,
        Size::Quick => 15,
    };
    let load = case.number(&SCALE_LOAD);
    let Some(workload) = draw(case, Draw { sites, jobs: each * sites as usize, load, number })
    else {
        return tally;
    };
    let outcome = |scheme: &Scheme| {
        let played = play(case, *scheme, &workload, seed(case, number))?;
        Some((*scheme, measure(case, &workload, &played)))
    };
    let all: Vec<_> = COMPARED.iter().filter_map(outcome).collect();
    for (scheme, of) in &all {
        of.count(&format!("{name}/{}", scheme.key), &mut tally);
    }
    if let Some((_, base)) = all.iter().find(|(scheme, _)| *scheme == HYBRID) {
        for (scheme, of) in all.iter().filter(|(scheme, _)| *scheme != HYBRID) {
            for (measure, get) in &MEASURES {
                let key = format!("{name}/{}:{}/{measure}", scheme.key, HYBRID.key);
                tally.add_pair(&key, get(of), get(base));
            }
        }
    }
    tally
}
