//! The experiment of table 3 and figure 9: cyclic schemes, backfilling, and their union.

use tradewind_model::Span;
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::bsf::{Bsf, BsfSettings as Union, By, First};
use tradewind_sched::policy::cyclic::market::{CycleSettings as Cycling, Cycles, Replan, Stretch};
use tradewind_sched::policy::cyclic::{Cyclic, SearchBy, SubBatches};
use tradewind_sched::policy::gridfill::{GridFill, GridFillSettings as Filling};
use tradewind_sched::window::Algorithm;
use tradewind_sim::models::{Cycle, Environment};

use super::parameters::{ALTERNATIVES, BACKFILLING, FIRST, MEDIUM, REPLAYED, SHORTEST, SLICER};
use super::replay::{Got, Means, Replay, planned};
use super::world::{BATCH_PARAMETERS, BatchScheme, Placed, batch_policy, loaded, schedule, seed};
use crate::case::{Case, Parameter, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// 5,000 cycles at full size. Names in the tally: `scheme/scheduled/…` and `scheme/real/…` of the
/// cycles that all schemes place within the interval; `bsf/n/…` of those that every n does, at
/// the medium level of load; `advantage/…` of batch-slicer and backfilling; `replan/…` of
/// batch-slicer planned again on early ends, beside not.
pub(in crate::papers) static FILLING: Experiment = Experiment {
    id: "early-ends",
    summary: "draws batches whose jobs end early, and replays backfilling, CSS, batch-slicer and \
              their union",
    parameters: &PARAMETERS,
    logs: &[],
    parts,
    part,
};

static PARAMETERS: [&Parameter; 16] = {
    let [a, b, c, d, e, f, g, h, i, j] = BATCH_PARAMETERS;
    [&SHORTEST, &BACKFILLING, &SLICER, &FIRST, &REPLAYED, &MEDIUM, a, b, c, d, e, f, g, h, i, j]
};

/// Jobs of 20 that are planned first.
pub(super) const FIRSTS: [u32; 11] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20];
pub(super) const SCHEMES: [&str; 3] = ["backfilling", "css", "slicer"];

const PART: u32 = 25;
const INTERVAL: Span = Span(600);
/// Ours is measured on every so many cycles.
const GAINS_EVERY: u64 = 5;

fn parts(case: &Case) -> u32 {
    match case.size {
        Size::Full => 200,
        Size::Quick => 1,
    }
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    let (table, figure) = [&REPLAYED, &MEDIUM].map(|load| loaded(case, case.number(load))).into();
    for cycle in 0..PART {
        let number = u64::from(index * PART + cycle);
        let seed = seed(case, "early-ends", number);
        if let Some((cycle, replay)) = replayed(case, &table, seed) {
            compare(case, &cycle, &replay, &mut tally);
            if number.is_multiple_of(GAINS_EVERY) {
                replan(case, &replay, &mut tally);
            }
        }
        if let Some((_, replay)) = replayed(case, &figure, seed) {
            union(case, &replay, &mut tally);
        }
    }
    tally
}

fn replayed(case: &Case, environment: &Environment, seed: u64) -> Option<(Cycle, Replay)> {
    let mut cycle = environment.draw(seed)?;
    cycle.snapshot.policy = batch_policy();
    let replay = Replay::new(case, &cycle, seed)?;
    Some((cycle, replay))
}

/// Scheduled and real.
type Pair = (Means, Means);

fn compare(case: &Case, cycle: &Cycle, replay: &Replay, tally: &mut Tally) {
    let slices = case.number(&SLICER).round() as u32;
    let all = [
        backfilling(case, replay),
        cyclic(case, cycle, replay, BatchScheme::FirstFit(1)),
        cyclic(case, cycle, replay, BatchScheme::Slicer(slices)),
    ];
    for (scheme, pair) in SCHEMES.iter().zip(&all) {
        tally.add_if(&format!("{scheme}/failed"), pair.is_none());
    }
    let [Some(filled), Some(css), Some(slicer)] = all else { return };
    for (scheme, (scheduled, real)) in SCHEMES.iter().zip([filled, css, slicer]) {
        for (when, means) in [("scheduled", scheduled), ("real", real)] {
            tally.add(&format!("{scheme}/{when}/cpu"), means.cpu);
            tally.add(&format!("{scheme}/{when}/start"), means.start);
        }
    }
    for (when, ours, theirs) in [("scheduled", slicer.0, filled.0), ("real", slicer.1, filled.1)] {
        tally.add_pair(&format!("advantage/{when}/cpu"), ours.cpu, theirs.cpu);
        tally.add_pair(&format!("advantage/{when}/start"), theirs.start, ours.start);
    }
    tally.add_pair("advantage/backfilling/start", filled.1.start, filled.0.start);
}

