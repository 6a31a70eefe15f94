//! The best combination by the MIP solver HiGHS, single-threaded, at gap 0: a yardstick.

use std::fmt;

use tradewind_model::Objective;
use tradewind_sched::combine::disjoint::{Busy, DisjointOffer};
use tradewind_sched::combine::{Choice, Combination, SumLimits};

use crate::highs::{Answer, Bound, Column, Model};

/// What the solver said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Its optimum, with the sums in integers.
    Optimal(Combination),
    /// No combination keeps to the bounds.
    Infeasible,
    /// It stopped for another reason: its time limit, as a rule.
    Unsolved(String),
}

/// One binary column per alternative, one row per job, and a row per bound; no tie-break.
///
/// Doubles are exact enough for sums below some 10^11; the solver's tolerances (10^-6) are
/// absolute, so bounds are kept exactly and optima may differ by less than one unit only.
pub fn best(
    jobs: &[Vec<Choice>],
    objective: Objective,
    bounds: SumLimits,
    most_seconds: f64,
) -> Verdict {
    let mut model = Model::default();
    let columns: Vec<Vec<Column>> = jobs
        .iter()
        .map(|job| job.iter().map(|it| model.column(gain(it, objective))).collect())
        .collect();
    for job in &columns {
        model.row(Bound::Exactly(1), job.iter().map(|&column| (column, 1)));
    }
    let mut limit = |max: Option<i64>, of: fn(&Choice) -> i64| {
        let Some(max) = max else { return };
        let choices = columns.iter().flatten().zip(jobs.iter().flatten());
        model.row(Bound::AtMost(max), choices.map(|(&column, it)| (column, of(it))));
    };
    limit(bounds.time, |it| it.time);
    limit(bounds.budget, |it| it.cost);

    match model.solve(most_seconds) {
        Answer::Optimal(taken) => {
            let first = |job: &Vec<Column>| job.iter().position(|&column| taken[column]);
            let chosen = columns.iter().map(|job| first(job).unwrap_or_default());
            Verdict::Optimal(Combination::of(jobs, chosen.collect()))
        }
        Answer::Infeasible => Verdict::Infeasible,
        Answer::Unsolved(why) => Verdict::Unsolved(why),
    }
}

/// The most jobs that can have an offer each without collisions and within the bounds, and the
/// best sum for `objective` with that many; `None` if the solver stopped for another reason.
///
/// One binary column per offer, one row per job, bound, and moment at which some span begins.
pub fn select(
    jobs: &[Vec<DisjointOffer>],
    objective: Objective,
    bounds: SumLimits,
    most_seconds: f64,
) -> Option<(usize, i64)> {
    let placed = pack(jobs, bounds, None, most_seconds, &|_| 1)?.0;
    let (_, chosen) = pack(jobs, bounds, Some(placed), most_seconds, &|it| gain(it, objective))?;
    let sum = |it: &Choice| gain(it, objective).abs();
    let picked = jobs.iter().zip(&chosen).filter_map(|(job, at)| at.map(|at| job[at].choice));
    Some((placed, picked.map(|choice| sum(&choice)).sum()))
}

/// Jobs with an offer, and which.
type Packed = (usize, Vec<Option<usize>>);

fn pack(
    jobs: &[Vec<DisjointOffer>],
    bounds: SumLimits,
    placed: Option<usize>,
    most_seconds: f64,
    worth: &dyn Fn(&Choice) -> i64,
) -> Option<Packed> {
    let mut model = Model::default();
    let mut column = |it: &DisjointOffer| model.column(worth(&it.choice));
    let columns: Vec<Vec<Column>> =
        jobs.iter().map(|job| job.iter().map(&mut column).collect()).collect();
    let all = || columns.iter().flatten().copied().zip(jobs.iter().flatten());
    for job in &columns {
        model.row(Bound::AtMost(1), job.iter().map(|&column| (column, 1)));
    }
    if let Some(max) = bounds.time {
        model.row(Bound::AtMost(max), all().map(|(at, it)| (at, it.choice.time)));
    }
    if let Some(max) = bounds.budget {
        model.row(Bound::AtMost(max), all().map(|(at, it)| (at, it.choice.cost)));
    }
    if let Some(placed) = placed {
        model.row(Bound::AtLeast(placed as i64), all().map(|(at, _)| (at, 1)));
    }
    for Busy { resource, start, .. } in jobs.iter().flatten().flat_map(|it| &it.busy) {
        let covers = |it: &Busy| it.resource == *resource && it.start <= *start && *start < it.end;
        let row = all().filter(|(_, it)| it.busy.iter().any(covers)).map(|(at, _)| (at, 1));
        model.row(Bound::AtMost(1), row);
    }
    let Answer::Optimal(taken) = model.solve(most_seconds) else { return None };
    let chosen: Vec<Option<usize>> =
        columns.iter().map(|job| job.iter().position(|&column| taken[column])).collect();
    Some((chosen.iter().flatten().count(), chosen))
}

/// What a choice adds to the sum to maximise.
fn gain(choice: &Choice, objective: Objective) -> i64 {
    match objective {
        Objective::MaxIncome => choice.cost,
        Objective::MinTime => -choice.time,
        Objective::MinCost => -choice.cost,
        Objective::MinIdle => choice.time,
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Optimal(it) => write!(f, "optimal: time {}, cost {}", it.time, it.cost),
            Verdict::Infeasible => write!(f, "infeasible"),
            Verdict::Unsolved(why) => write!(f, "unsolved: {why}"),
        }
    }
}
