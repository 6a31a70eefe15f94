//! What was used and charged, by month, project, user and site: sums that stay when jobs are
//! dropped. They begin with the first start under a release that keeps them.

use std::collections::BTreeMap;

use tradewind_model::{Carbon, Consumption, Energy, Money, Span};

/// Sums that are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses(pub BTreeMap<UsageKey, UsageSum>);

/// Of what a sum is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageKey {
    /// Months since January 1970, UTC: that in which it was charged.
    pub month: i64,
    /// The project that paid; `None`: the user, or the user's own market.
    pub project: Option<String>,
    /// Who.
    pub user: String,
    /// Where: a site, or `peer:NAME`.
    pub site: String,
}

/// What was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageSum {
    /// Parts of jobs that were charged.
    pub parts: u64,
    /// Nodes times seconds that were charged.
    pub node_seconds: i128,
    /// What was paid.
    pub charged: Money,
    /// What nodes consumed in that time, where that is known.
    pub consumed: Consumption,
}

/// What a part of a job has used that pays for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::live) struct Used {
    pub(in crate::live) nodes: u32,
    /// Seconds that are charged.
    pub(in crate::live) time: Span,
    /// In that time.
    pub(in crate::live) consumed: Consumption,
}

impl Used {
    /// What was used at a peer is not known.
    pub(in crate::live) const NOTHING_HERE: Used = Used {
        nodes: 0,
        time: Span(0),
        consumed: Consumption { energy: Energy(0), carbon: Carbon(0), price: Money(0) },
    };
}

impl Uses {
    /// As many months are kept.
    pub const MONTHS: i64 = 36;
}
