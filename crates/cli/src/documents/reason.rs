//! Why a job has no window, with the numbers that decided it.

use serde::Serialize;
use serde_json::Number;
use tradewind_model::Reason;

use super::exact;

/// A reason: its fixed name, a sentence, and its numbers under fixed keys.
#[derive(Debug, Default, Serialize)]
pub(super) struct ReasonDocument {
    reason: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    needed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suitable: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_performance: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cheapest: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    least: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_limit: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_limit: Option<Number>,
}

impl ReasonDocument {
    pub(super) fn new(reason: &Reason) -> ReasonDocument {
        let base = ReasonDocument {
            reason: reason.code(),
            message: reason.to_string(),
            ..ReasonDocument::default()
        };
        match *reason {
            Reason::WiderThanGrid { needed, nodes } => {
                ReasonDocument { needed: Some(needed), nodes: Some(nodes), ..base }
            }
            Reason::TooFewNodes { needed, suitable, min_performance } => ReasonDocument {
                needed: Some(needed),
                suitable: Some(suitable),
                min_performance: min_performance.map(exact),
                ..base
            },
            Reason::NoCommonTime { needed, most, deadline } => ReasonDocument {
                needed: Some(needed),
                most: Some(most),
                deadline: deadline.map(|time| time.0),
                ..base
            },
            Reason::BudgetShort { cheapest, budget } => ReasonDocument {
                cheapest: Some(exact(cheapest)),
                budget: Some(exact(budget)),
                ..base
            },
            Reason::Outbid => base,
            Reason::TimeLimit { limit, least } => {
                ReasonDocument { time_limit: Some(limit.0), least: Some(exact(least)), ..base }
            }
            Reason::BudgetLimit { limit, least } => ReasonDocument {
                budget_limit: Some(exact(limit)),
                least: Some(exact(least)),
                ..base
            },
            Reason::BothLimits { time, budget } => ReasonDocument {
                time_limit: Some(time.0),
                budget_limit: Some(exact(budget)),
                ..base
            },
        }
    }
}
