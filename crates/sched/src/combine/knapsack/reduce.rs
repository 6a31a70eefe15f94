//! Smaller numbers and fewer items, with the same optima.

use super::{Goal, KnapsackItem, Sums};

/// An item that an optimum may need, in reduced numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReducedItem {
    pub(super) weight: i64,
    pub(super) value: i64,
    /// Its index in the class as given.
    pub(super) index: u32,
}

/// The problem with every class counted from its first item, in units of the common divisors,
/// without items that another item of the class makes needless.
#[derive(Debug)]
pub(super) struct Reduced {
    /// By weight, strictly ascending; none is empty. For [`Goal::Cheapest`] the values descend
    /// strictly.
    pub(super) classes: Vec<Vec<ReducedItem>>,
    pub(super) capacity: i64,
    pub(super) goal: Goal,
    origin: Sums,
    unit: Sums,
}

impl Reduced {
    pub(super) fn new(classes: &[Vec<KnapsackItem>], capacity: i64, goal: Goal) -> Reduced {
        let mut origin = Sums { weight: 0, value: 0 };
        let mut unit = Sums { weight: 0, value: 0 };
        for class in classes {
            let first = class[0];
            origin.weight += first.weight;
            origin.value += first.value;
            for item in class {
                unit.weight = common_divisor(unit.weight, item.weight - first.weight);
                unit.value = common_divisor(unit.value, item.value - first.value);
            }
        }
        unit = Sums { weight: unit.weight.max(1), value: unit.value.max(1) };
        // Sums move in whole units from the origin, so the limits may be rounded down to units.
        let goal_in_units = match goal {
            Goal::FullestWithin(max) => {
                Goal::FullestWithin((max - origin.value).div_euclid(unit.value))
            }
            other => other,
        };
        Reduced {
            classes: classes.iter().map(|class| members(class, unit, goal)).collect(),
            capacity: (capacity - origin.weight).div_euclid(unit.weight),
            goal: goal_in_units,
            origin,
            unit,
        }
    }

    /// Sums of a selection in the numbers as given, in reduced numbers.
    pub(super) fn normalise(&self, sums: Sums) -> Sums {
        Sums {
            weight: (sums.weight - self.origin.weight) / self.unit.weight,
            value: (sums.value - self.origin.value) / self.unit.value,
        }
    }

    /// The indices as given of a selection of members.
    pub(super) fn indices(&self, chosen: &[u32]) -> Vec<usize> {
        let pick = |(class, &at): (&Vec<ReducedItem>, &u32)| class[at as usize].index as usize;
        self.classes.iter().zip(chosen).map(pick).collect()
    }
}

/// The members of one class: among equal weights the minimum value (then the first) is enough, and
/// for [`Goal::Cheapest`] a heavier item must have less value than every lighter one.
fn members(class: &[KnapsackItem], unit: Sums, goal: Goal) -> Vec<ReducedItem> {
    let first = class[0];
    let mut all: Vec<ReducedItem> = (0u32..)
        .zip(class)
        .map(|(index, item)| ReducedItem {
            weight: (item.weight - first.weight) / unit.weight,
            value: (item.value - first.value) / unit.value,
            index,
        })
        .collect();
    all.sort_unstable_by_key(|member| (member.weight, member.value, member.index));
    let mut last: Option<ReducedItem> = None;
    all.retain(|member| {
        let needed = last.is_none_or(|last| match goal {
            Goal::Cheapest => member.value < last.value,
            Goal::Fullest | Goal::FullestWithin(_) => member.weight > last.weight,
        });
        if needed {
            last = Some(*member);
        }
        needed
    });
    all
}

/// The greatest common divisor, at least zero; zero only for two zeros.
pub(super) fn common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i64
}
