//! The earliest place that a job can afford.

use tradewind_model::{PoolId, Profile, Span, Time};

use super::booking::{Booking, Part};
use super::free::Free;
use super::licences::LicenceRoom;
use super::priced::FreeNodes;
use super::rooms::RoomRequest;
use super::wish::{PlacementRequest, PoolGroup, PoolOffer};

/// A start in `[from, until)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) struct Starts {
    pub(in crate::policy) from: Time,
    pub(in crate::policy) until: Time,
}

impl Starts {
    /// From a moment on.
    pub(in crate::policy) fn from(from: Time) -> Starts {
        Starts { from, until: Time::INFINITY }
    }
}

/// The same, and all tasks are over by the deadline.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchBounds {
    pub(super) from: Time,
    pub(super) until: Time,
    deadline: Time,
    /// When the job had nodes that it gave back to look for others.
    lifted: Option<Starts>,
}

impl SearchBounds {
    /// The first moment at which a task of this length starts too late.
    pub(super) fn until_for(self, length: Span) -> Time {
        self.until.min(self.deadline - length + Span(1))
    }
}

/// A booking and what it costs.
pub(super) type PricedBooking = (i128, Booking);

impl PlacementRequest {
    /// The earliest place from `from` on: at each moment AMP's rule takes the nodes that cost
    /// least of those that are free for as long as a task takes on them, and they must keep to
    /// the budget. Of sites that are equally early, the cheapest, then the first. Exact.
    ///
    /// O(s·g·(p + 1)·log n) for g pools, n changes and p pieces of free time in them that are too
    /// short, and s moments looked at: at each of them all pools together have enough nodes for
    /// the shortest task, and some pool has gained its part of those that were missing before.
    /// With one pool it is one search of its profile. Where prices change with time, see `priced`.
    pub(in crate::policy) fn earliest(&self, free: &mut Free, from: Time) -> Option<Booking> {
        self.earliest_of(free, self.bounds(Starts::from(from)))
    }

    /// The same among some starts, for a job that gave back what it had to look for a place.
    pub(in crate::policy) fn earliest_among(
        &self,
        free: &mut Free,
        starts: Starts,
        lifted: Option<&Booking>,
    ) -> Option<Booking> {
        let lifted = lifted.map(Booking::extent);
        self.earliest_of(free, SearchBounds { lifted, ..self.bounds(starts) })
    }

    /// Whether there is a place from `from` on that is over by `end`.
    pub(in crate::policy) fn fits_by(&self, free: &mut Free, from: Time, end: Time) -> bool {
        self.earliest_by(free, from, end).is_some()
    }

    /// The earliest place from `from` on, if it is over by `end`.
    pub(in crate::policy) fn earliest_by(
        &self,
        free: &mut Free,
        from: Time,
        end: Time,
    ) -> Option<Booking> {
        let bounds = self.bounds(Starts::from(from));
        let deadline = end.min(bounds.deadline);
        self.earliest_of(free, SearchBounds { deadline, ..bounds })
    }

    /// When the job could start among these starts at the earliest, where prices change with time;
    /// nothing where they do not.
    pub(in crate::policy) fn priced_start(&self, free: &Free, starts: Starts) -> Option<Time> {
        let (prices, bounds) = (self.prices.as_ref()?, self.bounds(starts));
        let room = FreeNodes::Beside(free);
        let find = |shape: &PlacementRequest| {
            let of = |group| shape.earliest_priced((group, prices), room, bounds);
            shape.groups.iter().filter_map(of).map(|(_, booking)| booking.start).min()
        };
        self.each().filter_map(find).min()
    }

    /// The place at `now`, if there is one.
    ///
    /// A moldable job starts only where the best place of all its shapes begins now.
    pub(in crate::policy) fn now(&self, free: &mut Free, now: Time) -> Option<Booking> {
        let bounds = self.bounds(Starts { from: now, until: now + Span(1) });
        let found = self.earliest_of(free, bounds)?;
        match self.is_moldable() {
            true => self.earliest(free, now).filter(|best| best.start == now),
            false => Some(found),
        }
    }

    pub(super) fn bounds(&self, starts: Starts) -> SearchBounds {
        let from = self.earliest_start.unwrap_or(starts.from).max(starts.from);
        SearchBounds { from, until: starts.until, deadline: self.deadline, lifted: None }
    }

    fn earliest_of(&self, free: &mut Free, bounds: SearchBounds) -> Option<Booking> {
        self.best_shape(free, |shape, free| shape.earliest_of_shape(free, bounds))
    }

