//! Free processors over time, for machines whose processors are all alike.

use crate::{Span, Time};

/// From `at` until the next step's `at`, `free` processors are idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    at: Time,
    free: i64,
}

/// Free processors as a function of time, from a moving origin on for ever.
///
/// A sorted vector of steps: operations are linear in the steps that they cross. A machine has
/// at most two steps per running or reserved job, and they lie side by side in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Never empty; `at` ascends; neighbours differ in `free`.
    steps: Vec<Step>,
}

/// From a moment on, so many processors are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// The moment.
    pub at: Time,
    /// How many; may be negative.
    pub free: i64,
}

/// Later than all that happens.
pub const FOR_EVER: Time = Time(i64::MAX / 2);

impl Profile {
    /// `processors` that are all free from `from` on.
    pub fn new(processors: u32, from: Time) -> Profile {
        Profile { steps: vec![Step { at: from, free: i64::from(processors) }] }
    }

    /// The first moment that the profile knows of.
    pub fn origin(&self) -> Time {
        self.steps[0].at
    }

    /// Free processors at the origin; negative if more were taken than there are.
    pub fn free_now(&self) -> i64 {
        self.steps[0].free
    }

    /// Free processors at `at` (at the origin, if `at` is earlier).
    pub fn free_at(&self, at: Time) -> i64 {
        self.steps[self.index_at(at)].free
    }

    /// Forgets what was before `now`. A `now` before the origin changes nothing.
    pub fn advance(&mut self, now: Time) {
        let past = self.index_at(now);
        self.steps.drain(..past);
        self.steps[0].at = self.steps[0].at.max(now);
    }

    /// Whether `processors` are free throughout `[start, start + span)`.
    pub fn fits(&self, processors: u32, start: Time, span: Span) -> bool {
        let wanted = i64::from(processors);
        let first = self.index_at(start);
        let end = start + span;
        let within = self.steps[first + 1..].iter().take_while(|step| step.at < end);
        self.steps[first].free >= wanted && within.into_iter().all(|step| step.free >= wanted)
    }

    /// The earliest start from `from` on at which `processors` are free for `span`; `None` if
    /// they never are. Exact; linear in the number of steps.
    pub fn earliest(&self, processors: u32, span: Span, from: Time) -> Option<Time> {
        self.earlier(processors, span, from, FOR_EVER)
    }

    /// The earliest start in `[from, held)` to which a reservation of `processors` for `span`
    /// that stands at `held`, and is taken in this profile, could move; `None` if it cannot move.
    /// From `held` on the mover stands in nobody's way but its own, so nothing needs to be given
    /// back to find out. Exact; linear in the number of steps before `held`.
    pub fn earlier(&self, processors: u32, span: Span, from: Time, held: Time) -> Option<Time> {
        if from >= held {
            return None;
        }
        let wanted = i64::from(processors);
        let first = self.index_at(from);
        let mut start = None;
        for (index, step) in self.steps.iter().enumerate().skip(first) {
            match start {
                _ if step.at >= held => break,
                Some(found) if step.at >= found + span => return Some(found),
                _ if step.free < wanted => start = None,
                Some(_) => {}
                None if index == first => start = Some(from.max(self.origin())),
                None => start = Some(step.at),
            }
        }
        start
    }

    /// Takes `processors` during `[start, end)`; what lies before the origin is left out.
    pub fn take(&mut self, processors: u32, start: Time, end: Time) {
        self.change(-i64::from(processors), start, end);
    }

    /// Gives `processors` back during `[start, end)`; what lies before the origin is left out.
    pub fn give(&mut self, processors: u32, start: Time, end: Time) {
        self.change(i64::from(processors), start, end);
    }

    /// The level at `from` and each moment before `until` at which it changes.
    pub fn levels(&self, from: Time, until: Time, to: &mut Vec<Level>) {
        let from = from.max(self.origin());
        let first = self.index_at(from);
        to.push(Level { at: from, free: self.steps[first].free });
        let rest = self.steps[first + 1..].iter().take_while(|step| step.at < until);
        to.extend(rest.map(|step| Level { at: step.at, free: step.free }));
    }

    fn change(&mut self, by: i64, start: Time, end: Time) {
        let start = start.max(self.origin());
        if by == 0 || end <= start {
            return;
        }
        let first = self.split(start);
        let last = self.split(end);
        for step in &mut self.steps[first..last] {
            step.free += by;
        }
        self.join(last);
        self.join(first);
    }

