//! What of a job is over a limit that is known beforehand.

use std::collections::BTreeMap;

use tradewind_model::{PoolId, Span};

use super::super::answer::{Refusal, RefusalKind};
use super::{CapHolder, ClosedReason};
use crate::site::limits::{Limits, PoolLimits};

/// The limit of the site, or of the user there, that a job of this length and on so many nodes is
/// over.
pub(super) fn over(
    limits: &Limits,
    place: usize,
    whose: &CapHolder,
    length: Span,
    nodes: u32,
) -> Option<String> {
    let own = match limits.of(&whose.account, &whose.charged) {
        Ok(own) => own,
        Err(why) => return Some(why),
    };
    let none = PoolLimits::default();
    let pool = limits.pools.get(place).unwrap_or(&none);
    if let Some(why) = limits.shut(pool, &whose.account, &whose.charged) {
        return Some(why);
    }
    // Managers count whole minutes.
    let length = Span((length.0.max(1) + 59) / 60 * 60);
    let wall = [&pool.wall, &own.wall].into_iter().flatten();
    let wall = wall.filter(|(max, _)| *max < length).min();
    let wide = [&pool.nodes, &own.nodes].into_iter().flatten();
    let wide = wide.filter(|(max, _)| *max < nodes).min();
    let long = wall.map(|(max, word)| {
        let (max, length) = (clock(*max), clock(length));
        format!("{word}: a job may run for {max} there, and this one asks for {length}")
    });
    long.or_else(|| {
        let (max, word) = wide?;
        Some(format!("{word}: a job may have {max} nodes there, and this one asks for {nodes}"))
    })
}

/// `2-03:04:05`, `0:30`.
fn clock(span: Span) -> String {
    let (days, hours) = (span.0 / 86_400, span.0 / 3_600 % 24);
    let (minutes, seconds) = (span.0 / 60 % 60, span.0 % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, hours) => format!("{hours}:{minutes:02}:{seconds:02}"),
        (days, hours) => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// No pool may have the job.
pub(super) fn hopeless(closed: &BTreeMap<PoolId, ClosedReason>) -> Refusal {
    let whys: Vec<&str> = closed.values().map(String::as_str).collect();
    let message = format!("no site can take it: {}", whys.join("; "));
    let hint = "these are limits of the sites; ask for less, or ask their owners";
    Refusal::new(RefusalKind::Invalid, message, hint)
}
