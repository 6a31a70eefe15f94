//! When jobs are handed to queues.

use tradewind_model::{Span, Time};

use super::to_come::CycleStarts;

/// CycleStarts begin at the first submission and at whole multiples of their length after it, at most
/// one at any moment. Those that could change nothing are left out.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    cycle: Span,
    first: Option<Time>,
    last: Option<Time>,
    due: Option<Time>,
}

impl Clock {
    pub(super) fn new(cycle: Span) -> Clock {
        Clock { cycle: cycle.max(Span(1)), first: None, last: None, due: None }
    }

    /// A job was submitted.
    pub(super) fn submitted(&mut self, now: Time) {
        self.first.get_or_insert(now);
    }

    /// When the next cycle begins, if one is wanted.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// The first beginning of a cycle after `now`.
    pub(super) fn after(&self, now: Time) -> Time {
        let first = self.first.unwrap_or(now);
        first + Span(((now - first).0.div_euclid(self.cycle.0) + 1) * self.cycle.0)
    }

    /// The cycles that may begin at `at` or later.
    pub(super) fn from(&self, at: Time) -> CycleStarts {
        let first = match self.last {
            Some(last) if last >= at => self.after(last),
            _ => self.after(at - Span(1)),
        };
        CycleStarts { first, every: self.cycle }
    }

    /// A cycle is wanted at `at` or as soon as possible after it.
    pub(super) fn want(&mut self, at: Time) {
        let next = self.from(at).first;
        self.due = Some(self.due.map_or(next, |due| due.min(next)));
    }

    /// No cycle is wanted any more.
    pub(super) fn rest(&mut self) {
        self.due = None;
    }

    /// Whether a cycle begins now. If so, it serves all that wanted one.
    pub(super) fn begins(&mut self, now: Time) -> bool {
        let begins = self.due.is_some_and(|due| due <= now);
        if begins {
            (self.last, self.due) = (Some(now), None);
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_begin_with_the_first_job_and_pause_while_no_job_waits() {
        let mut clock = Clock::new(Span(10));
        assert!(!clock.begins(Time(1)));
        clock.submitted(Time(3));
        clock.want(Time(3));
        assert!(clock.begins(Time(3)) && clock.due().is_none());
        clock.want(Time(3));
        assert_eq!((clock.begins(Time(3)), clock.due()), (false, Some(Time(13))), "once");
        assert!(!clock.begins(Time(12)));
        assert!(clock.begins(Time(14)), "late is better than never");
        clock.want(Time(40));
        assert_eq!(clock.due(), Some(Time(43)));
        clock.want(Time(15));
        assert_eq!(clock.due(), Some(Time(23)));
        clock.rest();
        assert!(!clock.begins(Time(50)));
    }
}
