//! Local search: a job gets a better item, and those in its way move aside.

use super::core::Core;
use super::greedy::Remaining;

/// Jobs in one's way that may be asked to move.
const MOST_IN_THE_WAY: usize = 4;
/// Better items that a job tries, the best first.
const MOST_TRIED: usize = 12;
/// Looks that one try may take.
const LOOKS: u64 = 400;

/// Makes `items`, which keep all rules, better until nothing gets better or `steps` reach
/// `work_limit`: each job tries its better items; jobs that hold what such an item needs are
/// placed again beside it, as well as a search of a few hundred looks can.
pub(super) fn improve(core: &Core, items: &mut [usize], work_limit: u64, steps: &mut u64) {
    let mut holders = vec![usize::MAX; core.cell_count];
    let mut taken = Remaining::new(core);
    for (job, &item) in items.iter().enumerate() {
        taken.take(job, item);
        hold(core, &mut holders, item, job);
    }
    let mut swap = Swap { core, holders, taken, steps };
    loop {
        let mut any = false;
        for job in 0..items.len() {
            if *swap.steps >= work_limit {
                return;
            }
            any |= swap.try_better(items, job);
        }
        if !any {
            return;
        }
    }
}

struct Swap<'a> {
    core: &'a Core,
    /// By cell, the job that has it.
    holders: Vec<usize>,
    taken: Remaining<'a>,
    steps: &'a mut u64,
}

fn hold(core: &Core, holders: &mut [usize], item: usize, job: usize) {
    for &cell in core.cells_of(item) {
        holders[cell as usize] = job;
    }
}

impl Swap<'_> {
    fn value(&self, item: usize) -> i128 {
        self.core.items[item].value
    }

    /// Whether the selection became better.
    fn try_better(&mut self, items: &mut [usize], job: usize) -> bool {
        let mine = items[job];
        *self.steps += self.core.jobs[job].len() as u64;
        let mut better: Vec<usize> = self.core.jobs[job].clone().collect();
        better.retain(|&item| self.value(item) < self.value(mine));
        better.sort_unstable_by_key(|&item| (self.value(item), item));
        better.into_iter().take(MOST_TRIED).any(|item| self.try_item(items, job, item))
    }

    fn try_item(&mut self, items: &mut [usize], job: usize, item: usize) -> bool {
        let mut group: Vec<usize> = Vec::new();
        for &cell in self.core.cells_of(item) {
            let holder = self.holders[cell as usize];
            if holder != usize::MAX && holder != job && !group.contains(&holder) {
                group.push(holder);
            }
        }
        if group.len() > MOST_IN_THE_WAY {
            return false;
        }
        let before: i128 = group.iter().map(|&other| self.value(items[other])).sum();
        let room = before + self.value(items[job]) - self.value(item);
        for &other in group.iter().chain([&job]) {
            self.taken.give(other, items[other]);
            hold(self.core, &mut self.holders, items[other], usize::MAX);
        }
        let mut found = None;
        if self.taken.fits(job, item) {
            self.taken.take(job, item);
            found = self.place(&group, room);
            if found.is_none() {
                self.taken.give(job, item);
            }
        }
        let better = found.is_some();
        if let Some(others) = found {
            items[job] = item;
            for (&other, at) in group.iter().zip(others) {
                items[other] = at;
            }
            hold(self.core, &mut self.holders, item, job);
        } else {
            self.taken.take(job, items[job]);
            hold(self.core, &mut self.holders, items[job], job);
        }
        for &other in &group {
            if !better {
                self.taken.take(other, items[other]);
            }
            hold(self.core, &mut self.holders, items[other], other);
        }
        better
    }

    /// Items for `group`, taken, whose values sum to less than `room`: the best that depth first
    /// finds within its looks. Takes nothing if there are none.
    fn place(&mut self, group: &[usize], room: i128) -> Option<Vec<usize>> {
        let looks = *self.steps + LOOKS;
        let mut at = Vec::with_capacity(group.len());
        let mut best = Best { room, items: None };
        self.descend(group, &mut at, 0, looks, &mut best);
        let items = best.items?;
        for (&job, &item) in group.iter().zip(&items) {
            self.taken.take(job, item);
        }
        Some(items)
    }

    fn descend(
        &mut self,
        group: &[usize],
        at: &mut Vec<usize>,
        value: i128,
        looks: u64,
        best: &mut Best,
    ) {
        let Some(&job) = group.get(at.len()) else {
            if value < best.room {
                *best = Best { room: value, items: Some(at.clone()) };
            }
            return;
        };
        let rest = group[at.len() + 1..].iter();
        let rest: i128 = rest.map(|&job| self.core.least_value(job)).sum();
        for item in self.core.jobs[job].clone() {
            *self.steps += 1;
            if *self.steps >= looks {
                return;
            }
            let sum = value + self.value(item);
            if sum + rest < best.room && self.taken.fits(job, item) {
                self.taken.take(job, item);
                at.push(item);
                self.descend(group, at, sum, looks, best);
                at.pop();
                self.taken.give(job, item);
            }
        }
    }
}

struct Best {
    /// Sums of value must be below this.
    room: i128,
    items: Option<Vec<usize>>,
}