fn filling(case: &Case) -> Filling {
    let depth = match case.word(&BACKFILLING) {
        "easy" => Depth::First(1),
        _ => Depth::All,
    };
    Filling { depth, ..Filling::default() }
}

fn by_end() -> f64 {
    INTERVAL.0 as f64
}

fn backfilling(case: &Case, replay: &Replay) -> Option<Pair> {
    let scheduled = replay.scheduled(&mut GridFill::new(filling(case)))?;
    let real = replay.real(&mut GridFill::new(filling(case)))?;
    Some((Means::of(&scheduled, by_end())?, Means::of(&real, by_end())?))
}

/// Planned in advance: early ends change no start.
fn cyclic(case: &Case, cycle: &Cycle, replay: &Replay, scheme: BatchScheme) -> Option<Pair> {
    let snapshot = &cycle.snapshot;
    let plan = schedule(case, snapshot, scheme)?;
    let jobs = || snapshot.jobs.iter().zip(&plan);
    let of = |(work, placed): (Span, &Placed)| planned(snapshot, &placed.window, work);
    let scheduled: Vec<Got> = jobs().map(|(job, placed)| of((job.request.work, placed))).collect();
    let real: Vec<Got> = replay.real.iter().copied().zip(&plan).map(of).collect();
    Some((Means::of(&scheduled, by_end())?, Means::of(&real, by_end())?))
}

fn cycling(case: &Case, search: SearchBy, count: u32) -> Cycling {
    let cyclic = Cyclic {
        sub_batches: SubBatches::Count(count),
        search,
        max_alternatives: Some(case.number(&ALTERNATIVES).round() as u32),
        ..Cyclic::default()
    };
    Cycling {
        cyclic,
        vo: batch_policy(),
        period: INTERVAL,
        horizon: Some(INTERVAL),
        stretch: Stretch::Fixed,
        ..Cycling::css()
    }
}

/// The first jobs by CSS, the others by backfilling, as scheduled.
fn union(case: &Case, replay: &Replay, tally: &mut Tally) {
    let count = case.number(&FIRST).round() as u32;
    let of = |first: u32| {
        let cycles = cycling(case, SearchBy::All(Algorithm::Amp), count);
        let first = if first == 20 { First::Percent(100) } else { First::Count(first) };
        let knobs = Union { cycles, first, by: By::Priority, fill: filling(case) };
        Means::of(&replay.scheduled(&mut Bsf::new(knobs))?, by_end())
    };
    let all: Vec<Option<Means>> = FIRSTS.iter().map(|first| of(*first)).collect();
    tally.add_if("bsf/failed", all.iter().any(Option::is_none));
    if all.iter().any(Option::is_none) {
        return;
    }
    for (first, means) in FIRSTS.iter().zip(all.into_iter().flatten()) {
        tally.add(&format!("bsf/{first}/cpu"), means.cpu);
        tally.add(&format!("bsf/{first}/start"), means.start);
    }
}

/// Batch-slicer with early ends: what is booked is planned again at once, or is not. Each new plan
/// looks as far ahead as the first, so that jobs may end after the interval.
fn replan(case: &Case, replay: &Replay, tally: &mut Tally) {
    let slices = case.number(&SLICER).round() as u32;
    let of = |replan: Replan| {
        let settings = Cycling { replan, ..cycling(case, SearchBy::Job, slices) };
        Means::of(&replay.real(&mut Cycles::new(settings))?, f64::INFINITY)
    };
    if let (Some(ours), Some(paper)) = (of(Replan::OnRelease), of(Replan::NextCycle)) {
        tally.add_pair("replan/cpu", ours.cpu, paper.cpu);
        tally.add_pair("replan/start", ours.start, paper.start);
    }
}
