//! One queue: FCFS, EASY, conservative and what lies between, as a site that schedules for itself.
//!
//! The rule of [`backfill`](crate::policy::backfill). Remote jobs stand behind all local ones.

use std::collections::BTreeMap;

use tradewind_model::{JobId, Outage, OutageId, Profile, Span, Time};

use super::{Load, LocalScheduler, Origin, SiteJob};
use crate::policy::Promise;
use crate::policy::availability::Availability;
use crate::policy::backfill::{Depth, PoolLine, Rank, Waiting};

/// Who comes first in the queue, remote jobs behind local ones; ties go to the job that was
/// submitted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueOrder {
    /// The job that was submitted first.
    #[default]
    Arrival,
    /// The shortest expected length.
    Shortest,
}

impl QueueOrder {
    /// Every value, with its name on the command line.
    pub const ALL: [(QueueOrder, &'static str); 2] =
        [(QueueOrder::Arrival, "arrival"), (QueueOrder::Shortest, "shortest")];
}

/// The knobs of [`Plain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainSettings {
    /// How many waiting jobs hold a reservation.
    pub depth: Depth,
    /// Who comes first.
    pub turn: QueueOrder,
}

/// A site with one queue; see the module's text. Passes cost what they cost in
/// [`Backfill`](crate::policy::backfill::Backfill).
#[derive(Debug, Clone)]
pub struct Plain {
    settings: PlainSettings,
    nodes: Availability<Profile>,
    line: PoolLine,
    /// Jobs that wait, by id.
    ranks: BTreeMap<JobId, Rank>,
    /// Jobs that joined since the last pass, in that order.
    new: Vec<Waiting>,
    /// Whether the next pass looks at the whole queue.
    whole: bool,
    /// Whether jobs have joined that hold no reservation.
    is_on_request: bool,
    /// Processors × seconds that wait.
    work: i128,
    /// A buffer.
    started: Vec<Waiting>,
}

/// Above every expected length.
const REMOTE: i64 = 1 << 50;

impl Plain {
    /// A site of so many processors (none count as one) with nothing to do.
    pub fn new(processors: u32, settings: PlainSettings) -> Plain {
        Plain {
            settings,
            nodes: Availability::of_pool(processors.max(1), Time::MIN),
            line: PoolLine::new(settings.depth),
            ranks: BTreeMap::new(),
            new: Vec::new(),
            whole: false,
            is_on_request: false,
            work: 0,
            started: Vec::new(),
        }
    }

    /// The job waits here from now on, and no nodes are kept free for it: it starts where it fits
    /// when its turn comes. Then each pass looks at the whole queue. Where all jobs have
    /// reservations, or none, it is a job like all others.
    pub(in crate::policy) fn join_without_reservation(&mut self, wanted: SiteJob, now: Time) {
        self.join(wanted, Origin::Local, now);
        self.new.iter_mut().rev().take(1).for_each(|waiting| waiting.reserves = false);
        self.line.on_request();
        self.is_on_request = true;
    }

    /// With a reservation for every job: whether the last pass left places that jobs in front could
    /// move to, as others had moved away after their turn. Then the next pass looks at them, and as
    /// long as it is not made, a new job might get such a place.
    pub(in crate::policy) fn is_unfinished(&mut self) -> bool {
        let is_unfinished = self.line.is_unfinished();
        self.whole |= is_unfinished;
        is_unfinished
    }