    fn earliest_of_shape(
        &self,
        free: &mut Free,
        mut bounds: SearchBounds,
    ) -> Option<PricedBooking> {
        let mut best: Option<PricedBooking> = None;
        for group in &self.groups {
            let found = match &self.prices {
                Some(prices) if self.minds_prices() => {
                    let room = FreeNodes::Beside(free);
                    self.earliest_priced((group, prices), room, bounds)
                }
                _ => self.earliest_in(group, free, bounds),
            };
            let rank = |found: &PricedBooking| (found.1.start, found.0);
            if let Some(found) = found
                && best.as_ref().is_none_or(|best| rank(&found) < rank(best))
            {
                bounds.until = found.1.start + Span(1);
                best = Some(found);
            }
        }
        best
    }

    /// The earliest within one group.
    fn earliest_in(
        &self,
        group: &PoolGroup,
        free: &mut Free,
        bounds: SearchBounds,
    ) -> Option<PricedBooking> {
        let (parts, mut sum) = free.parts();
        let licences = self.along().rooms(parts.licences);
        let room = |offer: &PoolOffer| PoolRoom {
            nodes: &parts.profiles[offer.pool.index()],
            memory: parts.memory.get(offer.pool.index()).filter(|_| self.memory > 0),
            each: self.memory,
            licences: &licences,
        };
        let offers = group.affordable();
        if let [offer] = offers {
            return self.earliest_on(*offer, room(offer), bounds);
        }
        let view = |offer: &PoolOffer| PoolView::new(*offer, room(offer), bounds);
        let mut views: Vec<PoolView<'_>> = offers.iter().map(view).collect();
        let length = offers.iter().map(|offer| offer.length).min().unwrap_or_default();
        let wanted = RoomRequest { nodes: self.wanted, length };
        let SearchBounds { from: mut at, until, lifted, .. } = bounds;
        while at < until {
            // A look at the sum pays where there is more than one start.
            if until > at + Span(1) {
                at = sum.earliest(wanted, Starts { from: at, until }, lifted)?;
            }
            views.iter_mut().for_each(|view| view.look(at));
            let usable: u64 = views.iter().map(|view| u64::from(view.usable)).sum();
            let missing = u64::from(self.wanted).saturating_sub(usable);
            if missing == 0
                && let Some(found) = self.choose(&views, at)
            {
                return Some(found);
            }
            at = next(&mut views, missing)?;
        }
        None
    }

    /// The same where there is one pool only: its cost is affordable at all starts.
    fn earliest_on(
        &self,
        offer: PoolOffer,
        room: PoolRoom<'_>,
        bounds: SearchBounds,
    ) -> Option<PricedBooking> {
        let PoolOffer { pool, length, .. } = offer;
        let (nodes, from, until) = (self.wanted, bounds.from, bounds.until_for(length));
        let start = match until <= from + Span(1) {
            true => (from < until && room.fits(nodes, from, length)).then_some(from),
            false => room.earliest_before(nodes, length, from, until),
        }?;
        let parts = vec![self.part(pool, nodes, length)];
        let cost = i128::from(nodes) * i128::from(self.cost_at(&offer, start));
        let booking = Booking::new(start, parts).along(&self.along().shares);
        Some((cost + self.along().cost(length), booking))
    }

    /// So many tasks in a pool.
    pub(super) fn part(&self, pool: PoolId, nodes: u32, length: Span) -> Part {
        Part { pool, nodes, length, memory: self.memory.saturating_mul(nodes) }
    }

    /// What a task costs that starts then, in micro-credits.
    fn cost_at(&self, offer: &PoolOffer, start: Time) -> i64 {
        self.prices.as_ref().map_or(offer.cost, |prices| prices.cost(offer, start))
    }

    /// The cheapest nodes at `start`, if they keep to the budget. Views stand in the order of
    /// cost, where prices do not change.
    fn choose(&self, views: &[PoolView<'_>], start: Time) -> Option<PricedBooking> {
        let usable = views.iter().filter(|view| view.usable > 0);
        if self.prices.is_none() && self.along().per_second == 0 {
            return self.first_of(usable, start);
        }
        let mut usable: Vec<&PoolView<'_>> = usable.collect();
        let cost = |offer: &PoolOffer| self.cost_at(offer, start);
        usable.sort_by_key(|it| (cost(&it.offer), it.offer.length, it.offer.pool));
        let within = |cap: Span| {
            self.first_of(usable.iter().copied().filter(|it| it.offer.length <= cap), start)
        };
        let caps = self.along().caps(usable.iter().map(|it| it.offer.length));
        caps.into_iter().filter_map(within).min_by_key(|(cost, _)| *cost)
    }

    /// Nodes of the first views that have enough, if they keep to the budget.
    fn first_of<'v, 'p: 'v>(
        &self,
        views: impl Iterator<Item = &'v PoolView<'p>>,
        start: Time,
    ) -> Option<PricedBooking> {
        let (mut left, mut cost) = (self.wanted, 0i128);
        let mut parts = Vec::new();
        for PoolView { offer, usable, .. } in views {
            let nodes = left.min(*usable);
            cost += i128::from(nodes) * i128::from(self.cost_at(offer, start));
            parts.push(self.part(offer.pool, nodes, offer.length));
            left -= nodes;
            if left == 0 {
                let booking = Booking::new(start, parts).along(&self.along().shares);
                let cost = cost + self.along().cost_of(&booking);
                return (cost <= self.budget).then_some((cost, booking));
            }
        }
        None
    }
}

