//! The site: what waits where, and the pass.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Outage, OutageId, JobId, Level, Span, Time};

use super::classes::{Class, JOB_QUEUE, Mean, Queue};
use super::settings::{Guard, Overflow, Settings};
use crate::policy::Promise;
use crate::policy::backfill::{Depth, Line, Queue as Row, Rank, Reservations, Waiting};
use crate::policy::local::{Floor, Load, Local, Opened, Origin, Wanted};

/// What the site knows of a waiting job beside its place in the order.
#[derive(Debug, Clone, Copy)]
struct Card {
    rank: Rank,
    class: Class,
    /// The how manyeth it was to join the site.
    joined: i64,
    /// Jobs that had started here before it joined.
    passed: u64,
    reserved: bool,
}

/// The site; see the module's text.
///
/// With w waiting jobs of d different widths that fit what is free, r reservations and b jobs that
/// start: a pass after joins only costs O(log w) per job that joined or got a reservation; after
/// other news O((b + 1)(d + log w)), and where something became free early, what moving r
/// reservations costs (`backfill/moves.rs`).
#[derive(Debug)]
pub struct MultiQueue {
    settings: Settings,
    floor: Floor,
    /// Jobs of the job queue that hold a reservation.
    reserved: Line,
    /// All others, in the order in which they may start.
    rest: Row,
    /// Who waits.
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
    /// Buffers.
    started: Vec<Waiting>,
    running_minima: Vec<Level>,
}

/// The index of a backfill queue.
fn backfill(queue: Queue) -> Option<usize> {
    match queue {
        Queue::Job => None,
        Queue::First => Some(0),
        Queue::Second => Some(1),
    }
}

impl MultiQueue {
    /// A site of so many processors (none count as one) with nothing to do.
    pub fn new(processors: u32, settings: Settings) -> MultiQueue {
        let mut rest = Row::default();
        rest.shelve(Reservations::Ignored);
        MultiQueue {
            settings,
            floor: Floor::new(processors),
            reserved: Line::new(Depth::All),
            rest,
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
            running_minima: Vec::new(),
        }
    }

    /// The queue in which the job waits.
    pub fn queue_of(&self, job: JobId) -> Option<Queue> {
        self.cards.get(&job).map(|card| card.class.queue)
    }

    fn opened(&mut self, opened: Option<Opened>) {
        self.freed = true;
        if let Some(Opened { from, until }) = opened {
            self.reserved.opened(from, until);
        }
    }

    fn rank(&self, class: Class, joined: i64, job: JobId) -> Rank {
        Rank { key: class.key(&self.settings) + self.settings.age_of(joined), job }
    }

    /// Writes the job into its queue's lists.
    fn list(&mut self, job: JobId, card: Card) {
        match backfill(card.class.queue) {
            None => drop(self.elders.insert((self.settings.age_of(card.joined), job))),
            Some(queue) => {
                let turn = self.settings.turn(card.rank.key, card.joined, job);
                self.full[queue].insert((turn, job));
                self.patience.insert((card.passed, job));
            }
        }
        self.cards.insert(job, card);
    }

