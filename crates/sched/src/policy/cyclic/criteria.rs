//! The choice by a vector of criteria, within limits on any quantity.

use tradewind_model::{
    Component, Gap, Goal, Limits, Measure, Money, Objective, Plan, Quantity, Reason, Snapshot,
    Span, Sum, Time, VoPolicy, Window,
};

use super::choose::{self, Chosen};
use crate::combine::additive::{self, CombinationProblem, Refused};
use crate::combine::{self, Choice, SumLimits};

/// The columns of the table that is combined.
struct Columns {
    quantities: Vec<Quantity>,
    order: Vec<additive::ObjectiveColumn>,
    components: Vec<Component>,
}

impl Columns {
    /// Those of the policy, time and cost among them.
    fn of(policy: &VoPolicy) -> Columns {
        let components = match policy.criteria.order.is_empty() {
            true => of_objective(policy.objective),
            false => policy.criteria.order.clone(),
        };
        let mut columns = Columns { quantities: Vec::new(), order: Vec::new(), components };
        for Component { quantity, goal } in columns.components.clone() {
            let column = columns.column(&quantity);
            columns.order.push(additive::ObjectiveColumn { column, goal });
        }
        columns
    }

    fn column(&mut self, quantity: &Quantity) -> usize {
        self.quantities.iter().position(|it| it == quantity).unwrap_or_else(|| {
            self.quantities.push(quantity.clone());
            self.quantities.len() - 1
        })
    }

    /// By column, the smallest of the limits on it.
    fn limits(&mut self, policy: &VoPolicy, bounds: SumLimits) -> Vec<Option<i64>> {
        let of_vo = [(Quantity::Time, bounds.time), (Quantity::Cost, bounds.budget)];
        let of_vo = of_vo.into_iter().filter_map(|(quantity, limit)| Some((quantity, limit?)));
        let all: Vec<(Quantity, i64)> =
            of_vo.chain(policy.criteria.limits.iter().cloned()).collect();
        let mut limits = vec![None; self.quantities.len()];
        for (quantity, limit) in all {
            let column = self.column(&quantity);
            limits.resize(self.quantities.len(), None);
            limits[column] = Some(limits[column].map_or(limit, |least: i64| least.min(limit)));
        }
        limits
    }

    fn numbers(&self, snapshot: &Snapshot, window: &Window) -> Vec<i64> {
        let at = counted(snapshot);
        self.quantities.iter().map(|it| it.of(window, &snapshot.grid, at)).collect()
    }
}

/// What quantities depend on beside the window.
fn counted(snapshot: &Snapshot) -> (Measure, Time) {
    (snapshot.policy.measure, snapshot.horizon.start)
}

/// An objective as a vector, with the tie-break of [`combine::best`].
fn of_objective(objective: Objective) -> Vec<Component> {
    let least = |quantity| Component { quantity, goal: Goal::Least };
    let most = |quantity| Component { quantity, goal: Goal::Most };
    match objective {
        Objective::MaxIncome => vec![most(Quantity::Cost), least(Quantity::Time)],
        Objective::MinTime => vec![least(Quantity::Time), least(Quantity::Cost)],
        Objective::MinCost => vec![least(Quantity::Cost), least(Quantity::Time)],
        Objective::MinIdle => vec![most(Quantity::Time), least(Quantity::Cost)],
    }
}

/// As [`choose::choose`], by the policy's criteria. While they have an order, limits apply only
/// if they are given.
pub(super) fn choose(
    snapshot: &Snapshot,
    alternatives: &[&[Window]],
    policy: &VoPolicy,
    work_limit: u64,
) -> Chosen {
    let mut batch = Batch::new(snapshot, alternatives, policy);
    let jobs = alternatives.len();
    let mut given_up = Vec::new();
    let mut unknown = 0;
    for kept in (0..=jobs).rev() {
        match batch.solve(kept, policy, work_limit) {
            Ok((found, bounds)) => {
                let gap = gap(&found, &batch.columns, (kept, unknown));
                let placed = found.chosen.into_iter().map(Ok);
                let jobs = placed.chain(given_up.into_iter().rev().map(Err)).collect();
                let (time, budget) = (bounds.time.map(Span), bounds.budget.map(Money));
                return Chosen { jobs, limits: Limits { time, budget }, gap };
            }
            Err(GivenUp { reason, proven }) => {
                unknown += usize::from(!proven);
                given_up.push(reason);
            }
        }
    }
    let jobs = given_up.into_iter().take(jobs).rev().map(Err).collect();
    Chosen { jobs, limits: Limits::default(), gap: None }
}

/// A batch as a table of numbers.
struct Batch {
    columns: Columns,
    /// Time and cost alone.
    choices: Vec<Vec<Choice>>,
    numbers: Vec<Vec<Vec<i64>>>,
}

/// Why so many jobs have no combination, and whether that is proven.
struct GivenUp {
    reason: Reason,
    proven: bool,
}

impl Batch {
    fn new(snapshot: &Snapshot, alternatives: &[&[Window]], policy: &VoPolicy) -> Batch {
        let mut columns = Columns::of(policy);
        // All columns are known before numbers are computed, whatever limits apply in the end.
        let _ = columns.limits(policy, SumLimits { time: Some(0), budget: Some(0) });
        let choice = |window: &Window| choose::choice(window, policy);
        let numbers = |window: &Window| columns.numbers(snapshot, window);
        Batch {
            choices: alternatives.iter().map(|it| it.iter().map(choice).collect()).collect(),
            numbers: alternatives.iter().map(|it| it.iter().map(numbers).collect()).collect(),
            columns,
        }
    }

