//! Which processors a job had, for output formats that name them: policies on like processors
//! only count them.

use tradewind_model::Time;

use crate::kernel::Run;
use crate::workload::Workload;

/// Processors `first..=last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The lowest.
    pub first: u32,
    /// The highest.
    pub last: u32,
}

/// Gives each job the lowest free processors, in the order of starts; by index of the workload's
/// jobs, ascending. Ends come before starts within a second, except of jobs of no length.
pub fn place(workload: &Workload, run: &Run) -> Vec<Vec<Range>> {
    const END: u8 = 0;
    const START: u8 = 1;
    const END_AT_ONCE: u8 = 2;
    let mut events: Vec<(Time, u8, usize)> = Vec::with_capacity(run.jobs.len() * 2);
    for (job, ran) in run.jobs.iter().enumerate() {
        let end = if ran.start == ran.end { END_AT_ONCE } else { END };
        events.push((ran.start, START, job));
        events.push((ran.end, end, job));
    }
    // A job of no length goes before every other start of its second and gives its processors
    // back at once: so it always finds enough and never stands in another's way.
    events.retain(|(_, class, _)| *class != END_AT_ONCE);
    let momentary = |job: usize| run.jobs[job].start == run.jobs[job].end;
    events.sort_unstable_by_key(|&(at, class, job)| (at, class, !momentary(job), job));
    let mut free = vec![Range { first: 0, last: workload.processors.saturating_sub(1) }];
    let mut places: Vec<Vec<Range>> = vec![Vec::new(); run.jobs.len()];
    for (_, class, job) in events {
        if class == END {
            give(&mut free, &places[job]);
            continue;
        }
        places[job] = take(&mut free, workload.jobs[job].processors);
        if momentary(job) {
            give(&mut free, &places[job]);
        }
    }
    places
}

/// The lowest `wanted` processors, or as many as there are.
fn take(free: &mut Vec<Range>, mut wanted: u32) -> Vec<Range> {
    let mut taken = Vec::new();
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
    taken
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
