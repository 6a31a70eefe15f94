//! Prices over time, step by step.

use tradewind_model::{Series, Time};

/// The prices within `[from, until)`, in micro-credits per node and second, each with its seconds.
pub(super) fn by_step(rate: &Series, from: Time, until: Time) -> impl Iterator<Item = (i64, i64)> {
    let mut at = from;
    std::iter::from_fn(move || {
        let begin = Some(at).filter(|at| *at < until)?;
        at = rate.next(begin).map_or(until, |(from, _)| from.min(until));
        Some((rate.at(begin), (at - begin).0))
    })
}
