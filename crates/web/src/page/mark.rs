//! What a comparison of policies hangs on: it is old when one of these is different.

use tradewind_model::{JobId, Market, OutageId, Price, Time};

/// A market as far as it decides what would happen to its queue. Times of surveys, postings,
/// tokens and the like are not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    waits: Vec<JobId>,
    /// Since when, and in how many pools still.
    runs: Vec<(JobId, Time, usize)>,
    /// By pool: nodes, and what each costs.
    asks: Vec<(u32, Price)>,
    /// Whether it has begun.
    missing: Vec<(OutageId, bool)>,
}

impl Mark {
    /// Linear in what waits, runs and is missing.
    pub(crate) fn of(market: &Market) -> Mark {
        let begun = |id: OutageId| market.closure_state(id).is_some_and(|(_, begun)| begun);
        Mark {
            waits: market.queue().collect(),
            runs: market.running().map(|it| (it.job, it.start, it.shares().count())).collect(),
            asks: market.pools().iter().map(|(id, it)| (it.nodes, market.price_now(id))).collect(),
            missing: market.outages().map(|(id, _)| (id, begun(id))).collect(),
        }
    }

    /// What is different now, for people; empty: nothing.
    pub(crate) fn changes(&self, now: &Mark) -> String {
        let all = [
            (self.waits != now.waits, "jobs that wait"),
            (self.runs != now.runs, "jobs that run"),
            (self.asks != now.asks, "prices or pools"),
            (self.missing != now.missing, "nodes that are missing"),
        ];
        all.iter()
            .filter(|(differs, _)| *differs)
            .map(|(_, name)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tradewind_model::{Cause, Demand, Event, Outage, Place, PoolId, Pools, Span};

    use super::*;

    #[test]
    fn what_decides_nothing_changes_nothing() {
        let mut market = Market::new(Arc::new(Pools::cluster(4)), Time(0));
        let (job, pool, closure) = (JobId(0), PoolId(0), OutageId(0));
        let (from, until, cause) = (Time(9), Time(12), Cause::Local);
        let what = Outage { pool, nodes: 1, from, until, cause };
        let demand = Demand::new(1, Span(5));
        let steps = [
            (Event::Submitted { job, demand }, "jobs that wait"),
            (Event::Started { job, place: Place::Pool(pool) }, "jobs that wait, jobs that run"),
            (Event::Priced { pool, price: Price(3) }, "prices or pools"),
            (Event::Announced { closure, what }, "nodes that are missing"),
            (Event::Closed { closure }, "nodes that are missing"),
            (Event::Ended { job }, "jobs that run"),
            (Event::Reopened { closure }, "nodes that are missing"),
        ];
        for (at, (event, told)) in (1..).zip(steps) {
            let before = Mark::of(&market);
            market.pass_to(Time(at)).unwrap();
            assert_eq!(before.changes(&Mark::of(&market)), "");
            market.apply(&event).unwrap();
            assert_eq!(before.changes(&Mark::of(&market)), told);
        }
    }
}
