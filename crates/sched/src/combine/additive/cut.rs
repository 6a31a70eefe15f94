//! Linear bounds on the columns of a table.

use super::Table;

/// Products of a price and a sum stay below 2 to this power, so that a few of them fit `i128`.
const BITS: u32 = 100;
/// Rounds over all rows.
const ROUNDS: u32 = 12;

/// Σ weight × column over all jobs is at most the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    /// By column; none is negative.
    pub(super) weights: Vec<i128>,
    pub(super) limit: i128,
}

impl Cut {
    /// The limit on one column.
    pub(super) fn column(table: &Table, column: usize) -> Cut {
        let mut weights = vec![0; table.limits.len()];
        weights[column] = 1;
        Cut { weights, limit: table.limits[column].map_or(i128::MAX, i128::from) }
    }

    pub(super) fn of(&self, numbers: &[i64]) -> i128 {
        self.weights.iter().zip(numbers).map(|(weight, n)| weight * i128::from(*n)).sum()
    }

    /// The minimum of each job, in the given order, and of all after it.
    pub(super) fn suffixes(&self, table: &Table, order: &[usize]) -> Vec<i128> {
        let mut sums = vec![0; order.len() + 1];
        for (at, &job) in order.iter().enumerate().rev() {
            let min = table.jobs[job].iter().map(|numbers| self.of(numbers)).min();
            sums[at] = sums[at + 1] + min.unwrap_or_default();
        }
        sums
    }
}

/// The objective `at` plus limits at prices. Its minimum over all selections, less the limits at
/// these prices, is a lower bound on the objective within the limits, whatever the prices.
#[derive(Debug)]
pub(super) struct PricedObjective {
    cut: Cut,
    /// One in prices: the weight of the objective.
    unit: i128,
    /// The limits at their prices.
    paid: i128,
}

impl PricedObjective {
    /// Good prices for `rows`: each in turn is set to where its own row is just kept.
    pub(super) fn new(table: &Table, at: Option<usize>, rows: &[usize]) -> PricedObjective {
        let mut weights = vec![0; table.limits.len()];
        let unit = at.map_or(1, |at| highest(table, at));
        if let Some(at) = at {
            weights[at] = unit;
        }
        let mut cut = Cut { weights, limit: i128::MAX };
        for _ in 0..ROUNDS {
            let before = cut.weights.clone();
            for &row in rows.iter().filter(|row| Some(**row) != at) {
                cut.weights[row] = price(table, &mut cut.clone(), row);
            }
            if before == cut.weights {
                break;
            }
        }
        let limit = |row: usize| i128::from(table.limits[row].unwrap_or_default());
        let of_rows = rows.iter().filter(|row| Some(**row) != at);
        let paid = of_rows.map(|&row| cut.weights[row] * limit(row)).sum();
        PricedObjective { cut, unit, paid }
    }

    /// What is left for selections with an objective of at most `most`.
    pub(super) fn within(&self, most: i128) -> Cut {
        Cut { limit: (most * self.unit).saturating_add(self.paid), ..self.cut.clone() }
    }

    /// The priced sum, without any limit.
    pub(super) fn open(&self) -> Cut {
        self.cut.clone()
    }

    /// The minimum objective of selections whose priced sum is at least `sum`.
    pub(super) fn objective(&self, sum: i128) -> i128 {
        let rest = sum - self.paid;
        rest.div_euclid(self.unit) + i128::from(rest.rem_euclid(self.unit) > 0)
    }
}

/// The lowest price of `row` at which the selection of least priced sum keeps the row, the other
/// prices as they are; or the highest price there is. The sum used falls as the price rises.
fn price(table: &Table, cut: &mut Cut, row: usize) -> i128 {
    let limit = i128::from(table.limits[row].unwrap_or(i64::MAX));
    let mut keeps = |price: i128| {
        cut.weights[row] = price;
        used(table, cut, row) <= limit
    };
    if keeps(0) {
        return 0;
    }
    let highest = highest(table, row);
    let (mut low, mut high) = (0, 1);
    while !keeps(high) {
        if high >= highest {
            return high;
        }
        (low, high) = (high, (high << 4).min(highest));
    }
    while high - low > (low >> 20).max(1) {
        let middle = low + (high - low) / 2;
        if keeps(middle) { high = middle } else { low = middle }
    }
    high
}

/// The sum of `row` over the selection of least priced sum, ties by least of the row.
fn used(table: &Table, cut: &Cut, row: usize) -> i128 {
    let least = |job: &Vec<Vec<i64>>| {
        let key = |numbers: &Vec<i64>| (cut.of(numbers), numbers[row]);
        job.iter().map(key).min().map_or(0, |(_, used)| i128::from(used))
    };
    table.jobs.iter().map(least).sum()
}

/// The highest price of a column: its product with any sum of the column keeps to [`BITS`].
fn highest(table: &Table, column: usize) -> i128 {
    let most = |job: &Vec<Vec<i64>>| job.iter().map(|numbers| numbers[column].unsigned_abs()).max();
    let sum: u128 = table.jobs.iter().filter_map(most).map(u128::from).sum();
    1 << BITS.saturating_sub(u128::BITS - sum.leading_zeros())
}
