//! stub
use tradewind_model::*;
pub(crate) fn plan(_: &Snapshot, _: &Plan) -> String { String::new() }
pub(crate) fn quote(_: &Snapshot, _: &Job, _: &[tradewind_sched::quote::Quote], _: &tradewind_sched::quote::Front) -> String { String::new() }
pub(crate) fn explain(_: &Snapshot, _: &Job, _: &tradewind_sched::explain::Explanation) -> String { String::new() }
