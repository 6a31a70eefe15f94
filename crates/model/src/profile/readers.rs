//! Questions to a profile, as readers of its tree. All keep `free`, the level before the change
//! that comes next.

use super::{Change, Level, Sum};
use crate::tree::{Scan, Visit};
use crate::{Span, Time};

/// The level at a moment.
pub(super) struct At {
    pub(super) at: Time,
    pub(super) free: i64,
}

impl Scan<Change> for At {
    fn part(&mut self, last: Time, sum: Sum) -> Visit {
        if last > self.at {
            return Visit::Into;
        }
        self.free += sum.total;
        Visit::Over
    }

    fn item(&mut self, change: &Change) -> Visit {
        if change.at > self.at {
            return Visit::Stop;
        }
        self.free += change.by;
        Visit::Over
    }
}

/// Whether the level never falls below what is wanted in `[from, until)`.
pub(super) struct Fits {
    pub(super) wanted: i64,
    pub(super) from: Time,
    pub(super) until: Time,
    pub(super) free: i64,
    /// Whether the level at `from` has been looked at.
    pub(super) begun: bool,
    pub(super) fits: bool,
}

impl Fits {
    pub(super) fn result(&self) -> bool {
        self.fits && (self.begun || self.free >= self.wanted)
    }
}

impl Scan<Change> for Fits {
    fn part(&mut self, last: Time, sum: Sum) -> Visit {
        if last <= self.from || self.begun && self.free + sum.least >= self.wanted {
            self.free += sum.total;
            return if last >= self.until { Visit::Stop } else { Visit::Over };
        }
        Visit::Into
    }

    fn item(&mut self, change: &Change) -> Visit {
        if change.at > self.from && !self.begun {
            self.begun = true;
            self.fits = self.free >= self.wanted;
        }
        if change.at >= self.until || !self.fits {
            return Visit::Stop;
        }
        self.free += change.by;
        self.fits = !self.begun || self.free >= self.wanted;
        if self.fits { Visit::Over } else { Visit::Stop }
    }
}

/// The earliest start in `[from, held)` with room for `span`, or up to `held`.
pub(super) struct Room {
    pub(super) wanted: i64,
    pub(super) span: Span,
    pub(super) from: Time,
    pub(super) held: Time,
    pub(super) free: i64,
    /// Whether the level at `from` has been looked at.
    pub(super) begun: bool,
    /// Since when there is room.
    pub(super) start: Option<Time>,
}

impl Room {
    pub(super) fn result(mut self) -> Option<Time> {
        self.begin();
        self.start
    }

    fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.start = (self.free >= self.wanted).then_some(self.from);
        }
    }

    /// Whether nothing from `at` on matters any more.
    fn settled(&self, at: Time) -> bool {
        at >= self.held || self.start.is_some_and(|start| at >= start + self.span)
    }
}

impl Scan<Change> for Room {
    fn part(&mut self, last: Time, sum: Sum) -> Visit {
        let dull = match self.start {
            _ if !self.begun => last <= self.from,
            Some(_) => self.free + sum.least >= self.wanted,
            None => self.free + sum.most < self.wanted,
        };
        if !dull {
            return Visit::Into;
        }
        if self.begun && self.settled(last) {
            return Visit::Stop;
        }
        self.free += sum.total;
        Visit::Over
    }

    fn item(&mut self, change: &Change) -> Visit {
        if change.at > self.from {
            self.begin();
            if self.settled(change.at) {
                return Visit::Stop;
            }
        }
        self.free += change.by;
        if self.begun {
            self.start = match self.start {
                _ if self.free < self.wanted => None,
                None => Some(change.at),
                since => since,
            };
        }
        Visit::Over
    }
}

/// Every level in `(from, until)`.
pub(super) struct Levels<'t> {
    pub(super) from: Time,
    pub(super) until: Time,
    pub(super) free: i64,
    pub(super) to: &'t mut Vec<Level>,
}

impl Scan<Change> for Levels<'_> {
    fn part(&mut self, last: Time, sum: Sum) -> Visit {
        if sum.first >= self.until {
            return Visit::Stop;
        }
        if last > self.from {
            return Visit::Into;
        }
        self.free += sum.total;
        Visit::Over
    }

    fn item(&mut self, change: &Change) -> Visit {
        if change.at >= self.until {
            return Visit::Stop;
        }
        self.free += change.by;
        if change.at > self.from {
            self.to.push(Level { at: change.at, free: self.free });
        }
        Visit::Over
    }
}

/// Ever lower levels after `from`.
pub(super) struct Lows<'t> {
    pub(super) from: Time,
    pub(super) free: i64,
    pub(super) low: i64,
    pub(super) to: &'t mut Vec<Level>,
}

impl Scan<Change> for Lows<'_> {
    fn part(&mut self, last: Time, sum: Sum) -> Visit {
        if last > self.from && self.free + sum.least < self.low {
            return Visit::Into;
        }
        self.free += sum.total;
        Visit::Over
    }

    fn item(&mut self, change: &Change) -> Visit {
        self.free += change.by;
        if change.at <= self.from || self.free >= self.low {
            return Visit::Over;
        }
        self.low = self.free;
        self.to.push(Level { at: change.at, free: self.free });
        if self.low <= 0 { Visit::Stop } else { Visit::Over }
    }
}

/// Ever lower levels before `until`, from there into the past. Here `free` is the level after the
/// change that comes next.
pub(super) struct LowsBack<'t> {
    pub(super) until: Time,
    pub(super) free: i64,
    /// The lowest level so far; `None` before `until` was reached.
    pub(super) low: Option<i64>,
    pub(super) to: &'t mut Vec<Level>,
}

impl Scan<Change> for LowsBack<'_> {
    fn part(&mut self, last: Time, sum: Sum) -> Visit {
        let before = self.free - sum.total;
        let low = self.low.unwrap_or(self.free);
        let later = sum.first >= self.until;
        if later || last < self.until && before + sum.least.min(0) >= low {
            self.low = if later { None } else { Some(low) };
            self.free = before;
            return Visit::Over;
        }
        Visit::Into
    }

    fn item(&mut self, change: &Change) -> Visit {
        let before = self.free - change.by;
        if change.at < self.until {
            let low = *self.low.get_or_insert(self.free);
            if low <= 0 {
                return Visit::Stop;
            }
            if before < low {
                self.to.push(Level { at: change.at, free: low });
                self.low = Some(before);
            }
        }
        self.free = before;
        Visit::Over
    }
}
