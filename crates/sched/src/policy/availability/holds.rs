//! Running jobs: what they hold, and when that is expected back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tradewind_model::{JobId, Market, PoolId, Running, Share, Span, Time};

use super::licences::shares as licence_shares;
use super::overrun::{expected_end, expected_length};

/// A running job's nodes in one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) share: Share,
    /// Whether these are licences, which the job holds as long as the last of its nodes.
    pub(super) is_licence: bool,
    /// Memory of the pool in KiB, where it is counted.
    pub(super) memory: u32,
    pub(super) start: Time,
    /// How long the job was expected to run there.
    pub(super) length: Span,
    /// When the nodes are expected back.
    pub(super) end: Time,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    hold: Hold,
    job: JobId,
    /// The next slot of the same job.
    next: u32,
}

/// Index that stands for no slot.
const NONE: u32 = u32::MAX;
/// The job of a slot that is not used.
const NOBODY: JobId = JobId(u32::MAX);

/// All running jobs. A change costs O(log r) for r of them, and takes four bytes for each job since
/// the oldest of them: every start and every end of a replay comes by here.
#[derive(Debug, Clone, Default)]
pub(super) struct Holds {
    slots: Vec<Slot>,
    unused: Vec<u32>,
    /// By job, from `oldest` on: its first slot.
    jobs: VecDeque<u32>,
    oldest: u32,
    /// When nodes are expected back. What is not true any more stays in until it would be the
    /// first, or there is too much of it; so the first is always true.
    due: BinaryHeap<Reverse<(Time, JobId, u32)>>,
}

impl Holds {
    /// Of a market as it stands, with licences or without.
    pub(super) fn of(market: &Market, licences: bool) -> Holds {
        let mut holds = Holds::default();
        for job in market.running() {
            of_job(market, &job, licences).for_each(|hold| holds.add(job.job, hold));
        }
        holds
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.len() == self.unused.len()
    }

    pub(super) fn has(&self, job: JobId) -> bool {
        self.first(job).is_some_and(|at| self.jobs[at] != NONE)
    }

    /// Where the job's first slot is written down.
    fn first(&self, job: JobId) -> Option<usize> {
        let at = job.0.checked_sub(self.oldest)? as usize;
        (at < self.jobs.len()).then_some(at)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Hold> {
        self.slots.iter().filter(|slot| slot.job != NOBODY).map(|slot| &slot.hold)
    }

    /// Each job as often as it has pools.
    pub(super) fn jobs(&self) -> impl Iterator<Item = JobId> + '_ {
        self.slots.iter().map(|slot| slot.job).filter(|job| *job != NOBODY)
    }

