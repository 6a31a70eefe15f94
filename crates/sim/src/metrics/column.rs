//! A number for each job, in little memory and in any order.

use std::collections::BTreeMap;

/// Numbers of a page.
const PAGE: usize = 1 << 14;

/// What most numbers of a column fit in.
pub(super) trait Small: Copy + Eq + Default + TryFrom<i64> + Into<i64> {
    /// Stands for a number that does not fit.
    const LARGE: Self;
}

impl Small for u16 {
    const LARGE: u16 = u16::MAX;
}

impl Small for u32 {
    const LARGE: u32 = u32::MAX;
}

/// Whole numbers by index, 0 where none was set: as many bytes for each as `S` has, but for those that
/// need more. Pages are never moved, so that the peak is not above what is kept.
#[derive(Debug, Default)]
pub(super) struct Column<S> {
    pages: Vec<Box<[S]>>,
    large: BTreeMap<usize, i64>,
}

impl<S: Small> Column<S> {
    /// Sets the number at this index. O(1), but for numbers below 0 or from `S::LARGE` on: O(log n).
    pub(super) fn set(&mut self, at: usize, value: i64) {
        while self.pages.len() <= at / PAGE {
            self.pages.push(vec![S::default(); PAGE].into_boxed_slice());
        }
        let small = S::try_from(value).ok().filter(|small| *small != S::LARGE);
        if small.is_none() {
            self.large.insert(at, value);
        }
        self.pages[at / PAGE][at % PAGE] = small.unwrap_or(S::LARGE);
    }

    /// All of them by index, with zeros at the end.
    pub(super) fn iter(&self) -> impl Iterator<Item = i64> {
        let small = self.pages.iter().flat_map(|page| page.iter().copied()).enumerate();
        small.map(|(at, small)| match small {
            it if it == S::LARGE => self.large.get(&at).copied().unwrap_or_default(),
            it => it.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_come_back() {
        come_back::<u16>();
        come_back::<u32>();
    }

    fn come_back<S: Small>() {
        let large: i64 = S::LARGE.into();
        let numbers = [0, 7, -1, large - 1, large, i64::MAX, 3];
        let mut column = Column::<S>::default();
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
