//! How long jobs are believed to run.

use tradewind_model::{Demand, JobId, Market, Pool, Span};
use tradewind_sched::policy::availability::expected_length;

use super::Beliefs;

impl Beliefs {
    /// How long the job takes on a node of `pool`, if it has been there for `elapsed`. Longer than
    /// that.
    pub(super) fn length(&self, market: &Market, job: JobId, pool: &Pool, elapsed: Span) -> Span {
        let unknown = Demand::new(1, Span(1));
        let demand = market.demand(job).unwrap_or(&unknown);
        // What is believed of a moldable job is of another shape, perhaps.
        let run = self.runs.get(&job).filter(|_| !demand.is_moldable());
        let believed =
            run.map(|run| pool.length_in(demand.mode(), *run) + demand.staging(pool.site));
        match believed.filter(|length| elapsed == Span::ZERO || *length > elapsed) {
            Some(length) => length,
            None => expected_length(pool, demand, elapsed),
        }
    }
}
