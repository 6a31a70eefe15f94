//! The queue of backfilling, beside books that others may write in, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_model::{
    Command, Demand, Event, JobId, Market, PoolId, Rates, Reason, Span, Spread, Time,
};

use super::space::{self, Outcome};
use super::waiting::PoolsJob;
use super::{Depth, GridFillSettings, Order};
use crate::policy::availability::{News, Taken};
use crate::policy::backfill::{BackfillFallback, Line, QueuedJob, Rank};
use crate::policy::grid::{
    Booking, Free, GridAvailability, LazyRequest, Part, PlacementRequest, Starts, Tariff,
};
use crate::policy::inbox::{self, Comes};
use crate::policy::order::Ranking;
use crate::policy::{Promise, UserShare};

/// Jobs that wait to be backfilled.
#[derive(Debug)]
pub(in crate::policy) struct Fill {
    settings: GridFillSettings,
    ranking: Ranking,
    line: Line<Free>,
    /// Jobs that join the queue at their earliest start.
    later: BTreeMap<(Time, JobId), PoolsJob>,
    /// When jobs that wait joined the queue.
    joined: BTreeMap<JobId, Time>,
    /// Pools in the order of cost, where they are many.
    tariff: Option<Arc<Tariff>>,
    /// Jobs that joined since the last pass.
    new: BTreeMap<JobId, PoolsJob>,
    /// Whether the next pass looks at the whole queue.
    whole: bool,
    /// The first moment at which a job of the queue can be told that it is too late.
    expires: Option<Time>,
}

impl Fill {
    pub(in crate::policy) fn new(settings: GridFillSettings) -> Fill {
        Fill {
            settings,
            ranking: Ranking::new(settings.order),
            line: settings.plain().line(),
            later: BTreeMap::new(),
            joined: BTreeMap::new(),
            tariff: None,
            new: BTreeMap::new(),
            whole: false,
            expires: None,
        }
    }

