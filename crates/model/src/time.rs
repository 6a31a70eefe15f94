//! Points and lengths of time, in whole seconds on one clock.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in time: seconds on the log's or scenario's own clock (may be negative).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// A length of time in seconds. A difference of two times may be negative; every length that
/// the model stores is not.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub i64);

impl Time {
    /// The largest absolute value that input may carry (about 34,800 years of seconds): leaves
    /// room so that no sum of a time and a span overflows.
    pub const MAX: Time = Time(1 << 40);
    /// The smallest value that input may carry.
    pub const MIN: Time = Time(-(1 << 40));
    /// Later than all that happens.
    pub const INFINITY: Time = Time(i64::MAX / 2);
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// The largest length that input may carry; see [`Time::MAX`].
    pub const MAX: Span = Span(1 << 40);
}

/// The planning interval `[start, end)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// First second that may be used.
    pub start: Time,
    /// First second that may not be used any more.
    pub end: Time,
}

impl Horizon {
    /// The length of the interval.
    pub fn span(&self) -> Span {
        self.end - self.start
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, rhs: Span) -> Time {
        Time(self.0 + rhs.0)
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, rhs: Span) -> Time {
        Time(self.0 - rhs.0)
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, rhs: Time) -> Span {
        Span(self.0 - rhs.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, rhs: Span) -> Span {
        Span(self.0 + rhs.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, rhs: Span) {
        self.0 += rhs.0;
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Span>>(iter: I) -> Span {
        iter.fold(Span::ZERO, Add::add)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
