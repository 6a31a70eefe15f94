//! The best combination by the MIP solver HiGHS, single-threaded, at gap 0: a yardstick.

use std::fmt;

use highs::{HighsModelStatus, RowProblem, Sense};
use tradewind_model::Objective;
use tradewind_sched::combine::disjoint::{Busy, Offer};
use tradewind_sched::combine::{Bounds, Choice, Combination};

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
    bounds: Bounds,
    most_seconds: f64,
) -> Verdict {
    let mut problem = RowProblem::default();
    let columns: Vec<Vec<_>> = jobs
        .iter()
        .map(|job| {
            job.iter().map(|it| problem.add_integer_column(gain(it, objective), 0..=1)).collect()
        })
        .collect();
    for job in &columns {
        problem.add_row(1..=1, job.iter().map(|&column| (column, 1.0)).collect::<Vec<_>>());
    }
    let mut limit = |most: Option<i64>, of: fn(&Choice) -> i64| {
        let Some(most) = most else { return };
        let choices = columns.iter().flatten().zip(jobs.iter().flatten());
        let row: Vec<_> = choices.map(|(&column, it)| (column, of(it) as f64)).collect();
        problem.add_row(..=most as f64, row);
    };
    limit(bounds.time, |it| it.time);
    limit(bounds.budget, |it| it.cost);

    let mut model = problem.optimise(Sense::Maximise);
    model.make_quiet();
    model.set_option("threads", 1);
    model.set_option("mip_rel_gap", 0.0);
    model.set_option("mip_abs_gap", 0.0);
    model.set_option("time_limit", most_seconds);
    let solved = model.solve();
    match solved.status() {
        HighsModelStatus::Optimal => {
            let solution = solved.get_solution();
            let mut values = solution.columns().iter();
            let chosen = jobs.iter().map(|job| {
                let taken: Vec<bool> = values.by_ref().take(job.len()).map(|&x| x > 0.5).collect();
                taken.iter().position(|&taken| taken).unwrap_or_default()
            });
            Verdict::Optimal(Combination::of(jobs, chosen.collect()))
        }
        HighsModelStatus::Infeasible => Verdict::Infeasible,
        other => Verdict::Unsolved(format!("{other:?}")),
    }
}

/// The most jobs that can have an offer each without collisions and within the bounds, and the
/// best sum for `objective` with that many; `None` if the solver stopped for another reason.
///
/// One binary column per offer, one row per job, bound, and moment at which some span begins.
pub fn select(
    jobs: &[Vec<Offer>],
    objective: Objective,
    bounds: Bounds,
    most_seconds: f64,
) -> Option<(usize, i64)> {
    let placed = pack(jobs, bounds, None, most_seconds, &|_| 1.0)?.0;
    let (_, chosen) = pack(jobs, bounds, Some(placed), most_seconds, &|it| gain(it, objective))?;
    let sum = |it: &Choice| (gain(it, objective).abs()) as i64;
    let picked = jobs.iter().zip(&chosen).filter_map(|(job, at)| at.map(|at| job[at].choice));
    Some((placed, picked.map(|choice| sum(&choice)).sum()))
}

/// Jobs with an offer, and which.
type Packed = (usize, Vec<Option<usize>>);

fn pack(
    jobs: &[Vec<Offer>],
    bounds: Bounds,
    placed: Option<usize>,
    most_seconds: f64,
    worth: &dyn Fn(&Choice) -> f64,
) -> Option<Packed> {
    let mut problem = RowProblem::default();
    let mut column = |it: &Offer| problem.add_integer_column(worth(&it.choice), 0..=1);
    let columns: Vec<Vec<_>> =
        jobs.iter().map(|job| job.iter().map(&mut column).collect()).collect();
    let all = || columns.iter().flatten().copied().zip(jobs.iter().flatten());
    for job in &columns {
        problem.add_row(..=1, job.iter().map(|&column| (column, 1.0)).collect::<Vec<_>>());
    }
    if let Some(most) = bounds.time {
        let row: Vec<_> = all().map(|(at, it)| (at, it.choice.time as f64)).collect();
        problem.add_row(..=most as f64, row);
    }
    if let Some(most) = bounds.budget {
        let row: Vec<_> = all().map(|(at, it)| (at, it.choice.cost as f64)).collect();
        problem.add_row(..=most as f64, row);
    }
    if let Some(placed) = placed {
        problem.add_row(placed as f64.., all().map(|(at, _)| (at, 1.0)).collect::<Vec<_>>());
    }
    for Busy { resource, start, .. } in jobs.iter().flatten().flat_map(|it| &it.busy) {
        let covers = |it: &Busy| it.resource == *resource && it.start <= *start && *start < it.end;
        let row = all().filter(|(_, it)| it.busy.iter().any(covers)).map(|(at, _)| (at, 1.0));
        problem.add_row(..=1, row.collect::<Vec<_>>());
    }
    let mut model = problem.optimise(Sense::Maximise);
    model.make_quiet();
    model.set_option("threads", 1);
    model.set_option("mip_rel_gap", 0.0);
    model.set_option("mip_abs_gap", 0.0);
    model.set_option("time_limit", most_seconds);
    let solved = model.solve();
    if solved.status() != HighsModelStatus::Optimal {
        return None;
    }
    let solution = solved.get_solution();
    let mut values = solution.columns().iter();
    let chosen = jobs.iter().map(|job| {
        let taken: Vec<bool> = values.by_ref().take(job.len()).map(|&x| x > 0.5).collect();
        taken.iter().position(|&taken| taken)
    });
    let chosen: Vec<Option<usize>> = chosen.collect();
    Some((chosen.iter().flatten().count(), chosen))
}

/// What a choice adds to the sum to maximise.
fn gain(choice: &Choice, objective: Objective) -> f64 {
    let gain = match objective {
        Objective::MaxIncome => choice.cost,
        Objective::MinTime => -choice.time,
        Objective::MinCost => -choice.cost,
        Objective::MinIdle => choice.time,
    };
    gain as f64
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
