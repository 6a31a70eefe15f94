//! Batches, plans and bookings, beside books that others may write in, too.

mod fallback;
mod picture;
mod wish;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tradewind_model::{Command, Demand, Event, Horizon, JobId, Market, Reason, Span, Terms, Time};

use super::{CycleSettings, PlanOrder, Replan, Stretch};
use crate::policy::availability::{News, Taken};
use crate::policy::cyclic::{self, SliceBy};
use crate::policy::grid::{
    Booking, GridAvailability, Part, PlacementRequest, RequestOutline, Spread, Tariff, fits_at_once,
};
use crate::policy::inbox::{self, Comes};
use crate::policy::share::Usage;
use crate::policy::{Promise, UserShare};

use fallback::Fallbacks;
pub(in crate::policy) use fallback::Renewal;
use picture::Picture;
use wish::{Wish, relaxed, whole};

/// A job's place in the order of planning: by priority (or what stands for it), then by submission.
pub(in crate::policy) type PlanKey = (Reverse<i64>, JobId);

/// A job with a window.
#[derive(Debug)]
struct Booked {
    key: PlanKey,
    wish: Wish,
    booking: Booking,
}

/// Plans batches of the jobs that wait with it.
#[derive(Debug)]
pub(in crate::policy) struct Planner {
    settings: CycleSettings,
    /// `None` before the first cycle.
    world: Option<Picture>,
    /// Pools by what they cost at the prices of now, where there are many.
    tariff: Option<Tariff>,
    waiting: BTreeMap<PlanKey, Wish>,
    booked: BTreeMap<JobId, Booked>,
    /// The first submission: periods are counted from there.
    origin: Option<Time>,
    /// When the next cycle takes place, while jobs wait for one.
    next: Time,
    plans: u64,
    /// Where users come first that have used least.
    usage: Option<Usage>,
    /// What each had used at the last cycle, in the usage's own unit.
    used: BTreeMap<i64, i64>,
    fallbacks: Fallbacks,
    /// Whether prices change with time.
    changing: bool,
}

impl Planner {
    pub(in crate::policy) fn new(settings: CycleSettings) -> Planner {
        let usage = match settings.turn {
            PlanOrder::Priority => None,
            PlanOrder::FairShare(half_life) => Some(Usage::new(half_life)),
        };
        Planner {
            fallbacks: Fallbacks::new(settings.fallback),
            settings,
            usage,
            used: BTreeMap::new(),
            world: None,
            tariff: None,
            waiting: BTreeMap::new(),
            booked: BTreeMap::new(),
            origin: None,
            next: Time(0),
            plans: 0,
            changing: false,
        }
    }

    /// Takes note of what happened and was written into the books: what is booked and does not
    /// fit any more is given up.
    pub(in crate::policy) fn follow(&mut self, books: &mut GridAvailability, news: News) {
        if !news.upset {
            return;
        }
        self.fallbacks.changed();
        let mut all: Vec<(Time, JobId)> =
            self.booked.iter().map(|(job, booked)| (booked.booking.start, *job)).collect();
        all.sort_unstable();
        for (_, job) in all {
            if books.fits(&self.booked[&job].booking) {
                books.book(&self.booked[&job].booking);
            } else if let Some(booked) = self.booked.remove(&job) {
                self.fallbacks.lost(job);
                self.wait(books.now(), booked.key, booked.wish);
            }
        }
    }

    /// Takes note of what others decided, and of new prices: what cannot be paid any more is given
    /// up. Whether something that was booked is free again, or what is booked is now available for
    /// less.
    pub(in crate::policy) fn obey(
        &mut self,
        market: &Market,
        books: &mut GridAvailability,
        events: &[Event],
    ) -> bool {
        self.usage.iter_mut().for_each(|usage| usage.follow(market));
        let mut freed = false;
        for job in inbox::departures(events) {
            self.leave(market, job);
            if let Some(Booked { booking, .. }) = self.booked.remove(&job) {
                books.cancel(&booking);
                freed = true;
            }
        }
        if inbox::terms_changed(events) {
            self.fallbacks.changed();
            self.reprice(market, books);
            freed = true;
        }
        freed
    }

