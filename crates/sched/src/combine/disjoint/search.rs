//! Branch and bound at fixed prices, depth first.

use super::core::Core;
use super::greedy::Remaining;
use super::prices::{PricedSelection, ceil};

/// What the search gives.
#[derive(Debug)]
pub(super) struct BestKnown {
    /// By job, an item: the best known.
    pub(super) items: Vec<usize>,
    /// Whether everything else was ruled out.
    pub(super) complete: bool,
}

/// One decided job and what it may still try.
struct DecidedJob {
    job: usize,
    /// Items that fit, from the cheapest at the prices.
    items: Vec<usize>,
    next: usize,
    /// The bound without this job's item, scaled.
    others: i128,
}

struct DisjointSearch<'a> {
    core: &'a Core,
    priced: &'a PricedSelection,
    taken: Remaining<'a>,
    /// By job, the items worth a look, from the cheapest at the prices.
    order: Vec<Vec<usize>>,
    open: Vec<usize>,
    /// Σ reduced value of what is taken, minus what all that there is costs.
    so_far: i128,
    items: Vec<usize>,
    best: Vec<usize>,
    value: i128,
    steps: &'a mut u64,
}

/// Goes through all selections better than that of `priced`, as far as its prices do not rule
/// them out, until `steps` reach `work_limit`.
pub(super) fn search(
    core: &Core,
    priced: &PricedSelection,
    work_limit: u64,
    steps: &mut u64,
) -> BestKnown {
    let value = core.value(&priced.items);
    let mut search = DisjointSearch {
        core,
        priced,
        taken: Remaining::new(core),
        order: worth_a_look(core, priced, value),
        open: (0..core.jobs.len()).collect(),
        so_far: -priced.whole,
        items: priced.items.clone(),
        best: priced.items.clone(),
        value,
        steps,
    };
    let complete = search.run(work_limit);
    BestKnown { items: search.best, complete }
}

/// By job, the items that may be in a better selection, sorted.
fn worth_a_look(core: &Core, priced: &PricedSelection, value: i128) -> Vec<Vec<usize>> {
    let price = |&item: &usize| (priced.reduced[item], item);
    let cheapest = |job: &std::ops::Range<usize>| job.clone().min_by_key(price);
    let root: i128 = core.jobs.iter().filter_map(cheapest).map(|it| priced.reduced[it]).sum();
    let of_job = |job: &std::ops::Range<usize>| {
        let min = cheapest(job).map_or(0, |item| priced.reduced[item]);
        let others = root - priced.whole - min;
        let better = |item: &usize| ceil(others + priced.reduced[*item]) < value;
        let mut items: Vec<usize> = job.clone().filter(better).collect();
        items.sort_unstable_by_key(price);
        items
    };
    core.jobs.iter().map(of_job).collect()
}

impl DisjointSearch<'_> {
    /// Whether it came to the end.
    fn run(&mut self, work_limit: u64) -> bool {
        let mut path: Vec<DecidedJob> = self.branch().into_iter().collect();
        while let Some(top) = path.last_mut() {
            if top.next > 0 {
                let item = top.items[top.next - 1];
                self.so_far -= self.priced.reduced[item];
                self.taken.give(top.job, item);
            }
            let item = top.items.get(top.next).copied();
            let Some(item) = item.filter(|&item| self.may_improve(top.others, item)) else {
                let job = path.pop().map(|branch| branch.job);
                self.open.extend(job);
                continue;
            };
            if *self.steps >= work_limit {
                return false;
            }
            top.next += 1;
            self.so_far += self.priced.reduced[item];
            self.taken.take(top.job, item);
            self.items[top.job] = item;
            path.extend(self.branch());
        }
        true
    }

    fn may_improve(&self, others: i128, item: usize) -> bool {
        ceil(others + self.priced.reduced[item]) < self.value
    }

    /// The job to decide next: the one that loses most by its second choice. `None` if nothing
    /// better can follow, or all jobs are decided, which is a better selection then.
    fn branch(&mut self) -> Option<DecidedJob> {
        let mut bound = self.so_far;
        let mut chosen: Option<(i128, usize, i128)> = None;
        for at in 0..self.open.len() {
            let job = self.open[at];
            let (first, second) = self.first_two(job);
            let first = first?;
            bound += first;
            let regret = second.map_or(i128::MAX, |second| second - first);
            // Positions in `open` change; jobs do not.
            let better = |&(max, other, _): &(i128, usize, i128)| {
                regret > max || (regret == max && job < self.open[other])
            };
            if chosen.as_ref().is_none_or(better) {
                chosen = Some((regret, at, first));
            }
        }
        if ceil(bound) >= self.value {
            return None;
        }
        let Some((_, at, first)) = chosen else {
            // The bound of a decided selection may be below its value.
            if self.core.value(&self.items) < self.value {
                self.value = self.core.value(&self.items);
                self.best.clone_from(&self.items);
            }
            return None;
        };
        let job = self.open.swap_remove(at);
        *self.steps += self.order[job].len() as u64;
        let fitting = self.order[job].iter().copied().filter(|&item| self.taken.fits(job, item));
        Some(DecidedJob { job, items: fitting.collect(), next: 0, others: bound - first })
    }

    /// The reduced values of the two cheapest items that fit.
    fn first_two(&mut self, job: usize) -> (Option<i128>, Option<i128>) {
        let mut looks = 0;
        let fitting = self.order[job].iter().filter(|&&item| {
            looks += 1;
            self.taken.fits(job, item)
        });
        let mut two = fitting.take(2).map(|&item| self.priced.reduced[item]);
        let found = (two.next(), two.next());
        drop(two);
        *self.steps += looks;
        found
    }
}
