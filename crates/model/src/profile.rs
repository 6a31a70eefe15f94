//! Free processors over time, for machines whose processors are all alike.

mod readers;

use crate::tree::{Item, Tree};
use crate::{Span, Time};
use readers::{At, Fits, Least, Levels, Lows, LowsBack, Room, Starts};

/// Free processors as a function of time, from a moving origin on for ever.
///
/// Kept as the changes at each moment, in a [`Tree`] that knows the lowest and the highest level
/// within each part relative to the level before it. So a reservation is two changes, however
/// long it is, and searches pass over every part that has no room (or room enough) throughout.
/// With n moments of change and p pieces of free time that are too short: taking, giving and
/// `free_at` O(log n), searches O((p + 1) log n).
#[derive(Debug, Clone)]
pub struct Profile {
    origin: Time,
    free: i64,
    changes: Tree<Change>,
}

/// At `at`, `by` more processors become free (fewer, if negative); never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    at: Time,
    by: i64,
}

/// What a run of changes adds up to: when it begins; after all of them, and at the lowest and the
/// highest point on the way (the level before the first does not count).
#[derive(Debug, Clone, Copy)]
struct ChangeSum {
    first: Time,
    total: i64,
    min: i64,
    max: i64,
}

impl Item for Change {
    type Key = Time;
    type Sum = ChangeSum;

    fn key(&self) -> Time {
        self.at
    }

    fn sum(&self) -> ChangeSum {
        ChangeSum { first: self.at, total: self.by, min: self.by, max: self.by }
    }

    fn join(first: ChangeSum, second: ChangeSum) -> ChangeSum {
        ChangeSum {
            first: first.first,
            total: first.total + second.total,
            min: first.min.min(first.total + second.min),
            max: first.max.max(first.total + second.max),
        }
    }
}

/// From a moment on, so many processors are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Moment from which the level holds.
    pub at: Time,
    /// How many; may be negative.
    pub free: i64,
}

impl Profile {
    /// `processors` that are all free from `from` on.
    pub fn new(processors: u32, from: Time) -> Profile {
        Profile { origin: from, free: i64::from(processors), changes: Tree::default() }
    }

    /// All processors are free from `now` on, whatever was taken. O(1).
    pub fn clear(&mut self, now: Time) {
        // Whatever is taken is given back in the end.
        self.free += self.changes.sum().map_or(0, |sum| sum.total);
        self.changes = Tree::default();
        self.origin = now;
    }

    /// The first moment of the profile.
    pub fn origin(&self) -> Time {
        self.origin
    }

    /// At how many moments after the origin the number of free processors changes.
    pub fn changes(&self) -> usize {
        self.changes.len()
    }

    /// Free processors at the origin; negative if more were taken than there are.
    pub fn free_now(&self) -> i64 {
        self.free
    }

    /// The fewest processors that are free at any moment; may be negative. Constant time.
    pub fn lowest(&self) -> i64 {
        self.free + self.changes.sum().map_or(0, |sum| sum.min.min(0))
    }

    /// Free processors at `at` (at the origin, if `at` is earlier).
    pub fn free_at(&self, at: Time) -> i64 {
        let mut reader = At { at, free: self.free };
        if at > self.origin {
            self.changes.scan(&mut reader);
        }
        reader.free
    }

    /// The first moment after the origin at which the number of free processors changes.
    pub fn next_change(&self) -> Option<Time> {
        self.changes.first().map(|change| change.at)
    }

    /// Forgets what was before `now`. A `now` before the origin changes nothing.
    pub fn advance(&mut self, now: Time) {
        if now <= self.origin {
            return;
        }
        while let Some(&Change { at, by }) = self.changes.first()
            && at <= now
        {
            self.free += by;
            self.changes.edit(at, |_| None);
        }
        self.origin = now;
    }

    /// Whether `processors` are free throughout `[start, start + span)`.
    pub fn fits(&self, processors: u32, start: Time, span: Span) -> bool {
        let end = start + span.max(Span(1));
        let wanted = i64::from(processors);
        let begun = start <= self.origin;
        if begun && self.free < wanted {
            return false;
        }
        let mut reader =
            Fits { wanted, from: start, until: end, free: self.free, begun, fits: true };
        self.changes.scan(&mut reader);
        reader.result()
    }

    /// The fewest processors that are free at a moment of `[start, start + span)`; may be negative.
    pub fn min(&self, start: Time, span: Span) -> i64 {
        let until = start + span.max(Span(1));
        let min = (start <= self.origin).then_some(self.free);
        let mut reader = Least { from: start, until, free: self.free, min };
        self.changes.scan(&mut reader);
        reader.result()
    }

