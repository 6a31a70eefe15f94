//! Measures of some jobs, of which only the waits and run times are known.

use tradewind_model::Span;

use super::Entry;
use super::entry::Unit;
use super::spread::Spread;

/// Mean and quantiles of waits and bounded slowdowns of jobs that waited and ran for so long, in
/// the order of `jobs`. Runs shorter than `bound` count as this long. O(n).
#[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
pub fn waits(jobs: &[(Span, Span)], bound: Span) -> Vec<Entry> {
    let mut waits: Vec<i64> = jobs.iter().map(|(wait, _)| wait.0).collect();
    let slowdown = |&(wait, ran): &(Span, Span)| {
        let at_least = ran.0.max(bound.0).max(1) as f64;
        (wait.0.saturating_add(ran.0) as f64 / at_least).max(1.0)
    };
    let mut slowdowns: Vec<f64> = jobs.iter().map(slowdown).collect();
    let waits = Spread::entries(Spread::of_whole(&mut waits), "wait_s", Unit::Seconds);
    let slowdowns = Spread::of_quotients(&mut slowdowns);
    [waits, Spread::entries(slowdowns, "bounded_slowdown", Unit::Ratio)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_and_slowdowns_by_hand() {
        let entries = waits(&[(Span(0), Span(5)), (Span(90), Span(10))], Span(10));
        let get = |name: &str| {
            let found = entries.iter().find(|entry| entry.name == name);
            found.and_then(|entry| entry.value).map(super::super::Value::as_f64)
        };
        assert_eq!(get("mean_wait_s"), Some(45.0));
        assert_eq!(get("max_wait_s"), Some(90.0));
        assert_eq!(get("mean_bounded_slowdown"), Some(5.5));
        assert!(waits(&[], Span(10)).iter().all(|entry| entry.value.is_none()));
    }
}
