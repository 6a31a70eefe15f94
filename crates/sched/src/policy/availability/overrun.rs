//! The one belief about jobs and outages that last longer than announced or predicted.

use tradewind_model::{Correction, Demand, Outage, Pool, Span, Time};

/// How long a job is expected to run in all, if it has been running for `elapsed`: its estimate,
/// doubled until it exceeds that.
pub fn expected_span(estimate: Span, elapsed: Span) -> Span {
    let mut span = estimate.0.max(1);
    while span <= elapsed.0 {
        span *= 2;
    }
    Span(span)
}

/// How long a job is expected to run in all on nodes of the pool, if it has been there for
/// `elapsed`; longer than that. What its [`Correction`] says, and from its request on the same as
/// [`expected_span`].
pub fn expected_length(pool: &Pool, demand: &Demand, elapsed: Span) -> Span {
    let length = pool.length_of(demand).max(Span(1));
    let Some(requested) = demand.correction.requested().filter(|_| length <= elapsed) else {
        return expected_span(length, elapsed);
    };
    let requested = pool.length_in(demand.mode(), requested) + demand.staging(pool.site);
    let requested = requested.max(length);
    let steps = match demand.correction {
        Correction::Stepped(_) => &Correction::STEPS[..],
        Correction::Requested(_) | Correction::Doubled => &[],
    };
    let corrected = steps.iter().map(|step| length + Span(*step)).find(|span| *span > elapsed);
    match corrected.filter(|span| *span < requested) {
        Some(corrected) => corrected,
        None => expected_span(requested, elapsed),
    }
}

/// When something that began at `start`, was to last for `estimate` and is not over at `now` is
/// expected to end. After `now`.
pub fn expected_end(start: Time, estimate: Span, now: Time) -> Time {
    start + expected_span(estimate, now - start)
}

/// How much longer than its limit a job is expected to run that its site has not ended yet. Sites
/// look for such jobs now and then: Slurm every 30 seconds, so half of that on average.
const ENDING: Span = Span(15);

/// When a job is expected to end that its site ends at `limit`. After `now`: once the limit is
/// over, the estimate that it is exceeded by (`ENDING`) is doubled until it exceeds that.
pub fn expected_end_by_limit(limit: Time, now: Time) -> Time {
    match limit > now {
        true => limit,
        false => expected_end(limit, ENDING, now),
    }
}

/// From when until when the nodes of an outage are missing, as seen at `now`. Nodes that are gone
/// are missing from now on; if they should have been back by now, the outage is expected to last
/// like a job that exceeds its estimate. An outage that has not begun is expected as announced;
/// the end may be at `now` or before.
pub fn missing_time(outage: &Outage, begun: bool, now: Time) -> (Time, Time) {
    let Outage { from, until, .. } = *outage;
    match begun {
        true => (now, expected_end(from, until - from, now)),
        false => (from.max(now), until),
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::Pools;

    use super::*;

    #[test]
    fn expectations_double_until_they_hold() {
        let span = |estimate, elapsed| expected_span(Span(estimate), Span(elapsed)).0;
        assert_eq!([span(10, 0), span(10, 9), span(10, 10), span(10, 45)], [10, 10, 20, 80]);
        assert_eq!(span(0, 0), 1);
        assert_eq!(expected_end(Time(100), Span(10), Time(112)), Time(120));
    }

    #[test]
    fn a_job_that_its_site_ends_is_expected_to_end_soon_after_its_limit() {
        let end = |now| expected_end_by_limit(Time(100), Time(now)).0;
        assert_eq!([end(0), end(99)], [100, 100]);
        assert_eq!([end(100), end(114), end(115), end(130), end(340)], [115, 115, 130, 160, 580]);
    }

    #[test]
    fn predictions_are_corrected_up_to_the_request() {
        let pool = &Pools::cluster(1).as_slice()[0].clone();
        let length = |correction, elapsed| {
            let demand = Demand { correction, ..Demand::new(1, Span(100)) };
            expected_length(pool, &demand, Span(elapsed)).0
        };
        let stepped = |elapsed| length(Correction::Stepped(Span(500)), elapsed);
        assert_eq!([stepped(0), stepped(99), stepped(100), stepped(159)], [100, 100, 160, 160]);
        assert_eq!([stepped(160), stepped(400), stepped(499)], [400, 500, 500]);
        assert_eq!([stepped(500), stepped(1_000)], [1_000, 2_000], "beyond the request");
        let requested = |elapsed| length(Correction::Requested(Span(500)), elapsed);
        assert_eq!([requested(99), requested(100), requested(500)], [100, 500, 1_000]);
        let doubled = |elapsed| length(Correction::Doubled, elapsed);
        assert_eq!([doubled(99), doubled(100), doubled(500)], [100, 200, 800]);
    }
}
