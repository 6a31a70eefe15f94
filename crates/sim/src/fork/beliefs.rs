//! How long jobs are believed to run.

use tradewind_model::{JobId, Market, Pool, Span, TimeMode};
use tradewind_sched::policy::availability::expected_span;

use super::Beliefs;

impl Beliefs {
    /// How long the job takes on a node of `pool`, if it has been there for `elapsed`. Longer than
    /// that.
    pub(super) fn length(&self, market: &Market, job: JobId, pool: &Pool, elapsed: Span) -> Span {
        let (estimate, mode) = match market.demand(job) {
            Some(demand) => (demand.estimate, demand.mode()),
            None => (Span(1), TimeMode::WORK),
        };
        let believed = self.runs.get(&job).map(|run| pool.length_in(mode, *run));
        match believed.filter(|length| elapsed == Span::ZERO || *length > elapsed) {
            Some(length) => length,
            None => expected_span(pool.length_in(mode, estimate), elapsed),
        }
    }
}
