//! Several limits: the sums that the first jobs can reach, job after job.

use super::cut::{Cut, PricedObjective};
use super::dominance::{COMPARED, undominated};
use super::{FoundChoice, Table};

/// Labels kept of each stage: few at first, which gives a good selection, then more.
const WIDTHS: [usize; 4] = [1 << 6, 1 << 10, 1 << 13, 1 << 16];
/// Labels of one stage before those without room are dropped.
const MOST_AT_ONCE: usize = 1 << 14;

/// The sums of some alternatives of the jobs so far.
#[derive(Debug, Clone)]
struct Label {
    sums: Vec<i64>,
    /// The bound's sum so far; with the minimum of the remaining jobs it is what counts.
    priced: i128,
    /// Its predecessor's place in the stage before.
    parent: u32,
    /// The job's alternative.
    chosen: u32,
}

/// A search that keeps so many labels of each stage.
struct Pass<'a> {
    table: &'a Table,
    /// Jobs, those first on which most depends.
    order: Vec<usize>,
    /// Columns by which labels dominate each other.
    columns: Vec<usize>,
    /// Each with the minimum sums of the jobs from a stage on.
    cuts: Vec<(Cut, Vec<i128>)>,
    /// The priced objective, and its minimum sums.
    priced: (Cut, Vec<i128>),
    width: usize,
    work: u64,
    work_limit: u64,
    /// The minimum priced sum of a label that was dropped for want of room.
    dropped: Option<i128>,
}

/// The minimum of column `at` (of nothing: any selection) within the limits of `rows`.
pub(super) fn minimise(
    table: &Table,
    at: Option<usize>,
    rows: &[usize],
    known: Option<&[usize]>,
    work_limit: u64,
) -> FoundChoice {
    let priced = PricedObjective::new(table, at, rows);
    let value = |chosen: &[usize]| at.map_or(0, |at| i128::from(table.sum(at, chosen)));
    let mut best: Option<Vec<usize>> = known.map(<[usize]>::to_vec);
    let mut work = 0;
    let mut bound = None;
    for width in WIDTHS {
        // Only a better selection is of use.
        let most = best.as_deref().map(|best| value(best) - 1);
        let mut pass = Pass::new(table, (at, rows), &priced, most, width);
        (pass.work, pass.work_limit) = (work, work_limit);
        if let Some(found) = pass.run() {
            best = Some(found);
        }
        work = pass.work;
        bound = pass.dropped.map(|sum| priced.objective(sum));
        let Some(bound) = bound else { break };
        let settled = best.as_deref().is_some_and(|best| bound >= value(best));
        if settled || work >= work_limit {
            break;
        }
    }
    let least = best.as_deref().map(value);
    let bound = match (bound, least) {
        (Some(bound), Some(least)) => bound.min(least),
        (None, least) => least.unwrap_or_default(),
        (Some(bound), None) => {
            return FoundChoice { chosen: None, complete: false, bound, cut: None };
        }
    };
    FoundChoice {
        chosen: best,
        complete: true,
        bound,
        cut: least.map(|least| priced.within(least)),
    }
}

impl<'a> Pass<'a> {
    fn new(
        table: &'a Table,
        (at, rows): (Option<usize>, &[usize]),
        priced: &PricedObjective,
        most: Option<i128>,
        width: usize,
    ) -> Pass<'a> {
        let open = priced.open();
        let order = order(table, &open);
        let mut cuts: Vec<Cut> = rows.iter().map(|&row| Cut::column(table, row)).collect();
        cuts.extend(most.map(|most| priced.within(most)));
        cuts.extend(table.cuts.iter().cloned());
        let with_suffixes = |cut: Cut| {
            let suffixes = cut.suffixes(table, &order);
            (cut, suffixes)
        };
        let cuts = cuts.into_iter().map(with_suffixes).collect();
        let priced = with_suffixes(open);
        let mut columns: Vec<usize> = at.into_iter().chain(rows.iter().copied()).collect();
        columns.dedup();
        Pass { table, order, columns, cuts, priced, width, work: 0, work_limit: 0, dropped: None }
    }

    /// The best selection that the cuts leave, or that is left of those which were kept.
    fn run(&mut self) -> Option<Vec<usize>> {
        let sums = vec![0; self.table.limits.len()];
        let mut stages = vec![vec![Label { sums, priced: 0, parent: 0, chosen: 0 }]];
        for stage in 0..self.order.len() {
            let next = self.extend(stage, &stages[stage]);
            stages.push(next);
        }
        let last = stages.last()?;
        let key = |label: &Label| self.columns.first().map(|&column| label.sums[column]);
        let mut at = (0..last.len()).min_by_key(|&at| key(&last[at]))?;
        let mut chosen = vec![0; self.order.len()];
        for (stage, &job) in self.order.iter().enumerate().rev() {
            let label = &stages[stage + 1][at];
            chosen[job] = label.chosen as usize;
            at = label.parent as usize;
        }
        Some(chosen)
    }

    /// The labels after one more job.
    fn extend(&mut self, stage: usize, labels: &[Label]) -> Vec<Label> {
        let job = &self.table.jobs[self.order[stage]];
        let mut next = Vec::new();
        for (parent, label) in labels.iter().enumerate() {
            if self.work >= self.work_limit && parent >= WIDTHS[0] {
                // Out of work: what is left is treated as if there were no room for it.
                self.drop(label.priced + self.priced.1[stage]);
                continue;
            }
            self.work += job.len() as u64;
            for (chosen, numbers) in job.iter().enumerate() {
                let sums: Vec<i64> = label.sums.iter().zip(numbers).map(|(a, b)| a + b).collect();
                let fits =
                    |(cut, least): &(Cut, Vec<i128>)| cut.of(&sums) + least[stage + 1] <= cut.limit;
                if self.cuts.iter().all(fits) {
                    let priced = self.priced.0.of(&sums);
                    let (parent, chosen) = (parent as u32, chosen as u32);
                    next.push(Label { sums, priced, parent, chosen });
                }
            }
            if next.len() > MOST_AT_ONCE.max(4 * self.width) {
                self.settle(&mut next, stage);
            }
        }
        self.settle(&mut next, stage);
        next
    }

    /// Drops what is dominated, and what there is no room for; the best bounds come first.
    fn settle(&mut self, next: &mut Vec<Label>, stage: usize) {
        let columns = &self.columns;
        let numbers = |label: &Label| -> Vec<i64> {
            columns.iter().map(|&column| label.sums[column]).collect()
        };
        undominated(next, numbers, COMPARED);
        next.sort_by_key(|label| label.priced);
        if let Some(least) = next.get(self.width).map(|label| label.priced) {
            next.truncate(self.width);
            self.drop(least + self.priced.1[stage + 1]);
        }
    }

    fn drop(&mut self, sum: i128) {
        self.dropped = Some(self.dropped.map_or(sum, |least| least.min(sum)));
    }
}

/// Jobs by falling spread of what their alternatives add to the priced sum.
fn order(table: &Table, priced: &Cut) -> Vec<usize> {
    let spread = |job: &Vec<Vec<i64>>| {
        let of = || job.iter().map(|numbers| priced.of(numbers));
        of().max().unwrap_or_default() - of().min().unwrap_or_default()
    };
    let spreads: Vec<i128> = table.jobs.iter().map(spread).collect();
    let mut order: Vec<usize> = (0..table.jobs.len()).collect();
    order.sort_by_key(|&job| std::cmp::Reverse(spreads[job]));
    order
}
