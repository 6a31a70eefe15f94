//! When the manager is asked, and for what: within a budget of requests per minute.

use std::time::{Duration, Instant};

use crate::site::managed::requests::MINUTE;

/// What a look may ask for, a request each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::site) enum SurveyPart {
    Jobs,
    Nodes,
    Reservations,
}

/// How much depends on the next look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    /// Nothing of ours is expected to change without our hearing of it.
    Rest,
    /// Tasks of ours wait there, or jobs of the market wait for nodes.
    Demand,
    /// Something is due and was not heard of.
    Urgent,
}

/// Requests that one look may take beyond the one that was allowed: a list that does not say enough
/// is followed by another, and nodes and reservations may be old.
const MORE: u32 = 2;
/// A budget of fewer requests per minute is spent evenly, without bursts, one request a look.
const SMALL: u32 = 6;
/// An answer may take this part of the time, if it takes long: one in so many seconds.
const SHARE: u32 = 20;
/// So long an answer takes long.
const LONG: Duration = Duration::from_secs(1);
/// Somebody who does not answer, or takes very long, is asked again after this at most, unless the
/// budget says less.
const RARELY: Duration = Duration::from_secs(60);
/// Nodes and reservations that are older are asked for when something did not go as expected.
const OLD: Duration = Duration::from_secs(60);

/// The rhythm of looks at one site.
#[derive(Debug, Clone)]
pub(super) struct Rhythm {
    /// What there is to ask for.
    parts: &'static [SurveyPart],
    /// Between two requests at rest.
    rest: Duration,
    /// Between two requests otherwise, in the long run.
    busy: Duration,
    /// So many may come at once, if there were none for long.
    burst: u32,
    /// Between two looks, at least.
    min: Duration,
    /// When all requests so far would have come, had they kept their distance.
    paid: Option<Instant>,
    /// When jobs, nodes and reservations were last asked for.
    asked: [Option<Instant>; 3],
    /// When the last look was over, and how long it took.
    last: Option<(Instant, Duration)>,
    /// Looks without an answer, in a row.
    failures: u32,
}

/// Seconds between requests, of so many in a minute.
fn apart(requests: u32) -> Duration {
    MINUTE / requests.max(1)
}

impl Rhythm {
    /// At most so many requests in a minute at rest, and otherwise; `min` between two looks.
    pub(super) fn of(
        (at_rest, busy): (u32, u32),
        min: Duration,
        parts: &'static [SurveyPart],
    ) -> Rhythm {
        let burst = if busy < SMALL { 1 } else { 2 };
        let spare = if busy < SMALL { 0 } else { burst - 1 + MORE };
        Rhythm {
            parts,
            rest: apart(at_rest.min(busy)),
            busy: apart(busy - spare),
            burst,
            min,
            paid: None,
            asked: [None; 3],
            last: None,
            failures: 0,
        }
    }

    /// When the next look may be; `None`: there was none yet, and it may be at once.
    pub(super) fn next(&self, need: Need) -> Option<Instant> {
        let (last, took) = self.last?;
        let gap = match need {
            Need::Rest => self.rest,
            Need::Demand => self.busy,
            Need::Urgent => self.min,
        };
        let gap = gap.max(self.min);
        let slow = if took < LONG { Duration::ZERO } else { (took * (SHARE - 1)).min(RARELY) };
        // A burst is for news, not for somebody who does not answer.
        let base = if self.failures > 0 { gap.max(self.busy).max(self.min) } else { gap };
        let backed = base * 2_u32.saturating_pow(self.failures.min(3));
        let pause = backed.min(RARELY.max(base)).max(slow);
        let paid = self.paid.unwrap_or(last);
        let budget = paid.checked_sub(self.busy * (self.burst - 1)).unwrap_or(last);
        Some((last + pause).max(budget))
    }

    /// What to ask for in a look at `now`.
    pub(super) fn choice(&self, need: Need, now: Instant) -> Vec<SurveyPart> {
        let age = |part: SurveyPart| {
            self.asked_at(part).map_or(Duration::MAX, |at| now.saturating_duration_since(at))
        };
        if need == Need::Rest || self.burst == 1 {
            // Each in its turn, jobs twice as often as the others.
            let weight = |part: &SurveyPart| match part {
                SurveyPart::Jobs => age(*part).saturating_mul(2),
                SurveyPart::Nodes | SurveyPart::Reservations => age(*part),
            };
            return self.parts.iter().copied().max_by_key(weight).into_iter().collect();
        }
        let old = if need == Need::Urgent { OLD } else { 2 * OLD };
        let mut parts = self.parts.to_vec();
        parts.retain(|part| *part == SurveyPart::Jobs || age(*part) >= old);
        parts
    }

    fn asked_at(&self, part: SurveyPart) -> Option<Instant> {
        self.asked.get(part as usize).copied().flatten()
    }

    /// A request was made.
    pub(super) fn asked(&mut self, part: SurveyPart, now: Instant) {
        if let Some(at) = self.asked.get_mut(part as usize) {
            *at = Some(now);
        }
        self.paid = Some(self.paid.map_or(now, |paid| paid.max(now)) + self.busy);
    }

