//! A moldable job: which of its shapes is taken where it is placed.

use std::borrow::Cow;
use std::sync::Arc;

use tradewind_model::{Demand, Reason, Terms, Time};

use super::booking::Booking;
use super::free::Free;
use super::search::PricedBooking;
use super::wish::PlacementRequest;

/// Which shape of a job is taken, of the earliest place that each of them has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ShapeRule {
    /// The place that starts first; then the one that is over first.
    #[default]
    SoonestStart,
    /// The place that is over first; then the cheapest, that of fewest node-seconds, the earliest.
    SoonestEnd,
    /// The cheapest place; then the one that is over first.
    Cheapest,
    /// The first shape that is listed, whatever the others could have: the job is rigid.
    First,
}

impl ShapeRule {
    /// Every rule, with its name in options.
    pub const ALL: [(ShapeRule, &'static str); 4] = [
        (ShapeRule::SoonestStart, "soonest-start"),
        (ShapeRule::SoonestEnd, "soonest-end"),
        (ShapeRule::Cheapest, "cheapest"),
        (ShapeRule::First, "first"),
    ];

    /// What the job asks for under this rule: a rigid job, if only its first shape counts.
    pub(in crate::policy) fn limits(self, demand: &Demand) -> Cow<'_, Demand> {
        if self != ShapeRule::First || !demand.is_moldable() {
            return Cow::Borrowed(demand);
        }
        let first = demand.in_shapes().swap_remove(0);
        let terms = Terms { shapes: None, ..first.terms().clone() };
        Cow::Owned(Demand { terms: Some(Arc::new(terms)), ..first })
    }

    /// What places are ordered by, least first.
    fn key(self, (cost, booking): &PricedBooking) -> (i128, i128, i128, i128) {
        let of = |at: Time| i128::from(at.0);
        let (start, end) = (of(booking.start), of(booking.end()));
        let used = || {
            let part = |part: &super::Part| i128::from(part.nodes) * i128::from(part.length.0);
            booking.parts.iter().map(part).sum()
        };
        match self {
            ShapeRule::SoonestEnd => (end, *cost, used(), start),
            ShapeRule::SoonestStart | ShapeRule::First => (start, end, *cost, used()),
            ShapeRule::Cheapest => (*cost, end, used(), start),
        }
    }
}

/// The shapes of a moldable job beside the first that it can have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OtherShapes {
    pub(super) rule: ShapeRule,
    pub(super) requests: Vec<PlacementRequest>,
}

/// A request, and why the job cannot run by it.
pub(super) type MadeRequest = (PlacementRequest, Option<Reason>);

/// The request of a moldable job: of the shapes that it can have at the prices of now, or of the first
/// one with the reason why it can have none.
pub(super) fn of_shapes(demand: &Demand, make: impl Fn(&Demand) -> MadeRequest) -> MadeRequest {
    let mut refused: Option<MadeRequest> = None;
    let mut possible: Vec<PlacementRequest> = Vec::new();
    for shape in demand.in_shapes() {
        match make(&shape) {
            (request, None) => possible.push(request),
            no => _ = refused.get_or_insert(no),
        }
    }
    let mut possible = possible.into_iter();
    match (possible.next(), refused) {
        (Some(mut first), _) => {
            let (rule, requests) = (ShapeRule::default(), possible.collect());
            first.shapes = Some(Box::new(OtherShapes { rule, requests }));
            (first, None)
        }
        (None, Some(refused)) => refused,
        (None, None) => make(demand), // there is a shape
    }
}

impl PlacementRequest {
    /// The same job, which takes its shapes by this rule.
    pub(in crate::policy) fn by(mut self, rule: ShapeRule) -> PlacementRequest {
        self.shapes.iter_mut().for_each(|shapes| shapes.rule = rule);
        self
    }

    /// The requests of its shapes, or itself if it is rigid.
    pub(super) fn each(&self) -> impl Iterator<Item = &PlacementRequest> {
        std::iter::once(self).chain(self.shapes.iter().flat_map(|shapes| &shapes.requests))
    }

    /// Whether it has more shapes than one.
    pub(in crate::policy) fn is_moldable(&self) -> bool {
        self.shapes.is_some()
    }

    /// The request of the shape that this booking is of.
    pub(super) fn shape_of(&self, booking: &Booking) -> &PlacementRequest {
        let width: u64 = booking.parts.iter().map(|part| u64::from(part.nodes)).sum();
        self.each().find(|shape| u64::from(shape.wanted) == width).unwrap_or(self)
    }

    /// The best by the rule of what `find` gives for each shape. Of equals the one listed first.
    pub(super) fn best_shape(
        &self,
        free: &mut Free,
        find: impl Fn(&PlacementRequest, &mut Free) -> Option<PricedBooking>,
    ) -> Option<Booking> {
        let Some(shapes) = &self.shapes else { return find(self, free).map(|(_, it)| it) };
        let found = self.each().filter_map(|shape| find(shape, free));
        found.min_by_key(|found| shapes.rule.key(found)).map(|(_, booking)| booking)
    }
}
