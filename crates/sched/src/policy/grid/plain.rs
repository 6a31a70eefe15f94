//! The search for a place as it is plainly said: at every moment at which a pool has more, look at
//! all pools. What [`search`](super::search) must find.

use tradewind_model::{Level, Profile, Span, Time};

use super::booking::{Booking, Part};
use super::wish::{Group, Offer, PlacementRequest};

/// A start in `[from, until)`, all tasks over by the deadline.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    from: Time,
    until: Time,
    deadline: Time,
}

/// A booking and what it costs.
type Found = (i128, Booking);

impl PlacementRequest {
    /// What [`PlacementRequest::earliest`] finds.
    pub(in crate::policy) fn plain_earliest(
        &self,
        profiles: &[Profile],
        from: Time,
    ) -> Option<Booking> {
        let (from, deadline) = (self.plain_from(from), self.deadline);
        let mut best: Option<Found> = None;
        for group in &self.groups {
            let until = best.as_ref().map_or(Time::INFINITY, |(_, booking)| booking.start + Span(1));
            let bounds = Bounds { from, until, deadline };
            let found = self.plain_earliest_in(group, profiles, bounds);
            let rank = |found: &Found| (found.1.start, found.0);
            if let Some(found) = found
                && best.as_ref().is_none_or(|best| rank(&found) < rank(best))
            {
                best = Some(found);
            }
        }
        best.map(|(_, booking)| booking)
    }

    /// What [`PlacementRequest::now`] finds.
    pub(in crate::policy) fn plain_now(&self, profiles: &[Profile], now: Time) -> Option<Booking> {
        if self.plain_from(now) > now {
            return None;
        }
        let bounds = Bounds { from: now, until: now + Span(1), deadline: self.deadline };
        let found =
            self.groups.iter().filter_map(|group| self.plain_earliest_in(group, profiles, bounds));
        found.min_by_key(|(cost, _)| *cost).map(|(_, booking)| booking)
    }

    fn plain_from(&self, from: Time) -> Time {
        self.earliest_start.unwrap_or(from).max(from)
    }

    /// The earliest within one group.
    fn plain_earliest_in(
        &self,
        group: &Group,
        profiles: &[Profile],
        bounds: Bounds,
    ) -> Option<Found> {
        let Bounds { from, until, deadline } = bounds;
        let view = |offer: &Offer| View::new(&profiles[offer.pool.index()], from, until, *offer);
        let mut views: Vec<View> = group.offers.iter().map(view).collect();
        let mut at = from;
        while at < until {
            let mut next = Time::INFINITY;
            let mut free = 0u64;
            for view in &mut views {
                let sooner = view.look(at, deadline);
                next = next.min(sooner);
                free += u64::from(view.usable);
            }
            if free >= u64::from(self.wanted)
                && let Some(found) = self.plain_choose(&views, at)
            {
                return Some(found);
            }
            at = next;
        }
        None
    }

    /// The cheapest nodes at `start`, if they keep to the budget. Views stand in the order of
    /// cost.
    fn plain_choose(&self, views: &[View], start: Time) -> Option<Found> {
        let (mut left, mut cost) = (self.wanted, 0i128);
        let mut parts = Vec::new();
        for View { offer, usable, .. } in views.iter().filter(|view| view.usable > 0) {
            let nodes = left.min(*usable);
            cost += i128::from(nodes) * i128::from(offer.cost);
            parts.push(Part { pool: offer.pool, nodes, length: offer.length });
            left -= nodes;
            if left == 0 {
                return (cost <= self.budget).then_some((cost, Booking { start, parts }));
            }
        }
        None
    }
}

/// How many nodes of a pool a job could have, as its start moves on.
struct View {
    offer: Offer,
    levels: Vec<Level>,
    /// The level in force at the start last looked at.
    first: usize,
    /// Nodes that are free from that start on for as long as a task takes.
    usable: u32,
}

impl View {
    fn new(profile: &Profile, from: Time, until: Time, offer: Offer) -> View {
        let mut levels = Vec::new();
        let last = if until >= Time::INFINITY { Time::INFINITY } else { until + offer.length };
        profile.levels(from, last, &mut levels);
        View { offer, levels, first: 0, usable: 0 }
    }

    /// Looks at a start not before the last one. Returns the first moment at which there could be
    /// more than now; [`Time::INFINITY`] if there never is.
    fn look(&mut self, start: Time, deadline: Time) -> Time {
        let end = start + self.offer.length;
        self.usable = 0;
        if end > deadline {
            return Time::INFINITY;
        }
        while self.levels.get(self.first + 1).is_some_and(|level| level.at <= start) {
            self.first += 1;
        }
        let mut min = i64::MAX;
        let mut last = self.first;
        let within = self.levels[self.first..].iter().enumerate();
        for (index, level) in within.take_while(|(i, level)| *i == 0 || level.at < end) {
            if level.free <= min {
                (min, last) = (level.free, self.first + index);
            }
        }
        self.usable = min.clamp(0, i64::from(self.offer.nodes)) as u32;
        self.levels.get(last + 1).map_or(Time::INFINITY, |level| level.at)
    }
}
