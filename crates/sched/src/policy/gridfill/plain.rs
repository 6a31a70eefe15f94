//! The queue of backfilling, plainly: a walk gives every job's reservation back and looks for the
//! earliest place from now on. What [`Fill`](super::Fill) must do, byte for byte.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Command, Event, JobId, Market, Reason, Time};

use super::waiting::Waiting;
use super::{Depth, Order, Settings};
use crate::policy::availability::News;
use crate::policy::backfill::Rank;
use crate::policy::grid::{Availability, Booking, Wish};
use crate::policy::inbox::{self, Comes};
use crate::policy::order::Ranking;

/// Jobs that wait to be backfilled.
#[derive(Debug)]
pub(super) struct PlainFill {
    settings: Settings,
    ranking: Ranking,
    /// In queue order.
    queue: Vec<Waiting>,
    /// Jobs that join the queue at their earliest start.
    later: BTreeMap<(Time, JobId), Waiting>,
    /// When jobs that wait joined the queue.
    joined: BTreeMap<JobId, Time>,
    /// Jobs that joined since the last pass.
    new: BTreeSet<JobId>,
    /// Whether the next pass looks at the whole queue.
    whole: bool,
    /// The first moment at which a job of the queue can be told that it is too late.
    expires: Option<Time>,
}

impl PlainFill {
    pub(super) fn new(settings: Settings) -> PlainFill {
        PlainFill {
            settings,
            ranking: Ranking::new(settings.order),
            queue: Vec::new(),
            later: BTreeMap::new(),
            joined: BTreeMap::new(),
            new: BTreeSet::new(),
            whole: false,
            expires: None,
        }
    }

    /// Takes note of what happened and was written into the books.
    pub(super) fn follow(&mut self, news: News, events: &[Event]) {
        if news.upset {
            self.queue.iter_mut().for_each(|waiting| waiting.reserved = None);
        }
        for event in events {
            if let Event::Ended { job } = event {
                self.joined.remove(job);
            }
        }
        let quiet = |event: &Event| matches!(event, Event::Submitted { .. } | Event::Closed { .. });
        self.whole |= news.upset || !events.iter().all(quiet);
    }

    /// Takes note of who starts by all commands of a pass.
    pub(super) fn started(&mut self, market: &Market, commands: &[Command]) {
        self.ranking.started(market, commands);
    }

    /// Takes note of what others decided, and of new prices.
    pub(super) fn obey(&mut self, market: &Market, books: &mut Availability, events: &[Event]) {
        self.ranking.follow(market);
        for job in inbox::leavers(events) {
            self.leave(books, job);
            match market.run_of(job) {
                // If it loses its nodes, it has its old place.
                Some(_) => drop(self.joined.entry(job).or_insert(market.now())),
                None => drop(self.joined.remove(&job)),
            }
        }
        if inbox::terms_changed(events) {
            let spread = self.settings.spread;
            for waiting in self.queue.iter_mut().chain(self.later.values_mut()) {
                let job = waiting.rank.job;
                if let Some(demand) = market.demand(job) {
                    waiting.wish = Wish::anew(market, job, demand, spread);
                }
            }
        }
    }

    /// A job joins the queue, at its earliest start or now.
    ///
    /// # Errors
    /// Why it can never run.
    pub(super) fn join(
        &mut self,
        market: &Market,
        (job, comes): (JobId, Comes),
    ) -> Result<(), Reason> {
        let Some(demand) = market.demand(job) else { return Ok(()) };
        let now = market.now();
        let wish = Wish::of(market, (job, comes), demand, self.settings.spread)?;
        let joins = match self.settings.depth {
            Depth::All => now,
            Depth::First(_) => wish.earliest_start().unwrap_or(now).max(now),
        };
        let joined = *self.joined.entry(job).or_insert(joins);
        let rank = Rank { key: self.ranking.key(demand, joined, joined.max(now)), job };
        let waiting = Waiting::new(rank, joined, wish);
        match joined > now {
            true => {
                self.later.insert((joined, job), waiting);
            }
            false => self.enqueue(waiting),
        }
        Ok(())
    }

    fn enqueue(&mut self, waiting: Waiting) {
        self.new.insert(waiting.rank.job);
        let place = self.queue.partition_point(|other| other.rank < waiting.rank);
        self.queue.insert(place, waiting);
    }

    /// A job leaves the queue.
    pub(super) fn leave(&mut self, books: &mut Availability, job: JobId) {
        if let Some(place) = self.queue.iter().position(|waiting| waiting.rank.job == job) {
            cancel(&mut self.queue.remove(place), books);
        }
        self.later.retain(|(_, other), _| *other != job);
        self.new.remove(&job);
    }

