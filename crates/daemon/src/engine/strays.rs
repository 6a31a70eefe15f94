//! What sites know of a market and its journal does not, as after a journal was brought back: it is said
//! what there is, and what the market does about it.

use crate::live::record::JobRecord;
use crate::live::state::outages::{OutageRecord, Why};
use crate::live::{Record, State};

/// Says it of the records that were written.
pub(super) fn say(state: &State, records: &[Record]) {
    for record in records {
        match record {
            Record::Outage(OutageRecord::Announced { what, why: Why::Stray(pool, task) }) => {
                let pool = state.market.pools().pool(*pool).name.as_str();
                tracing::warn!(
                    pool, %task, nodes = what.nodes,
                    "a task of this market runs that its journal does not know: it is left alone, \
                     and its nodes are not used until it ends"
                );
            }
            Record::Job(JobRecord::Skipped { job }) => tracing::warn!(
                job,
                "a site knows jobs up to this number that the journal does not know: these numbers \
                 are not given again"
            ),
            _ => {}
        }
    }
}
