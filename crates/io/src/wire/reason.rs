//! A reason with its numbers by name.

use std::collections::BTreeMap;

use serde::Serialize;
use tradewind_model as model;

use super::Amount;

/// Why there is no window: `{"code", "text", …numbers}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// A fixed name, such as `budget-short`.
    pub code: &'static str,
    /// One sentence for people.
    pub text: String,
    /// The numbers that decided it, by name.
    #[serde(flatten)]
    pub numbers: BTreeMap<&'static str, Amount>,
}

/// The same in a plan: `{"reason", "message", …numbers}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Postponed {
    /// A fixed name, such as `budget-short`.
    pub reason: &'static str,
    /// One sentence for people.
    pub message: String,
    /// The numbers that decided it, by name.
    #[serde(flatten)]
    pub numbers: BTreeMap<&'static str, Amount>,
}

impl From<&model::Reason> for Reason {
    fn from(reason: &model::Reason) -> Reason {
        Reason { code: reason.code(), text: reason.to_string(), numbers: numbers(reason) }
    }
}

impl From<&model::Reason> for Postponed {
    fn from(reason: &model::Reason) -> Postponed {
        Postponed { reason: reason.code(), message: reason.to_string(), numbers: numbers(reason) }
    }
}

/// The key of an amount of the resource: of cores, memory and generic resources.
fn amount_key(resource: &model::Resource, keys: [&'static str; 3]) -> &'static str {
    let [cores, memory, gres] = keys;
    match resource {
        model::Resource::Cores => cores,
        model::Resource::Memory => memory,
        model::Resource::Gres(_) => gres,
    }
}

fn numbers(reason: &model::Reason) -> BTreeMap<&'static str, Amount> {
    use model::Reason as R;
    let credits = Amount::Credits;
    let all: Vec<(&'static str, Option<Amount>)> = match reason {
        R::WiderThanGrid { needed, nodes } => {
            vec![("needed", Some(Amount::Count(*needed))), ("nodes", Some(Amount::Count(*nodes)))]
        }
        R::TooFewNodes { needed, suitable, min_performance } => vec![
            ("needed", Some(Amount::Count(*needed))),
            ("suitable", Some(Amount::Count(*suitable))),
            ("min_performance", min_performance.map(|it| Amount::Performance(it.thousandths()))),
        ],
        R::NoCommonTime { needed, max, deadline } => vec![
            ("needed", Some(Amount::Count(*needed))),
            ("most", Some(Amount::Count(*max))),
            ("deadline", deadline.map(|it| Amount::Seconds(it.0))),
        ],
        R::TooFewPlaces { needed, max, deadline } => vec![
            ("needed", Some(Amount::Count(*needed))),
            ("most", Some(Amount::Count(*max))),
            ("deadline", deadline.map(|it| Amount::Seconds(it.0))),
        ],
        R::ResourceShort { needed, would_do, nodes, of, resource } => vec![
            (
                amount_key(resource, ["cores", "memory_kib", "gres"]),
                Some(Amount::of_resource(resource, *needed)),
            ),
            (
                amount_key(resource, ["cores_would_do", "memory_kib_would_do", "gres_would_do"]),
                Some(Amount::of_resource(resource, *would_do)),
            ),
            ("nodes_short", Some(Amount::Count(*nodes))),
            ("nodes", Some(Amount::Count(*of))),
        ],
        R::LicenceShort { needed, max, deadline, .. } => vec![
            ("needed", Some(Amount::Count(*needed))),
            ("most", Some(Amount::Count(*max))),
            ("deadline", deadline.map(|it| Amount::Seconds(it.0))),
        ],
        R::BudgetShort { cheapest, budget } => vec![
            ("cheapest", Some(credits(*cheapest))),
            ("budget", Some(credits(*budget))),
            ("short_by", Some(credits(*cheapest - *budget))),
        ],
        R::TooLate { earliest, deadline } => vec![
            ("earliest", Some(Amount::Seconds(earliest.0))),
            ("deadline", Some(Amount::Seconds(deadline.0))),
        ],
        R::WiderThanQueues { needed, widest } => {
            vec![("needed", Some(Amount::Count(*needed))), ("widest", Some(Amount::Count(*widest)))]
        }
        R::PricedOut { bid, ask } => {
            vec![("bid", Some(credits(*bid))), ("ask", Some(credits(*ask)))]
        }
        R::NoValue | R::Outbid | R::Declined | R::SumLimit { .. } | R::AllLimits => Vec::new(),
        R::TimeLimit { limit, min } => {
            vec![("limit", Some(Amount::Seconds(limit.0))), ("least", Some(Amount::Seconds(min.0)))]
        }
        R::BudgetLimit { limit, min } => {
            vec![("limit", Some(credits(*limit))), ("least", Some(credits(*min)))]
        }
        R::BothLimits { time, budget } => vec![
            ("time_limit", Some(Amount::Seconds(time.0))),
            ("budget_limit", Some(credits(*budget))),
        ],
    };
    all.into_iter().filter_map(|(name, amount)| Some((name, amount?))).collect()
}
