//! What a queue must know of a waiting job between two looks at the pools.

use tradewind_model::{Demand, Pool, PoolId, Reason, Span, Spread, Time};

use super::free::Free;
use super::tariff::Tariff;
use super::wish::PlacementRequest;

/// A [`PlacementRequest`] without its offers: its size does not depend on the number of pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) struct RequestOutline {
    earliest_start: Option<Time>,
    deadline: Time,
    least_runtime: Span,
    longest_task: Span,
}

impl RequestOutline {
    /// Of a request.
    pub(in crate::policy) fn of(wish: &PlacementRequest) -> RequestOutline {
        RequestOutline {
            earliest_start: wish.earliest_start(),
            deadline: wish.deadline,
            least_runtime: wish.soonest(),
            longest_task: wish.longest_task(),
        }
    }

    /// Of a job without a deadline, for nodes of any sites, without licences and without a trade, that could run if everything were free.
    /// `None`: only a [`PlacementRequest`] can say. Looks at the pools that it would take, and at
    /// the slowest.
    pub(in crate::policy) fn quick(tariff: &Tariff, demand: &Demand) -> Option<RequestOutline> {
        let terms = demand.terms();
        let plain = terms.spread == Spread::Grid && terms.licences.is_none();
        if terms.deadline.is_some() || !plain || demand.is_moldable() {
            return None;
        }
        let (mut left, mut cost) = (demand.processors, 0i128);
        let mut offers = tariff.cheapest(demand, |_, pool| pool.suits(demand));
        while left > 0 {
            let offer = offers.next()?;
            let nodes = left.min(offer.nodes);
            cost += i128::from(nodes) * i128::from(offer.cost);
            left -= nodes;
        }
        let affordable = terms.budget.is_none_or(|budget| cost <= i128::from(budget.0));
        let longest_task = tariff.longest(demand).filter(|_| affordable)?;
        Some(RequestOutline {
            earliest_start: terms.earliest_start,
            deadline: Time::INFINITY,
            least_runtime: Span(0),
            longest_task,
        })
    }

    /// Earliest start, if there is one.
    pub(in crate::policy) fn earliest_start(&self) -> Option<Time> {
        self.earliest_start
    }

    /// How long a task takes at most.
    pub(in crate::policy) fn longest_task(&self) -> Span {
        self.longest_task
    }

    /// Why the job cannot start at `now` or later, if it cannot.
    pub(in crate::policy) fn too_late(&self, now: Time) -> Option<Reason> {
        let start = self.earliest_start.unwrap_or(now).max(now);
        let (earliest, deadline) = (start + self.least_runtime, self.deadline);
        (earliest > deadline).then_some(Reason::TooLate { earliest, deadline })
    }
}

/// Whether a job without a trade has a place at its first possible start that is over by `end`.
/// If not, there may be one later. Looks at the cheapest pools until it has as many nodes.
pub(in crate::policy) fn fits_at_once(
    tariff: &Tariff,
    demand: &Demand,
    free: &Free,
    (now, end): (Time, Time),
) -> bool {
    let terms = demand.terms();
    if terms.spread != Spread::Grid || terms.licences.is_some() {
        return false;
    }
    let start = terms.earliest_start.map_or(now, |start| start.max(now));
    let end = terms.deadline.map_or(end, |deadline| deadline.min(end));
    let suits = |_: PoolId, pool: &Pool| pool.suits(demand);
    let (mut left, mut cost) = (demand.processors, 0i128);
    for offer in tariff.cheapest(demand, suits) {
        if start + offer.length > end {
            continue;
        }
        let nodes = left.min(free.usable(&offer, start));
        cost += i128::from(nodes) * i128::from(offer.cost);
        left -= nodes;
        if left == 0 {
            return terms.budget.is_none_or(|budget| cost <= i128::from(budget.0));
        }
    }
    false
}