    /// The earliest start from `from` on at which `processors` are free for `span`; `None` if
    /// they never are. Exact.
    pub fn earliest(&self, processors: u32, span: Span, from: Time) -> Option<Time> {
        self.earlier(processors, span, from, Time::INFINITY)
    }

    /// The earliest start in `[from, held)` to which a reservation of `processors` for `span`
    /// that stands at `held`, and is taken in this profile, could move; `None` if it cannot move.
    /// From `held` on the mover blocks only itself, so nothing needs to be given
    /// back to find out. Exact.
    pub fn earlier(&self, processors: u32, span: Span, from: Time, held: Time) -> Option<Time> {
        self.room(processors, span, Starts { from, until: held, held })
    }

    /// The earliest start in `[from, until)` at which `processors` are free for `span`. Exact; what
    /// lies beyond the last such start's span is not looked at.
    pub fn earliest_before(
        &self,
        processors: u32,
        span: Span,
        from: Time,
        until: Time,
    ) -> Option<Time> {
        self.room(processors, span, Starts { from, until, held: Time::INFINITY })
    }

    fn room(&self, processors: u32, span: Span, starts: Starts) -> Option<Time> {
        let starts = Starts { from: starts.from.max(self.origin), ..starts };
        if starts.from >= starts.until {
            return None;
        }
        let wanted = i64::from(processors);
        let begun = starts.from == self.origin;
        let start = (begun && self.free >= wanted).then_some(starts.from);
        let mut reader = Room { wanted, span, starts, free: self.free, begun, start };
        self.changes.scan(&mut reader);
        reader.result()
    }

    /// Takes `processors` during `[start, end)`; what lies before the origin is left out.
    pub fn take(&mut self, processors: u32, start: Time, end: Time) {
        self.change(-i64::from(processors), start, end);
    }

    /// Gives `processors` back during `[start, end)`; what lies before the origin is left out.
    pub fn give(&mut self, processors: u32, start: Time, end: Time) {
        self.change(i64::from(processors), start, end);
    }

    fn change(&mut self, by: i64, start: Time, end: Time) {
        if by == 0 || end <= start.max(self.origin) {
            return;
        }
        match start <= self.origin {
            true => self.free += by,
            false => self.step(start, by),
        }
        self.step(end, -by);
    }

    fn step(&mut self, at: Time, by: i64) {
        self.changes.edit(at, |there| {
            let by = by + there.map_or(0, |change| change.by);
            (by != 0).then_some(Change { at, by })
        });
    }

    /// The level at `from` and each moment before `until` at which it changes.
    pub fn levels(&self, from: Time, until: Time, to: &mut Vec<Level>) {
        let from = from.max(self.origin);
        to.push(Level { at: from, free: self.free_at(from) });
        self.changes.scan(&mut Levels { from, until, free: self.free, to });
    }

    /// How the minimum number of free processors since `from` sinks as time goes on: the level at
    /// `from`, then each moment at which it is lower than ever since. The last is the first level
    /// of 0 or less, if there is one.
    pub fn running_minima(&self, from: Time, to: &mut Vec<Level>) {
        let from = from.max(self.origin);
        let low = self.free_at(from);
        to.push(Level { at: from, free: low });
        if low > 0 {
            self.changes.scan(&mut Lows { from, free: self.free, low, to });
        }
    }

    /// The same into the past: so many processors are free at least from each moment to `until`.
    /// Levels of 0 or less are left out; the earliest moment is the origin.
    pub fn lows_back(&self, until: Time, to: &mut Vec<Level>) {
        if until <= self.origin {
            return;
        }
        let end = self.free + self.changes.sum().map_or(0, |sum| sum.total);
        let mut reader = LowsBack { until, free: end, low: None, to };
        self.changes.scan_back(&mut reader);
        let low = reader.low.unwrap_or(self.free);
        if low > 0 {
            to.push(Level { at: self.origin, free: low });
        }
    }
}

impl PartialEq for Profile {
    fn eq(&self, other: &Profile) -> bool {
        let steps = |profile: &Profile| {
            let mut levels = Vec::new();
            profile.levels(profile.origin, Time::INFINITY, &mut levels);
            levels
        };
        steps(self) == steps(other)
    }
}

impl Eq for Profile {}

#[cfg(test)]
mod tests;
