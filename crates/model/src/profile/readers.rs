//! Questions to a profile, as readers of its tree. All keep `free`, the level before the change
//! that comes next.

use super::{Change, ChangeSum, Level};
use crate::tree::{Scan, Visit};
use crate::{Span, Time};

/// The level at a moment.
pub(super) struct At {
    pub(super) at: Time,
    pub(super) free: i64,
}

impl Scan<Change> for At {
    fn part(&mut self, last: Time, sum: ChangeSum) -> Visit {
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
    fn part(&mut self, last: Time, sum: ChangeSum) -> Visit {
        if last <= self.from || self.begun && self.free + sum.min >= self.wanted {
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

/// The lowest level in `[from, until)`.
pub(super) struct Least {
    pub(super) from: Time,
    pub(super) until: Time,
    pub(super) free: i64,
    /// `None` until the level at `from` has been looked at.
    pub(super) min: Option<i64>,
}

impl Least {
    pub(super) fn result(&self) -> i64 {
        self.min.unwrap_or(self.free)
    }
}

impl Scan<Change> for Least {
    fn part(&mut self, last: Time, sum: ChangeSum) -> Visit {
        let inner = self.min.is_some() && last < self.until;
        if last > self.from && !inner {
            return if sum.first >= self.until { Visit::Stop } else { Visit::Into };
        }
        if let Some(min) = &mut self.min {
            *min = (*min).min(self.free + sum.min);
        }
        self.free += sum.total;
        Visit::Over
    }

    fn item(&mut self, change: &Change) -> Visit {
        if change.at > self.from {
            let min = self.min.get_or_insert(self.free);
            if change.at >= self.until {
                return Visit::Stop;
            }
            *min = (*min).min(self.free + change.by);
        }
        self.free += change.by;
        Visit::Over
    }
}

/// Which starts are looked for: those in `[from, until)`, with room for all of the span or up to
/// `held`.
#[derive(Clone, Copy)]
pub(super) struct Starts {
    pub(super) from: Time,
    pub(super) until: Time,
    pub(super) held: Time,
}

/// The earliest start with room for `span`.
pub(super) struct Room {
    pub(super) wanted: i64,
    pub(super) span: Span,
    pub(super) starts: Starts,
    pub(super) free: i64,
    /// Whether the level at the first start has been looked at.
    pub(super) begun: bool,
    /// Since when there is room.
    pub(super) start: Option<Time>,
}

impl Room {
    pub(super) fn result(mut self) -> Option<Time> {
        self.begin();
        self.start.filter(|start| *start < self.starts.until)
    }

    fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.start = (self.free >= self.wanted).then_some(self.starts.from);
        }
    }

    /// Whether nothing from `at` on matters any more.
    fn settled(&self, at: Time) -> bool {
        at >= self.starts.held
            || match self.start {
                Some(start) => start >= self.starts.until || at >= start + self.span,
                None => at >= self.starts.until,
            }
    }
}

impl Scan<Change> for Room {
    fn part(&mut self, last: Time, sum: ChangeSum) -> Visit {
        let dull = match self.start {
            _ if !self.begun => last <= self.starts.from,
            Some(_) => self.free + sum.min >= self.wanted,
            None => self.free + sum.max < self.wanted,
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
        if change.at > self.starts.from {
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
    fn part(&mut self, last: Time, sum: ChangeSum) -> Visit {
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
    fn part(&mut self, last: Time, sum: ChangeSum) -> Visit {
        if last > self.from && self.free + sum.min < self.low {
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
    fn part(&mut self, last: Time, sum: ChangeSum) -> Visit {
        let before = self.free - sum.total;
        let low = self.low.unwrap_or(self.free);
        let later = sum.first >= self.until;
        if later || last < self.until && before + sum.min.min(0) >= low {
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
