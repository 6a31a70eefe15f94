//! The earliest place that a job can afford where prices change with time.
//!
//! A task on a pool that starts at T costs the integral of the pool's price over its own interval.
//! Starts are looked at in pieces: within a piece the same nodes are usable and every task's cost
//! is linear in the start, so what the cheapest nodes cost is concave. Hence, if the job cannot
//! afford them at the first start of a piece but at the last, the first start that it can afford is
//! found by bisection. Exact; for q pieces and g pools O(q·g·(log n + log g)), times the logarithm
//! of a piece's length in the one that is bisected.

use std::sync::Arc;

use tradewind_model::{Level, Money, Price, Profile, Rates, Reason, Series, Span, Time};

use super::booking::{Booking, Part};
use super::free::Free;
use super::licences::LicenceRoom;
use super::search::{PricedBooking, SearchBounds, Starts};
use super::wish::{PlacementRequest, PoolGroup, PoolOffer};

/// Prices that change, and what a job allows of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::policy) struct ChangingPrices {
    pub(super) rates: Arc<Rates>,
    /// The most that a node may cost in any second of a task.
    pub(super) max_price: Option<Price>,
    /// Whether lower prices than those may come: by decisions of owners, or as load falls.
    pub(super) may_fall: bool,
}

impl ChangingPrices {
    fn rate(&self, offer: &PoolOffer) -> Option<&Arc<Series>> {
        self.rates.get(offer.pool.index())
    }

    /// What a task costs that starts then, in micro-credits.
    pub(super) fn cost(&self, offer: &PoolOffer, start: Time) -> i64 {
        self.rate(offer).map_or(offer.cost, |rate| rate.cost(start, offer.length).0)
    }

    /// Whether a task that starts then keeps to the price cap all the time.
    pub(super) fn allows(&self, offer: &PoolOffer, start: Time) -> bool {
        match (self.max_price, self.rate(offer)) {
            (Some(max), Some(rate)) => rate.most_within(start, start + offer.length) <= max.0,
            _ => true,
        }
    }
}

/// What is free where a place is looked for.
#[derive(Clone, Copy)]
pub(super) enum FreeNodes<'f> {
    /// Beside what is taken.
    Beside(&'f Free),
    /// All nodes of every pool.
    Empty,
}

/// A pool as the start moves on.
struct PricedPool<'w> {
    offer: &'w PoolOffer,
    profile: Option<&'w Profile>,
    /// Without them no task fits.
    licences: Vec<LicenceRoom<'w>>,
    /// When the number of free nodes, or of licences that the job takes along, changes.
    changes: Vec<Level>,
    until: Time,
    usable: u32,
}

/// Starts at which nothing changes but linearly, both included.
#[derive(Clone, Copy)]
struct StartPiece {
    first: Time,
    last: Time,
}

/// The search in one group of pools.
struct GroupWalk<'w> {
    wish: &'w PlacementRequest,
    prices: &'w ChangingPrices,
    views: Vec<PricedPool<'w>>,
    bounds: SearchBounds,
    /// What the cheapest place seen costs that the job cannot afford.
    cheapest: Option<i128>,
    /// The most nodes that were usable together.
    most: u64,
}

impl PlacementRequest {
    /// The earliest within one group.
    pub(super) fn earliest_priced(
        &self,
        (group, prices): (&PoolGroup, &ChangingPrices),
        room: FreeNodes<'_>,
        bounds: SearchBounds,
    ) -> Option<PricedBooking> {
        GroupWalk::new(self, (group, prices), room, bounds).find()
    }

