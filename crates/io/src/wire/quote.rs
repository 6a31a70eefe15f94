//! The document of `quote`.

use serde::Serialize;
use tradewind_model::Money;

use super::amount::credits;
use super::{Amount, Reason, Window};

/// What a job could get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quotes {
    /// The job's name.
    pub job: String,
    /// One per criterion.
    pub quotes: Vec<Quote>,
    /// Cost against finish: no point is both more expensive and later than another.
    pub pareto: Vec<QuotePoint>,
    /// Whether `pareto` is the whole front.
    pub pareto_complete: bool,
}

/// The best window under one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quote {
    /// What is least in it.
    pub criterion: String,
    /// What found it.
    pub algorithm: String,
    /// Whether it is proven best.
    pub exact: bool,
    /// How far the best window can be below it, in the criterion's unit, if that is not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Amount>,
    /// The window, or `null`.
    pub window: Option<Window>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// A point of the front.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuotePoint {
    /// The end of the longest task.
    pub finish: i64,
    /// Cost in credits.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
    /// The window at this point.
    pub window: Window,
}

impl From<Window> for QuotePoint {
    fn from(window: Window) -> QuotePoint {
        QuotePoint { finish: window.finish, cost: window.cost, window }
    }
}
