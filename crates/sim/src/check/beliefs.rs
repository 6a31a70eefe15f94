//! Until when estimates hold: every promise of a policy rests on them.

use tradewind_model::{Market, Outage, OutageId, PoolId, Running, Span, Time};
use tradewind_sched::policy::availability::{expected_length, missing_time};

/// When the job's tasks in `pool` are expected to end, seen from `seen`.
pub(super) fn expected_end(market: &Market, job: &Running<'_>, pool: PoolId, seen: Time) -> Time {
    let elapsed = (seen - job.start).max(Span::ZERO);
    let end = job.start + expected_length(market.pools().pool(pool), job.demand, elapsed);
    job.notice().map_or(end, |it| end.min(it.leaves.max(seen + Span(1))))
}

/// Notices jobs and outages that last longer than was believed.
#[derive(Debug)]
pub(super) struct BeliefChecker {
    /// When the last look was taken.
    seen: Time,
}

impl Default for BeliefChecker {
    fn default() -> BeliefChecker {
        BeliefChecker { seen: Time::MIN }
    }
}

impl BeliefChecker {
    /// Whether, since the last look, a job or an outage has gone on past the moment at which it was
    /// expected to end. It is expected to last twice as long from then on.
    ///
    /// To be called when everything that ends in this second has ended, or just before a policy
    /// that does not know either makes its reservations again.
    pub(super) fn outlived(&mut self, market: &Market) -> bool {
        let seen = std::mem::replace(&mut self.seen, market.now());
        let outlived = |job: &Running<'_>| {
            job.shares().any(|share| expected_end(market, job, share.pool, seen) <= market.now())
        };
        let overdue = |(id, what): (OutageId, Outage)| {
            let begun = market.closure_state(id).is_some_and(|(_, begun)| begun);
            begun && missing_time(&what, true, seen.max(what.from)).1 <= market.now()
        };
        market.running().any(|job| outlived(&job)) || market.outages().any(overdue)
    }
}
