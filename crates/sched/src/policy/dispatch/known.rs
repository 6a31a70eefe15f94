//! What a cycle has learned about a queue that only fills up.

use tradewind_model::{Span, Time};

/// As many searches are remembered.
const KEPT: usize = 6;

/// No job that is at least so wide and long starts earlier.
#[derive(Debug, Clone, Copy)]
struct Bound {
    processors: u32,
    length: Span,
    start: Time,
}

impl Bound {
    fn says_more_than(&self, other: &Bound) -> bool {
        self.processors <= other.processors
            && self.length <= other.length
            && self.start >= other.start
    }
}

/// Lower bounds of starts, from the searches of this cycle.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    bounds: Vec<Bound>,
    /// Who makes room when there are too many.
    next: usize,
}

impl Known {
    /// A job of this size starts at `start` at the earliest.
    pub(super) fn learn(&mut self, processors: u32, length: Span, start: Time) {
        let new = Bound { processors, length, start };
        if self.bounds.iter().any(|old| old.says_more_than(&new)) {
            return;
        }
        self.bounds.retain(|old| !new.says_more_than(old));
        if self.bounds.len() < KEPT {
            self.bounds.push(new);
            return;
        }
        self.bounds[self.next % KEPT] = new;
        self.next += 1;
    }

    /// Whether a job of this size is known not to start by `until`.
    pub(super) fn rules_out(&self, processors: u32, length: Span, until: Time) -> bool {
        let bounds = self.bounds.iter();
        bounds
            .filter(|it| it.start > until)
            .any(|it| it.processors <= processors && it.length <= length)
    }
}
