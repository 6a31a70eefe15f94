//! The site: what waits where, and the pass.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{JobId, Outage, OutageId, Profile, Span, Time};

use super::classes::{ClassifiedJob, JOB_QUEUE, Mean, SiteQueues};
use super::settings::{Came, Guard, MultiQueueSettings, Overflow, Reserve};
use crate::policy::Promise;
use crate::policy::availability::Availability;
use crate::policy::backfill::{Depth, PoolLine, Rank, Waiting};
use crate::policy::local::{Load, LocalScheduler, Origin, SiteJob};

/// What the site knows of a waiting job beside its place in the order.
#[derive(Debug, Clone, Copy)]
struct Card {
    rank: Rank,
    class: ClassifiedJob,
    came: Came,
    /// Jobs that had started here before it joined.
    passed: u64,
    reserved: bool,
}

/// The site; see the module's text.
///
/// With w waiting jobs of d different widths that fit what is free, r reservations and b jobs that
/// start: a pass after joins only costs O(log w) per job that joined or got a reservation; after
/// other news O((b + 1)(d + log w)), and where something became free early, what moving r
/// reservations costs (`backfill/moves.rs`). With [`Reserve::Replanned`] every pass makes all r
/// reservations again.
#[derive(Debug)]
pub struct MultiQueue {
    settings: MultiQueueSettings,
    processors: u32,
    nodes: Availability<Profile>,
    /// Jobs of the job queue that hold a reservation.
    reserved: PoolLine,
    /// All others, in the order in which they may start.
    rest: PoolLine,
    /// The waiting jobs.
    cards: BTreeMap<JobId, Card>,
    /// The job queue, by age.
    elders: BTreeSet<(i64, JobId)>,
    /// The backfill queues: who leaves first if there are too many.
    full: [BTreeSet<((i64, i64), JobId)>; 2],
    /// Both backfill queues: who loses patience first.
    patience: BTreeSet<(u64, JobId)>,
    mean: Mean,
    /// Jobs that joined, jobs that started so far.
    joins: i64,
    starts: u64,
    /// Processors × seconds that wait.
    work: i128,
    /// Jobs that joined since the last pass.
    new: BTreeSet<Rank>,
    /// Whether anything became free since.
    freed: bool,
    /// Buffer that is kept to avoid allocations.
    started: Vec<Waiting>,
}

/// The index of a backfill queue.
fn backfill(queue: SiteQueues) -> Option<usize> {
    match queue {
        SiteQueues::Job => None,
        SiteQueues::First => Some(0),
        SiteQueues::Second => Some(1),
    }
}

impl MultiQueue {
    /// A site of so many processors (none count as one) with nothing to do.
    pub fn new(processors: u32, settings: MultiQueueSettings) -> MultiQueue {
        let processors = processors.max(1);
        MultiQueue {
            settings,
            processors,
            nodes: Availability::of_pool(processors, Time::MIN),
            reserved: PoolLine::new(Depth::All),
            rest: PoolLine::new(Depth::First(1)),
            cards: BTreeMap::new(),
            elders: BTreeSet::new(),
            full: Default::default(),
            patience: BTreeSet::new(),
            mean: Mean::default(),
            joins: 0,
            starts: 0,
            work: 0,
            new: BTreeSet::new(),
            freed: false,
            started: Vec::new(),
        }
    }

    /// The queue in which the job waits.
    pub fn queue_of(&self, job: JobId) -> Option<SiteQueues> {
        self.cards.get(&job).map(|card| card.class.queue)
    }

    fn rank(&self, class: ClassifiedJob, came: Came, job: JobId) -> Rank {
        Rank { key: class.key(&self.settings) + self.settings.age_of(came), job }
    }

    /// Writes the job into its queue's lists.
    fn list(&mut self, job: JobId, card: Card) {
        match backfill(card.class.queue) {
            None => drop(self.elders.insert((self.settings.age_of(card.came), job))),
            Some(queue) => {
                let turn = self.settings.turn(card.rank.key, card.came, job);
                self.full[queue].insert((turn, job));
                self.patience.insert((card.passed, job));
            }
        }
        self.cards.insert(job, card);
    }