    /// Whether enough nodes are free for the job at the first of these starts, whatever they cost.
    pub(in crate::policy) fn has_nodes(&self, free: &Free, starts: Starts) -> bool {
        let SearchBounds { from, .. } = self.bounds(starts);
        let usable = |offer: &PoolOffer| {
            let mut licences = self.along().rooms(free.licences()).into_iter();
            if !licences.all(|it| it.fits(from, offer.length)) {
                return 0;
            }
            let free = free.profiles()[offer.pool.index()].min(from, offer.length);
            free.clamp(0, i64::from(offer.nodes))
        };
        let enough = |shape: &PlacementRequest| {
            let usable = |group: &PoolGroup| group.offers.iter().map(usable).sum::<i64>();
            shape.groups.iter().any(|group| usable(group) >= i64::from(shape.wanted))
        };
        self.each().any(enough)
    }

    /// Why the job could not start at `now` or later though all pools were free and prices were
    /// waited for, if it could not. Nothing where prices do not change or do not matter to the job, nor
    /// where others may come at any time.
    pub(super) fn never(&self, now: Time) -> Option<Reason> {
        let prices = self.prices.as_ref().filter(|_| self.minds_prices())?;
        if prices.may_fall {
            return None;
        }
        let bounds = self.bounds(Starts::from(now));
        let (mut cheapest, mut most) = (None, 0);
        for group in &self.groups {
            let mut walk = GroupWalk::new(self, (group, prices), FreeNodes::Empty, bounds);
            if walk.find().is_some() {
                return None;
            }
            most = most.max(walk.most);
            cheapest = [cheapest, walk.cheapest].into_iter().flatten().min();
        }
        let saturate = |amount: i128| Money(amount.clamp(0, i128::from(i64::MAX)) as i64);
        let deadline = (self.deadline < Time::INFINITY).then_some(self.deadline);
        Some(match cheapest {
            Some(cheapest) => {
                Reason::BudgetShort { cheapest: saturate(cheapest), budget: saturate(self.budget) }
            }
            None => Reason::NoCommonTime { needed: self.wanted, max: most as u32, deadline },
        })
    }

    /// A moment up to which the job is not refused for prices that change with time, whatever is free:
    /// until then [`PlacementRequest::never`] gives nothing. `None` where they refuse no job, or this one
    /// now.
    pub(in crate::policy) fn possible_until(&self, now: Time) -> Option<Time> {
        let last = |shape: &PlacementRequest| {
            let prices = shape.prices.as_ref().filter(|it| shape.minds_prices() && !it.may_fall);
            let Some(prices) = prices else { return Some(Time::INFINITY) };
            let bounds = shape.bounds(Starts::from(now));
            let of = |group| {
                GroupWalk::new(shape, (group, prices), FreeNodes::Empty, bounds).last_of_a_piece()
            };
            shape.groups.iter().filter_map(of).max()
        };
        self.each().filter_map(last).max().filter(|last| *last < Time::INFINITY)
    }

    /// What a booking costs within a group; `None` if the group lacks a pool or a cap is broken.
    pub(super) fn priced_cost(
        &self,
        (group, prices): (&PoolGroup, &ChangingPrices),
        booking: &Booking,
    ) -> Option<i128> {
        let of = |part: &Part| {
            let offer = group.offers.iter().find(|offer| offer.pool == part.pool)?;
            let cost =
                prices.allows(offer, booking.start).then(|| prices.cost(offer, booking.start));
            cost.map(|cost| i128::from(cost) * i128::from(part.nodes))
        };
        let nodes: i128 = booking.parts.iter().map(of).sum::<Option<i128>>()?;
        Some(nodes + self.along().cost_of(booking))
    }
}