    /// Nodes and reservations may not be as they were listed.
    pub(super) fn distrust(&mut self) {
        for part in [SurveyPart::Nodes, SurveyPart::Reservations] {
            let is_new = self.asked_at(part).is_some_and(|at| at.elapsed() < OLD / 2);
            if let Some(at) = self.asked.get_mut(part as usize).filter(|_| !is_new) {
                *at = None;
            }
        }
    }

    /// A look is over.
    pub(super) fn looked(&mut self, now: Instant, took: Duration, answered: Result<(), ()>) {
        self.last = Some((now, took));
        self.failures = if answered.is_ok() { 0 } else { self.failures.saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks of a site on which all need is the same; when each request came, in milliseconds.
    fn requests(
        mut rhythm: Rhythm,
        need: impl Fn(u64) -> Need,
        took: u64,
        fails: bool,
    ) -> Vec<u64> {
        let begin = Instant::now();
        let mut all = Vec::new();
        for ms in (0..600_000).step_by(100) {
            let now = begin + Duration::from_millis(ms);
            if rhythm.next(need(ms)).is_some_and(|next| next > now) {
                continue;
            }
            let parts = match all.is_empty() {
                true => ALL.to_vec(),
                false => rhythm.choice(need(ms), now),
            };
            for part in parts {
                rhythm.asked(part, now);
                all.push(ms);
            }
            let took = Duration::from_millis(took);
            rhythm.looked(now + took, took, if fails { Err(()) } else { Ok(()) });
        }
        all
    }

    /// The most in any minute that begins with one of them, from a moment on.
    fn max(all: &[u64], from: u64) -> usize {
        let within =
            |first: &u64| all.iter().filter(|it| (*first..first + 60_000).contains(it)).count();
        all.iter().filter(|first| **first >= from).map(within).max().unwrap_or(0)
    }

    const MIN: Duration = Duration::from_secs(1);
    const ALL: [SurveyPart; 3] = [SurveyPart::Reservations, SurveyPart::Nodes, SurveyPart::Jobs];

    #[test]
    fn no_minute_has_more_requests_than_the_budget() {
        for (rest, busy) in [(2, 10), (1, 2), (2, 6), (5, 30), (10, 10)] {
            let rhythm = Rhythm::of((rest, busy), MIN, &ALL);
            let calm = requests(rhythm.clone(), |_| Need::Rest, 20, false);
            assert!(max(&calm, 1) <= rest as usize, "{rest} {busy}: {calm:?}");
            let is_spent = calm.len() + 2 >= 10 * rest as usize;
            assert!(is_spent || 2 * rest > busy, "{rest} {busy}: {calm:?}");
            for need in [Need::Demand, Need::Urgent] {
                let all = requests(rhythm.clone(), |_| need, 20, false);
                assert!(max(&all, 1) <= busy as usize, "{rest} {busy} {need:?}: {all:?}");
            }
            // Now calm, now everything at once.
            let turns = |ms: u64| if ms % 45_000 < 30_000 { Need::Rest } else { Need::Urgent };
            let all = requests(rhythm, turns, 20, false);
            assert!(max(&all, 1) <= busy as usize, "{rest} {busy}: {all:?}");
        }
    }

    #[test]
    fn what_is_urgent_comes_at_once_after_a_rest() {
        let rhythm = Rhythm::of((2, 10), MIN, &ALL);
        let need = |ms: u64| if ms < 100_000 { Need::Rest } else { Need::Urgent };
        let all = requests(rhythm, need, 20, false);
        let soon = all.iter().filter(|ms| (100_000..102_000).contains(*ms)).count();
        assert!(soon >= 2, "{all:?}");
    }

    #[test]
    fn everything_is_asked_for_at_rest() {
        let mut rhythm = Rhythm::of((2, 10), MIN, &ALL);
        let begin = Instant::now();
        let mut counts = [0; 3];
        for slot in 0..40 {
            let now = begin + Duration::from_secs(30 * slot);
            let parts = rhythm.choice(Need::Rest, now);
            assert_eq!(parts.len(), 1, "{parts:?}");
            counts[parts[0] as usize] += 1;
            rhythm.asked(parts[0], now);
        }
        assert!(counts[0] >= 18 && counts[1] >= 9 && counts[2] >= 9, "{counts:?}");
    }

    #[test]
    fn who_is_slow_or_silent_is_asked_less() {
        let rhythm = Rhythm::of((2, 10), MIN, &ALL);
        let usual = requests(rhythm.clone(), |_| Need::Urgent, 20, false).len();
        let slow = requests(rhythm.clone(), |_| Need::Urgent, 2_000, false).len();
        let silent = requests(rhythm.clone(), |_| Need::Urgent, 20, true).len();
        let hung = requests(rhythm, |_| Need::Urgent, 10_000, true).len();
        assert!(
            slow * 2 < usual && silent * 2 < usual && hung <= silent,
            "{usual} {slow} {silent} {hung}"
        );
    }
}
