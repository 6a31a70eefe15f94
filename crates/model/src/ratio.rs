//! A positive factor of an amount.

/// A rational number in thousandths, at least one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ratio {
    thousandths: u32,
}

impl Ratio {
    /// The ratio 1.
    pub const ONE: Ratio = Ratio { thousandths: 1_000 };

    /// So many thousandths; `None` for zero.
    pub const fn from_thousandths(thousandths: u32) -> Option<Ratio> {
        match thousandths {
            0 => None,
            _ => Some(Ratio { thousandths }),
        }
    }

    /// The number in thousandths.
    pub fn thousandths(self) -> u32 {
        self.thousandths
    }
}
