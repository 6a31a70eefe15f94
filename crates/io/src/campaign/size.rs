//! The size of shared nodes.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use tradewind_model::Pools;

use crate::memory;

/// An amount of memory in whole KiB, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct MemorySize(u32);

impl MemorySize {
    /// In KiB.
    pub fn kib(self) -> u32 {
        self.0
    }

    fn read(text: &str) -> Option<MemorySize> {
        let kib = u32::try_from(memory::kib(text)?).ok()?;
        (1..=Pools::MAX_MEMORY).contains(&kib).then_some(MemorySize(kib))
    }
}

/// `512M`, `1G`, `1.5G`, `2T`, `1048576K`: binary units, with or without `iB` or `B`.
impl FromStr for MemorySize {
    type Err = String;

    fn from_str(text: &str) -> Result<MemorySize, String> {
        let wrong = || "an amount of memory, such as `512M`, `1.5G` or `1048576K`, up to `2T`";
        MemorySize::read(text).ok_or_else(|| wrong().to_owned())
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "T"), (20, "G"), (10, "M")];
        match units.iter().find(|(shift, _)| self.0.is_multiple_of(1 << shift)) {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}K", self.0),
        }
    }
}

/// Equal nodes that jobs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NodeSize {
    /// Processors of a node, at least 1.
    pub processors: u32,
    /// Memory of a node.
    pub memory: MemorySize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_bounded() {
        let kib = |text: &str| text.parse::<MemorySize>().map(MemorySize::kib).ok();
        assert_eq!(
            [kib("512M"), kib("1G"), kib("1.5GiB")],
            [524_288, 1 << 20, 1_572_864].map(Some)
        );
        assert_eq!([kib("7K"), kib("2TB")], [7, 1 << 31].map(Some));
        let wrong =
            ["", "5", "K", "0M", "3T", "1.G", "-1G", "1X", "1.5.5G", "9999999999999999999K"];
        for wrong in wrong {
            assert_eq!(kib(wrong), None, "{wrong}");
        }
        let again = |text: &str| text.parse::<MemorySize>().map(|it| it.to_string());
        assert_eq!(
            ["1024M", "1536M", "7K"].map(again),
            ["1G", "1536M", "7K"].map(|it| Ok(it.to_owned()))
        );
    }
}
