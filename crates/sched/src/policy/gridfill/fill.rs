//! The queue of backfilling, beside books that others may write in, too.

use std::collections::BTreeMap;

use tradewind_model::{Command, Event, JobId, Market, PoolId, Reason, Span, Time};

use super::openings::Openings;
use super::waiting::Waiting;
use super::{Depth, Order, Settings};
use crate::policy::availability::News;
use crate::policy::backfill::{Plain, Rank};
use crate::policy::grid::{Availability, Booking, Part, PlacementRequest, Starts};
use crate::policy::inbox::{self, Comes};
use crate::policy::order::Ranking;
use crate::policy::{Promise, Standing};

/// Jobs that wait to be backfilled.
#[derive(Debug)]
pub(in crate::policy) struct Fill {
    settings: Settings,
    ranking: Ranking,
    /// In queue order.
    queue: Vec<Waiting>,
    /// Jobs that join the queue at their earliest start.
    later: BTreeMap<(Time, JobId), Waiting>,
    /// When jobs that wait joined the queue.
    joined: BTreeMap<JobId, Time>,
    /// Jobs that joined since the last pass.
    new: BTreeMap<JobId, Rank>,
    openings: Openings,
    /// Whether the next pass looks at the whole queue.
    whole: bool,
    /// The first moment at which a job of the queue can be told that it is too late.
    expires: Option<Time>,
}

impl Fill {
    pub(in crate::policy) fn new(settings: Settings) -> Fill {
        Fill {
            settings,
            ranking: Ranking::new(settings.order),
            queue: Vec::new(),
            later: BTreeMap::new(),
            joined: BTreeMap::new(),
            new: BTreeMap::new(),
            openings: Openings::default(),
            whole: false,
            expires: None,
        }
    }

    /// The queue of a plain market, which is one no more: its pool is the first. Jobs have their
    /// old places and reservations.
    pub(super) fn of(settings: Settings, plain: Plain, market: &Market) -> Fill {
        let Plain { ranking, waiting, mut joined, running } = plain;
        let now = market.now();
        if !settings.order.moves() {
            // In the order of arrival they come before all that join from now on, in their order.
            let all = waiting.iter().map(|waiting| waiting.rank.job).chain(running);
            joined = all.map(|job| (job, now)).collect();
        }
        let mut fill = Fill { ranking, joined, ..Fill::new(settings) };
        for job in waiting {
            let Some(demand) = market.demand(job.rank.job) else { continue };
            let joined = *fill.joined.entry(job.rank.job).or_insert(now);
            let key = if settings.order == Order::Arrival { now.0 } else { job.rank.key };
            let wish = PlacementRequest::anew(market, job.rank.job, demand, settings.spread);
            let mut waiting = Waiting::new(Rank { key, ..job.rank }, joined, wish);
            let part = Part { pool: PoolId(0), nodes: job.processors, length: job.estimate };
            waiting.reserved = job.reserved.map(|start| Booking { start, parts: vec![part] });
            fill.queue.push(waiting);
        }
        fill
    }

    /// Takes note of what happened and was written into the books.
    pub(in crate::policy) fn follow(&mut self, news: News, events: &[Event]) {
        if news.upset {
            self.queue.iter_mut().for_each(Waiting::forget);
        }
        for event in events {
            if let Event::Ended { job } = event {
                self.joined.remove(job);
            }
        }
        let quiet = |event: &Event| matches!(event, Event::Submitted { .. } | Event::Closed { .. });
        self.whole |= news.upset || !events.iter().all(quiet);
    }

