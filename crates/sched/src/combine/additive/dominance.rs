//! Rows of numbers that no other row undercuts.

use std::collections::BTreeMap;

/// Rows that a new row is compared with where there are more than three columns: enough to drop
/// most of those that are dominated, in bounded time.
pub(super) const COMPARED: usize = 1 << 11;

/// Sorts `rows` by their numbers in lexicographic order and drops each row that another one
/// equals or undercuts in all columns. `numbers` gives a row's columns, as many for each.
///
/// With up to three columns O(n log n), and none that is dominated is left. With more, each row is
/// compared with at most `compared` others.
pub(super) fn undominated<T, K: AsRef<[i64]>>(
    rows: &mut Vec<T>,
    numbers: impl Fn(&T) -> K,
    compared: usize,
) {
    rows.sort_by(|a, b| numbers(a).as_ref().cmp(numbers(b).as_ref()));
    let mut stairs = Stairs::default();
    let mut kept: Vec<K> = Vec::new();
    rows.retain(|row| {
        let it = numbers(row);
        match *it.as_ref() {
            [] | [_] => {
                kept.is_empty() && {
                    kept.push(it);
                    true
                }
            }
            [_, y] => stairs.take(0, y),
            [_, y, z] => stairs.take(y, z),
            ref many => {
                let below = |other: &K| other.as_ref().iter().zip(many).all(|(a, b)| a <= b);
                let new = !kept.iter().rev().take(compared).any(below);
                if new {
                    kept.push(it);
                }
                new
            }
        }
    });
}

/// Pairs that do not undercut each other: by rising first number, with falling second ones.
#[derive(Default)]
struct Stairs {
    steps: BTreeMap<i64, i64>,
}

impl Stairs {
    /// Takes the pair in unless one that is there is at most as large in both.
    fn take(&mut self, y: i64, z: i64) -> bool {
        if self.steps.range(..=y).next_back().is_some_and(|(_, &least)| least <= z) {
            return false;
        }
        while let Some((&above, _)) = self.steps.range(y..).next().filter(|(_, it)| **it >= z) {
            self.steps.remove(&above);
        }
        self.steps.insert(y, z);
        true
    }
}
