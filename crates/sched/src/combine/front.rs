//! The Pareto front of cost and time.

use tradewind_model::Objective;

use super::{Choice, Combination, SumLimits, best};

/// Combinations none of which is beaten in both cost and time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Front {
    /// By rising cost and falling time, both strictly. Every point is on the exact front.
    pub points: Vec<Combination>,
    /// Whether these are all points of the front; if not, it was cut.
    pub complete: bool,
}

/// The most states kept to list the front whole.
const MOST_STATES: usize = 1 << 21;

/// The Pareto front of (Σ cost, Σ time) over all combinations of `jobs`, at most `max_points`
/// (at least 2) of it.
///
/// The points are exact in any case. If the front has more than `max_points` points, or is too
/// large to be listed, some are left out and [`Front::complete`] is false: what is shown then is
/// spread evenly in time between the cheapest and the fastest combination, both of which are
/// there. Empty and complete if a job has no alternative. Memory is bounded by about 128 MiB
/// beside one search of [`best()`].
pub fn front(jobs: &[Vec<Choice>], max_points: usize) -> Front {
    if jobs.iter().any(Vec::is_empty) {
        return Front { points: Vec::new(), complete: true };
    }
    let max_points = max_points.max(2);
    match stages(jobs) {
        Some(stages) => {
            let last = &stages[stages.len() - 1];
            let shown = evenly(last.len(), max_points);
            let points = shown.map(|at| trace(jobs, &stages, last[at])).collect();
            Front { points, complete: last.len() <= max_points }
        }
        None => sampled(jobs, max_points),
    }
}

/// At most `max` of the indices below `count`, evenly spread, the first and the last included.
fn evenly(count: usize, max: usize) -> impl Iterator<Item = usize> {
    let shown = count.min(max);
    (0..shown).map(move |i| if shown == count { i } else { i * (count - 1) / (shown - 1) })
}

/// Sums over the jobs so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    cost: i64,
    time: i64,
}

/// The front of the first i jobs for each i, by rising cost; `None` if that takes too much room.
fn stages(jobs: &[Vec<Choice>]) -> Option<Vec<Vec<Point>>> {
    let mut stages = vec![vec![Point { cost: 0, time: 0 }]];
    let mut room = MOST_STATES;
    for job in jobs {
        let before = &stages[stages.len() - 1];
        if before.len().checked_mul(job.len())? > MOST_STATES {
            return None;
        }
        let mut points: Vec<Point> = job
            .iter()
            .flat_map(|choice| {
                before.iter().map(|point| Point {
                    cost: point.cost + choice.cost,
                    time: point.time + choice.time,
                })
            })
            .collect();
        // The stable sort finds the runs of each alternative and merges them.
        points.sort();
        let mut min = i64::MAX;
        points.retain(|point| {
            let kept = point.time < min;
            min = min.min(point.time);
            kept
        });
        points.shrink_to_fit();
        room = room.checked_sub(points.len())?;
        stages.push(points);
    }
    Some(stages)
}

/// The combination behind a point of the last stage: at each stage the first alternative that
/// leads back to a point of the stage before.
fn trace(jobs: &[Vec<Choice>], stages: &[Vec<Point>], mut point: Point) -> Combination {
    let mut chosen = vec![0; jobs.len()];
    for (at, job) in jobs.iter().enumerate().rev() {
        let before = |choice: &Choice| Point {
            cost: point.cost - choice.cost,
            time: point.time - choice.time,
        };
        let step = |choice: &Choice| stages[at].binary_search(&before(choice)).is_ok();
        // A point has a history, so the search for it does not fail.
        chosen[at] = job.iter().position(step).unwrap_or_default();
        point = before(&job[chosen[at]]);
    }
    Combination::of(jobs, chosen)
}

/// The cheapest, the fastest, and the cheapest under time limits spread evenly between them.
fn sampled(jobs: &[Vec<Choice>], max_points: usize) -> Front {
    let at = |objective, time| best(jobs, objective, SumLimits { time, budget: None }).ok();
    let (Some(cheapest), Some(fastest)) =
        (at(Objective::MinCost, None), at(Objective::MinTime, None))
    else {
        return Front::default();
    };
    let range = i128::from(cheapest.time - fastest.time);
    let mut points = vec![cheapest];
    for step in (1..max_points as i128 - 1).rev() {
        let limit = fastest.time + (range * step / (max_points as i128 - 1)) as i64;
        points.extend(at(Objective::MinCost, Some(limit)));
    }
    points.push(fastest);
    points.dedup_by(|a, b| (a.cost, a.time) == (b.cost, b.time));
    Front { points, complete: false }
}
