//! Which processors a job had, for output formats that name them: policies on like processors
//! only count them.

use tradewind_model::{Pools, Share, Time};

use crate::result::{Lost, Ran, Run};
use crate::workload::Workload;

/// Processors `first..=last`, numbered through all pools in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Lowest number of a processor.
    pub first: u32,
    /// Highest number of a processor, inclusive.
    pub last: u32,
}

/// Who had which processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// By index of the workload's jobs: ascending; nothing for a job that was refused.
    pub jobs: RangeLists,
    /// By index of [`Run::lost`].
    pub lost: RangeLists,
    /// By index of [`Workload::outages`]; nothing for those after the last end.
    pub outages: RangeLists,
}

/// Many short lists, one behind the other: a piece of memory for each, got on one thread and given
/// back on another, would cost more than all the rest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RangeLists {
    all: Vec<Range>,
    /// Where each list ends.
    ends: Vec<usize>,
}

impl RangeLists {
    /// The list with this index. Panics if there is none.
    pub fn of(&self, index: usize) -> &[Range] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[index]]
    }

    /// All lists, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[Range]> {
        (0..self.ends.len()).map(|index| self.of(index))
    }
}

/// The classes of events within a second, in their order. What lasts for no time goes before what
/// is of the same class and lasts.
const END: u8 = 0;
const CLOSE: u8 = 1;
const START: u8 = 3;
const LASTS: u8 = 1;

/// A share of something that holds nodes for a while.
struct Hold {
    /// Index in the list of holders: jobs, then lost work, then outages.
    holder: usize,
    share: Share,
    start: Time,
    end: Time,
    class: u8,
}

/// Gives each share the lowest free processors of its pool, in the order of starts. Ends come
/// before starts within a second, except of jobs of no length: such a job goes before every other
/// start of its second and gives its processors back at once, so that it always finds enough and
/// never stands in another's way.
pub fn place(workload: &Workload, run: &Run) -> Places {
    let holds = holds(workload, run);
    let mut events: Vec<(Time, u8, u32)> = Vec::with_capacity(holds.len() * 2);
    for (index, hold) in (0u32..).zip(&holds) {
        let lasts = hold.start < hold.end;
        events.push((hold.start, hold.class + LASTS * u8::from(lasts), index));
        if lasts {
            events.push((hold.end, END, index));
        }
    }
    events.sort_unstable();
    let mut free = all_free(&workload.pools);
    let mut ranges: Vec<Range> = Vec::with_capacity(holds.len());
    let mut taken: Vec<std::ops::Range<usize>> = vec![0..0; holds.len()];
    for (_, class, index) in events {
        let index = index as usize;
        let free = &mut free[holds[index].share.pool.index()];
        if class == END {
            give(free, &ranges[taken[index].clone()]);
            continue;
        }
        let first = ranges.len();
        take(free, holds[index].share.nodes, &mut ranges);
        taken[index] = first..ranges.len();
        if class == CLOSE || class == START {
            give(free, &ranges[first..]);
        }
    }
    let ranges = taken.into_iter().map(|taken| &ranges[taken]);
    by_holder(workload, run, holds.iter().zip(ranges))
}

/// Puts the ranges of each holder together. `holds` are in the order of holders.
fn by_holder<'a>(
    workload: &Workload,
    run: &Run,
    holds: impl Iterator<Item = (&'a Hold, &'a [Range])>,
) -> Places {
    let mut holds = holds.peekable();
    let mut lists = |holders: std::ops::Range<usize>| {
        let mut lists = RangeLists::default();
        for holder in holders {
            while let Some((_, ranges)) = holds.next_if(|(hold, _)| hold.holder == holder) {
                lists.all.extend_from_slice(ranges);
            }
            lists.ends.push(lists.all.len());
        }
        lists
    };
    let jobs = run.jobs.len();
    let works = jobs + run.lost.len();
    Places {
        jobs: lists(0..jobs),
        lost: lists(jobs..works),
        outages: lists(works..works + workload.outages.len()),
    }
}

/// Everything that held nodes, by holder: each share for as long as its own pool needed.
fn holds(workload: &Workload, run: &Run) -> Vec<Hold> {
    let mut holds = Vec::with_capacity(run.jobs.len());
    let pools = &workload.pools;
    for (holder, (job, ran)) in workload.jobs.iter().zip(&run.jobs).enumerate() {
        let Ran { start, ref place, .. } = *ran;
        let kept = run.kept.get(&holder).copied().unwrap_or_default();
        let shares = place.shares(job.processors).filter(|_| ran.refused.is_none());
        holds.extend(shares.map(|share| {
            let end = start + job.length_after(kept, pools.pool(share.pool));
            Hold { holder, share, start, end, class: START }
        }));
    }
    for (index, Lost { job, start, end, place, before, .. }) in run.lost.iter().enumerate() {
        let of = &workload.jobs[*job];
        let holder = run.jobs.len() + index;
        holds.extend(place.shares(of.processors).map(|share| {
            let length = of.length_after(*before, pools.pool(share.pool));
            let end = (*start + length).min(*end);
            Hold { holder, share, start: *start, end, class: START }
        }));
    }
    let last = run.jobs.iter().map(|ran| ran.end).max();
    for (index, outage) in workload.outages.iter().enumerate() {
        let holder = run.jobs.len() + run.lost.len() + index;
        let tradewind_model::Outage { pool, nodes, from: start, until: end, .. } = outage.what;
        if last.is_some_and(|last| start < last) {
            let share = Share { pool, nodes };
            holds.push(Hold { holder, share, start, end, class: CLOSE });
        }
    }
    holds
}

fn all_free(pools: &Pools) -> Vec<Vec<Range>> {
    let mut first = 0;
    let range = |pool: &tradewind_model::Pool| {
        let range = Range { first, last: first + pool.nodes - 1 };
        first += pool.nodes;
        vec![range]
    };
    pools.as_slice().iter().map(range).collect()
}

/// Takes the lowest `wanted` processors, or as many as there are.
fn take(free: &mut Vec<Range>, mut wanted: u32, taken: &mut Vec<Range>) {
    let mut whole = 0;
    for range in free.iter_mut() {
        let count = range.last - range.first + 1;
        if wanted == 0 {
            break;
        }
        if count > wanted {
            taken.push(Range { first: range.first, last: range.first + wanted - 1 });
            range.first += wanted;
            break;
        }
        taken.push(*range);
        wanted -= count;
        whole += 1;
    }
    free.drain(..whole);
}

/// Puts ranges back; neighbours become one.
fn give(free: &mut Vec<Range>, ranges: &[Range]) {
    for &range in ranges {
        let at = free.partition_point(|other| other.first < range.first);
        free.insert(at, range);
        if at + 1 < free.len() && free[at].last + 1 == free[at + 1].first {
            free[at].last = free[at + 1].last;
            free.remove(at + 1);
        }
        if at > 0 && free[at - 1].last + 1 == free[at].first {
            free[at - 1].last = free[at].last;
            free.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_first_and_back_again() {
        let take = |free: &mut Vec<Range>, wanted| {
            let mut taken = Vec::new();
            super::take(free, wanted, &mut taken);
            taken
        };
        let mut free = vec![Range { first: 0, last: 9 }];
        let a = take(&mut free, 3);
        let b = take(&mut free, 2);
        give(&mut free, &a);
        let c = take(&mut free, 5);
        assert_eq!(c, [Range { first: 0, last: 2 }, Range { first: 5, last: 6 }]);
        give(&mut free, &b);
        give(&mut free, &c);
        assert_eq!(free, [Range { first: 0, last: 9 }]);
    }
}
