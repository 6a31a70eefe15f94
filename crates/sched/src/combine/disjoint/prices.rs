//! Lagrangian relaxation: prices for cells and weights, and the bounds that they prove.

use super::core::{Core, MOST_VALUE, ROWS};
use super::{greedy, swap};

/// Prices count in this part of a unit of value.
pub(super) const SCALE: i128 = 1 << 20;
/// Subgradients count in this part of a unit.
const FINE: i128 = 1 << 8;
/// Steps are shrunk in this part.
const STEP: i128 = 1 << 6;
/// Weights are counted in at most so many bits: rounding both down keeps every solution.
const WEIGHT_BITS: u32 = 24;
/// More than all values together.
const MOST_PRICE: i128 = SCALE * MOST_VALUE;
const MOST_ROUNDS: u32 = 2_000;
/// Rounds without a better bound until steps are halved.
const PATIENCE: u32 = 12;
/// A repair takes place in the first round, and in every so many.
const REPAIR_EVERY: u32 = 10;
/// What a repair may take to move jobs aside, in rounds' worth of steps.
const SWAP_ROUNDS: u64 = 5;

/// The best prices and the best selection found.
#[derive(Debug)]
pub(super) struct PricedSelection {
    /// By job, an item.
    pub(super) items: Vec<usize>,
    /// No solution has a smaller value.
    pub(super) bound: i128,
    /// By item: value plus the prices of what it takes, scaled.
    pub(super) reduced: Vec<i128>,
    /// What all that there is would cost at these prices, scaled.
    pub(super) whole: i128,
}

/// A row of weights in coarser units.
#[derive(Debug, Clone, Copy)]
struct Row {
    shift: u32,
    limit: i128,
    /// What one job may weigh in the mean: the unit of its price.
    unit: i128,
}

struct ResourcePrices {
    cells: Vec<i128>,
    /// `None` where there is no limit.
    rows: [Option<(Row, i128)>; ROWS],
}

impl ResourcePrices {
    fn none(core: &Core) -> ResourcePrices {
        let row = |limit: i64| {
            let bits = 64 - (limit.max(1) as u64).leading_zeros();
            let shift = bits.saturating_sub(WEIGHT_BITS);
            let limit = i128::from(limit >> shift);
            let unit = (limit / core.jobs.len().max(1) as i128).max(1);
            Row { shift, limit, unit }
        };
        let rows = core.limits.map(|limit| (limit < i64::MAX).then(|| (row(limit), 0)));
        ResourcePrices { cells: vec![0; core.cell_count], rows }
    }

    /// The value of `item` and the prices of what it takes.
    fn reduced(&self, core: &Core, item: usize) -> i128 {
        let cells = core.cells_of(item).iter().map(|&cell| self.cells[cell as usize]);
        let weights = core.items[item].weights;
        let rows = self.rows.iter().zip(weights).filter_map(|(row, weight)| {
            let (row, price) = (*row)?;
            Some(price * i128::from(weight >> row.shift) / row.unit)
        });
        SCALE * core.items[item].value + cells.sum::<i128>() + rows.sum::<i128>()
    }

    /// What all that there is costs, rounded up.
    fn whole(&self) -> i128 {
        let of_row = |(row, price): (Row, i128)| (price * row.limit + row.unit - 1) / row.unit;
        let rows = self.rows.iter().flatten().copied().map(of_row);
        self.cells.iter().sum::<i128>() + rows.sum::<i128>()
    }
}

/// Looks for prices with a large bound, until it meets the best selection, `work_limit` steps are
/// taken, or rounds bring nothing any more. `known` keeps all rules.
pub(super) fn improve(
    core: &Core,
    known: Vec<usize>,
    work_limit: u64,
    steps: &mut u64,
) -> PricedSelection {
    let mut prices = ResourcePrices::none(core);
    let mut best =
        PricedSelection { items: known, bound: i128::MIN, reduced: Vec::new(), whole: 0 };
    let mut best_scaled = i128::MIN;
    let (mut step, mut since) = (2 * STEP, 0);
    for round in 0..MOST_ROUNDS {
        let reduced: Vec<i128> =
            (0..core.items.len()).map(|item| prices.reduced(core, item)).collect();
        *steps += core.items.len() as u64;
        let cheapest = |job: &std::ops::Range<usize>| {
            job.clone().min_by_key(|&item| (reduced[item], item)).unwrap_or(job.start)
        };
        let items: Vec<usize> = core.jobs.iter().map(cheapest).collect();
        let whole = prices.whole();
        let scaled = items.iter().map(|&item| reduced[item]).sum::<i128>() - whole;
        if round % REPAIR_EVERY == 0
            && let Some(mut found) = greedy::repair(core, &reduced, steps)
        {
            let budget = *steps + SWAP_ROUNDS * core.items.len() as u64;
            swap::improve(core, &mut found, budget.min(work_limit), steps);
            if core.value(&found) < core.value(&best.items) {
                best.items = found;
            }
        }
        since += 1;
        if scaled > best_scaled {
            let bound = ceil(scaled);
            (best_scaled, since) = (scaled, 0);
            best = PricedSelection { items: best.items, bound, reduced, whole };
        }
        let target = core.value(&best.items);
        if best.bound >= target || *steps >= work_limit || step == 0 {
            break;
        }
        if since == PATIENCE {
            (step, since) = (step / 2, 0);
        }
        prices.follow(core, &items, step * (SCALE * target - scaled));
    }
    best
}

/// The minimum whole value that is not below a scaled one.
pub(super) fn ceil(scaled: i128) -> i128 {
    -(-scaled).div_euclid(SCALE)
}

impl ResourcePrices {
    /// Moves prices along the subgradient at `items`: up where too much is taken, down where
    /// something is left, by `push` (in parts of [`STEP`]) over its length.
    fn follow(&mut self, core: &Core, items: &[usize], push: i128) {
        let mut cells = vec![-FINE; core.cell_count];
        for &item in items {
            core.cells_of(item).iter().for_each(|&cell| cells[cell as usize] += FINE);
        }
        let rows: [i128; ROWS] = std::array::from_fn(|at| {
            let Some((row, _)) = self.rows[at] else { return 0 };
            let weight = |&item: &usize| i128::from(core.items[item].weights[at] >> row.shift);
            (items.iter().map(weight).sum::<i128>() - row.limit) * FINE / row.unit
        });
        let prices = || self.cells.iter().copied().chain(self.rows.iter().map(of_row));
        let slopes = || cells.iter().copied().chain(rows);
        // What is free and stays free does not count.
        let moving = slopes().zip(prices()).filter(|(slope, price)| *slope > 0 || *price > 0);
        let length: i128 = moving.map(|(slope, _)| slope * slope).sum();
        if length == 0 {
            return;
        }
        // Any price is a valid one; the clamp keeps sums within `i128`.
        let moved = |price: i128, slope: i128| {
            let by = push.saturating_mul(slope * FINE) / STEP / length;
            price.saturating_add(by).clamp(0, MOST_PRICE)
        };
        for (price, slope) in self.cells.iter_mut().zip(&cells) {
            *price = moved(*price, *slope);
        }
        for (row, slope) in self.rows.iter_mut().zip(rows) {
            if let Some((_, price)) = row {
                *price = moved(*price, slope);
            }
        }
    }
}

fn of_row(row: &Option<(Row, i128)>) -> i128 {
    row.map_or(0, |(_, price)| price)
}