    fn reprice(&mut self, market: &Market, books: &mut GridAvailability) {
        (self.world, self.tariff) = (None, None);
        self.know_prices(market);
        let mut waiting = std::mem::take(&mut self.waiting);
        for ((_, job), wish) in &mut waiting {
            self.wish_now(market, *job).into_iter().for_each(|new| *wish = new);
        }
        self.waiting = waiting;
        let Planner { settings, booked, .. } = self;
        let mut dear = Vec::new();
        for (job, booked) in booked {
            let Some(new) = whole(settings, market, *job) else { continue };
            if !new.affords(&booked.booking) {
                dear.push(*job);
            }
            booked.wish = Wish::of(market, new);
        }
        for job in dear {
            if let Some(Booked { key, wish, booking }) = self.booked.remove(&job) {
                books.cancel(&booking);
                self.wait(market.now(), key, wish);
            }
        }
    }

    /// Makes the order of pools, where there are many.
    fn know_prices(&mut self, market: &Market) {
        self.changing = market.pools().rates().is_some();
        if self.tariff.is_none() {
            self.tariff = Tariff::of(market);
        }
    }

    /// A job joins the queue.
    ///
    /// # Errors
    /// Why it can never run.
    pub(in crate::policy) fn join(
        &mut self,
        market: &Market,
        (job, comes): (JobId, Comes),
    ) -> Result<(), Reason> {
        let Some(demand) = market.demand(job) else { return Ok(()) };
        self.know_prices(market);
        let relaxed = relaxed(&self.settings.cyclic.search, demand);
        let demand = relaxed.as_ref().unwrap_or(demand);
        let (now, key) = (market.now(), self.key(market, job));
        if let Some(outline) = self.quick(market, job, demand) {
            self.wait(now, key, Wish { outline, whole: None });
            return Ok(());
        }
        let wish = PlacementRequest::of(market, (job, comes), demand, Spread::Grid)?;
        if self.settings.stretch == Stretch::Fixed {
            // At higher prices than these it may have no place at all, or only slower ones.
            let idle = PlacementRequest::on_idle_pools(market, job, demand, Spread::Grid);
            let idle = idle.transpose()?.unwrap_or_else(|| wish.clone());
            let (ahead, needed) = (self.settings.look_ahead(), demand.processors);
            if idle.least_runtime() > ahead {
                let max = idle.nodes_within(ahead);
                return Err(Reason::NoCommonTime { needed, max, deadline: None });
            }
        }
        self.wait(now, key, Wish::of(market, wish));
        Ok(())
    }

    /// What has to be known of a job that waits, at the prices of now.
    fn wish_now(&self, market: &Market, job: JobId) -> Option<Wish> {
        let demand = market.demand(job)?;
        let relaxed = relaxed(&self.settings.cyclic.search, demand);
        if let Some(outline) = self.quick(market, job, relaxed.as_ref().unwrap_or(demand)) {
            return Some(Wish { outline, whole: None });
        }
        whole(&self.settings, market, job).map(|new| Wish::of(market, new))
    }

    /// What has to be known of a job that can run, if a few pools say that.
    fn quick(&self, market: &Market, job: JobId, demand: &Demand) -> Option<RequestOutline> {
        let free = market.trade(job).is_none() && self.settings.stretch != Stretch::Fixed;
        let tariff = self.tariff.as_ref().filter(|_| free)?;
        RequestOutline::quick(tariff, demand)
    }

    /// The job's place in the order, as of the last cycle.
    fn key(&self, market: &Market, job: JobId) -> PlanKey {
        let none = Terms::NONE;
        let terms = market.demand(job).map_or(&none, Demand::terms);
        let priority = match self.usage {
            None => terms.priority,
            Some(_) => -self.used.get(&terms.user).copied().unwrap_or_default(),
        };
        (Reverse(priority), job)
    }

    /// A cycle begins: where shares matter, jobs take their places again.
    fn put_in_order(&mut self, market: &Market) {
        let Some(usage) = &self.usage else { return };
        let user = |job: JobId| market.demand(job).map_or(0, |demand| demand.terms().user);
        let jobs = self.waiting.keys().map(|(_, job)| *job).chain(self.booked.keys().copied());
        self.used = jobs.map(user).map(|user| (user, usage.key(user))).collect();
        for ((_, job), wish) in std::mem::take(&mut self.waiting) {
            self.waiting.insert(self.key(market, job), wish);
        }
        for (job, mut booked) in std::mem::take(&mut self.booked) {
            booked.key = self.key(market, job);
            self.booked.insert(job, booked);
        }
    }

