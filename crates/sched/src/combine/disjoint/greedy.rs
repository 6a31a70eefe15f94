//! Selections that keep every rule, made one job after the other.

use super::core::{Core, ROWS};

/// What is taken and what is left, while a selection is made.
#[derive(Debug)]
pub(super) struct Remaining<'a> {
    core: &'a Core,
    cells: Vec<bool>,
    left: [i64; ROWS],
    /// By job, the minimum that it weighs.
    min: Vec<[i64; ROWS]>,
    /// The sums of that over the open jobs.
    reserved: [i64; ROWS],
}

impl<'a> Remaining<'a> {
    /// Nothing taken, all jobs open.
    pub(super) fn new(core: &'a Core) -> Remaining<'a> {
        let of_row = |job: &std::ops::Range<usize>, row: usize| {
            let weights = core.items[job.clone()].iter().map(|item| item.weights[row]);
            weights.min().unwrap_or_default()
        };
        let min: Vec<[i64; ROWS]> =
            core.jobs.iter().map(|job| std::array::from_fn(|row| of_row(job, row))).collect();
        let reserved = std::array::from_fn(|row| min.iter().map(|min| min[row]).sum());
        Remaining { core, cells: vec![false; core.cell_count], left: core.limits, min, reserved }
    }

    /// Whether the open `job` may have `item` and the other open jobs their least.
    pub(super) fn fits(&self, job: usize, item: usize) -> bool {
        let weights = &self.core.items[item].weights;
        let rows = (0..ROWS)
            .all(|row| weights[row] <= self.left[row] - (self.reserved[row] - self.min[job][row]));
        rows && self.core.cells_of(item).iter().all(|&cell| !self.cells[cell as usize])
    }

    /// Closes `job` with an item that fits.
    pub(super) fn take(&mut self, job: usize, item: usize) {
        self.change(job, item, 1);
    }

    /// Opens `job` again.
    pub(super) fn give(&mut self, job: usize, item: usize) {
        self.change(job, item, -1);
    }

    fn change(&mut self, job: usize, item: usize, sign: i64) {
        for row in 0..ROWS {
            // A row without a limit only ever sees sums that fit.
            self.left[row] -= sign * self.core.items[item].weights[row];
            self.reserved[row] -= sign * self.min[job][row];
        }
        for &cell in self.core.cells_of(item) {
            self.cells[cell as usize] = sign > 0;
        }
    }
}

/// A selection by prices: jobs that lose most by their second choice come first, each takes the
/// cheapest item at those prices (`reduced`, by item) that fits. Then each job in turn takes the
/// item of best value beside the others, until nothing gets better. `None` if a job finds nothing.
pub(super) fn repair(core: &Core, reduced: &[i128], steps: &mut u64) -> Option<Vec<usize>> {
    let mut taken = Remaining::new(core);
    let mut items = vec![usize::MAX; core.jobs.len()];
    for job in by_regret(core, reduced) {
        *steps += core.jobs[job].len() as u64;
        let fitting = core.jobs[job].clone().filter(|&item| taken.fits(job, item));
        let item = fitting.min_by_key(|&item| (reduced[item], item))?;
        taken.take(job, item);
        items[job] = item;
    }
    polish(core, &mut taken, &mut items, steps);
    Some(items)
}

/// Rounds in which each job may move; they end by themselves, and mostly after two.
const MOST_ROUNDS: usize = 10;

fn polish(core: &Core, taken: &mut Remaining<'_>, items: &mut [usize], steps: &mut u64) {
    for _ in 0..MOST_ROUNDS {
        let mut moved = false;
        for (job, mine) in items.iter_mut().enumerate() {
            *steps += core.jobs[job].len() as u64;
            taken.give(job, *mine);
            let worth = |item: usize| core.items[item].value;
            let better = core.jobs[job].clone().filter(|&item| worth(item) < worth(*mine));
            let best = better.filter(|&item| taken.fits(job, item)).min_by_key(|&item| worth(item));
            moved |= best.is_some();
            *mine = best.unwrap_or(*mine);
            taken.take(job, *mine);
        }
        if !moved {
            break;
        }
    }
}

/// Jobs by what they lose with their second choice, the most first.
fn by_regret(core: &Core, reduced: &[i128]) -> Vec<usize> {
    let regret = |job: usize| {
        let (mut first, mut second) = (i128::MAX, i128::MAX);
        for &price in &reduced[core.jobs[job].clone()] {
            if price < first {
                (first, second) = (price, first);
            } else {
                second = second.min(price);
            }
        }
        second.saturating_sub(first)
    };
    let mut jobs: Vec<usize> = (0..core.jobs.len()).collect();
    jobs.sort_by_cached_key(|&job| (std::cmp::Reverse(regret(job)), job));
    jobs
}
