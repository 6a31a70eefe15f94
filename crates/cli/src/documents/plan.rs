//! What `plan --format json` prints.

use serde::Serialize;
use serde_json::Number;
use tradewind_model::{Outcome, Plan, Snapshot};

use super::reason::ReasonDocument;
use super::{WindowDocument, exact};

/// How the plan was made.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Context {
    pub(crate) scheme: &'static str,
    pub(crate) objective: &'static str,
    pub(crate) measure: &'static str,
    /// Where one was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct PlanDocument<'a> {
    #[serde(flatten)]
    context: Context,
    sub_batches: u32,
    jobs: Vec<JobDocument<'a>>,
    limits: LimitsDocument,
    totals: TotalsDocument,
}

#[derive(Debug, Serialize)]
struct JobDocument<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<WindowDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    postponed: Option<ReasonDocument>,
    /// Which of the alternatives the window is.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<usize>,
    alternatives: Vec<WindowDocument<'a>>,
    cut: bool,
    unproven: u32,
}

#[derive(Debug, Serialize)]
struct LimitsDocument {
    time: Option<i64>,
    budget: Option<Number>,
}

#[derive(Debug, Serialize)]
struct TotalsDocument {
    time: i64,
    cost: Number,
    processor_time: i64,
    placed: u32,
}

/// The document of `plan` on `snapshot`.
pub(crate) fn plan<'a>(
    snapshot: &'a Snapshot,
    plan: &'a Plan,
    context: Context,
) -> PlanDocument<'a> {
    let grid = &snapshot.grid;
    let job = |(job, planned): (&'a tradewind_model::Job, &'a tradewind_model::JobPlan)| {
        let (chosen, postponed) = match &planned.outcome {
            Outcome::Placed(index) => (Some(*index), None),
            Outcome::Postponed(reason) => (None, Some(ReasonDocument::new(reason))),
        };
        let windows = planned.alternatives.iter();
        JobDocument {
            name: &job.name,
            window: planned.window().map(|window| WindowDocument::new(grid, window)),
            postponed,
            chosen,
            alternatives: windows.map(|window| WindowDocument::new(grid, window)).collect(),
            cut: planned.cut,
            unproven: planned.unproven,
        }
    };
    let totals = plan.totals(snapshot.policy.measure);
    PlanDocument {
        context,
        sub_batches: plan.sub_batches,
        jobs: snapshot.jobs.iter().zip(&plan.jobs).map(job).collect(),
        limits: LimitsDocument {
            time: plan.limits.time.map(|limit| limit.0),
            budget: plan.limits.budget.map(exact),
        },
        totals: TotalsDocument {
            time: totals.time.0,
            cost: exact(totals.cost),
            processor_time: totals.processor_time.0,
            placed: totals.placed,
        },
    }
}
