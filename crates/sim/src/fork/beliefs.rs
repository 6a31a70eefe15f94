//! How long jobs are believed to run.

use tradewind_model::{JobId, Market, Pool, Span};
use tradewind_sched::policy::backfill::expected_span;

use super::Beliefs;

impl Beliefs {
    /// How long the job takes on a node of `pool`, if it has been there for `elapsed`. Longer than
    /// that.
    pub(super) fn length(&self, market: &Market, job: JobId, pool: &Pool, elapsed: Span) -> Span {
        let estimate = market.demand(job).map_or(Span(1), |demand| demand.estimate);
        let believed = self.runs.get(&job).map(|run| pool.length_of(*run));
        match believed.filter(|length| elapsed == Span::ZERO || *length > elapsed) {
            Some(length) => length,
            None => expected_span(pool.length_of(estimate), elapsed),
        }
    }
}