    /// Removes the job from the lists; the opposite of [`MultiQueue::list`].
    fn strike(&mut self, job: JobId) -> Option<Card> {
        let card = self.cards.remove(&job)?;
        match backfill(card.class.queue) {
            None => drop(self.elders.remove(&(self.settings.age_of(card.came), job))),
            Some(queue) => {
                let turn = self.settings.turn(card.rank.key, card.came, job);
                self.full[queue].remove(&(turn, job));
                self.patience.remove(&(card.passed, job));
            }
        }
        Some(card)
    }

    /// Writes down who has just started.
    fn note(&mut self, starts: &mut Vec<JobId>) {
        for waiting in std::mem::take(&mut self.started) {
            let job = waiting.rank.job;
            self.nodes.start(job, waiting.taken(self.nodes.now()), waiting.estimate);
            self.strike(job);
            self.work -= waiting.work();
            self.starts += 1;
            starts.push(job);
        }
    }

    /// Takes all reservations back, so that they are made again.
    fn withdraw(&mut self) {
        let reserved: Vec<Rank> = self.reserved.iter().map(|waiting| waiting.rank).collect();
        for rank in reserved {
            let Some(waiting) = self.reserved.remove(self.nodes.free_mut(), rank) else { continue };
            self.rest.insert(Waiting { reserved: None, ..waiting });
            if let Some(card) = self.cards.get_mut(&rank.job) {
                card.reserved = false;
            }
        }
        self.freed = true;
    }

    /// Who gets the next reservation.
    fn candidate(&self) -> Option<Rank> {
        let oldest = self.elders.first().and_then(|(_, job)| self.cards.get(job));
        let oldest = oldest.filter(|card| self.settings.guard == Guard::Oldest && !card.reserved);
        match oldest {
            Some(card) => Some(card.rank),
            None => self.rest.first().filter(|rank| rank.key < JOB_QUEUE),
        }
    }

    /// Makes as many reservations as there are to be.
    fn reserve(&mut self, starts: &mut Vec<JobId>) {
        while self.reserved.len() < self.settings.reservations(self.elders.len())
            && let Some(rank) = self.candidate()
            && let Some(waiting) = self.rest.get(rank).copied()
        {
            self.rest.remove(self.nodes.free_mut(), rank);
            if let Some(card) = self.cards.get_mut(&rank.job) {
                card.reserved = true;
            }
            self.reserved.try_one(self.nodes.free_mut(), waiting, &mut self.started);
            self.note(starts);
        }
    }

    /// Starts jobs that fit beside all reservations.
    fn backfill(&mut self, starts: &mut Vec<JobId>) {
        let new = std::mem::take(&mut self.new);
        let free = self.nodes.free_mut();
        match std::mem::take(&mut self.freed) {
            true => self.rest.fill(free, None, &mut self.started),
            // Nothing that could not start before can start now.
            false => {
                for rank in new {
                    self.rest.try_start(free, rank, &mut self.started);
                }
            }
        }
        self.note(starts);
    }

    /// Moves jobs from the backfill queues to the job queue.
    fn overflow(&mut self, surplus: &mut Vec<JobId>) {
        if let Some(limit) = self.settings.patience {
            while let Some(&(passed, job)) = self.patience.first()
                && self.starts - passed >= u64::from(limit.get())
            {
                self.promote(job, surplus);
            }
        }
        for queue in 0..self.full.len() {
            while self.full[queue].len() >= self.settings.beta.get() as usize
                && let Some(&(_, job)) = self.full[queue].first()
            {
                self.promote(job, surplus);
            }
        }
    }