impl<'w> GroupWalk<'w> {
    fn new(
        wish: &'w PlacementRequest,
        (group, prices): (&'w PoolGroup, &'w ChangingPrices),
        room: FreeNodes<'w>,
        bounds: SearchBounds,
    ) -> GroupWalk<'w> {
        let view = |offer: &'w PoolOffer| {
            let (profile, licences) = match room {
                FreeNodes::Beside(free) => (
                    Some(&free.profiles()[offer.pool.index()]),
                    wish.along().rooms(free.licences()),
                ),
                FreeNodes::Empty => (None, Vec::new()),
            };
            let mut changes = Vec::new();
            let until = bounds.until_for(offer.length);
            if bounds.from < until {
                let end = until.min(Time::INFINITY - offer.length) + offer.length;
                let profiles = profile.into_iter().chain(licences.iter().map(|it| it.free));
                profiles.for_each(|it| it.levels(bounds.from, end, &mut changes));
                changes.sort_by_key(|level| level.at);
            }
            PricedPool { offer, profile, licences, changes, until, usable: 0 }
        };
        let views = group.offers.iter().map(view).collect();
        GroupWalk { wish, prices, views, bounds, cheapest: None, most: 0 }
    }

    fn find(&mut self) -> Option<PricedBooking> {
        self.find_in(GroupWalk::first_in)
    }

    /// The last start that the job can afford in the first piece that has any.
    fn last_of_a_piece(&mut self) -> Option<Time> {
        self.find_in(|walk, piece| walk.last_in(piece))
    }

    /// The first result in a piece that has nodes enough.
    fn find_in<T>(
        &mut self,
        mut find: impl FnMut(&mut Self, StartPiece) -> Option<T>,
    ) -> Option<T> {
        let mut at = self.bounds.from;
        // From then on all prices have come once for the nodes that are free since the last change.
        let mut settled = self.prices.rates.settled(at);
        while at < self.bounds.until {
            self.views.iter_mut().for_each(|view| view.look(self.prices, at));
            let usable: u64 = self.views.iter().map(|view| u64::from(view.usable)).sum();
            self.most = self.most.max(usable);
            let next = self.next(at)?;
            if usable >= u64::from(self.wish.wanted) {
                let last = (next - Span(1)).min(self.bounds.until - Span(1));
                if let Some(found) = find(self, StartPiece { first: at, last }) {
                    return Some(found);
                }
            }
            let level = self.next_level(at);
            at = if next > settled { level } else { next };
            if at >= level {
                settled = self.prices.rates.settled(at);
            }
        }
        None
    }

    /// The first start of the piece that the job can afford.
    fn first_in(&mut self, StartPiece { first, last }: StartPiece) -> Option<PricedBooking> {
        let at_first = self.choose(first);
        let budget = self.wish.budget;
        let affordable = |it: PricedBooking| (it.0 <= budget).then_some(it);
        let note = |found: &PricedBooking, cheapest: &mut Option<i128>| {
            *cheapest = Some(cheapest.map_or(found.0, |before| before.min(found.0)));
        };
        note(&at_first, &mut self.cheapest);
        if let Some(found) = affordable(at_first) {
            return Some(found);
        }
        let at_last = self.choose(last);
        note(&at_last, &mut self.cheapest);
        let mut yes = affordable(at_last)?;
        let mut no = first;
        while yes.1.start - no > Span(1) {
            let middle = no + Span((yes.1.start - no).0 / 2);
            match affordable(self.choose(middle)) {
                Some(found) => yes = found,
                None => no = middle,
            }
        }
        Some(yes)
    }

    /// The last start of the piece that the job can afford.
    fn last_in(&self, StartPiece { first, last }: StartPiece) -> Option<Time> {
        let affords = |start: Time| self.choose(start).0 <= self.wish.budget;
        if affords(last) {
            return Some(last);
        }
        let (mut yes, mut no) = (affords(first).then_some(first)?, last);
        while no - yes > Span(1) {
            let middle = yes + Span((no - yes).0 / 2);
            if affords(middle) { yes = middle } else { no = middle }
        }
        Some(yes)
    }

    /// The cheapest nodes at a start of the piece that the views are at, which has enough of them.
    fn choose(&self, start: Time) -> PricedBooking {
        let views = self.views.iter().filter(|view| view.usable > 0);
        let mut offers: Vec<(i64, &PricedPool<'_>)> =
            views.map(|view| (self.prices.cost(view.offer, start), view)).collect();
        offers.sort_by_key(|(cost, view)| (*cost, view.offer.length, view.offer.pool));
        let caps = self.wish.along().caps(offers.iter().map(|(_, view)| view.offer.length));
        let within = |cap: Span| {
            let offers = offers.iter().filter(|(_, view)| view.offer.length <= cap);
            self.first_of(offers, start)
        };
        let cheapest = caps.into_iter().filter_map(within).min_by_key(|(cost, _)| *cost);
        cheapest.unwrap_or_else(|| (i128::MAX, Booking::new(start, Vec::new())))
    }

    /// The first of these nodes, with what the job takes along; `None` if they are too few.
    fn first_of<'o>(
        &self,
        offers: impl Iterator<Item = &'o (i64, &'o PricedPool<'o>)>,
        start: Time,
    ) -> Option<PricedBooking> {
        let (mut left, mut cost, mut parts) = (self.wish.wanted, 0i128, Vec::new());
        for (each, view) in offers {
            let nodes = left.min(view.usable);
            cost += i128::from(nodes) * i128::from(*each);
            parts.push(self.wish.part(view.offer.pool, nodes, view.offer.length));
            left -= nodes;
            if left == 0 {
                let along = self.wish.along();
                let booking = Booking::new(start, parts).along(&along.shares);
                return Some((cost + along.cost_of(&booking), booking));
            }
        }
        None
    }

    /// The first start after `at` at which other nodes are free for some task.
    fn next_level(&self, at: Time) -> Time {
        let views = self.views.iter().filter(|view| at < view.until);
        views.map(|view| view.next_level(at)).min().unwrap_or(Time::INFINITY)
    }

    /// The first start after `at` at which another piece begins; `None` if none can have nodes.
    fn next(&self, at: Time) -> Option<Time> {
        self.views
            .iter()
            .filter(|view| at < view.until)
            .map(|view| view.next(self.prices, at))
            .min()
    }
}

