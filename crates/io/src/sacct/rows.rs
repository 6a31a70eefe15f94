//! Jobs in little memory: 56 bytes each, in blocks, so that no list of all jobs is ever copied.

use super::state::Status;

/// Stands for what is missing.
pub(super) const NONE: u32 = u32::MAX;
/// A limit that is that of the partition.
pub(super) const OF_PARTITION: u32 = u32::MAX - 1;
/// How many jobs one log may have.
pub(super) const MOST: usize = 100_000_000;

const BLOCK: usize = 1 << 16;

/// One job; times in seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct SacctRow {
    /// When it arrived in the queue, since 1970.
    pub(super) submit: u32,
    pub(super) wait: u32,
    pub(super) run: u32,
    /// Processors (or nodes) that it held, or else requested.
    pub(super) processors: u32,
    pub(super) limit: u32,
    /// Requested memory per processor in kibibytes.
    pub(super) memory: u32,
    pub(super) job: u32,
    pub(super) part: u32,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) application: u32,
    pub(super) queue: u16,
    pub(super) partition: u16,
    pub(super) status: Status,
    /// Whether it had ended.
    pub(super) ended: bool,
}

impl SacctRow {
    pub(super) fn started(&self) -> bool {
        self.wait != NONE
    }

    /// When it started, since 1970; [`NONE`] if it did not.
    pub(super) fn start(&self) -> u32 {
        if self.started() { self.submit.saturating_add(self.wait) } else { NONE }
    }

    /// When it left its nodes, as far as this is known.
    pub(super) fn end(&self) -> u32 {
        let run = if self.run == NONE { 0 } else { self.run };
        self.start().saturating_add(run)
    }
}

/// All jobs, and after [`Rows::settle`] their order.
#[derive(Debug, Default)]
pub(super) struct Rows {
    blocks: Vec<Vec<SacctRow>>,
    order: Vec<u32>,
}

impl Rows {
    pub(super) fn push(&mut self, row: SacctRow) {
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            let room = if self.blocks.is_empty() { 0 } else { BLOCK };
            self.blocks.push(Vec::with_capacity(room));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(row);
        }
    }

    /// How many were pushed.
    pub(super) fn len(&self) -> usize {
        let last = self.blocks.last().map_or(0, Vec::len);
        self.blocks.len().saturating_sub(1) * BLOCK + last
    }

    fn at(&self, index: u32) -> SacctRow {
        self.blocks[index as usize / BLOCK][index as usize % BLOCK]
    }

    /// Changes every job.
    pub(super) fn each(&mut self, mut change: impl FnMut(&mut SacctRow)) {
        self.blocks.iter_mut().flatten().for_each(&mut change);
    }

    /// Jobs in the order of the log; empty before [`Rows::settle`].
    pub(super) fn in_order(&self) -> impl Iterator<Item = SacctRow> {
        self.order.iter().map(|index| self.at(*index))
    }

    /// Puts the jobs in order of submission, then of Slurm's numbers, and drops repeated ones: of
    /// rows of one run of a job the most complete, then the last one stays; a row of the job before
    /// it started is dropped where the same submission has started. Says how many were dropped.
    /// O(n log n).
    pub(super) fn settle(&mut self) -> usize {
        let count = self.len() as u32;
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_unstable_by_key(|index| {
            let row = self.at(*index);
            (row.submit, row.job, row.part, row.start(), row.ended, *index)
        });
        let mut kept: Vec<u32> = Vec::with_capacity(order.len());
        for index in order {
            let row = self.at(index);
            let before = kept.last().map(|last| self.at(*last));
            let same =
                before.filter(|it| (it.submit, it.job, it.part) == (row.submit, row.job, row.part));
            match same {
                // Rows that never started come after those that did.
                Some(it) if it.started() && !row.started() => {}
                Some(it) if it.start() == row.start() => {
                    if let Some(last) = kept.last_mut() {
                        *last = index;
                    }
                }
                _ => kept.push(index),
            }
        }
        self.order = kept;
        count as usize - self.order.len()
    }
}
