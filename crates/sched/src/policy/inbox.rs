//! What happened to the jobs of a queue, as policies need to know it.

use std::sync::Arc;

use tradewind_model::{Demand, Event, JobId, Market, Terms};

/// How a job comes to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comes {
    /// It was submitted.
    Newly,
    /// It waited before: it lost its nodes, or the policy goes on from another one. What the
    /// prices of the moment are is no reason to refuse it.
    Again,
}

/// Jobs that joined the queue since the last call and still wait, each once.
pub(super) fn arrivals<'a>(
    market: &'a Market,
    events: &'a [Event],
) -> impl Iterator<Item = (JobId, Comes)> + 'a {
    let joins = |event: &Event| match event {
        Event::Submitted { job, .. } => Some((*job, Comes::Newly)),
        Event::Interrupted { job } => Some((*job, Comes::Again)),
        _ => None,
    };
    events.iter().enumerate().filter_map(move |(at, event)| {
        let (job, comes) = joins(event)?;
        let known = |other: &Event| joins(other).is_some_and(|(other, _)| other == job);
        let once = comes == Comes::Newly || !events[..at].iter().any(known);
        (once && market.waits(job)).then_some((job, comes))
    })
}

/// The same job if it could pay any price.
pub(super) fn without_limits(demand: &Demand) -> Demand {
    let terms = Terms { budget: None, max_price: None, ..demand.terms().clone() };
    Demand { terms: Some(Arc::new(terms)), ..demand.clone() }
}

/// Jobs about which others decided: they were started, cancelled or refused, or a site's own
/// scheduler will start them.
pub(super) fn departures(events: &[Event]) -> impl Iterator<Item = JobId> + '_ {
    events.iter().filter_map(|event| match event {
        Event::Lined { job }
        | Event::Started { job, .. }
        | Event::Cancelled { job }
        | Event::Refused { job } => Some(*job),
        _ => None,
    })
}

/// Whether jobs that wait may have to pay another price, or go elsewhere.
pub(super) fn terms_changed(events: &[Event]) -> bool {
    events.iter().any(|event| {
        matches!(event, Event::Priced { .. } | Event::Rated { .. } | Event::Traded { .. })
    })
}