    /// Starts jobs and sets reservations down. `woken`: nothing happened but that time passed.
    pub(super) fn decide(
        &mut self,
        market: &Market,
        books: &mut Availability,
        woken: bool,
        commands: &mut Vec<Command>,
    ) {
        let now = books.now();
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= now) {
            let waiting = entry.remove();
            self.enqueue(waiting);
        }
        let expired = self.expires.is_some_and(|at| at <= now);
        let new = std::mem::take(&mut self.new);
        if self.whole || woken || expired || !self.settled(now) {
            self.whole = false;
            self.walk(market, books, commands);
            return;
        }
        for job in new {
            if let Some(place) = self.queue.iter().position(|waiting| waiting.rank.job == job) {
                self.try_one(books, place, commands);
            }
        }
    }

    /// Whether submissions alone leave every job that waited where it was.
    fn settled(&self, now: Time) -> bool {
        let Settings { depth, order, .. } = self.settings;
        let settled = order == Order::Arrival || depth == Depth::All && !order.moves();
        settled && self.next_reservation().is_none_or(|start| start > now)
    }

    fn walk(&mut self, market: &Market, books: &mut Availability, commands: &mut Vec<Command>) {
        let mut queue = std::mem::take(&mut self.queue);
        let mut kept: Vec<Waiting> = Vec::with_capacity(queue.len());
        let moves = self.settings.order.moves();
        if self.settings.depth != Depth::All || moves {
            queue.iter_mut().for_each(|waiting| cancel(waiting, books));
        }
        if moves {
            for waiting in &mut queue {
                if let Some(demand) = market.demand(waiting.rank.job) {
                    waiting.rank.key = self.ranking.key(demand, waiting.joined, books.now());
                }
            }
            queue.sort_unstable_by_key(|waiting| waiting.rank);
        }
        self.expires = None;
        let mut ahead = 0;
        for mut waiting in queue {
            if let Some(reason) = waiting.wish.too_late(books.now()) {
                cancel(&mut waiting, books);
                self.joined.remove(&waiting.rank.job);
                commands.push(Command::Refuse { job: waiting.rank.job, reason });
            } else if !self.place(&mut waiting, ahead, books, commands) {
                ahead += usize::from(!waiting.wish.is_priced_out());
                kept.push(waiting);
            }
        }
        self.queue = kept;
    }

    fn try_one(&mut self, books: &mut Availability, place: usize, commands: &mut Vec<Command>) {
        let mut waiting = self.queue.remove(place);
        let ahead = self.queue[..place].iter().filter(|other| !other.wish.is_priced_out()).count();
        if !self.place(&mut waiting, ahead, books, commands) {
            self.queue.insert(place, waiting);
        }
    }

    /// Starts the job or sets its reservation down, with `before` waiting jobs ahead of it
    /// that could be placed. Whether it started.
    fn place(
        &mut self,
        waiting: &mut Waiting,
        before: usize,
        books: &mut Availability,
        commands: &mut Vec<Command>,
    ) -> bool {
        let now = books.now();
        cancel(waiting, books);
        let covered = match self.settings.depth {
            Depth::First(count) => before < count as usize,
            Depth::All => true,
        };
        let blocked = self.settings.depth == Depth::First(0) && before > 0;
        let booking = match covered {
            true => waiting.wish.plain_earliest(books.profiles(), now),
            false if blocked || !books.any_free() => None,
            false => waiting.wish.plain_now(books.profiles(), now),
        };
        if let Some(booking) = &booking {
            books.book(booking);
            if booking.start == now {
                let job = waiting.rank.job;
                commands.push(Command::Start { job, place: booking.place() });
                books.begin(job, booking);
                return true;
            }
        }
        waiting.reserved = booking;
        self.expires = self.expires.into_iter().chain(waiting.wish.expires()).min();
        false
    }

    /// The first moment at which a reservation begins.
    fn next_reservation(&self) -> Option<Time> {
        let reach = match self.settings.depth {
            Depth::All => usize::MAX,
            Depth::First(count) => count as usize,
        };
        let counts = self.queue.iter().filter(|waiting| !waiting.wish.is_priced_out());
        counts.take(reach).filter_map(Waiting::reserved_start).min()
    }

    /// When to ask again, even if nothing happens.
    pub(super) fn next_wake(&self, books: &Availability) -> Option<Time> {
        let later = self.later.keys().next().map(|(at, _)| *at);
        let unsaid = books.next_unsaid_end().filter(|_| !self.queue.is_empty());
        [self.next_reservation(), self.expires, later, unsaid].into_iter().flatten().min()
    }

    /// Every reservation, in queue order.
    pub(super) fn reservations(&self) -> Vec<(JobId, Option<Booking>)> {
        self.queue.iter().map(|it| (it.rank.job, it.reserved.clone())).collect()
    }
}

/// Gives the job's reservation back, if it has one.
fn cancel(waiting: &mut Waiting, books: &mut Availability) {
    if let Some(booking) = waiting.reserved.take() {
        books.cancel(&booking);
    }
}
