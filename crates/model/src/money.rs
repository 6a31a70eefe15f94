//! Amounts and prices, in whole micro-credits.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

use crate::Span;

/// An amount in micro-credits (1 credit = 1,000,000).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(pub i64);

/// A price in micro-credits per node-second. Zero is allowed, less is not.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(pub i64);

impl Money {
    /// No money: 0 credits.
    pub const ZERO: Money = Money(0);
    /// Micro-credits in one credit.
    pub const PER_CREDIT: i64 = 1_000_000;
    /// The largest amount that input or a whole plan may reach: a quarter of the range, so that
    /// sums of two never overflow.
    pub const MAX: Money = Money(i64::MAX / 4);

    /// `credits` whole credits.
    pub const fn credits(credits: i64) -> Money {
        Money(credits * Self::PER_CREDIT)
    }

    /// The sum of two costs, at most [`Money::MAX`]: a cost beyond all amounts stays one.
    #[must_use]
    pub fn plus(self, other: Money) -> Money {
        Money(self.0.saturating_add(other.0)).min(Money::MAX)
    }
}

impl Price {
    /// `credits` whole credits per node-second.
    pub const fn credits(credits: i64) -> Price {
        Price(credits * Money::PER_CREDIT)
    }
}

/// The cost of occupying one node for a span. Saturates: a cost that large belongs to a task
/// that fits no slot, because [`crate::Snapshot`] bounds price × horizon × nodes.
impl Mul<Span> for Price {
    type Output = Money;
    fn mul(self, span: Span) -> Money {
        Money(self.0.saturating_mul(span.0))
    }
}

impl Add for Money {
    type Output = Money;
    fn add(self, rhs: Money) -> Money {
        Money(self.0 + rhs.0)
    }
}

impl Sub for Money {
    type Output = Money;
    fn sub(self, rhs: Money) -> Money {
        Money(self.0 - rhs.0)
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, rhs: Money) {
        self.0 += rhs.0;
    }
}

/// At most [`Money::MAX`], as costs are.
impl std::iter::Sum for Money {
    fn sum<I: Iterator<Item = Money>>(iter: I) -> Money {
        iter.fold(Money::ZERO, Money::plus)
    }
}

/// Credits with up to six decimals, trailing zeros dropped: `12.5`, `-0.000001`, `3`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, micro) = (self.0.unsigned_abs() / 1_000_000, self.0.unsigned_abs() % 1_000_000);
        let sign = if self.0 < 0 { "-" } else { "" };
        if micro == 0 {
            return f.pad(&format!("{sign}{whole}"));
        }
        f.pad(format!("{sign}{whole}.{micro:06}").trim_end_matches('0'))
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Money(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_print_as_credits_without_trailing_zeros() {
        for (micro, text) in
            [(0, "0"), (12_500_000, "12.5"), (-1, "-0.000001"), (3_000_000, "3"), (1_100, "0.0011")]
        {
            assert_eq!(Money(micro).to_string(), text);
        }
    }
}
