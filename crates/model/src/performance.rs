//! How fast a node is.

use std::fmt;

use crate::Span;

/// Performance relative to the reference node, in thousandths (1,000 = the reference). At least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Performance(u32);

impl Performance {
    /// The reference node.
    pub const REFERENCE: Performance = Performance(1_000);
    /// The minimum performance that can be stated: one thousandth of the reference node.
    pub const MIN: Performance = Performance(1);
    /// The greatest performance that input may carry: a million reference nodes.
    pub const MAX: Performance = Performance(1_000_000_000);

    /// `thousandths` of the reference node; `None` outside `MIN..=MAX`.
    pub fn from_thousandths(thousandths: u32) -> Option<Performance> {
        let it = Performance(thousandths);
        (Self::MIN..=Self::MAX).contains(&it).then_some(it)
    }

    /// In thousandths of the reference node.
    pub fn thousandths(self) -> u32 {
        self.0
    }

    /// How long a task of `work` (seconds on the reference node) takes here:
    /// ceil(work / performance), at least one second for any work (paper 001, section 3, in the
    /// only reading in which faster nodes take less time).
    pub fn length_of(self, work: Span) -> Span {
        let scaled = work.0.saturating_mul(1_000) as u64;
        Span(scaled.div_ceil(u64::from(self.0)) as i64)
    }

    /// The minimum work (seconds on the reference node) that takes `length` here or longer: rounded
    /// up, at most [`Span::MAX`].
    pub fn work_in(self, length: Span) -> Span {
        let scaled = i128::from(length.0.max(0)) * i128::from(self.0);
        let seconds = (scaled + 999) / 1_000;
        Span(i64::try_from(seconds).unwrap_or(Span::MAX.0).min(Span::MAX.0))
    }
}

/// At most three decimals, trailing zeros dropped: `2.5`, `1`.
impl fmt::Display for Performance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, milli) = (self.0 / 1_000, self.0 % 1_000);
        if milli == 0 {
            return f.pad(&whole.to_string());
        }
        f.pad(format!("{whole}.{milli:03}").trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_rounds_up() {
        let at = |p| Performance::from_thousandths(p).unwrap().length_of(Span(80));
        assert_eq!([at(1_000), at(2_500), at(3_000)], [Span(80), Span(32), Span(27)]);
    }
}