    /// The queue of a plain market, which is one no more: its pool is the first. Jobs have their
    /// old places and reservations.
    pub(super) fn of(settings: GridFillSettings, plain: BackfillFallback, market: &Market) -> Fill {
        let BackfillFallback { ranking, waiting, mut joined, running } = plain;
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
            let wish = PlacementRequest::of_waiting(market, job.rank.job, demand, settings.spread);
            let mut waiting = PoolsJob::new(Rank { key, ..job.rank }, joined, wish);
            let part =
                Part { pool: PoolId(0), nodes: job.processors, length: job.estimate, memory: 0 };
            waiting.turn = job.turn;
            waiting.reserved = job.reserved.map(|start| Booking::new(start, vec![part]));
            fill.line.insert(waiting);
        }
        fill
    }

    /// Takes note of what happened and was written into the books.
    pub(in crate::policy) fn follow(&mut self, news: News, events: &[Event]) {
        if news.upset {
            self.line.forget();
        }
        for event in events {
            if let Event::Ended { job } = event {
                self.joined.remove(job);
            }
        }
        let quiet = |event: &Event| matches!(event, Event::Submitted { .. } | Event::Closed { .. });
        self.whole |= news.upset || news.regained || !events.iter().all(quiet);
    }

    /// What users had used when the policy began.
    pub(in crate::policy) fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        self.ranking.resume(usage);
    }

    /// What users have used, if that matters.
    pub(in crate::policy) fn standing(&self, now: Time) -> Vec<UserShare> {
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
        books: &mut GridAvailability,
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
            self.know_prices(market);
            let Fill { line, later, new, settings, tariff, .. } = self;
            let waiting = line.queue.iter_mut().chain(later.values_mut()).chain(new.values_mut());
            for waiting in waiting {
                let job = waiting.rank.job;
                if let Some(demand) = market.demand(job) {
                    let demand = settings.shape.limits(demand);
                    let wish = at_once(*settings, tariff.as_ref(), (market, job), &demand);
                    let wish = wish.unwrap_or_else(|| {
                        let all =
                            PlacementRequest::of_waiting(market, job, &demand, settings.spread);
                        all.by(settings.shape).into()
                    });
                    waiting.settled = waiting.settled && wish == waiting.wish;
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
        let limited = self.settings.shape.limits(demand);
        let demand = &*limited;
        let wish = self.request(market, (job, comes), demand)?;
        let joins = match self.settings.depth {
            Depth::All => now,
            Depth::First(_) => wish.earliest_start().unwrap_or(now).max(now),
        };
        let joined = *self.joined.entry(job).or_insert(joins);
        let rank = Rank { key: self.ranking.key(demand, joined, joined.max(now)), job };
        let turn = self.settings.plain().turns().map(|order| order.key(demand));
        let waiting = PoolsJob { turn, ..PoolsJob::new(rank, joined, wish) };
        match joined > now {
            true => _ = self.later.insert((joined, job), waiting),
            false => _ = self.new.insert(job, waiting),
        }
        Ok(())
    }

    fn request(
        &mut self,
        market: &Market,
        (job, comes): (JobId, Comes),
        demand: &Demand,
    ) -> Result<LazyRequest, Reason> {
        self.know_prices(market);
        if let Some(lazy) = at_once(self.settings, self.tariff.as_ref(), (market, job), demand) {
            return Ok(lazy);
        }
        let GridFillSettings { shape, spread, .. } = self.settings;
        let whole = PlacementRequest::of(market, (job, comes), demand, spread)?;
        Ok(whole.by(shape).into())
    }

    /// Makes the order of pools again, if prices have changed.
    fn know_prices(&mut self, market: &Market) {
        if !self.tariff.as_ref().is_some_and(|it| it.is_of(market)) {
            self.tariff = Tariff::of(market).map(Arc::new);
        }
    }

    /// All jobs give their reservations back.
    pub(in crate::policy) fn withdraw(&mut self, books: &mut GridAvailability) {
        self.line.withdraw(books.free_mut());
        self.whole = true;
    }

    /// Jobs that wait here, in the order of submission.
    pub(in crate::policy) fn jobs(&self) -> Vec<JobId> {
        let queued = self.line.iter().map(|waiting| waiting.rank.job);
        let others = self.later.keys().map(|(_, job)| *job).chain(self.new.keys().copied());
        let mut jobs: Vec<JobId> = queued.chain(others).collect();
        jobs.sort_unstable();
        jobs
    }

    /// A job leaves the queue.
    pub(in crate::policy) fn leave(&mut self, books: &mut GridAvailability, job: JobId) {
        if let Some(rank) = space::rank_of(&self.line, job) {
            self.line.remove(books.free_mut(), rank);
        }
        self.later.retain(|(_, other), _| *other != job);
        self.new.remove(&job);
    }

    /// Starts jobs and sets reservations down. `woken`: nothing happened but that time passed.
    pub(in crate::policy) fn decide(
        &mut self,
        market: &Market,
        books: &mut GridAvailability,
        woken: bool,
        commands: &mut Vec<Command>,
    ) {
        let now = books.now();
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= now) {
            let waiting = entry.remove();
            self.new.insert(waiting.rank.job, waiting);
        }
        let expired = self.expires.is_some_and(|at| at <= now);
        let mut outcomes = Vec::new();
        // Jobs without a reservation may be able to pay by now.
        let unreserved = self.settings.depth != Depth::All;
        self.whole |= unreserved && market.pools().rates().is_some();
        let alike = self.new.len() < 2 || self.settings.plain().turns().is_none();
        let new = std::mem::take(&mut self.new).into_values();
        if self.whole || woken || expired || !alike || !self.settled(now) {
            self.whole = false;
            new.for_each(|waiting| self.line.insert(waiting));
            self.walk(market, books, &mut outcomes);
        } else {
            for waiting in new {
                let (rank, expires) = (waiting.rank, waiting.wish.expires());
                self.line.try_one(books.free_mut(), waiting, &mut outcomes);
                let expires = expires.filter(|_| self.line.get(rank).is_some());
                self.expires = self.expires.into_iter().chain(expires).min();
            }
        }
        self.carry_out(market, books, outcomes, commands);
    }

    /// Whether submissions alone leave every job that waited where it was.
    fn settled(&self, now: Time) -> bool {
        let GridFillSettings { depth, order, .. } = self.settings;
        let settled = order == Order::Arrival || depth == Depth::All && !order.moves();
        settled && self.line.first_reservation().is_none_or(|start| start > now)
    }

    /// Looks at the whole queue.
    fn walk(
        &mut self,
        market: &Market,
        books: &mut GridAvailability,
        outcomes: &mut Vec<(Rank, Outcome)>,
    ) {
        let now = books.now();
        let free = books.free_mut();
        if self.settings.order.moves() {
            self.line.withdraw(free);
            let ranking = &self.ranking;
            self.line.reorder(|mut waiting| {
                if let Some(demand) = market.demand(waiting.rank.job) {
                    waiting.rank.key = ranking.key(demand, waiting.joined, now);
                }
                waiting
            });
        }
        if self.settings.depth != Depth::All {
            space::refuse(&mut self.line, free, outcomes);
        }
        self.line.pass(free, outcomes);
        if self.settings.plain().turns().is_none() {
            outcomes.sort_by_key(|(rank, _)| *rank);
        }
        self.expires = self.line.iter().filter_map(|waiting| waiting.wish.expires()).min();
    }

    /// Applies the outcomes of a pass, and makes commands of them.
    fn carry_out(
        &mut self,
        market: &Market,
        books: &mut GridAvailability,
        outcomes: Vec<(Rank, Outcome)>,
        commands: &mut Vec<Command>,
    ) {
        for (Rank { job, .. }, outcome) in outcomes {
            commands.push(match outcome {
                Outcome::Starts(booking) => {
                    books.begin(job, &booking);
                    Command::Start { job, place: booking.place_of(market, job) }
                }
                Outcome::Refused(reason) => {
                    self.joined.remove(&job);
                    Command::Refuse { job, reason }
                }
            });
        }
    }

    /// When to ask again, even if nothing happens.
    pub(in crate::policy) fn next_wake(
        &self,
        market: &Market,
        books: &GridAvailability,
    ) -> Option<Time> {
        let later = self.later.keys().next().map(|(at, _)| *at);
        let unsaid = books.next_unsaid_end().filter(|_| self.line.len() > 0);
        let wakes = [self.line.first_reservation(), self.expires, later, unsaid];
        let wake = wakes.into_iter().flatten().min();
        match market.pools().rates() {
            Some(rates) => self.price_wake(rates, books, wake),
            None => wake,
        }
    }

    /// The same where prices change: when the first job without a reservation can start beside all
    /// reservations, or one that others wait for may have to be refused; if there is none, when a price
    /// changes, as jobs may then be refused. A job that lacks nodes, whatever they cost, lacks them
    /// until something happens: nodes become free by events alone.
    fn price_wake(
        &self,
        rates: &Rates,
        books: &GridAvailability,
        wake: Option<Time>,
    ) -> Option<Time> {
        let from = books.now() + Span(1);
        let mut until = wake.unwrap_or(Time::INFINITY);
        // How many jobs may start, and how many others wait for.
        let (heads, waited_for) = match self.settings.depth {
            Depth::First(0) => (1, 1),
            Depth::First(count) => (usize::MAX, count as usize),
            Depth::All => (usize::MAX, 0),
        };
        let unreserved = self.line.iter().filter(|it| it.waits_for_nodes()).take(heads);
        let unreserved = unreserved.enumerate().filter(|(_, it)| it.reserved.is_none());
        let unreserved: Vec<(usize, &PoolsJob)> = unreserved.collect();
        for (_, waiting) in unreserved.iter().take_while(|(place, _)| *place < waited_for) {
            let last = waiting.wish.possible_until(books.now());
            until = last.map_or(until, |last| until.min(last + Span(1)));
        }
        for (_, waiting) in &unreserved {
            let starts = Starts { from, until };
            if !waiting.wish.has_nodes(books.free(), starts) {
                continue;
            }
            until = waiting.wish.priced_start(books.free(), starts).unwrap_or(until);
        }
        let change = (until == Time::INFINITY && !unreserved.is_empty()).then(|| rates.next(from));
        change.flatten().or((until < Time::INFINITY).then_some(until))
    }

    /// See [`promise`].
    pub(in crate::policy) fn promise(&self) -> Promise {
        promise(self.settings)
    }

    /// Every job is looked at again at the next walk, wherever nodes became free.
    #[cfg(test)]
    pub(super) fn unsettle(&mut self) {
        self.line.queue.iter_mut().for_each(|waiting| waiting.settled = false);
    }

    /// Every reservation, in queue order.
    #[cfg(test)]
    pub(super) fn reservations(&self) -> Vec<(JobId, Option<Booking>)> {
        self.line.iter().map(|it| (it.rank.job, it.reserved.clone())).collect()
    }

    /// What is set aside for waiting jobs.
    pub(in crate::policy) fn reserved(&self) -> Vec<(JobId, Taken)> {
        let of = |it: &PoolsJob| {
            let (job, booking) = (it.rank.job, it.reserved.clone());
            booking
                .into_iter()
                .flat_map(move |it| it.taken().map(|it| (job, it)).collect::<Vec<_>>())
        };
        self.line.iter().flat_map(of).collect()
    }

    /// When a waiting job is to start.
    pub(in crate::policy) fn reservation(&self, job: JobId) -> Option<Time> {
        self.line.find(job)?.reserved_start()
    }
}

/// With a reservation for all, and for the head alone in the order of arrival, reservations
/// never move back. Those of the second and third in the queue may: the head's may move to
/// nodes that stood in no job's way before.
pub(super) fn promise(settings: GridFillSettings) -> Promise {
    match (settings.depth, settings.order) {
        (_, order) if order.moves() => Promise::Nothing,
        (Depth::All, _) | (Depth::First(1), Order::Arrival) => Promise::Reservations,
        _ => Promise::Nothing,
    }
}

/// The request of a job that looks at the cheapest pools first, where they are many.
fn at_once(
    settings: GridFillSettings,
    tariff: Option<&Arc<Tariff>>,
    (market, job): (&Market, JobId),
    demand: &Demand,
) -> Option<LazyRequest> {
    let tariff = tariff.filter(|_| settings.spread == Spread::Grid)?;
    LazyRequest::cheapest(tariff, market, job, demand)
}
