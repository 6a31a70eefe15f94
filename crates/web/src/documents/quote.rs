//! Quotes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;
use super::consumed::Consumed;
use super::limit::Times;

/// What a job could get now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Quotes {
    /// One for each criterion.
    pub quotes: Vec<Offer>,
    /// Name of the payer: a user or a project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
    /// What the payer has to spend, if the caller may see it: an offer that costs more cannot be
    /// accepted. What is promised to booked windows does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub funds: Option<Credits>,
    /// The moment at which running jobs, outages, bookings and prices were as they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<i64>,
    /// The plan of the waiting jobs that was counted with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePlan>,
    /// When such a job is expected to start that is submitted now without an offer: the earliest
    /// window, with its ranges. Nothing of it is promised. Left out if there is no window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_offer: Option<super::Expectation>,
    /// What the user's own runs say of the time limit; left out if that is nothing, and by
    /// configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<super::LimitAdvice>,
    /// What is not known of the waiting jobs of owners at the sites of these offers, so that starts
    /// may be otherwise: a sentence each, with the site's name before it, without a period.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// Which plan of the waiting jobs an answer goes by, and how far the queue was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "queue_as_of": 1_800_000_000, "waiting": 20_000, "looked_at": 2_000, "placed": 18_000
}))]
pub struct QueuePlan {
    /// The moment that the plan is of: jobs that were submitted since do not count.
    pub queue_as_of: i64,
    /// Jobs that waited then.
    pub waiting: u64,
    /// Of these, the first ones, of which the policy's own decisions were simulated.
    pub looked_at: u64,
    /// Of the others, those that were placed behind them, each at the earliest place that delays no
    /// job before it: an estimate of what the policy will do.
    pub placed: u64,
}

impl Quotes {
    /// When a job that is submitted now without an offer is expected to start, if that is earlier than
    /// its window: the earliest of all offers.
    pub fn sooner(&self) -> Option<i64> {
        let sooner = self.quotes.iter().filter_map(|offer| {
            offer.expected_start.zip(offer.start).filter(|(expected, start)| expected < start)
        });
        sooner.map(|(expected, _)| expected).min()
    }

    /// Whether the payer has too little for it.
    pub fn is_too_dear(&self, offer: &Offer) -> bool {
        self.funds.zip(offer.cost).is_some_and(|(funds, cost)| cost > funds)
    }
}

/// The best window by one criterion, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "criterion": "cost", "exact": true, "id": 12, "start": 1_800_000_100, "finish": 1_800_000_700,
    "cost": 300, "expires": 1_800_000_300, "basis": "window",
    "nodes": [{"site": "alpha", "pool": "alpha/slow", "nodes": 1, "end": 1_800_000_700,
        "limit": 600, "times": "wall", "work": 300, "price": 0.5}]
}))]
pub struct Offer {
    /// What is least in it.
    pub criterion: String,
    /// Whether none is better.
    pub exact: bool,
    /// To be accepted by; equal windows have one. Left out if there is no window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// When it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// When such a job is expected to start that is submitted now without this offer, if the jobs of
    /// others before it end as early as they usually do there: never later than `start`, and not
    /// promised. Left out where nothing is known of the jobs of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_start: Option<i64>,
    /// When it ends at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<i64>,
    /// What it costs at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Credits>,
    /// What its nodes consume at most, to the end of the limit; left out where they do not say what
    /// they consume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed: Option<Consumed>,
    /// The job's work begins so many seconds after `start` at the latest, or the market states that
    /// the offer was not kept. Left out if it cannot be accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack: Option<i64>,
    /// What the start rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Until when it may be accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    /// Nodes by pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<OfferedNodes>,
    /// Why there is no window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl OfferedNodes {
    /// For how long the job's data is brought, and what that costs, if it is not there.
    pub fn transfer(&self) -> Option<(i64, Credits)> {
        let seconds = self.stage_in.unwrap_or(0) + self.stage_out.unwrap_or(0);
        self.staging_cost.filter(|_| seconds > 0).map(|cost| (seconds, cost))
    }
}

impl Offer {
    /// Whether it cannot be booked since licences cannot be set aside.
    pub fn is_with_licences(&self) -> bool {
        self.basis == Some(Basis::Licences)
    }

    /// Whether its start is the expected turn in the queue of a site, so that it cannot be booked.
    pub fn is_of_queue(&self) -> bool {
        self.basis == Some(Basis::SiteQueue)
    }
}

/// What the start of an offer rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A window that is free, and may be booked.
    Window,
    /// The turn in the queue of the site that is expected, beside the jobs of the site's owners: it is
    /// not promised, and cannot be booked.
    SiteQueue,
    /// Nodes and licences that are free together: licences cannot be set aside, so that the start is not
    /// promised, and cannot be booked.
    Licences,
}

/// Nodes of one pool in an offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OfferedNodes {
    /// Name of the site.
    pub site: String,
    /// Name of the pool, `SITE/POOL`.
    pub pool: String,
    /// For which group of tasks they are, from 0 on, where tasks differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Number of nodes.
    pub nodes: u32,
    /// Until when: the limit on these nodes.
    pub end: i64,
    /// The time limit on these nodes: seconds of wall-clock time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// How long the job's data is expected to take to these nodes, seconds before its work; left out of
    /// jobs without data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_in: Option<i64>,
    /// The same after its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_out: Option<i64>,
    /// What these nodes cost during both: a part of the offer's cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staging_cost: Option<Credits>,
    /// What the job's limit counts on these nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Times>,
    /// The limit in seconds of work on a node of performance 1; left out if it is as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<i64>,
    /// Per node and second.
    pub price: Credits,
}
