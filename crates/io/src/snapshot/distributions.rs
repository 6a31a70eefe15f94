//! The side model's parameters, and what may be given instead of what is drawn.

use std::collections::BTreeSet;

use tradewind_model::{Criterion, Money, Performance, Price, Ratio, Span, Terms, Time};

/// The parameters of the side model. Factors are in thousandths; ranges include both ends, and
/// every thousandth in them is equally likely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Performances, each of an equal share of the blocks.
    pub classes: Vec<Performance>,
    /// Blocks of neighbouring hosts of one class.
    pub blocks: u32,
    /// The market price of performance P is this to the power of P (paper 001: 1.7).
    pub price_base: u32,
    /// A host's price over the market price (paper 001: 0.75 to 1.25).
    pub price_spread: (u32, u32),
    /// A job's budget over the market value of its request.
    pub budget: (u32, u32),
    /// From a job's arrival to its deadline, over its requested time or run time.
    pub slack: (u32, u32),
    /// The minimum such time that counts for the deadline.
    pub slack_from: Span,
    /// The share of jobs with a price cap.
    pub capped: u32,
    /// A price cap over the market price at the job's minimum performance.
    pub cap: (u32, u32),
    /// One of them, each equally likely, is a job's own.
    pub criteria: Vec<Criterion>,
    /// What a job's completion in time is worth, in a replay; `None`: nothing is said.
    pub value: Option<Worth>,
    /// Which terms jobs get, beside a value. The others are not asked for, unless given.
    pub draw: BTreeSet<Term>,
    /// What a deadline is a multiple of.
    pub deadline_of: DeadlineOf,
}

/// A term that is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// The minimum performance of nodes.
    MinPerformance,
    /// The price cap.
    MaxPrice,
    /// The budget of a job.
    Budget,
    /// Deadline of the job.
    Deadline,
    /// What is to be least.
    Minimize,
}

impl Term {
    /// All of them, by the names that they have for single jobs.
    pub const ALL: [(&'static str, Term); 5] = [
        ("min_performance", Term::MinPerformance),
        ("max_price", Term::MaxPrice),
        ("budget", Term::Budget),
        ("deadline", Term::Deadline),
        ("minimize", Term::Minimize),
    ];
}

/// What a deadline is a multiple of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeadlineOf {
    /// The requested time.
    #[default]
    Request,
    /// The run time, which only the log knows.
    Run,
}

/// What a job's completion in time is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    /// The market value of its request times a factor between these.
    OfMarket((u32, u32)),
    /// Something between these, whatever its size; every micro-credit is equally likely.
    Between(Money, Money),
}

impl Default for Model {
    fn default() -> Model {
        let classes = [1_000, 1_500, 2_000, 3_000];
        Model {
            classes: classes.into_iter().filter_map(Performance::from_thousandths).collect(),
            blocks: 16,
            price_base: 1_700,
            price_spread: (750, 1_250),
            budget: (1_000, 1_600),
            slack: (2_000, 10_000),
            slack_from: Span(3_600),
            capped: 250,
            cap: (1_000, 1_600),
            criteria: vec![
                Criterion::Start,
                Criterion::Finish,
                Criterion::Runtime,
                Criterion::Cost,
                Criterion::ProcessorTime,
            ],
            value: None,
            draw: Term::ALL.into_iter().map(|(_, term)| term).collect(),
            deadline_of: DeadlineOf::Request,
        }
    }
}

/// What is given for one job; `None` leaves what was drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobTerms {
    /// Replaces the drawn one.
    pub min_performance: Option<Performance>,
    /// Replaces the drawn one.
    pub max_price: Option<Price>,
    /// Replaces the drawn one.
    pub budget: Option<Money>,
    /// Replaces the drawn one; on the log's clock.
    pub deadline: Option<Time>,
    /// Replaces the drawn one.
    pub minimize: Option<Criterion>,
    /// Instead of 0.
    pub priority: Option<i64>,
    /// Replaces the drawn one; for replays.
    pub value: Option<Money>,
    /// Instead of that of the job's user; for replays.
    pub bid_factor: Option<Ratio>,
}

impl JobTerms {
    /// `terms` with what is given here in its place.
    pub(super) fn over(&self, terms: Terms) -> Terms {
        Terms {
            min_performance: self.min_performance.or(terms.min_performance),
            max_price: self.max_price.or(terms.max_price),
            budget: self.budget.or(terms.budget),
            deadline: self.deadline.or(terms.deadline),
            criterion: self.minimize.clone().unwrap_or(terms.criterion),
            priority: self.priority.unwrap_or(terms.priority),
            value: self.value.or(terms.value),
            bid_factor: self.bid_factor.or(terms.bid_factor),
            ..terms
        }
    }
}

/// What is given for one node; `None` leaves what was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeTerms {
    /// Replaces the drawn one.
    pub performance: Option<Performance>,
    /// Replaces the drawn one.
    pub price: Option<Price>,
}