impl PricedPool<'_> {
    fn look(&mut self, prices: &ChangingPrices, at: Time) {
        let has_licences = || self.licences.iter().all(|it| it.fits(at, self.offer.length));
        let is_possible = at < self.until && prices.allows(self.offer, at) && has_licences();
        let nodes = i64::from(self.offer.nodes);
        let free = match (is_possible, self.profile) {
            (false, _) => 0,
            (true, None) => nodes,
            (true, Some(profile)) => profile.min(at, self.offer.length),
        };
        self.usable = free.clamp(0, nodes) as u32;
    }

    /// The first start after `at` from which a task begins or ends on the other side of a change.
    fn next(&self, prices: &ChangingPrices, at: Time) -> Time {
        let step = |after: Time| {
            let rate = prices.rate(self.offer);
            rate.and_then(|rate| rate.next(after)).map_or(Time::INFINITY, |(from, _)| from)
        };
        self.next_level(at).min(self.next_on_either_end(at, step))
    }

    /// The first start after `at` from which a task begins or ends on the other side of a change of
    /// the free nodes.
    fn next_level(&self, at: Time) -> Time {
        let level = |after: Time| {
            let from = self.changes.partition_point(|level| level.at <= after);
            self.changes.get(from).map_or(Time::INFINITY, |level| level.at)
        };
        self.next_on_either_end(at, level).min(self.until)
    }

    /// The first start after `at` from which a task begins or ends on the other side of what `change`
    /// finds after a moment.
    fn next_on_either_end(&self, at: Time, change: impl Fn(Time) -> Time) -> Time {
        let length = self.offer.length;
        // A change at c is touched by the start c, and first contained from c − length + 1 on.
        let (left, right) = (change(at), change(at + length - Span(1)));
        let entered = if right < Time::INFINITY { right - length + Span(1) } else { right };
        left.min(entered)
    }
}
