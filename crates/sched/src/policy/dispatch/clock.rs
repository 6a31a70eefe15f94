//! When jobs are handed to queues.

use tradewind_model::{Span, Time};

/// Cycles begin at the first submission and at whole multiples of their length after it; those in
/// which nobody waits are left out. At most one at any moment.
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

    /// When the next cycle begins, if anybody waits for it.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// The first beginning of a cycle after `now`.
    pub(super) fn after(&self, now: Time) -> Time {
        let first = self.first.unwrap_or(now);
        first + Span(((now - first).0.div_euclid(self.cycle.0) + 1) * self.cycle.0)
    }

    /// Whether a cycle begins now, if `waiting` jobs wait.
    pub(super) fn begins(&mut self, now: Time, waiting: usize) -> bool {
        if waiting == 0 {
            self.due = None;
            return false;
        }
        let next = match self.last {
            Some(last) if last == now => self.after(now),
            _ => self.after(now - Span(1)),
        };
        *self.due.get_or_insert(next) <= now
    }

    /// The cycle is over, and `waiting` jobs still wait.
    pub(super) fn done(&mut self, now: Time, waiting: usize) {
        self.last = Some(now);
        self.due = (waiting > 0).then(|| self.after(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_begin_with_the_first_job_and_pause_while_nobody_waits() {
        let mut clock = Clock::new(Span(10));
        assert!(!clock.begins(Time(1), 0));
        clock.submitted(Time(3));
        assert!(clock.begins(Time(3), 1));
        clock.done(Time(3), 0);
        assert_eq!(clock.due(), None);
        assert!(!clock.begins(Time(3), 1), "once at any moment");
        assert_eq!(clock.due(), Some(Time(13)));
        assert!(!clock.begins(Time(12), 1));
        assert!(clock.begins(Time(14), 1), "late is better than never");
        clock.done(Time(14), 2);
        assert_eq!(clock.due(), Some(Time(23)));
        assert!(!clock.begins(Time(20), 0));
        assert!(!clock.begins(Time(41), 1));
        assert!(clock.begins(Time(43), 1));
    }
}
