//! Names become numbers: in the order in which the log's jobs have them, so that a number says
//! nothing about its name.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use super::rows::NONE;

/// Names of users, accounts, QOS or partitions.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<Box<str>, u32>,
}

impl Names {
    /// Its number in the order of the file, from 0; `None` beyond `most` names.
    pub(super) fn number(&mut self, name: &str, most: usize) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let next = u32::try_from(self.numbers.len()).ok().filter(|it| (*it as usize) < most)?;
        self.numbers.insert(name.into(), next);
        Some(next)
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Names by number in the order of the file.
    pub(super) fn list(&self) -> Vec<&str> {
        let mut list = vec![""; self.numbers.len()];
        for (name, number) in &self.numbers {
            list[*number as usize] = name;
        }
        list
    }
}

/// Names of jobs: there may be as many as jobs, so only their hashes are kept, unless their list is
/// wanted.
#[derive(Debug)]
pub(super) enum JobNames {
    Hashed(HashMap<u64, u32>),
    Kept(Names),
}

impl JobNames {
    /// Different names that are distinguished; jobs with further ones have no number.
    const MOST: usize = 2_000_000;

    pub(super) fn number(&mut self, name: &str) -> u32 {
        match self {
            JobNames::Kept(names) => names.number(name, JobNames::MOST).unwrap_or(NONE),
            JobNames::Hashed(numbers) => {
                let next = numbers.len() as u32;
                let full = numbers.len() >= JobNames::MOST;
                let key = digest(name);
                match numbers.get(&key) {
                    Some(number) => *number,
                    None if full => NONE,
                    None => *numbers.entry(key).or_insert(next),
                }
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            JobNames::Hashed(numbers) => numbers.len(),
            JobNames::Kept(names) => names.len(),
        }
    }
}

/// A hash for comparing within this process; it is never written.
pub(super) fn digest(value: impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Numbers from 1 in the order in which they are first asked for.
#[derive(Debug, Default)]
pub(super) struct Renumbered {
    /// By old number; 0: not asked for yet.
    numbers: Vec<u32>,
    next: u32,
}

impl Renumbered {
    pub(super) fn new(count: usize) -> Renumbered {
        Renumbered { numbers: vec![0; count], next: 0 }
    }

    /// The new number of `old`; -1 for what is missing.
    pub(super) fn take(&mut self, old: u32) -> i64 {
        let Some(number) = self.numbers.get_mut(old as usize) else { return -1 };
        if *number == 0 {
            self.next += 1;
            *number = self.next;
        }
        i64::from(*number)
    }

    /// The new number of `old`, if it has been asked for.
    pub(super) fn of(&self, old: usize) -> Option<u32> {
        self.numbers.get(old).copied().filter(|number| *number > 0)
    }

    /// How many were asked for.
    pub(super) fn count(&self) -> u32 {
        self.next
    }
}