/// The first moment at which there can be as many nodes more as are missing, or one more if none
/// is: some pool has its part of them. `None` if there is no such moment.
fn next(views: &mut [PoolView<'_>], missing: u64) -> Option<Time> {
    let rising = views.iter().filter(|view| view.usable < view.offer.nodes).count();
    let each = missing.div_ceil(rising.max(1) as u64).max(1);
    let mut first: Option<Time> = None;
    for view in views {
        let until = first.unwrap_or(view.until);
        first = view.gains(each, until).into_iter().chain(first).min();
    }
    first
}

/// What is free of a pool, in all that it counts.
#[derive(Clone, Copy)]
pub(in crate::policy) struct PoolRoom<'p> {
    pub(in crate::policy) nodes: &'p Profile,
    /// Memory in KiB, where it is counted and the job takes some.
    memory: Option<&'p Profile>,
    /// What each task takes of it.
    each: u32,
    /// Without them no task fits.
    licences: &'p [LicenceRoom<'p>],
}

impl<'p> PoolRoom<'p> {
    /// Of a pool whose memory is not counted.
    pub(in crate::policy) fn beside(
        nodes: &'p Profile,
        licences: &'p [LicenceRoom<'p>],
    ) -> PoolRoom<'p> {
        PoolRoom { nodes, memory: None, each: 0, licences }
    }

    /// How many tasks fit from `at` on for so long; below zero if nodes are lacking.
    fn min(&self, at: Time, length: Span) -> i64 {
        if !self.licences.iter().all(|it| it.fits(at, length)) {
            return 0;
        }
        let nodes = self.nodes.min(at, length);
        let Some(memory) = self.memory.filter(|_| nodes > 0) else { return nodes };
        nodes.min(memory.min(at, length).max(0) / i64::from(self.each.max(1)))
    }

    fn fits(&self, tasks: u32, from: Time, length: Span) -> bool {
        let memory = self.each.saturating_mul(tasks);
        self.nodes.fits(tasks, from, length)
            && self.memory.is_none_or(|it| it.fits(memory, from, length))
            && self.licences.iter().all(|it| it.fits(from, length))
    }

    /// The earliest start in `[from, until)` at which so many tasks fit: each dimension moves it on
    /// until none does.
    pub(in crate::policy) fn earliest_before(
        &self,
        tasks: u32,
        length: Span,
        mut from: Time,
        until: Time,
    ) -> Option<Time> {
        loop {
            let at = self.nodes.earliest_before(tasks, length, from, until)?;
            from = at;
            if let Some(memory) = self.memory {
                let each = self.each.saturating_mul(tasks);
                from = memory.earliest_before(each, length, from, until)?;
            }
            for licence in self.licences {
                from = licence.earliest_before(length, from, until)?;
            }
            if from == at {
                return Some(at);
            }
        }
    }
}

/// How many nodes of a pool a job could have, as its start moves on.
struct PoolView<'p> {
    offer: PoolOffer,
    room: PoolRoom<'p>,
    /// No task may start here from this moment on.
    until: Time,
    /// The start last looked at.
    at: Time,
    /// Nodes that are free from that start on for as long as a task takes.
    usable: u32,
}

impl PoolView<'_> {
    fn new(offer: PoolOffer, room: PoolRoom<'_>, bounds: SearchBounds) -> PoolView<'_> {
        let until = bounds.until_for(offer.length);
        PoolView { offer, room, until, at: bounds.from, usable: 0 }
    }

    fn look(&mut self, at: Time) {
        let min = match at < self.until {
            true => self.room.min(at, self.offer.length),
            false => 0,
        };
        self.at = at;
        self.usable = min.clamp(0, i64::from(self.offer.nodes)) as u32;
    }

    /// The first moment before `until` at which so many nodes more are usable.
    fn gains(&self, more: u64, until: Time) -> Option<Time> {
        let wanted = u32::try_from(u64::from(self.usable) + more).ok()?;
        if wanted > self.offer.nodes {
            return None;
        }
        let until = until.min(self.until);
        self.room.earliest_before(wanted, self.offer.length, self.at, until)
    }
}
