//! The limits of whole-batch planning: those of CSS.

use tradewind_model::{Limits, Snapshot};

use super::super::choose;
use super::Candidate;
use crate::combine::{self, Choice, SumLimits};

/// The limits, `auto` as CSS resolves it: from CSS's alternatives, where a job without any counts
/// with those that it finds alone. Never below what CSS itself applied.
///
/// If a given time limit cannot be kept by all jobs, B* is that of those that can keep it together,
/// added from the highest priority on.
pub(super) fn bounds(
    snapshot: &Snapshot,
    order: &[usize],
    candidates: &[Candidate],
    css: Limits,
) -> SumLimits {
    let policy = &snapshot.policy;
    let (time, budget) = choose::limits(policy);
    let with_some = order.iter().map(|&job| choices(&candidates[job])).filter(|it| !it.is_empty());
    let all: Vec<Vec<Choice>> = with_some.collect();
    if all.is_empty() {
        return SumLimits { time: css.time.map(|it| it.0), budget: css.budget.map(|it| it.0) };
    }
    let resolve = |jobs: &[Vec<Choice>]| combine::limits(jobs, policy.objective, time, budget);
    let given = choose::given(policy);
    let ours = resolve(&all).or_else(|_| resolve(&within(all, given.time))).unwrap_or(given);
    SumLimits {
        time: given.time.or(ours.time.max(css.time.map(|it| it.0))),
        budget: given.budget.or(ours.budget.max(css.budget.map(|it| it.0))),
    }
}

/// CSS's, or else the job's own.
fn choices(candidate: &Candidate) -> Vec<Choice> {
    let count = if candidate.of_css > 0 { candidate.of_css } else { candidate.offers.len() };
    candidate.offers[..count].iter().map(|offer| offer.choice).collect()
}

/// The jobs that can keep the time limit together, from the first on.
fn within(jobs: Vec<Vec<Choice>>, limit: Option<i64>) -> Vec<Vec<Choice>> {
    let mut left = limit.unwrap_or(i64::MAX);
    let fits = |job: &Vec<Choice>| {
        let min = job.iter().map(|choice| choice.time).min().unwrap_or_default();
        let fits = min <= left;
        left -= if fits { min } else { 0 };
        fits
    };
    let mut fits = fits;
    jobs.into_iter().filter(|job| fits(job)).collect()
}
