//! A number for each job, in little memory and in any order.

use std::collections::BTreeMap;

/// Numbers of a page.
const PAGE: usize = 1 << 14;

/// Stands for a number that does not fit in 32 bits.
const LARGE: u32 = u32::MAX;

/// Whole numbers by index, 0 where none was set: 4 bytes each, but for those that need more. Pages
/// are never moved, so that the peak is not above what is kept.
#[derive(Debug, Default)]
pub(super) struct Column {
    pages: Vec<Box<[u32]>>,
    large: BTreeMap<usize, i64>,
}

impl Column {
    /// Sets the number at this index. O(1), but for numbers below 0 or from 2³² − 1 on: O(log n).
    pub(super) fn set(&mut self, at: usize, value: i64) {
        while self.pages.len() <= at / PAGE {
            self.pages.push(vec![0; PAGE].into_boxed_slice());
        }
        let small = u32::try_from(value).ok().filter(|small| *small != LARGE);
        if small.is_none() {
            self.large.insert(at, value);
        }
        self.pages[at / PAGE][at % PAGE] = small.unwrap_or(LARGE);
    }

    /// All of them by index, with zeros at the end.
    pub(super) fn iter(&self) -> impl Iterator<Item = i64> {
        let small = self.pages.iter().flat_map(|page| page.iter().copied()).enumerate();
        small.map(|(at, small)| match small {
            LARGE => self.large.get(&at).copied().unwrap_or_default(),
            _ => i64::from(small),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_come_back() {
        let numbers = [0, 7, -1, i64::from(LARGE) - 1, i64::from(LARGE), i64::MAX, 3];
        let mut column = Column::default();
        let at = |index: usize| index * 9_000;
        for (index, number) in numbers.iter().enumerate().rev() {
            column.set(at(index), *number);
        }
        let all: Vec<i64> = column.iter().collect();
        for (index, number) in numbers.iter().enumerate() {
            assert_eq!(all[at(index)], *number);
        }
        let set: Vec<i64> = numbers.into_iter().filter(|it| *it != 0).collect();
        assert_eq!(all.into_iter().filter(|it| *it != 0).collect::<Vec<_>>(), set);
    }
}