    /// The step in force at `at`.
    fn index_at(&self, at: Time) -> usize {
        self.steps.partition_point(|step| step.at <= at).saturating_sub(1)
    }

    /// Makes `at` a step; returns its index.
    fn split(&mut self, at: Time) -> usize {
        let index = self.index_at(at);
        if self.steps[index].at == at {
            return index;
        }
        self.steps.insert(index + 1, Step { at, free: self.steps[index].free });
        index + 1
    }

    /// Drops the step if the one before says the same.
    fn join(&mut self, index: usize) {
        if index > 0 && self.steps[index].free == self.steps[index - 1].free {
            self.steps.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LENGTH: i64 = 60;
    const PROCESSORS: u32 = 8;

    #[derive(Debug, Clone, Copy)]
    struct Change {
        processors: u32,
        start: i64,
        length: i64,
        back: bool,
    }

    fn change() -> impl Strategy<Value = Change> {
        (0u32..5, -3i64..40, 0i64..20, any::<bool>()).prop_map(
            |(processors, start, length, back)| Change { processors, start, length, back },
        )
    }

    fn both(changes: &[Change], origin: i64) -> (Profile, Vec<i64>) {
        let mut profile = Profile::new(PROCESSORS, Time(0));
        let mut flat = vec![i64::from(PROCESSORS); LENGTH as usize];
        for &Change { processors, start, length, back } in changes {
            let sign = if back { 1 } else { -1 };
            for at in start.max(0)..start + length {
                flat[at as usize] += sign * i64::from(processors);
            }
            match back {
                true => profile.give(processors, Time(start), Time(start + length)),
                false => profile.take(processors, Time(start), Time(start + length)),
            }
        }
        profile.advance(Time(origin));
        (profile, flat)
    }

    fn flat_fits(flat: &[i64], wanted: u32, start: i64, span: i64) -> bool {
        let at = |t: i64| flat.get(t as usize).copied().unwrap_or(i64::from(PROCESSORS));
        (start..start + span.max(1)).all(|t| at(t) >= i64::from(wanted))
    }

    proptest! {
        #[test]
        fn says_what_a_flat_array_says(
            changes in prop::collection::vec(change(), 0..12),
            origin in 0i64..30, wanted in 0u32..10, span in 1i64..25, later in 0i64..30,
        ) {
            let (profile, flat) = both(&changes, origin);
            prop_assert_eq!(profile.origin(), Time(origin));
            for at in origin..LENGTH {
                prop_assert_eq!(profile.free_at(Time(at)), flat[at as usize]);
            }
            let from = origin + later;
            let expected = (from..LENGTH + 1).find(|&start| flat_fits(&flat, wanted, start, span));
            prop_assert_eq!(profile.earliest(wanted, Span(span), Time(from)), expected.map(Time));
            let fits = profile.fits(wanted, Time(from), Span(span));
            prop_assert_eq!(fits, flat_fits(&flat, wanted, from, span));
            prop_assert!(profile.steps.windows(2).all(|w| w[0].at < w[1].at && w[0].free != w[1].free));
        }

        #[test]
        fn a_reservation_moves_where_it_would_go_if_it_were_given_back(
            changes in prop::collection::vec(change(), 0..12),
            wanted in 1u32..6, span in 1i64..20, from in 0i64..20, late in 0i64..30,
        ) {
            let (mut profile, _) = both(&changes, 0);
            let held = profile.earliest(wanted, Span(span), Time(from + late));
            prop_assume!(held.is_some());
            let held = held.unwrap_or_default();
            let free = profile.earliest(wanted, Span(span), Time(from));
            profile.take(wanted, held, held + Span(span));
            let moved = profile.earlier(wanted, Span(span), Time(from), held);
            prop_assert_eq!(moved.or(Some(held)), free);
        }

        #[test]
        fn giving_back_undoes_taking(changes in prop::collection::vec(change(), 0..12)) {
            let mut profile = Profile::new(PROCESSORS, Time(0));
            for c in &changes {
                profile.take(c.processors, Time(c.start), Time(c.start + c.length));
            }
            for c in &changes {
                profile.give(c.processors, Time(c.start), Time(c.start + c.length));
            }
            prop_assert_eq!(profile, Profile::new(PROCESSORS, Time(0)));
        }
    }
}
