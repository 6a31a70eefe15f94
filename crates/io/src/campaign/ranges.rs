//! Seeds, shards and loads: small values with a way to write them.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::decimal;

/// Seeds from the first to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    first: u64,
    last: u64,
}

impl Seeds {
    /// The most that a campaign may have.
    pub const MAX: u64 = 10_000;

    /// What is drawn with if nothing is said.
    pub const DEFAULT: Seeds = Seeds { first: 1, last: 1 };

    /// A single one.
    pub const fn one(seed: u64) -> Seeds {
        Seeds { first: seed, last: seed }
    }

    /// Each of them.
    pub fn all(self) -> RangeInclusive<u64> {
        self.first..=self.last
    }

    /// Whether there is more than one.
    pub fn are_many(self) -> bool {
        self.first < self.last
    }
}

/// `A..B`, or `A` if there is only one.
impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.are_many() {
            true => write!(f, "{}..{}", self.first, self.last),
            false => write!(f, "{}", self.first),
        }
    }
}

impl FromStr for Seeds {
    type Err = String;

    /// Reads `A..B`, both included, or `A`.
    fn from_str(text: &str) -> Result<Seeds, String> {
        const FORM: &str = "write the first and the last, such as `1..10`, or one number";
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let number = |text: &str| -> Result<u64, String> {
            let sound = text.trim().bytes().all(|c| c.is_ascii_digit());
            let value = text.trim().parse().ok().filter(|_| sound);
            value.ok_or_else(|| format!("`{text}` is not a seed: {FORM}"))
        };
        let seeds = Seeds { first: number(first)?, last: number(last)? };
        match seeds {
            Seeds { first, last } if first > last => {
                Err(format!("the first seed {first} is above the last {last}"))
            }
            Seeds { first, last } if last - first >= Seeds::MAX => {
                Err(format!("more than {} seeds", Seeds::MAX))
            }
            seeds => Ok(seeds),
        }
    }
}

/// One of several equal parts of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, from 1.
    number: u32,
    of: u32,
}

impl Shard {
    /// Whether the run at `index` (from 0) belongs to it: every n-th does, so that the parts are
    /// of like size whatever the order of runs.
    pub fn has(self, index: usize) -> bool {
        index as u64 % u64::from(self.of) == u64::from(self.number) - 1
    }
}

/// `i/n`.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Reads `i/n`, i from 1 to n.
    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = || format!("`{text}` is not a shard: write `i/n` with i from 1 to n");
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let shard = Shard {
            number: number.trim().parse().map_err(|_| wrong())?,
            of: of.trim().parse().map_err(|_| wrong())?,
        };
        Some(shard).filter(|it| (1..=it.of).contains(&it.number)).ok_or_else(wrong)
    }
}

/// An offered load in thousandths of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OfferedLoad(u32);

impl OfferedLoad {
    /// The highest: ten times what the machine can do.
    pub const MAX: OfferedLoad = OfferedLoad(10_000);

    /// `None` for 0 and for more than [`OfferedLoad::MAX`].
    pub fn from_thousandths(thousandths: i64) -> Option<OfferedLoad> {
        let load = OfferedLoad(u32::try_from(thousandths).ok()?);
        Some(load).filter(|load| load.0 > 0 && *load <= OfferedLoad::MAX)
    }

    /// Thousandths of the machine.
    pub fn thousandths(self) -> u32 {
        self.0
    }
}

/// A decimal number, such as `0.7`.
impl fmt::Display for OfferedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal::format(i64::from(self.0), 3))
    }
}

impl FromStr for OfferedLoad {
    type Err = String;

    /// Reads a number above 0 with at most three decimals.
    fn from_str(text: &str) -> Result<OfferedLoad, String> {
        let load = decimal::parse(text.trim(), 3).ok().and_then(OfferedLoad::from_thousandths);
        load.ok_or_else(|| {
            format!("`{text}` is not a number above 0 and up to 10 with at most three decimals")
        })
    }
}

impl Serialize for OfferedLoad {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        decimal::json(i64::from(self.0), 3).serialize(to)
    }
}

impl Serialize for Seeds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_include_both_ends() {
        let seeds: Seeds = "1..3".parse().unwrap();
        assert_eq!(seeds.all().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!((seeds.to_string(), "7".parse::<Seeds>().unwrap().to_string()), {
            ("1..3".to_owned(), "7".to_owned())
        });
        for text in ["", "..", "3..1", "1..", "a..b", "-1..2", "+1", "0..99999999999", "1..2..3"] {
            assert!(text.parse::<Seeds>().is_err(), "{text}");
        }
    }

    #[test]
    fn shards_part_the_runs() {
        for of in 1..6 {
            for index in 0..20 {
                let shards = (1..=of).map(|number| Shard { number, of });
                assert_eq!(shards.filter(|shard| shard.has(index)).count(), 1);
            }
        }
        for text in ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn loads_are_exact() {
        assert_eq!("0.7".parse::<OfferedLoad>().unwrap().thousandths(), 700);
        assert_eq!("0.700".parse::<OfferedLoad>().unwrap().to_string(), "0.7");
        for text in ["", "0", "-1", "0.0001", "11", "NaN", "half"] {
            assert!(text.parse::<OfferedLoad>().is_err(), "{text}");
        }
    }
}
