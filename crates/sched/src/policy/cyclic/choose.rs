//! The best combination of one sub-batch's alternatives, giving up jobs where limits demand it.

use tradewind_model::{Gap, Limit, Limits, Money, Reason, Snapshot, Span, VoPolicy, Window};

use super::criteria;
use crate::combine::{self, Choice, Combination, Infeasible, SumLimits};

/// One alternative per job, or a reason.
pub(super) struct Chosen {
    /// By position in the sub-batch; `Ok` is an index into the job's alternatives.
    pub(super) jobs: Vec<Result<usize, Reason>>,
    /// The limits that applied.
    pub(super) limits: Limits,
    /// What better choices could reach, where this one is not proven best.
    pub(super) gap: Option<Gap>,
}

/// Chooses one of `alternatives` per job by `policy`; every job has at least one.
///
/// If an explicit limit admits no combination, jobs are given up from the last (the lowest
/// priority) until one does. Exact; with a vector of criteria unless the result has a gap.
pub(super) fn choose(
    snapshot: &Snapshot,
    alternatives: &[&[Window]],
    policy: &VoPolicy,
    work_limit: u64,
) -> Chosen {
    match policy.criteria.is_empty() {
        true => by_objective(alternatives, policy),
        false => criteria::choose(snapshot, alternatives, policy, work_limit),
    }
}

fn by_objective(alternatives: &[&[Window]], policy: &VoPolicy) -> Chosen {
    let choices: Vec<Vec<Choice>> = alternatives
        .iter()
        .map(|windows| windows.iter().map(|w| choice(w, policy)).collect())
        .collect();
    let mut given_up = Vec::new();
    for kept in (0..=choices.len()).rev() {
        match solve(&choices[..kept], policy) {
            Ok((combination, bounds)) => {
                let placed = combination.chosen.into_iter().map(Ok);
                let jobs = placed.chain(given_up.into_iter().rev().map(Err)).collect();
                let limits =
                    Limits { time: bounds.time.map(Span), budget: bounds.budget.map(Money) };
                return Chosen { jobs, limits, gap: None };
            }
            Err(infeasible) => given_up.push(reason(&infeasible)),
        }
    }
    // Unreachable in practice: no job at all keeps every limit that is not negative.
    let jobs = given_up.into_iter().take(choices.len()).rev().map(Err).collect();
    Chosen { jobs, limits: Limits::default(), gap: None }
}

/// Its numbers, as `policy` measures them.
pub(super) fn choice(window: &Window, policy: &VoPolicy) -> Choice {
    Choice { time: policy.measure.of(window).0, cost: window.cost().0 }
}

fn solve(
    choices: &[Vec<Choice>],
    policy: &VoPolicy,
) -> Result<(Combination, SumLimits), Infeasible> {
    let (time, budget) = limits(policy);
    let bounds = combine::limits(choices, policy.objective, time, budget)?;
    let combination = combine::best(choices, policy.objective, bounds)?;
    Ok((combination, bounds))
}

/// The policy's limits on time and money, as numbers.
pub(super) fn limits(policy: &VoPolicy) -> (Limit<i64>, Limit<i64>) {
    let time = as_number(policy.time_limit, |limit: Span| limit.0);
    (time, as_number(policy.budget_limit, |limit: Money| limit.0))
}

/// Those of them that are not `auto`.
pub(super) fn given(policy: &VoPolicy) -> SumLimits {
    let at = |limit: Limit<i64>| match limit {
        Limit::Auto => None,
        Limit::At(limit) => Some(limit),
    };
    let (time, budget) = limits(policy);
    SumLimits { time: at(time), budget: at(budget) }
}

fn as_number<T>(limit: Limit<T>, number: impl Fn(T) -> i64) -> Limit<i64> {
    match limit {
        Limit::Auto => Limit::Auto,
        Limit::At(limit) => Limit::At(number(limit)),
    }
}

pub(super) fn reason(infeasible: &Infeasible) -> Reason {
    match *infeasible {
        Infeasible::Time { limit, min } => Reason::TimeLimit { limit: Span(limit), min: Span(min) },
        Infeasible::Budget { limit, min } => {
            Reason::BudgetLimit { limit: Money(limit), min: Money(min) }
        }
        Infeasible::Both { time, budget } => {
            Reason::BothLimits { time: Span(time), budget: Money(budget) }
        }
        Infeasible::NoAlternative { .. } => Reason::Outbid,
    }
}