    /// Puts new jobs into the line.
    fn take_in(&mut self) {
        self.whole |= self.is_on_request && !self.new.is_empty();
        let last = self.line.last();
        let in_order = self.new.is_sorted_by_key(|waiting| waiting.rank)
            && self.new.first().is_none_or(|first| last.is_none_or(|last| last < first.rank));
        self.whole |= self.settings.depth != Depth::All && !in_order;
        for waiting in self.new.drain(..) {
            match self.whole {
                true => self.line.insert(waiting),
                false => {
                    self.line.try_one(self.nodes.free_mut(), waiting, &mut self.started);
                }
            }
        }
    }
}

impl LocalScheduler for Plain {
    fn join(&mut self, wanted: SiteJob, origin: Origin, _now: Time) {
        let key = match self.settings.turn {
            QueueOrder::Arrival => 0,
            QueueOrder::Shortest => wanted.length.0,
        };
        let key = key + if origin == Origin::Remote { REMOTE } else { 0 };
        let waiting = Waiting::keyed(key, wanted.job, wanted.processors, wanted.length);
        self.ranks.insert(wanted.job, waiting.rank);
        self.work += waiting.work();
        self.new.push(waiting);
    }

    fn leave(&mut self, job: JobId, now: Time) {
        let Some(rank) = self.ranks.remove(&job) else { return };
        self.nodes.advance(now);
        if let Some(place) = self.new.iter().position(|waiting| waiting.rank == rank) {
            self.work -= self.new.remove(place).work();
        } else if let Some(waiting) = self.line.remove(self.nodes.free_mut(), rank) {
            self.work -= waiting.work();
            self.whole = true;
        }
    }

    fn adopt(&mut self, wanted: SiteJob, start: Time, now: Time) {
        self.nodes.adopt(wanted.job, wanted.share(), (start, wanted.length), now);
    }

    fn ended(&mut self, job: JobId, _ran: Span, now: Time) {
        self.nodes.release(job, None, now);
        self.whole = true;
    }

    fn interrupted(&mut self, job: JobId, now: Time) {
        self.nodes.interrupted(job, now);
    }

    fn announced(&mut self, closure: OutageId, what: Outage, now: Time) {
        self.nodes.announced(closure, what, now);
    }

    fn closed(&mut self, closure: OutageId, now: Time) {
        self.nodes.closed(closure, now);
    }

    fn reopened(&mut self, closure: OutageId, now: Time) {
        self.nodes.reopened(closure, now);
        self.whole = true;
    }

    fn decide(&mut self, now: Time, starts: &mut Vec<JobId>, _surplus: &mut Vec<JobId>) {
        self.line.note(self.nodes.opened());
        if self.nodes.settle(now) {
            self.line.forget();
            self.whole = true;
        }
        self.whole |= self.nodes.regained(now);
        self.whole |= self.line.first_reservation().is_some_and(|start| start <= now);
        self.take_in();
        if std::mem::take(&mut self.whole) {
            self.line.pass(self.nodes.free_mut(), &mut self.started);
        }
        for waiting in self.started.drain(..) {
            let job = waiting.rank.job;
            self.nodes.start(job, waiting.taken(now), waiting.estimate);
            self.ranks.remove(&job);
            self.work -= waiting.work();
            starts.push(job);
        }
    }

    fn wake(&self) -> Option<Time> {
        let unsaid = self.nodes.next_unsaid_end().filter(|_| self.line.len() > 0);
        self.line.first_reservation().into_iter().chain(unsaid).min()
    }

    fn next_end(&self) -> Option<Time> {
        self.nodes.next_end()
    }

    fn promise(&self, wanted: &SiteJob, _origin: Origin, now: Time, from: Time) -> Option<Time> {
        if self.settings.depth == Depth::First(0) && !self.ranks.is_empty() {
            return None;
        }
        self.nodes.free().earliest(wanted.processors, wanted.length, from.max(now))
    }

    fn load(&self) -> Load {
        let queued = u32::try_from(self.ranks.len()).unwrap_or(u32::MAX);
        Load { queued, backfill: [0; 2], work: self.work, free: self.nodes.free_now() }
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.line.get(*self.ranks.get(&job)?)?.reserved
    }

    fn guarantee(&self) -> Promise {
        match (self.settings.turn, self.settings.depth) {
            (_, Depth::All) => Promise::Reservations,
            (QueueOrder::Arrival, Depth::First(0)) => Promise::Order,
            (QueueOrder::Arrival, Depth::First(_)) => Promise::Head,
            _ => Promise::Nothing,
        }
    }
}