    /// When the first nodes are expected back.
    pub(super) fn next_end(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((end, ..))| *end)
    }

    /// A job holds nodes of one pool more.
    pub(super) fn add(&mut self, job: JobId, hold: Hold) {
        if self.jobs.is_empty() {
            self.oldest = job.0;
        }
        while job.0 < self.oldest {
            self.jobs.push_front(NONE);
            self.oldest -= 1;
        }
        let at = (job.0 - self.oldest) as usize;
        if self.jobs.len() <= at {
            self.jobs.resize(at + 1, NONE);
        }
        let slot = Slot { hold, job, next: self.jobs[at] };
        let index = match self.unused.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.jobs[at] = index;
        self.expect(hold.end, job, index);
    }

    fn expect(&mut self, end: Time, job: JobId, slot: u32) {
        if self.due.len() > 2 * self.slots.len() + 64 {
            let mut due = std::mem::take(&mut self.due).into_vec();
            due.retain(|Reverse(entry)| self.is_true(entry));
            self.due = due.into();
        }
        self.due.push(Reverse((end, job, slot)));
    }

    fn is_true(&self, (end, job, slot): &(Time, JobId, u32)) -> bool {
        let Slot { hold, job: other, .. } = self.slots[*slot as usize];
        other == *job && hold.end == *end
    }

    /// A job gives back its nodes, or those of one pool, to `back`.
    pub(super) fn remove(&mut self, job: JobId, only: Option<PoolId>, mut back: impl FnMut(Hold)) {
        let Some(first) = self.first(job) else { return };
        let (mut index, mut kept) = (self.jobs[first], NONE);
        while index != NONE {
            let slot = &mut self.slots[index as usize];
            let next = slot.next;
            match only.is_some_and(|pool| slot.hold.share.pool != pool) {
                true => {
                    slot.next = kept;
                    kept = index;
                }
                false => {
                    slot.job = NOBODY;
                    self.unused.push(index);
                    back(slot.hold);
                }
            }
            index = next;
        }
        self.jobs[first] = kept;
        while self.jobs.front() == Some(&NONE) {
            self.jobs.pop_front();
            self.oldest += 1;
        }
        self.clean();
    }

    /// A job gives back at `leaves` what it would have held for longer; `back` gets each of its holds
    /// as it was.
    pub(super) fn shorten(&mut self, job: JobId, leaves: Time, mut back: impl FnMut(Hold)) {
        let Some(first) = self.first(job) else { return };
        let mut index = self.jobs[first];
        while index != NONE {
            let slot = &mut self.slots[index as usize];
            let next = slot.next;
            if leaves < slot.hold.end {
                back(slot.hold);
                slot.hold.end = leaves;
                self.expect(leaves, job, index);
            }
            index = next;
        }
        self.clean();
    }

    /// Drops from the front what is not true any more.
    fn clean(&mut self) {
        while let Some(Reverse(first)) = self.due.peek()
            && !self.is_true(first)
        {
            self.due.pop();
        }
    }

    /// Expects every job to run for as long in all as `length` says, if it says so.
    pub(super) fn expect_all(&mut self, length: impl Fn(JobId, &Hold) -> Option<Span>) {
        let mut due = Vec::with_capacity(self.slots.len());
        for (index, Slot { hold, job, .. }) in self.slots.iter_mut().enumerate() {
            if *job != NOBODY {
                hold.end = length(*job, hold).map_or(hold.end, |length| hold.start + length);
                due.push(Reverse((hold.end, *job, index as u32)));
            }
        }
        self.due = due.into();
    }

    /// Expects jobs to run on that should have ended by `now`; `length` says for how long in all,
    /// if more is known of the job than how long it was expected to run. `note` gets what nodes they
    /// hold from now on.
    pub(super) fn extend(
        &mut self,
        now: Time,
        length: impl Fn(JobId, &Hold) -> Option<Span>,
        mut note: impl FnMut(&Hold),
    ) {
        while let Some(&Reverse((end, job, index))) = self.due.peek()
            && end <= now
        {
            self.due.pop();
            let Slot { hold, job: other, .. } = &mut self.slots[index as usize];
            if *other == job && hold.end == end {
                hold.end = match length(job, hold) {
                    Some(length) => hold.start + length,
                    None => expected_end(hold.start, hold.length, now),
                };
                note(hold);
                let end = hold.end;
                self.due.push(Reverse((end, job, index)));
                self.extend_licences(job, end);
            }
        }
        self.clean();
    }

    /// A job holds nodes until then, and its licences no shorter.
    fn extend_licences(&mut self, job: JobId, end: Time) {
        let Some(first) = self.first(job) else { return };
        let mut index = self.jobs[first];
        while index != NONE {
            let slot = &mut self.slots[index as usize];
            let next = slot.next;
            if slot.hold.is_licence && slot.hold.end < end {
                slot.hold.end = end;
                self.expect(end, job, index);
            }
            index = next;
        }
    }
}

/// What a running job has of each pool, and of each licence where these are wanted, too.
pub(super) fn of_job(
    market: &Market,
    job: &Running<'_>,
    licences: bool,
) -> impl Iterator<Item = Hold> {
    let (start, demand, notice, now) = (job.start, job.demand, job.notice(), market.now());
    let mut longest = (start, Span(1));
    let of_nodes = |share: Share| {
        let pool = market.pools().pool(share.pool);
        let (length, elapsed) = (pool.length_of(demand), now - start);
        let end = start + expected_length(pool, demand, elapsed);
        let end = notice.map_or(end, |it| end.min(it.leaves.max(now + Span(1))));
        longest = longest.max((end, length));
        let memory = demand.terms().memory.unwrap_or(0).saturating_mul(share.nodes);
        Hold { share, is_licence: false, memory, start, length, end }
    };
    let mut holds: Vec<Hold> = job.shares().map(of_nodes).collect();
    if licences {
        let (end, length) = longest;
        let of = |share| Hold { share, is_licence: true, memory: 0, start, length, end };
        holds.extend(licence_shares(market.pools(), demand).map(of));
    }
    holds.into_iter()
}
