//! What a cycle has learned about a queue that only fills up.

use tradewind_model::{Span, Time};

/// As many searches are remembered.
const KEPT: usize = 8;

/// No job that is at least so wide and long starts earlier.
#[derive(Debug, Clone, Copy)]
struct Bound {
    processors: u32,
    length: Span,
    start: Time,
}

impl Bound {
    /// Says nothing about any job.
    const NONE: Bound =
        Bound { processors: u32::MAX, length: Span(i64::MAX), start: Time(i64::MIN) };

    fn says_more_than(&self, other: &Bound) -> bool {
        self.processors <= other.processors
            && self.length <= other.length
            && self.start >= other.start
    }

    fn rules_out(&self, processors: u32, length: Span, until: Time) -> bool {
        self.start > until && self.length <= length && self.processors <= processors
    }
}

/// Lower bounds of starts, from the searches of this cycle.
#[derive(Debug, Clone)]
pub(super) struct KnownBounds {
    bounds: [Bound; KEPT],
    /// Who makes room for the next.
    next: usize,
}

impl Default for KnownBounds {
    fn default() -> KnownBounds {
        KnownBounds { bounds: [Bound::NONE; KEPT], next: 0 }
    }
}

impl KnownBounds {
    /// A job of this size starts at `start` at the earliest.
    pub(super) fn learn(&mut self, processors: u32, length: Span, start: Time) {
        let new = Bound { processors, length, start };
        if self.bounds.iter().any(|old| old.says_more_than(&new)) {
            return;
        }
        let place = match self.bounds.iter().position(|old| new.says_more_than(old)) {
            Some(place) => place,
            None => {
                self.next = (self.next + 1) % KEPT;
                self.next
            }
        };
        self.bounds[place] = new;
    }

    /// Whether a job of this size is known not to start by `until`. What helped last is looked at
    /// first.
    pub(super) fn rules_out(&mut self, processors: u32, length: Span, until: Time) -> bool {
        let out = |bound: &Bound| bound.rules_out(processors, length, until);
        let Some(place) = self.bounds.iter().position(out) else { return false };
        if place > 0 {
            self.bounds.swap(0, place);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_ruled_out_is_no_smaller_than_what_was_searched_for(
            searches in prop::collection::vec((1u32..9, 1i64..9, 0i64..20), 0..40),
            (processors, length, until) in (1u32..12, 1i64..12, 0i64..20),
        ) {
            let mut known = KnownBounds::default();
            for &(processors, length, start) in &searches {
                known.learn(processors, Span(length), Time(start));
            }
            let smaller = |it: &&(u32, i64, i64)| it.0 <= processors && it.1 <= length;
            let latest = searches.iter().filter(smaller).map(|it| it.2).max();
            let out = known.rules_out(processors, Span(length), Time(until));
            prop_assert!(!out || latest.is_some_and(|latest| latest > until));
            // The last search is remembered.
            if let Some(last) = searches.last() {
                prop_assert!(known.rules_out(last.0, Span(last.1), Time(last.2 - 1)));
            }
        }
    }
}
