//! Who comes first in a queue.

use std::collections::BTreeMap;

use tradewind_model::{Command, Demand, JobId, Market, Span, Time};

use super::share::{Usage, UserShare};

/// Who comes first; ties go to the job that was submitted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The job that joined the queue first.
    #[default]
    Arrival,
    /// The minimum estimate.
    Shortest,
    /// The greatest estimate.
    Longest,
    /// The most processors.
    Widest,
    /// The fewest processors.
    Narrowest,
    /// The minimum estimate × processors.
    Smallest,
    /// The earliest deadline; jobs without one come last.
    Deadline,
    /// The highest value; jobs without one come last.
    Value,
    /// The highest priority.
    Priority,
    /// The greatest expansion factor, (wait + estimate) / estimate. It grows while jobs wait, so
    /// the queue is put in order, and reservations are made, again at every pass.
    Expansion,
    /// The user who has used least: processor-seconds, which lose half of their weight in so long.
    /// Put in order again at every pass, too.
    FairShare(Span),
}

impl Order {
    /// Every order, with its name on the command line.
    pub const ALL: [(Order, &'static str); 11] = [
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
        (Order::FairShare(Order::HALF_LIFE), "fair-share"),
    ];

    /// Of use, unless stated otherwise: a week.
    pub const HALF_LIFE: Span = Span(604_800);

    /// The jobs that wait in `market`, in this order, if `usage` is what users have used recently,
    /// in processor-seconds. By the expansion factor: in the order of submission, as long as it is
    /// not known when they joined. O(n log n).
    pub fn ranked(self, market: &Market, usage: &BTreeMap<i64, u64>) -> Vec<JobId> {
        let mut ranking = Ranking::new(self);
        ranking.resume(usage);
        let now = market.now();
        let key = |job: JobId| market.demand(job).map(|demand| ranking.key(demand, now, now));
        let mut jobs: Vec<(Option<i64>, JobId)> =
            market.queue().map(|job| (key(job), job)).collect();
        jobs.sort_unstable();
        jobs.into_iter().map(|(_, job)| job).collect()
    }

    /// The key of a job in an order that does not move, but for the order of arrival: equal for all.
    pub(super) fn key(self, demand: &Demand) -> i64 {
        Ranking::new(self).key(demand, Time(0), Time(0))
    }

    /// Whether the order of jobs changes while they wait.
    pub fn moves(self) -> bool {
        matches!(self, Order::Expansion | Order::FairShare(_))
    }
}

/// An order, with what it needs to remember.
#[derive(Debug, Clone)]
pub(super) struct Ranking {
    order: Order,
    /// Where it matters.
    usage: Option<Usage>,
}

impl Ranking {
    pub(super) fn new(order: Order) -> Ranking {
        let usage = match order {
            Order::FairShare(half_life) => Some(Usage::new(half_life)),
            _ => None,
        };
        Ranking { order, usage }
    }

    /// What users had used when the policy began.
    pub(super) fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        self.usage.iter_mut().for_each(|books| books.resume(usage));
    }

    /// To be called first in every pass.
    pub(super) fn follow(&mut self, market: &Market) {
        self.usage.iter_mut().for_each(|usage| usage.follow(market));
    }

    /// To be called last in every pass.
    pub(super) fn started(&mut self, market: &Market, commands: &[Command]) {
        self.usage.iter_mut().for_each(|usage| usage.started(market, commands));
    }

    /// What users have used, if that matters.
    pub(super) fn standing(&self, now: Time) -> Vec<UserShare> {
        self.usage.as_ref().map(|usage| usage.standing(now)).unwrap_or_default()
    }

    /// Of a job that joined the queue at `joined`, now. Lower comes first.
    pub(super) fn key(&self, demand: &Demand, joined: Time, now: Time) -> i64 {
        let processors = i64::from(demand.processors);
        let terms = demand.terms();
        match self.order {
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
            Order::FairShare(_) => self.usage.as_ref().map_or(0, |usage| usage.key(terms.user)),
        }
    }
}

/// The key of a job that has waited so long: minus its expansion factor beyond 1, in millionths.
fn expansion(waited: Span, estimate: Span) -> i64 {
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
            let key = |demand| Ranking::new(order).key(demand, Time(0), Time(9));
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
