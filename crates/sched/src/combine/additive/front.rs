//! The Pareto front of any number of components.

use super::cut::Cut;
use super::dominance::undominated;
use super::{
    AdditiveChoice, CombinationProblem, Numbers, ObjectiveColumn, Refused, Table, feasible_alone,
    lexicographic,
};

/// Combinations none of which is beaten in all components by another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdditiveFront {
    /// In the order of the components' sums, most important first; no two are equal in all.
    pub points: Vec<AdditiveChoice>,
    /// Whether these are all points of the front; if not, it was cut.
    pub complete: bool,
}

/// The most states kept to list the front whole: of one stage where there are four columns and
/// more, and of all stages.
const MOST_OF_MANY: usize = 1 << 12;
const MOST_STATES: usize = 1 << 19;

/// The Pareto front of the components of `wanted` over all combinations within its limits, at
/// most `max_points` (at least 2) of it.
///
/// If it has more points, or is too large to be listed, [`AdditiveFront::complete`] is false and the
/// points are spread evenly: over the list, or over the range of the second component. Each is
/// on the exact front unless its [`super::ComponentGap`] says otherwise.
///
/// # Errors
/// [`Refused`], as of [`lexicographic`].
pub fn front(
    jobs: &[Vec<Numbers>],
    wanted: &CombinationProblem<'_>,
    max_points: usize,
) -> Result<AdditiveFront, Refused> {
    feasible_alone(jobs, wanted.limits)?;
    let max_points = max_points.max(2);
    let table = Table::new(jobs, wanted);
    let Some(stages) = stages(&table) else { return sampled(jobs, wanted, max_points) };
    let mut last: Vec<usize> = (0..stages[jobs.len()].len()).collect();
    let components = |&at: &usize| &stages[jobs.len()][at].sums[..table.ordered];
    undominated(&mut last, components, usize::MAX);
    if last.is_empty() {
        return Err(Refused::Together);
    }
    let shown = last.len().min(max_points);
    let spread =
        |i: usize| if shown == last.len() { i } else { i * (last.len() - 1) / (shown - 1) };
    let point = |i: usize| {
        let chosen = trace(&stages, last[spread(i)]);
        let totals = super::totals(jobs, &chosen, wanted.limits.len());
        AdditiveChoice { chosen, totals, gap: None }
    };
    Ok(AdditiveFront { points: (0..shown).map(point).collect(), complete: shown == last.len() })
}

/// Sums of the jobs so far.
struct ComponentSums {
    sums: Vec<i64>,
    parent: u32,
    chosen: u32,
}

/// The undominated sums of the first i jobs for each i; `None` if they take too much room.
fn stages(table: &Table) -> Option<Vec<Vec<ComponentSums>>> {
    let columns = table.limits.len();
    let limited = (0..columns).filter(|&column| table.limits[column].is_some());
    let order: Vec<usize> = (0..table.jobs.len()).collect();
    let with_suffixes = |column: usize| {
        let cut = Cut::column(table, column);
        let suffixes = cut.suffixes(table, &order);
        (cut, suffixes)
    };
    let cuts: Vec<(Cut, Vec<i128>)> = limited.map(with_suffixes).collect();
    let most = if columns > 3 { MOST_OF_MANY } else { MOST_STATES };
    let mut room = MOST_STATES;
    let mut stages = vec![vec![ComponentSums { sums: vec![0; columns], parent: 0, chosen: 0 }]];
    for (stage, job) in table.jobs.iter().enumerate() {
        let before = &stages[stage];
        if before.len().checked_mul(job.len())? > MOST_STATES {
            return None;
        }
        let mut next = Vec::new();
        for (chosen, numbers) in job.iter().enumerate() {
            for (parent, state) in before.iter().enumerate() {
                let sums: Vec<i64> = state.sums.iter().zip(numbers).map(|(a, b)| a + b).collect();
                if cuts.iter().all(|(cut, least)| cut.of(&sums) + least[stage + 1] <= cut.limit) {
                    next.push(ComponentSums { sums, parent: parent as u32, chosen: chosen as u32 });
                }
            }
        }
        undominated(&mut next, |state: &ComponentSums| state.sums.clone(), usize::MAX);
        room = room.checked_sub(next.len()).filter(|_| next.len() <= most)?;
        stages.push(next);
    }
    Some(stages)
}

fn trace(stages: &[Vec<ComponentSums>], mut at: usize) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(stages.len());
    for stage in stages[1..].iter().rev() {
        chosen.push(stage[at].chosen as usize);
        at = stage[at].parent as usize;
    }
    chosen.reverse();
    chosen
}

/// The best of each component, and the best of the first under limits on the second that are
/// spread evenly over its range.
fn sampled(
    jobs: &[Vec<Numbers>],
    wanted: &CombinationProblem<'_>,
    max_points: usize,
) -> Result<AdditiveFront, Refused> {
    let order = wanted.order;
    let led_by = |first: usize| -> Vec<ObjectiveColumn> {
        let rest = order.iter().enumerate().filter(|(at, _)| *at != first).map(|(_, it)| *it);
        std::iter::once(order[first]).chain(rest).collect()
    };
    let mut points = Vec::new();
    for first in 0..order.len().min(max_points) {
        points.push(lexicographic(jobs, &CombinationProblem { order: &led_by(first), ..*wanted })?);
    }
    if let Some(second) = order.get(1) {
        points.extend(between(jobs, wanted, *second, &points, max_points));
    }
    let sums = |point: &AdditiveChoice| -> Vec<i64> {
        order.iter().map(|it| super::sign(it.goal) * point.totals[it.column]).collect()
    };
    undominated(&mut points, sums, usize::MAX);
    Ok(AdditiveFront { points, complete: false })
}

/// The best by the whole order under limits on `second` between its value in the first two of
/// `ends`. A component of which most is wanted is limited by its negative, in a column of its own.
fn between(
    jobs: &[Vec<Numbers>],
    wanted: &CombinationProblem<'_>,
    second: ObjectiveColumn,
    ends: &[AdditiveChoice],
    max_points: usize,
) -> Vec<AdditiveChoice> {
    let sign = super::sign(second.goal);
    let with_limit = |numbers: &Numbers| -> Numbers {
        numbers.iter().copied().chain([sign * numbers[second.column]]).collect()
    };
    let wider: Vec<Vec<Numbers>> =
        jobs.iter().map(|job| job.iter().map(with_limit).collect()).collect();
    let at = |point: &AdditiveChoice| i128::from(sign * point.totals[second.column]);
    let (Some(first), Some(last)) = (ends.first().map(at), ends.get(1).map(at)) else {
        return Vec::new();
    };
    let steps = max_points.saturating_sub(ends.len()) as i128;
    let limited = |step: i128| {
        let limit = last + (first - last) * step / (steps + 1);
        let limits: Vec<Option<i64>> =
            wanted.limits.iter().copied().chain([Some(limit as i64)]).collect();
        let found =
            lexicographic(&wider, &CombinationProblem { limits: &limits, ..*wanted }).ok()?;
        let totals = found.totals[..wanted.limits.len()].to_vec();
        Some(AdditiveChoice { totals, ..found })
    };
    (1..=steps).filter_map(limited).collect()
}
