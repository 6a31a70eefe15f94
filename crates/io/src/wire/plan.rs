//! The document of `plan`.

use std::collections::BTreeMap;

use serde::Serialize;
use tradewind_model::{
    self as model, Criteria, Grid, Measure, Money, Outcome, Quantity, Snapshot, Sum,
};

use super::amount::{Amount, credits, some_credits};
use super::{Postponed, Window};
use crate::scenario;

/// A plan of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The scheme's name, if stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// The seed of the papers' random choices, if stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How many sub-batches were used.
    pub sub_batches: u32,
    /// One per job, in the scenario's order.
    pub jobs: Vec<JobPlan>,
    /// The VO's limits that applied.
    pub limits: BatchLimits,
    /// Sums over the placed jobs.
    pub totals: Totals,
    /// With a vector of criteria: its components, most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// Sums of quantities over the placed jobs, by name: those of the criteria, and where
    /// electricity is described energy, carbon and energy-price.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sums: BTreeMap<String, Amount>,
    /// The limits on quantities, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sum_limits: BTreeMap<String, Amount>,
    /// What a better choice among the alternatives could reach at most; only where the choice is
    /// not proven best.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
}

/// Bounds on every choice among the alternatives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The most jobs that any choice places.
    pub placed: u32,
    /// The best sum of times that a choice of as many jobs could have, where that is the objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<i64>,
    /// The same of costs.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_credits")]
    pub cost: Option<Money>,
    /// With a vector of criteria: the first component that is not proven best, by name, and its
    /// bound.
    #[serde(flatten)]
    pub component: BTreeMap<String, Amount>,
}

impl From<&model::Gap> for Gap {
    fn from(gap: &model::Gap) -> Gap {
        let none = Gap { placed: gap.placed, time: None, cost: None, component: BTreeMap::new() };
        match &gap.sum {
            Sum::Time(time) => Gap { time: Some(time.0), ..none },
            Sum::Cost(cost) => Gap { cost: Some(*cost), ..none },
            Sum::Of(component, bound) => {
                let name = scenario::component_name(component);
                let amount = Amount::of(&component.quantity, *bound);
                Gap { component: BTreeMap::from([(name, amount)]), ..none }
            }
        }
    }
}

/// What happens to one job: a window, or why it is postponed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobPlan {
    /// The job's name.
    pub name: String,
    /// Where and when it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Why it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postponed: Option<Postponed>,
    /// The windows that were considered, in the order found.
    pub alternatives: Vec<Window>,
    /// Whether the search stopped at the allowed number of alternatives.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// How many alternatives are not proven best.
    #[serde(skip_serializing_if = "is_zero")]
    pub unproven: u32,
}

/// Limits over the batch; `null` where none applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct BatchLimits {
    /// T*, in seconds.
    pub time: Option<i64>,
    /// B*, in credits.
    #[serde(serialize_with = "some_credits")]
    pub budget: Option<Money>,
}

/// Sums over the placed jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// By the policy's measure, in seconds.
    pub time: i64,
    /// Cost in credits.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
    /// The licences' part of it, where any job of the batch takes some along.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_credits")]
    pub licences_cost: Option<Money>,
    /// Processor time in node-seconds.
    pub processor_time: i64,
    /// Jobs with a window.
    pub placed: u32,
}

fn order(criteria: &Criteria) -> Vec<String> {
    criteria.order.iter().map(scenario::component_name).collect()
}

/// What is summed up over a plan beside time and cost.
pub fn summed(snapshot: &Snapshot) -> Vec<Quantity> {
    let electric = [Quantity::Energy, Quantity::Carbon, Quantity::EnergyPrice];
    let electric = electric.into_iter().filter(|_| snapshot.grid.power().is_some());
    let mut all: Vec<Quantity> = Vec::new();
    for quantity in snapshot.policy.criteria.quantities().cloned().chain(electric) {
        if !all.contains(&quantity) {
            all.push(quantity);
        }
    }
    all
}

/// The sum of a quantity over the placed jobs, in its unit.
pub fn sum_of(quantity: &Quantity, snapshot: &Snapshot, plan: &model::Plan) -> i64 {
    let at = (snapshot.policy.measure, snapshot.horizon.start);
    let windows = plan.jobs.iter().filter_map(model::JobPlan::window);
    windows.map(|it| quantity.of(it, &snapshot.grid, at)).fold(0, i64::saturating_add)
}

fn sums(snapshot: &Snapshot, plan: &model::Plan) -> BTreeMap<String, Amount> {
    let sum = |quantity: Quantity| {
        (quantity.name(), Amount::of(&quantity, sum_of(&quantity, snapshot, plan)))
    };
    summed(snapshot).into_iter().map(sum).collect()
}

fn sum_limits(criteria: &Criteria) -> BTreeMap<String, Amount> {
    let limit =
        |(quantity, limit): &(Quantity, i64)| (quantity.name(), Amount::of(quantity, *limit));
    criteria.limits.iter().map(limit).collect()
}

/// What `skip_serializing_if` asks for.
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Plan {
    /// `plan` with the names of `snapshot`; `measure` is what "time" means in the totals.
    pub fn new(snapshot: &Snapshot, plan: &model::Plan, measure: Measure) -> Plan {
        let jobs = snapshot.jobs.iter().zip(&plan.jobs);
        let totals = plan.totals(measure);
        let has_licences = snapshot.jobs.iter().any(|job| job.request.licences.is_some());
        let windows = plan.jobs.iter().filter_map(model::JobPlan::window);
        let of_licences = windows.map(model::Window::licences_cost);
        Plan {
            scheme: None,
            seed: None,
            sub_batches: plan.sub_batches,
            jobs: jobs.map(|(job, it)| JobPlan::new(job, it, &snapshot.grid)).collect(),
            limits: BatchLimits {
                time: plan.limits.time.map(|span| span.0),
                budget: plan.limits.budget,
            },
            totals: Totals {
                time: totals.time.0,
                cost: totals.cost,
                licences_cost: has_licences.then(|| of_licences.sum()),
                processor_time: totals.processor_time.0,
                placed: totals.placed,
            },
            order: order(&snapshot.policy.criteria),
            sums: sums(snapshot, plan),
            sum_limits: sum_limits(&snapshot.policy.criteria),
            gap: plan.gap.as_ref().map(Gap::from),
        }
    }
}

impl JobPlan {
    fn new(job: &model::Job, plan: &model::JobPlan, grid: &Grid) -> JobPlan {
        let postponed = match &plan.outcome {
            Outcome::Placed(_) => None,
            Outcome::Postponed(reason) => Some(Postponed::from(reason)),
        };
        let of = |window: &model::Window| Window::of(window, &job.request, grid);
        JobPlan {
            name: job.name.clone(),
            window: plan.window().map(of),
            postponed,
            alternatives: plan.alternatives.iter().map(of).collect(),
            cut: plan.cut,
            unproven: plan.unproven,
        }
    }
}