    /// What users had used when the policy began.
    pub(in crate::policy) fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        self.usage.iter_mut().for_each(|books| books.resume(usage));
    }

    /// What users have used, if that matters.
    pub(in crate::policy) fn standing(&self, now: Time) -> Vec<UserShare> {
        self.usage.as_ref().map(|usage| usage.standing(now)).unwrap_or_default()
    }

    /// Takes note of who starts by all commands of a pass.
    pub(in crate::policy) fn started(&mut self, market: &Market, commands: &[Command]) {
        self.usage.iter_mut().for_each(|usage| usage.started(market, commands));
    }

    fn wait(&mut self, now: Time, key: PlanKey, wish: Wish) {
        self.origin.get_or_insert(now);
        let cycle = self.first_cycle(&wish.outline, now);
        self.next = if self.waiting.is_empty() { cycle } else { self.next.min(cycle) };
        self.waiting.insert(key, wish);
    }

    /// The first cycle from `from` on that could book the job: one that looks as far ahead as its
    /// earliest start.
    fn first_cycle(&self, wish: &RequestOutline, from: Time) -> Time {
        let ahead = self.settings.look_ahead();
        let from = wish.earliest_start().map_or(from, |start| from.max(start - ahead));
        let period = self.settings.period.max(Span(1)).0;
        let since = from - self.origin.unwrap_or(from);
        from + Span((period - since.0 % period) % period)
    }

    /// A job leaves the queue, because something else was decided about it.
    pub(in crate::policy) fn leave(&mut self, market: &Market, job: JobId) {
        self.waiting.remove(&self.key(market, job));
    }

    /// Whether the job waits for a cycle.
    pub(in crate::policy) fn has(&self, market: &Market, job: JobId) -> bool {
        self.waiting.contains_key(&self.key(market, job))
    }

    /// Jobs that wait for a cycle, in the order of planning.
    pub(in crate::policy) fn waiting(&self) -> impl Iterator<Item = PlanKey> + '_ {
        self.waiting.keys().copied()
    }

    /// Whether jobs wait for a cycle and it is time for one; sets the time of the next.
    pub(in crate::policy) fn is_due(&mut self, now: Time) -> bool {
        let due = !self.waiting.is_empty() && now >= self.next;
        if due {
            let first = |wish: &Wish| self.first_cycle(&wish.outline, now + Span(1));
            self.next = self.waiting.values().map(first).min().unwrap_or(self.next);
        }
        due
    }

    /// The jobs of the next cycle. Jobs that have become too late are refused.
    pub(in crate::policy) fn batch(
        &mut self,
        market: &Market,
        books: &mut GridAvailability,
        commands: &mut Vec<Command>,
    ) -> Vec<PlanKey> {
        self.put_in_order(market);
        self.know_prices(market);
        self.refuse_late(market, books.now(), commands);
        let now = books.now();
        let horizon = self.horizon(now);
        let first = self.waiting.iter().take(CycleSettings::MAX_LOOKED_AT);
        let some = first.filter(|((_, job), wish)| self.fits(market, books, (*job, wish), horizon));
        some.map(|(key, _)| *key).take(self.settings.batch.max(1) as usize).collect()
    }

    fn refuse_late(&mut self, market: &Market, now: Time, commands: &mut Vec<Command>) {
        let Planner { settings, waiting, .. } = self;
        let changing = market.pools().rates().is_some();
        waiting.retain(|(_, job), wish| {
            let never = || match &wish.whole {
                _ if !changing => None,
                Some(whole) => whole.too_late(now),
                None => whole(settings, market, *job)?.too_late(now),
            };
            match wish.outline.too_late(now).or_else(never) {
                None => true,
                Some(reason) => {
                    commands.push(Command::Refuse { job: *job, reason });
                    false
                }
            }
        });
    }

    /// Whether there is a place within the horizon for a waiting job.
    fn fits(
        &self,
        market: &Market,
        books: &mut GridAvailability,
        (job, wish): (JobId, &Wish),
        horizon: Horizon,
    ) -> bool {
        let (now, end) = (horizon.start, self.end_for(&wish.outline, horizon));
        // A cycle that sees few of its windows is no reason to refuse the job.
        let is_beyond = wish.outline.earliest_start().is_some_and(|at| at > now + self.ahead());
        if let Some(whole) = &wish.whole {
            return !is_beyond && whole.fits_by(books.free_mut(), now, end);
        }
        let Some(demand) = market.demand(job).filter(|_| !is_beyond) else { return false };
        let relaxed = relaxed(&self.settings.cyclic.search, demand);
        let demand = relaxed.as_ref().unwrap_or(demand);
        let tariff = self.tariff.as_ref().filter(|_| market.trade(job).is_none());
        if tariff.is_some_and(|it| fits_at_once(it, demand, books.free(), (now, end))) {
            return true;
        }
        let whole = PlacementRequest::of_waiting(market, job, demand, Spread::Grid);
        whole.fits_by(books.free_mut(), now, end)
    }

    /// How far starts are looked for: where prices change, until the next cycle at least.
    fn ahead(&self) -> Span {
        let ahead = self.settings.look_ahead();
        if self.changing { ahead.max(self.settings.period) } else { ahead }
    }

    /// The horizon of a cycle now.
    fn horizon(&self, now: Time) -> Horizon {
        let ahead = self.ahead();
        let booked = self.booked.values().map(|booked| &booked.wish);
        let all = self.waiting.values().chain(booked);
        let longest = || all.map(|it| it.outline.longest_task()).max().unwrap_or_default();
        let end = match self.settings.stretch {
            _ if self.changing => now + ahead + longest(),
            Stretch::Fixed => now + ahead,
            Stretch::Own => now + ahead + longest(),
            Stretch::Longest => now + ahead.max(longest()),
        };
        Horizon { start: now, end }
    }

    /// By when a job must be over to be planned within the horizon.
    fn end_for(&self, wish: &RequestOutline, horizon: Horizon) -> Time {
        match self.settings.stretch {
            _ if self.changing => horizon.start + self.ahead() + wish.longest_task(),
            Stretch::Own => horizon.start + self.ahead() + wish.longest_task(),
            Stretch::Fixed | Stretch::Longest => horizon.end,
        }
    }

    /// Plans the batch and books what was chosen.
    pub(in crate::policy) fn cycle(
        &mut self,
        market: &Market,
        books: &mut GridAvailability,
        batch: &[PlanKey],
        commands: &mut Vec<Command>,
    ) {
        if batch.is_empty() {
            return;
        }
        let horizon = self.horizon(books.now());
        let batch = self.book_agreed(market, books, batch, horizon);
        if batch.is_empty() {
            return;
        }
        let outcomes = self.plan(market, books, &batch, horizon);
        let in_part = self.world.as_ref().is_some_and(|world| world.reached.is_some());
        let mut hopeless = None;
        for (key, outcome) in batch.iter().zip(outcomes) {
            match outcome {
                Ok(booking) => {
                    self.book(books, *key, booking);
                }
                Err(reason) if hopeless.is_none() => hopeless = Some((*key, reason)),
                Err(_) => {}
            }
        }
        let idle = books.idle() && self.booked.is_empty();
        let hopeless = hopeless.filter(|(key, _)| idle && !self.may_wait(market, books, *key));
        if let Some((key, reason)) = hopeless {
            // Nothing was booked: what counts nodes in the reason has to count all.
            let reason = match in_part {
                true => self.reason_in_all(market, books, (&batch, key), horizon).unwrap_or(reason),
                false => reason,
            };
            self.waiting.remove(&key);
            commands.push(Command::Refuse { job: key.1, reason });
        }
    }

    /// Availability jobs that agreed with a queue: plans know nothing of queues. Returns the others.
    fn book_agreed(
        &mut self,
        market: &Market,
        books: &mut GridAvailability,
        batch: &[PlanKey],
        horizon: Horizon,
    ) -> Vec<PlanKey> {
        let (agreed, free): (Vec<PlanKey>, Vec<PlanKey>) =
            batch.iter().partition(|(_, job)| market.trade(*job).is_some());
        for key in agreed {
            let Some(wish) = self.waiting.get(&key) else { continue };
            let end = self.end_for(&wish.outline, horizon);
            let now = books.now();
            let Some(whole) = whole(&self.settings, market, key.1) else { continue };
            let booking = whole.earliest(books.free_mut(), now);
            let in_time = |part: &Part, start: Time| start + part.length <= end;
            let booking = booking.filter(|it| it.parts.iter().all(|part| in_time(part, it.start)));
            booking.into_iter().for_each(|booking| self.book(books, key, booking));
        }
        free
    }

    fn book(&mut self, books: &mut GridAvailability, key: PlanKey, booking: Booking) {
        if let Some(wish) = self.waiting.remove(&key) {
            self.fallbacks.changed();
            books.book(&booking);
            self.booked.insert(key.1, Booked { key, wish, booking });
        }
    }

    /// One plan for the batch on what is free in the books, in the batch's order.
    fn plan(
        &mut self,
        market: &Market,
        books: &GridAvailability,
        batch: &[PlanKey],
        horizon: Horizon,
    ) -> Vec<Result<Booking, Reason>> {
        let seed = self.settings.cyclic.seed.wrapping_add(self.plans);
        self.plans += 1;
        let reached = self.reached(market, books, batch, horizon);
        self.picture(market, books, (batch, reached), horizon);
        self.plan_in_picture(seed)
    }

    /// The first `count` of the batch in the order of `by`; they stay in the batch's order.
    pub(in crate::policy) fn pick(
        &mut self,
        market: &Market,
        books: &GridAvailability,
        batch: &[PlanKey],
        by: SliceBy,
        count: usize,
    ) -> Vec<PlanKey> {
        if count >= batch.len() || by == SliceBy::Priority {
            return batch[..count.min(batch.len())].to_vec();
        }
        let horizon = self.horizon(books.now());
        self.picture(market, books, (batch, None), horizon);
        let Some(Picture { snapshot, .. }) = &self.world else { return Vec::new() };
        let order = cyclic::slicing_order(snapshot, by);
        let mut picked: Vec<PlanKey> =
            order.into_iter().take(count).map(|job| batch[job]).collect();
        picked.sort_unstable();
        picked
    }

    /// Plans what is booked and has not started again, if that is wanted: the first jobs by the
    /// order of planning, as many as a batch may have.
    pub(in crate::policy) fn replan(&mut self, market: &Market, books: &mut GridAvailability) {
        if self.settings.replan != Replan::OnRelease {
            return;
        }
        let now = books.now();
        let ahead = self
            .booked
            .values()
            .filter(|booked| booked.booking.start > now && market.trade(booked.key.1).is_none());
        let mut batch: Vec<PlanKey> = ahead.map(|booked| booked.key).collect();
        batch.sort_unstable();
        batch.truncate(self.settings.batch.max(1) as usize);
        if batch.is_empty() {
            return;
        }
        let horizon = self.horizon(now);
        batch.iter().for_each(|(_, job)| books.cancel(&self.booked[job].booking));
        let outcomes = self.plan(market, books, &batch, horizon);
        let complete = outcomes.iter().all(Result::is_ok);
        for ((_, job), outcome) in batch.iter().zip(outcomes) {
            let Some(booked) = self.booked.get_mut(job) else { continue };
            if let Some(booking) = outcome.ok().filter(|_| complete) {
                booked.booking = booking;
            }
            books.book(&booked.booking);
        }
        self.fallbacks.changed();
    }

    /// Starts the jobs whose time has come.
    pub(in crate::policy) fn start_due(
        &mut self,
        market: &Market,
        books: &mut GridAvailability,
        commands: &mut Vec<Command>,
    ) {
        let now = books.now();
        let is_due = |booked: &&Booked| booked.booking.start <= now;
        let due: Vec<JobId> = self.booked.values().filter(is_due).map(|it| it.key.1).collect();
        for job in due {
            if let Some(Booked { booking, .. }) = self.booked.remove(&job) {
                commands.push(Command::Start { job, place: booking.place_of(market, job) });
                books.begin(job, &booking);
            }
        }
    }

    /// When to ask again, even if nothing happens: a booking falls due, or it is time for a cycle.
    pub(in crate::policy) fn next_wake(&self) -> Option<Time> {
        let due = self.booked.values().map(|booked| booked.booking.start).min();
        let cycle = (!self.waiting.is_empty()).then_some(self.next);
        due.into_iter().chain(cycle).min()
    }

    /// Whether bookings are kept.
    pub(in crate::policy) fn promise(&self) -> Promise {
        match self.settings.replan {
            Replan::NextCycle => Promise::Reservations,
            Replan::OnRelease => Promise::Nothing,
        }
    }

    /// What is booked for waiting jobs.
    pub(in crate::policy) fn reserved(&self) -> Vec<(JobId, Taken)> {
        let of = |(job, it): (&JobId, &Booked)| {
            it.booking.taken().map(|taken| (*job, taken)).collect::<Vec<_>>()
        };
        self.booked.iter().flat_map(of).collect()
    }

    /// When a booked job is to start.
    pub(in crate::policy) fn reservation(&self, job: JobId) -> Option<Time> {
        self.booked.get(&job).map(|booked| booked.booking.start)
    }
}