    /// The opposite.
    fn strike(&mut self, job: JobId) -> Option<Card> {
        let card = self.cards.remove(&job)?;
        match backfill(card.class.queue) {
            None => drop(self.elders.remove(&(self.settings.age_of(card.joined), job))),
            Some(queue) => {
                let turn = self.settings.turn(card.rank.key, card.joined, job);
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
            self.floor.start(&waiting);
            self.strike(job);
            self.work -= waiting.work();
            self.starts += 1;
            starts.push(job);
        }
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
            && let Some(waiting) = self.rest.get(rank)
        {
            self.rest.remove(rank);
            if let Some(card) = self.cards.get_mut(&rank.job) {
                card.reserved = true;
            }
            self.reserved.try_one(&mut self.floor.profile, waiting, &mut self.started);
            self.note(starts);
        }
    }

    /// Starts jobs that fit beside all reservations.
    fn backfill(&mut self, starts: &mut Vec<JobId>) {
        let new = std::mem::take(&mut self.new);
        if !std::mem::take(&mut self.freed) {
            // Nothing that could not start before can start now.
            for rank in new {
                let waiting = self.rest.get(rank);
                if let Some(waiting) = waiting.filter(|it| it.fits(&self.floor.profile)) {
                    self.start(waiting, starts);
                }
            }
            return;
        }
        let mut after = None;
        while self.floor.free() > 0
            && let profile = &self.floor.profile
            && let Some(next) = self.rest.next_that_fits(after, profile, &mut self.running_minima)
        {
            after = Some(next.rank);
            self.start(next, starts);
        }
    }

    fn start(&mut self, waiting: Waiting, starts: &mut Vec<JobId>) {
        self.rest.remove(waiting.rank);
        let now = self.floor.profile.origin();
        waiting.take(&mut self.floor.profile, now);
        self.started.push(waiting);
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
        let Some(waiting) = self.rest.get(card.rank) else { return };
        self.rest.remove(card.rank);
        let class = card.class.promoted();
        let rank = self.rank(class, card.joined, job);
        self.rest.insert(Waiting::keyed(rank.key, job, waiting.processors, waiting.estimate));
        self.list(job, Card { rank, class, ..card });
        if self.settings.overflow == Overflow::Migrate && class.origin == Origin::Local {
            surplus.push(job);
        }
    }
}

impl Local for MultiQueue {
    fn join(&mut self, wanted: Wanted, origin: Origin, _now: Time) {
        let Wanted { job, processors, length, .. } = wanted;
        let long = self.mean.is_long(length);
        let widths = [self.floor.processors(), processors];
        let class = Class::new(self.settings.borders, widths, long, origin);
        let joined = self.joins;
        self.joins += 1;
        let rank = self.rank(class, joined, job);
        let waiting = Waiting::keyed(rank.key, job, processors, length);
        self.work += waiting.work();
        self.rest.insert(waiting);
        self.new.insert(rank);
        self.list(job, Card { rank, class, joined, passed: self.starts, reserved: false });
    }

    fn leave(&mut self, job: JobId, now: Time) {
        let Some(card) = self.strike(job) else { return };
        self.floor.profile.advance(now);
        let waiting = match card.reserved {
            true => {
                self.freed = true;
                self.reserved.remove(&mut self.floor.profile, card.rank)
            }
            false => {
                let waiting = self.rest.get(card.rank);
                self.rest.remove(card.rank);
                waiting
            }
        };
        self.work -= waiting.map_or(0, |waiting| waiting.work());
    }

    fn adopt(&mut self, wanted: Wanted, start: Time, now: Time) {
        let Wanted { job, processors, length, .. } = wanted;
        self.floor.adopt(job, processors, (start, length), now);
    }

    fn ended(&mut self, job: JobId, ran: Span, now: Time) {
        self.mean.add(ran);
        let opened = self.floor.ended(job, now);
        self.opened(opened);
    }

    fn interrupted(&mut self, job: JobId, now: Time) {
        self.floor.interrupted(job, now);
    }

    fn announced(&mut self, closure: OutageId, what: Outage, now: Time) {
        self.floor.announced(closure, what, now);
    }

    fn closed(&mut self, closure: OutageId, now: Time) {
        self.floor.closed(closure, now);
    }

    fn reopened(&mut self, closure: OutageId, now: Time) {
        let opened = self.floor.reopened(closure, now);
        self.opened(opened);
    }

    fn decide(&mut self, now: Time, starts: &mut Vec<JobId>, surplus: &mut Vec<JobId>) {
        if self.floor.settle(now) {
            self.reserved.forget();
            self.freed = true;
        }
        self.freed |= self.floor.regained(now);
        self.freed |= self.reserved.first_reservation().is_some_and(|start| start <= now);
        if self.freed {
            self.reserved.pass(&mut self.floor.profile, &mut self.started);
            self.note(starts);
        }
        self.reserve(starts);
        self.backfill(starts);
        self.overflow(surplus);
        self.reserve(starts);
    }

    fn wake(&self) -> Option<Time> {
        let unsaid = self.floor.next_unsaid_end().filter(|_| !self.cards.is_empty());
        self.reserved.first_reservation().into_iter().chain(unsaid).min()
    }

    fn next_end(&self) -> Option<Time> {
        self.floor.next_end()
    }

    fn promise(&self, wanted: &Wanted, _origin: Origin, now: Time, from: Time) -> Option<Time> {
        self.floor.profile.earliest(wanted.processors, wanted.length, from.max(now))
    }

    fn load(&self) -> Load {
        let count = |jobs: usize| u32::try_from(jobs).unwrap_or(u32::MAX);
        Load {
            queued: count(self.elders.len()),
            backfill: [count(self.full[0].len()), count(self.full[1].len())],
            work: self.work,
            free: self.floor.free(),
        }
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        let card = self.cards.get(&job).filter(|card| card.reserved)?;
        self.reserved.get(card.rank)?.reserved
    }

    fn guarantee(&self) -> Promise {
        Promise::Reservations
    }
}

#[cfg(test)]
mod tests;