    fn promote(&mut self, job: JobId, surplus: &mut Vec<JobId>) {
        let Some(card) = self.strike(job) else { return };
        let Some(waiting) = self.rest.get(card.rank).copied() else { return };
        self.rest.remove(self.nodes.free_mut(), card.rank);
        let class = card.class.promoted();
        let rank = self.rank(class, card.came, job);
        self.rest.insert(Waiting::keyed(rank.key, job, waiting.processors, waiting.estimate));
        self.list(job, Card { rank, class, ..card });
        if self.settings.overflow == Overflow::Migrate && class.origin == Origin::Local {
            surplus.push(job);
        }
    }
}

impl LocalScheduler for MultiQueue {
    fn join(&mut self, wanted: SiteJob, origin: Origin, _now: Time) {
        let SiteJob { job, processors, length, submitted } = wanted;
        let long = self.mean.is_long(length);
        let widths = [self.processors, processors];
        let class = ClassifiedJob::new(self.settings.borders, widths, long, origin);
        let came = Came { submitted, joined: self.joins };
        self.joins += 1;
        let rank = self.rank(class, came, job);
        let waiting = Waiting::keyed(rank.key, job, processors, length);
        self.work += waiting.work();
        self.rest.insert(waiting);
        self.new.insert(rank);
        self.list(job, Card { rank, class, came, passed: self.starts, reserved: false });
    }

    fn leave(&mut self, job: JobId, now: Time) {
        let Some(card) = self.strike(job) else { return };
        self.nodes.advance(now);
        self.freed |= card.reserved;
        let line = if card.reserved { &mut self.reserved } else { &mut self.rest };
        let waiting = line.remove(self.nodes.free_mut(), card.rank);
        self.work -= waiting.map_or(0, |waiting| waiting.work());
    }

    fn adopt(&mut self, wanted: SiteJob, start: Time, now: Time) {
        self.nodes.adopt(wanted.job, wanted.share(), (start, wanted.length), now);
    }

    fn ended(&mut self, job: JobId, ran: Span, now: Time) {
        self.mean.add(ran);
        self.nodes.release(job, None, now);
        self.freed = true;
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
        self.freed = true;
    }

    fn decide(&mut self, now: Time, starts: &mut Vec<JobId>, surplus: &mut Vec<JobId>) {
        self.reserved.note(self.nodes.opened());
        if self.nodes.settle(now) {
            self.reserved.forget();
            self.freed = true;
        }
        self.freed |= self.nodes.regained(now);
        self.freed |= self.reserved.first_reservation().is_some_and(|start| start <= now);
        if self.settings.reserve == Reserve::Replanned && (self.freed || !self.new.is_empty()) {
            self.withdraw();
        }
        if self.freed {
            self.reserved.pass(self.nodes.free_mut(), &mut self.started);
            self.note(starts);
        }
        self.reserve(starts);
        self.backfill(starts);
        self.overflow(surplus);
        self.reserve(starts);
    }

    fn wake(&self) -> Option<Time> {
        let unsaid = self.nodes.next_unsaid_end().filter(|_| !self.cards.is_empty());
        self.reserved.first_reservation().into_iter().chain(unsaid).min()
    }

    fn next_end(&self) -> Option<Time> {
        self.nodes.next_end()
    }

    fn promise(&self, wanted: &SiteJob, _origin: Origin, now: Time, from: Time) -> Option<Time> {
        self.nodes.free().earliest(wanted.processors, wanted.length, from.max(now))
    }

    fn load(&self) -> Load {
        let count = |jobs: usize| u32::try_from(jobs).unwrap_or(u32::MAX);
        Load {
            queued: count(self.elders.len()),
            backfill: [count(self.full[0].len()), count(self.full[1].len())],
            work: self.work,
            free: self.nodes.free_now(),
        }
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        let card = self.cards.get(&job).filter(|card| card.reserved)?;
        self.reserved.get(card.rank)?.reserved
    }

    fn guarantee(&self) -> Promise {
        match self.settings.reserve {
            Reserve::Kept => Promise::Reservations,
            Reserve::Replanned => Promise::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
