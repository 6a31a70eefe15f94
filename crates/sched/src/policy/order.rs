//! Who comes first in a queue.

use tradewind_model::{Demand, Span, Time};

/// Who comes first; ties go to the job that was submitted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The job that joined the queue first.
    #[default]
    Arrival,
    /// The least estimate.
    Shortest,
    /// The greatest estimate.
    Longest,
    /// The most processors.
    Widest,
    /// The fewest processors.
    Narrowest,
    /// The least estimate × processors.
    Smallest,
    /// The earliest deadline; jobs without one come last.
    Deadline,
    /// The highest value; jobs without one come last.
    Value,
    /// The highest priority.
    Priority,
    /// The greatest expansion factor, (wait + estimate) / estimate. It grows while jobs wait, so
    /// the queue is put in order, and reservations are made, anew at every pass.
    Expansion,
}

impl Order {
    /// Every order, with its name on the command line.
    pub const ALL: [(Order, &'static str); 10] = [
        (Order::Arrival, "arrival"),
        (Order::Shortest, "shortest"),
        (Order::Longest, "longest"),
        (Order::Widest, "widest"),
        (Order::Narrowest, "narrowest"),
        (Order::Smallest, "smallest"),
        (Order::Deadline, "deadline"),
        (Order::Value, "value"),
        (Order::Priority, "priority"),
        (Order::Expansion, "expansion"),
    ];

    /// Whether the order of jobs changes while they wait.
    pub(super) fn moves(self) -> bool {
        self == Order::Expansion
    }

    /// Of a job that joined the queue at `joined`, now. Lower comes first.
    pub(super) fn key(self, demand: &Demand, joined: Time, now: Time) -> i64 {
        let processors = i64::from(demand.processors);
        let terms = demand.terms();
        match self {
            Order::Arrival => joined.0,
            Order::Shortest => demand.estimate.0,
            Order::Longest => -demand.estimate.0,
            Order::Widest => -processors,
            Order::Narrowest => processors,
            Order::Smallest => demand.estimate.0.saturating_mul(processors),
            Order::Deadline => terms.deadline.map_or(i64::MAX, |deadline| deadline.0),
            Order::Value => terms.value.map_or(i64::MAX, |value| value.0.saturating_neg()),
            Order::Priority => terms.priority.saturating_neg(),
            Order::Expansion => expansion(now - joined, demand.estimate),
        }
    }
}

/// The key of a job that has waited so long: minus its expansion factor beyond 1, in millionths.
pub(super) fn expansion(waited: Span, estimate: Span) -> i64 {
    let millionths = i128::from(waited.0.max(0)) * 1_000_000 / i128::from(estimate.0.max(1));
    i64::try_from(millionths).map_or(i64::MIN, |factor| -factor)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tradewind_model::{Money, Terms};

    use super::*;

    #[test]
    fn who_has_terms_comes_before_who_has_none() {
        let plain = Demand::new(1, Span(10));
        let terms = Terms {
            deadline: Some(Time(50)),
            value: Some(Money(3)),
            priority: 2,
            ..Terms::default()
        };
        let urgent = Demand { terms: Some(Arc::new(terms)), ..plain.clone() };
        for order in [Order::Deadline, Order::Value, Order::Priority] {
            let key = |demand| order.key(demand, Time(0), Time(9));
            assert!(key(&urgent) < key(&plain), "{order:?}");
        }
    }

    #[test]
    fn short_jobs_overtake_long_ones_that_waited_as_long() {
        assert!(expansion(Span(60), Span(10)) < expansion(Span(60), Span(100)));
        assert!(expansion(Span(1_000), Span(100)) < expansion(Span(60), Span(10)));
        assert_eq!(expansion(Span(0), Span(7)), 0);
    }
}
