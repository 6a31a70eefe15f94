//! The scheduler of a site runs in virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use tradewind_model::{JobId, OutageId, Time};

use super::queue::{SiteQueue, SiteQueueEntry};
use super::{ExpectedStart, MAX_ENTRIES};

/// Equal jobs that join the queue together.
#[derive(Debug, Clone)]
pub(super) struct EqualJobs {
    /// Each of them, but for its number.
    pub(super) entry: SiteQueueEntry,
    /// Their numbers.
    pub(super) numbers: Range<u32>,
    /// How many there are; those without a number never start.
    pub(super) count: u32,
    /// Not before.
    pub(super) from: Time,
    /// Groups of which all jobs have to end first, by index; each once.
    pub(super) after: Vec<usize>,
    /// Whether it takes part: others wait for ever for one that does not.
    pub(super) joins: bool,
}

impl EqualJobs {
    /// Its jobs wait from now on.
    pub(super) fn join(&self, queue: &mut SiteQueue) {
        for job in self.numbers.clone().map(JobId) {
            queue.join(SiteQueueEntry { job, ..self.entry.clone() });
        }
    }
}

/// What a look-ahead gave.
pub(super) struct Ahead {
    /// In the order of time.
    pub(super) starts: Vec<ExpectedStart>,
    /// Groups that take part and wait for others of which the end was not reached, by index.
    pub(super) blocked: Vec<usize>,
}

/// The most moments of one look-ahead: each entry and each end may cause some.
const MAX_MOMENTS: usize = 8 * MAX_ENTRIES;

/// What happens at a moment; ends come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Ends(JobId),
    Back(OutageId),
    /// By index in the groups.
    Joins(usize),
}

/// When jobs end before their limits, as far as they do.
#[derive(Default)]
pub(super) struct Ends<'a> {
    /// Of jobs that run at the beginning.
    pub(super) running: BTreeMap<JobId, Time>,
    /// Of a job that starts; without it, all run to their limits.
    pub(super) of: Option<&'a dyn Fn(&ExpectedStart) -> Time>,
}

struct VirtualRun<'a> {
    ends: &'a Ends<'a>,
    now: Time,
    queue: SiteQueue,
    events: BinaryHeap<Reverse<(Time, Happening)>>,
    groups: Vec<EqualJobs>,
    /// By group: its jobs that have not ended.
    left: Vec<u32>,
    /// By group: how many groups have to end first.
    open: Vec<usize>,
    /// By group: those that wait for it.
    followers: BTreeMap<usize, Vec<usize>>,
    /// Groups that have not joined and may.
    to_join: usize,
    starts: Vec<ExpectedStart>,
}

/// Lets the scheduler run from `now` on until nothing waits, or the horizon of its rule. The numbers
/// of the groups ascend without gaps from 0.
pub(super) fn run(queue: SiteQueue, groups: Vec<EqualJobs>, now: Time, ends: &Ends<'_>) -> Ahead {
    let mut run = VirtualRun::new(queue, groups, now, ends);
    let until = now + run.queue.rule().horizon;
    run.moment(now);
    for _ in 0..MAX_MOMENTS {
        match run.next().filter(|at| *at <= until) {
            Some(at) => run.moment(at),
            None => break,
        }
    }
    let blocked = |index: &usize| run.groups[*index].joins && run.open[*index] > 0;
    let blocked = (0..run.groups.len()).filter(blocked).collect();
    Ahead { starts: run.starts, blocked }
}

impl<'a> VirtualRun<'a> {
    fn new(
        queue: SiteQueue,
        groups: Vec<EqualJobs>,
        now: Time,
        early: &'a Ends<'a>,
    ) -> VirtualRun<'a> {
        let end = |(at, job): (Time, JobId)| {
            (early.running.get(&job).map_or(at, |early| at.min(*early)), job)
        };
        let ends = queue.expected_ends(now).map(end);
        let ends = ends.map(|(at, job)| Reverse((at, Happening::Ends(job))));
        let back = queue.expected_back(now).map(|(at, id)| Reverse((at, Happening::Back(id))));
        let mut run = VirtualRun {
            ends: early,
            now,
            events: ends.chain(back).collect(),
            left: groups.iter().map(|group| group.count).collect(),
            open: groups.iter().map(|group| group.after.len()).collect(),
            followers: BTreeMap::new(),
            to_join: groups.iter().filter(|group| group.joins).count(),
            starts: Vec::new(),
            queue,
            groups,
        };
        for (index, group) in run.groups.iter().enumerate().filter(|(_, group)| group.joins) {
            for first in &group.after {
                run.followers.entry(*first).or_default().push(index);
            }
            if group.after.is_empty() {
                run.events.push(Reverse((group.from.max(now), Happening::Joins(index))));
            }
        }
        run
    }

    /// The next moment at which anything may start.
    fn next(&self) -> Option<Time> {
        if self.queue.waiting() == 0 && self.to_join == 0 {
            return None;
        }
        let event = self.events.peek().map(|Reverse((at, _))| *at);
        let wake = self.queue.wake().filter(|at| *at > self.now);
        event.into_iter().chain(wake).min()
    }

    /// All that happens at `at`, then a pass.
    fn moment(&mut self, at: Time) {
        self.now = at;
        while let Some(&Reverse((when, happening))) = self.events.peek()
            && when <= at
        {
            self.events.pop();
            match happening {
                Happening::Ends(job) => {
                    self.queue.ended(job, at);
                    self.ended(job);
                }
                Happening::Back(id) => self.queue.reopened(id, at),
                Happening::Joins(index) => self.join(index),
            }
        }
        let before = self.starts.len();
        self.queue.decide(at, &mut self.starts);
        let begun = self.starts[before..].iter();
        let end = |it: &ExpectedStart| self.ends.of.map_or(it.end, |end| end(it));
        self.events.extend(begun.map(|it| Reverse((end(it), Happening::Ends(it.job)))));
    }

    fn join(&mut self, index: usize) {
        self.groups[index].join(&mut self.queue);
        self.to_join -= 1;
    }

    /// Jobs that waited for the end of this one's group may join.
    fn ended(&mut self, job: JobId) {
        let index = self.groups.partition_point(|group| group.numbers.end <= job.0);
        let Some(left) = self.left.get_mut(index) else { return };
        *left = left.saturating_sub(1);
        if *left > 0 {
            return;
        }
        for follower in self.followers.remove(&index).unwrap_or_default() {
            self.open[follower] -= 1;
            if self.open[follower] == 0 {
                let from = self.groups[follower].from.max(self.now);
                self.events.push(Reverse((from, Happening::Joins(follower))));
            }
        }
    }
}
