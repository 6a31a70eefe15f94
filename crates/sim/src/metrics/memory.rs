//! Memory of shared nodes: how much of it is held, and what of the free processors cannot be used.

use std::collections::BTreeSet;

use tradewind_model::{PoolId, Time};

use super::{Better, Entry, Unit, Window, entry, quotient, stays};
use crate::result::Run;
use crate::workload::{Job, Workload};

/// The measures, over all jobs, within the window; none where memory is not counted. O(n·g) for n
/// jobs on g nodes. Without outages.
pub(super) fn entries(workload: &Workload, run: &Run, window: Window) -> Vec<Entry> {
    let pools = &workload.pools;
    if !pools.counts_memory() {
        return Vec::new();
    }
    let mut nodes = Nodes::of(workload);
    let memory: i128 = nodes.free.iter().map(|(_, memory)| i128::from(*memory)).sum();
    let mut sums = MemorySums::default();
    let mut last = window.from;
    let mut waiting = BTreeSet::new();
    for (at, change) in changes(workload, run) {
        let span = i128::from(window.seconds_of(last, at));
        if span > 0 {
            let free: i128 = nodes.free.iter().map(|(_, memory)| i128::from(*memory)).sum();
            sums.held += (memory - free) * span;
            if let Some((_, head)) = waiting.first() {
                let found = nodes.look(&workload.jobs[*head]);
                sums.blocked += i128::from(found.blocked) * span;
                sums.fragmented += if found.is_fragmented { span } else { 0 };
            }
        }
        last = at.max(last);
        match change {
            MemoryChange::Waits(job) => _ = waiting.insert((workload.jobs[job].submit, job)),
            MemoryChange::Leaves(job) => _ = waiting.remove(&(workload.jobs[job].submit, job)),
            MemoryChange::Takes(pool, tasks, memory) => nodes.take(pool, tasks, memory),
            MemoryChange::Gives(pool, tasks, memory) => nodes.give(pool, tasks, memory),
        }
    }
    let span = i128::from(window.span().0);
    let processors = i128::from(pools.nodes());
    let ratio = |name, better, of, by| entry(name, Unit::Ratio, better, quotient(of, by));
    vec![
        ratio("memory_utilisation", Better::Higher, sums.held, memory * span),
        ratio("blocked_processors", Better::Lower, sums.blocked, processors * span),
        ratio("fragmented_time", Better::Lower, sums.fragmented, span),
    ]
}

#[derive(Default)]
struct MemorySums {
    held: i128,
    blocked: i128,
    fragmented: i128,
}

/// In the order within a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MemoryChange {
    Gives(PoolId, u32, u64),
    Waits(usize),
    Leaves(usize),
    Takes(PoolId, u32, u64),
}

/// All of them, in the order of time.
fn changes(workload: &Workload, run: &Run) -> Vec<(Time, MemoryChange)> {
    let mut all = Vec::with_capacity(6 * run.jobs.len());
    for (index, (job, ran)) in workload.jobs.iter().zip(&run.jobs).enumerate() {
        all.push((job.submit, MemoryChange::Waits(index)));
        all.push((ran.start, MemoryChange::Leaves(index)));
        for stay in stays::of_job(workload, run, index) {
            let memory = memory_of(job) * u64::from(stay.nodes);
            all.push((stay.start, MemoryChange::Takes(stay.pool, stay.nodes, memory)));
            all.push((stay.end, MemoryChange::Gives(stay.pool, stay.nodes, memory)));
        }
    }
    // A job of 0 s takes after it gives: sums stay right, as nothing is read within a second.
    all.sort_unstable();
    all
}

fn memory_of(job: &Job) -> u64 {
    u64::from(job.terms.as_ref().and_then(|terms| terms.memory).unwrap_or(0))
}

/// Free processors and memory, by node.
struct Nodes {
    free: Vec<(i64, i64)>,
}

/// What a waiting job would find.
struct Found {
    /// Free processors that cannot take a task of it, as the memory of their nodes is short.
    blocked: i64,
    /// Whether enough processors and memory are free in sum, and too few of them together.
    is_fragmented: bool,
}

impl Nodes {
    fn of(workload: &Workload) -> Nodes {
        let pools = workload.pools.iter();
        let memory = |id| workload.pools.memory(id).map_or(0, i64::from);
        Nodes { free: pools.map(|(id, pool)| (i64::from(pool.nodes), memory(id))).collect() }
    }

    fn take(&mut self, pool: PoolId, tasks: u32, memory: u64) {
        let free = &mut self.free[pool.index()];
        *free = (free.0 - i64::from(tasks), free.1 - memory as i64);
    }

    fn give(&mut self, pool: PoolId, tasks: u32, memory: u64) {
        let free = &mut self.free[pool.index()];
        *free = (free.0 + i64::from(tasks), free.1 + memory as i64);
    }

    fn look(&self, job: &Job) -> Found {
        let (each, wanted) = (memory_of(job) as i64, i64::from(job.processors));
        let (mut processors, mut memory, mut tasks) = (0, 0, 0);
        for (free, left) in &self.free {
            processors += free;
            memory += left;
            tasks += if each > 0 { (*free).min(left / each) } else { *free };
        }
        let in_sum = processors >= wanted && memory >= wanted.saturating_mul(each);
        Found { blocked: processors - tasks, is_fragmented: in_sum && tasks < wanted }
    }
}