    /// The best combination of the first `kept` jobs, and the limits on time and cost.
    fn solve(
        &mut self,
        kept: usize,
        policy: &VoPolicy,
        work_limit: u64,
    ) -> Result<(additive::AdditiveChoice, SumLimits), GivenUp> {
        let bounds = bounds(&self.choices[..kept], policy)
            .map_err(|reason| GivenUp { reason, proven: true })?;
        let limits = self.columns.limits(policy, bounds);
        let wanted = CombinationProblem { order: &self.columns.order, limits: &limits, work_limit };
        match additive::lexicographic(&self.numbers[..kept], &wanted) {
            Ok(found) => Ok((found, bounds)),
            Err(refused) => {
                let reason = reason(&refused, &self.columns.quantities);
                Err(GivenUp { reason, proven: refused != Refused::Unknown })
            }
        }
    }
}

/// The limits on time and cost; `auto` is resolved where the objective decides.
fn bounds(choices: &[Vec<Choice>], policy: &VoPolicy) -> Result<SumLimits, Reason> {
    if !policy.criteria.order.is_empty() {
        return Ok(choose::given(policy));
    }
    let (time, budget) = choose::limits(policy);
    combine::limits(choices, policy.objective, time, budget).map_err(|it| choose::reason(&it))
}

/// What is not proven, of the jobs kept and of those given up without a proof.
fn gap(
    found: &additive::AdditiveChoice,
    columns: &Columns,
    (kept, unknown): (usize, usize),
) -> Option<Gap> {
    let (at, bound) = match found.gap {
        Some(gap) => (gap.component, gap.bound),
        None if unknown == 0 => return None,
        None => (0, found.totals[columns.order.first()?.column]),
    };
    let component = columns.components.get(at)?.clone();
    Some(Gap { placed: (kept + unknown) as u32, sum: Sum::Of(component, bound) })
}

fn reason(refused: &Refused, quantities: &[Quantity]) -> Reason {
    match *refused {
        Refused::Limit { column, limit, min } => match &quantities[column] {
            Quantity::Time => Reason::TimeLimit { limit: Span(limit), min: Span(min) },
            Quantity::Cost => Reason::BudgetLimit { limit: Money(limit), min: Money(min) },
            other => Reason::SumLimit {
                limit: format!("{} {}", other.name(), other.show(limit)),
                min: other.show(min),
            },
        },
        Refused::NoAlternative { .. } => Reason::Outbid,
        Refused::Together | Refused::Unknown | Refused::OutOfRange => Reason::AllLimits,
    }
}

/// The sums of the order's components over the placed jobs; greater is better.
pub(super) fn merit(plan: &Plan, snapshot: &Snapshot) -> Vec<i64> {
    let at = counted(snapshot);
    let sum = |component: &Component| {
        let windows = plan.jobs.iter().filter_map(|job| job.window());
        let sum: i64 = windows.map(|it| component.quantity.of(it, &snapshot.grid, at)).sum();
        if component.goal == Goal::Least { -sum } else { sum }
    };
    snapshot.policy.criteria.order.iter().map(sum).collect()
}

/// One point of the front of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontPoint {
    /// By job of the batch, the index of its alternative; `None` for a job without any.
    pub chosen: Vec<Option<usize>>,
    /// The sums of the components, in their order.
    pub sums: Vec<i64>,
}

/// What a batch can trade against each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchFront {
    /// The components: the order of the policy's criteria, or of its objective.
    pub components: Vec<Component>,
    /// In the order of the components' sums.
    pub points: Vec<FrontPoint>,
    /// Whether these are all points of the front.
    pub complete: bool,
}

/// The Pareto front of the policy's components over the alternatives that `plan` found, within
/// the limits that are given. As exact as [`additive::front`].
///
/// # Errors
/// Why no combination of all jobs with alternatives keeps to the limits.
pub fn front(
    snapshot: &Snapshot,
    plan: &Plan,
    max_points: usize,
    work_limit: u64,
) -> Result<BatchFront, Reason> {
    let policy = &snapshot.policy;
    let mut columns = Columns::of(policy);
    let limits = columns.limits(policy, choose::given(policy));
    let some: Vec<usize> =
        (0..plan.jobs.len()).filter(|&job| !plan.jobs[job].alternatives.is_empty()).collect();
    let numbers: Vec<Vec<Vec<i64>>> = some
        .iter()
        .map(|&job| &plan.jobs[job].alternatives)
        .map(|windows| windows.iter().map(|it| columns.numbers(snapshot, it)).collect())
        .collect();
    let wanted = CombinationProblem { order: &columns.order, limits: &limits, work_limit };
    let found = additive::front(&numbers, &wanted, max_points)
        .map_err(|refused| reason(&refused, &columns.quantities))?;
    let point = |it: additive::AdditiveChoice| {
        let mut chosen = vec![None; plan.jobs.len()];
        for (&job, &at) in some.iter().zip(&it.chosen) {
            chosen[job] = Some(at);
        }
        let sums = columns.order.iter().map(|component| it.totals[component.column]).collect();
        FrontPoint { chosen, sums }
    };
    let points = found.points.into_iter().map(point).collect();
    Ok(BatchFront { components: columns.components, points, complete: found.complete })
}
