//! The experiment: cycle after cycle, ALP and AMP on the same slots and jobs.

use tradewind_model::{Objective, Rho};
use tradewind_sched::window::{Algorithm, Variant};

use super::parameters::{
    BUDGET_TEST, CAP, COUNTS, MEASURE, RESERVED, RHO, TICKS, TIME_LIMIT, rho, variant,
};
use super::world::{Scheme, World};
use crate::case::{Case, Size};
use crate::study::Experiment;
use crate::tally::Tally;

/// 25,000 cycles at full size.
pub static CYCLES: Experiment = Experiment {
    id: "alp-amp-cycles",
    summary: "draws slots and a batch, finds all alternatives by ALP and by AMP, and combines them \
              for least time and for least cost",
    parameters: &[&CAP, &RESERVED, &RHO, &BUDGET_TEST, &TIME_LIMIT, &MEASURE, &COUNTS, &TICKS],
    parts,
    part,
};

const PART: u32 = 250;

fn parts(case: &Case) -> u32 {
    match case.size {
        Size::Full => 25_000 / PART,
        Size::Quick => 2,
    }
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    for cycle in 0..PART {
        one(case, u64::from(index * PART + cycle), &mut tally);
    }
    tally
}

fn one(case: &Case, cycle: u64, tally: &mut Tally) -> Option<()> {
    let world = World::draw(case, cycle)?;
    let (slots, jobs) = (world.snapshot.slots.len() as f64, world.snapshot.jobs.len() as f64);
    tally.add("all/slots", slots);
    tally.add("all/jobs", jobs);
    let alp = Scheme { algorithm: Algorithm::Alp, variant: variant(case), rho: Rho::ONE };
    let amp = Scheme { algorithm: Algorithm::Amp, variant: variant(case), rho: rho(case) };
    let found = world.alternatives(&alp).and_then(|alp| Some([alp, world.alternatives(&amp)?]));
    tally.add_if("counted", found.is_some());
    let found = found?;
    tally.add("slots", slots);
    tally.add("jobs", jobs);
    for (name, found) in ["alp", "amp"].into_iter().zip(&found) {
        let choices = world.choices(case, found);
        let windows = found.iter().map(Vec::len).sum::<usize>() as f64;
        tally.add(&format!("{name}/alternatives"), windows / jobs);
        tally.add(&format!("{name}/windows"), windows);
        for (goal, objective) in [("time", Objective::MinTime), ("cost", Objective::MinCost)] {
            let best = world.combine(case, &choices, objective);
            tally.add_if(&format!("{goal}/{name}/solved"), best.is_some());
            if let Some(best) = best {
            tally.add(&format!("{goal}/{name}/time"), best.time);
            tally.add(&format!("{goal}/{name}/cost"), best.cost);
            }
        }
    }
    Some(())
}