    /// What users had used when the policy began.
    pub(in crate::policy) fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        self.ranking.resume(usage);
    }

    /// What users have used, if that matters.
    pub(in crate::policy) fn standing(&self, now: Time) -> Vec<Standing> {
        self.ranking.standing(now)
    }

    /// Takes note of who starts by all commands of a pass.
    pub(in crate::policy) fn started(&mut self, market: &Market, commands: &[Command]) {
        self.ranking.started(market, commands);
    }

    /// Takes note of what others decided, and of new prices.
    pub(in crate::policy) fn obey(
        &mut self,
        market: &Market,
        books: &mut Availability,
        events: &[Event],
    ) {
        self.ranking.follow(market);
        for job in inbox::departures(events) {
            self.leave(books, job);
            match market.run_of(job) {
                // If it loses its nodes, it has its old place.
                Some(_) => _ = self.joined.entry(job).or_insert(market.now()),
                None if market.waits(job) => {} // it has lost its nodes already
                None => _ = self.joined.remove(&job),
            }
        }
        if inbox::terms_changed(events) {
            let spread = self.settings.spread;
            for waiting in self.queue.iter_mut().chain(self.later.values_mut()) {
                let job = waiting.rank.job;
                if let Some(demand) = market.demand(job) {
                    let wish = PlacementRequest::anew(market, job, demand, spread);
                    waiting.settled &= wish == waiting.wish;
                    waiting.wish = wish;
                }
            }
        }
    }

    /// A job joins the queue, at its earliest start or now.
    ///
    /// # Errors
    /// Why it can never run.
    pub(in crate::policy) fn join(
        &mut self,
        market: &Market,
        (job, comes): (JobId, Comes),
    ) -> Result<(), Reason> {
        let Some(demand) = market.demand(job) else { return Ok(()) };
        let now = market.now();
        let wish = PlacementRequest::of(market, (job, comes), demand, self.settings.spread)?;
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
        self.new.insert(waiting.rank.job, waiting.rank);
        let place = self.queue.partition_point(|other| other.rank < waiting.rank);
        self.queue.insert(place, waiting);
    }

    /// Everybody gives reservations back.
    pub(in crate::policy) fn withdraw(&mut self, books: &mut Availability) {
        self.queue.iter_mut().for_each(|waiting| waiting.cancel(books));
        self.whole = true;
    }

    /// Jobs that wait here, in the order of submission.
    pub(in crate::policy) fn jobs(&self) -> Vec<JobId> {
        let queued = self.queue.iter().map(|waiting| waiting.rank.job);
        let mut jobs: Vec<JobId> = queued.chain(self.later.keys().map(|(_, job)| *job)).collect();
        jobs.sort_unstable();
        jobs
    }

    /// A job leaves the queue.
    pub(in crate::policy) fn leave(&mut self, books: &mut Availability, job: JobId) {
        if let Some(place) = self.queue.iter().position(|waiting| waiting.rank.job == job) {
            self.queue.remove(place).cancel(books);
        }
        self.later.retain(|(_, other), _| *other != job);
        self.new.remove(&job);
    }

    /// Starts jobs and sets reservations down. `woken`: nothing happened but that time passed.
    pub(in crate::policy) fn decide(
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
        new.into_values().for_each(|rank| self.try_one(books, rank, commands));
    }

    /// Whether submissions alone leave every job that waited where it was.
    fn settled(&self, now: Time) -> bool {
        let Settings { depth, order, .. } = self.settings;
        let settled = order == Order::Arrival || depth == Depth::All && !order.moves();
        settled && self.next_reservation().is_none_or(|start| start > now)
    }

    /// Looks at the whole queue.
    fn walk(&mut self, market: &Market, books: &mut Availability, commands: &mut Vec<Command>) {
        let now = books.now();
        let mut queue = std::mem::take(&mut self.queue);
        self.put_in_order(market, books, &mut queue);
        self.expires = None;
        self.openings.note(books);
        let mut ahead = 0;
        queue.retain_mut(|waiting| {
            let job = waiting.rank.job;
            let gone = match waiting.wish.too_late(now) {
                Some(reason) => {
                    waiting.cancel(books);
                    self.openings.note_move(books, waiting.rank);
                    self.joined.remove(&job);
                    commands.push(Command::Refuse { job, reason });
                    true
                }
                None => self.place(waiting, ahead, books, commands),
            };
            ahead += usize::from(!gone && !waiting.wish.is_priced_out());
            !gone
        });
        self.openings.turn();
        self.queue = queue;
    }

    /// What a walk makes anew: reservations where not all jobs have one or jobs change places, and
    /// those places.
    fn put_in_order(&self, market: &Market, books: &mut Availability, queue: &mut [Waiting]) {
        let moves = self.settings.order.moves();
        if self.settings.depth != Depth::All || moves {
            queue.iter_mut().for_each(|waiting| waiting.cancel(books));
        }
        if !moves {
            return;
        }
        for waiting in queue.iter_mut() {
            if let Some(demand) = market.demand(waiting.rank.job) {
                waiting.rank.key = self.ranking.key(demand, waiting.joined, books.now());
            }
        }
        queue.sort_unstable_by_key(|waiting| waiting.rank);
    }

    /// Looks at one job, if it waits.
    fn try_one(&mut self, books: &mut Availability, rank: Rank, commands: &mut Vec<Command>) {
        let mut queue = std::mem::take(&mut self.queue);
        if let Ok(at) = queue.binary_search_by_key(&rank, |waiting| waiting.rank) {
            let placeable = |waiting: &&Waiting| !waiting.wish.is_priced_out();
            let ahead = match self.settings.depth {
                Depth::All => 0,
                Depth::First(count) => {
                    let enough = (count as usize).max(1);
                    queue[..at].iter().filter(placeable).take(enough).count()
                }
            };
            if self.place(&mut queue[at], ahead, books, commands) {
                queue.remove(at);
            }
        }
        self.queue = queue;
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
        match self.settings.depth {
            Depth::All => self.settle(waiting, books),
            Depth::First(count) => place_first(waiting, before, count as usize, books),
        }
        match &waiting.reserved {
            Some(booking) if booking.start == books.now() => {
                let job = waiting.rank.job;
                commands.push(Command::Start { job, place: booking.place() });
                books.begin(job, booking);
                true
            }
            _ => {
                self.expires = self.expires.into_iter().chain(waiting.wish.expires()).min();
                false
            }
        }
    }

    /// Moves the job to the earliest place beside all others. If it was there when it was looked
    /// at last, starts at which nothing has become free since are passed over.
    fn settle(&mut self, waiting: &mut Waiting, books: &mut Availability) {
        let now = books.now();
        let due = waiting.reserved_start().is_some_and(|start| start <= now);
        let mut starts = Starts::from(now);
        let kept = waiting.settled && !due;
        if kept {
            let better = self.openings.starts(waiting.rank, &waiting.wish);
            let until = waiting.reserved_start().map_or(Time::INFINITY, |start| start + Span(1));
            starts = Starts { from: better.from.max(now), until: better.until.min(until) };
        }
        if starts.from >= starts.until {
            return;
        }
        let before = waiting.reserved.take();
        before.iter().for_each(|booking| books.lift(booking));
        let found = waiting.wish.earliest_among(books.free_mut(), starts, before.as_ref());
        let found = found.or_else(|| before.clone().filter(|_| kept));
        found.iter().for_each(|booking| books.book(booking));
        if found != before {
            before.iter().for_each(|booking| books.open(booking));
            self.openings.note_move(books, waiting.rank);
        }
        (waiting.reserved, waiting.settled) = (found, true);
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
    pub(in crate::policy) fn next_wake(&self, books: &Availability) -> Option<Time> {
        let later = self.later.keys().next().map(|(at, _)| *at);
        let unsaid = books.next_unsaid_end().filter(|_| !self.queue.is_empty());
        [self.next_reservation(), self.expires, later, unsaid].into_iter().flatten().min()
    }

    /// See [`promise`].
    pub(in crate::policy) fn promise(&self) -> Promise {
        promise(self.settings)
    }

    /// Every job is looked at again at the next walk, wherever nodes became free.
    #[cfg(test)]
    pub(super) fn unsettle(&mut self) {
        self.queue.iter_mut().for_each(|waiting| waiting.settled = false);
    }

    /// Every reservation, in queue order.
    #[cfg(test)]
    pub(super) fn reservations(&self) -> Vec<(JobId, Option<Booking>)> {
        self.queue.iter().map(|it| (it.rank.job, it.reserved.clone())).collect()
    }

    /// When a waiting job is to start.
    pub(in crate::policy) fn reservation(&self, job: JobId) -> Option<Time> {
        self.queue.iter().find(|waiting| waiting.rank.job == job)?.reserved_start()
    }
}

/// With a reservation for all, and for the head alone in the order of arrival, reservations
/// never move back. Those of the second and third in the queue may: the head's may move to
/// nodes that stood in nobody's way before.
pub(super) fn promise(settings: Settings) -> Promise {
    match (settings.depth, settings.order) {
        (_, order) if order.moves() => Promise::Nothing,
        (Depth::All, _) | (Depth::First(1), Order::Arrival) => Promise::Reservations,
        _ => Promise::Nothing,
    }
}

/// The same where the first jobs alone have a reservation, made anew each time: so many come
/// before this one.
fn place_first(waiting: &mut Waiting, before: usize, depth: usize, books: &mut Availability) {
    let now = books.now();
    waiting.cancel(books);
    let booking = match before < depth {
        true => waiting.wish.earliest(books.free_mut(), now),
        false if depth == 0 && before > 0 || !books.any_free() => None,
        false => waiting.wish.now(books.free_mut(), now),
    };
    booking.iter().for_each(|booking| books.book(booking));
    waiting.reserved = booking;
}
