//! Spans of starts between which nothing changes but linearly, where prices change with time.
//!
//! A task of length ℓ that starts at T costs ∫ price over [T, T + ℓ). From one second to the next
//! this changes by price(T + ℓ) − price(T): it is linear in T as long as neither end of the task
//! passes a step of the price. A [`Piece`] is a longest span of starts in which no slot opens or
//! expires and no end of a task on an open slot passes a step.

use std::sync::Arc;

use tradewind_model::{Grid, Price, Rates, Series, Slot, Span, Time};

use super::ranking::{NodeRanking, Ranked};
use super::sweep::StartBounds;

/// What the ranked nodes cost over time.
#[derive(Debug, Clone)]
pub(super) struct PriceList {
    /// By rank; `None` where the price never changes.
    rates: Vec<Option<Arc<Series>>>,
    /// The most that a node may cost in any second of a task.
    max_price: Option<Price>,
    /// No task may be longer, in seconds.
    pub(super) longest: i64,
}

impl PriceList {
    /// Of the nodes of this ranking, if prices of the grid change.
    pub(super) fn of(
        grid: &Grid,
        ranking: &NodeRanking,
        max_price: Option<Price>,
    ) -> Option<PriceList> {
        grid.rates()?;
        let rates = ranking.nodes.iter().map(|it| grid.rate(it.node).cloned()).collect();
        Some(PriceList { rates, max_price, longest: i64::MAX })
    }

    /// Other prices of the nodes of this ranking, by node, without a cap.
    pub(super) fn other(rates: &Rates, ranking: &NodeRanking, longest: i64) -> PriceList {
        let of = |it: &Ranked| rates.get(it.node.0 as usize).cloned();
        PriceList { rates: ranking.nodes.iter().map(of).collect(), max_price: None, longest }
    }

    /// Prices of the nodes of this ranking that never change.
    pub(super) fn constant(ranking: &NodeRanking) -> PriceList {
        PriceList { rates: vec![None; ranking.nodes.len()], max_price: None, longest: i64::MAX }
    }

    /// Of the nodes of `ranking`, of which these are the prices, on which no task is longer than
    /// `longest`.
    pub(super) fn capped(&self, ranking: &NodeRanking, longest: i64) -> PriceList {
        let rates = ranking.nodes.iter().zip(&self.rates);
        let kept = rates.filter(|(it, _)| it.length <= longest);
        PriceList { rates: kept.map(|(_, rate)| rate.clone()).collect(), ..self.clone() }
    }

    /// Whether some price may change with time.
    pub(super) fn is_changing(&self) -> bool {
        self.rates.iter().any(Option::is_some)
    }

    /// What a task on the node of this rank costs from `start` on, in micro-credits.
    pub(super) fn cost(&self, rank: u32, of: &Ranked, start: i64) -> i64 {
        match &self.rates[rank as usize] {
            Some(rate) => rate.cost(Time(start), Span(of.length)).0,
            None => of.cost,
        }
    }

    /// Whether a task from `start` on keeps to the price cap all the time.
    pub(super) fn is_allowed(&self, rank: u32, length: i64, start: i64) -> bool {
        match (self.max_price, &self.rates[rank as usize]) {
            (Some(max), Some(rate)) => rate.most_within(Time(start), Time(start + length)) <= max.0,
            _ => true,
        }
    }

    /// The first start after `start` at which the cost of a task may cease to be linear, or the
    /// cap begins or ceases to hold.
    fn next(&self, rank: u32, length: i64, start: i64) -> i64 {
        let Some(rate) = &self.rates[rank as usize] else { return i64::MAX };
        let after = |time: i64| rate.next(Time(time)).map_or(i64::MAX, |(from, _)| from.0);
        let right = after(start + length).saturating_sub(length);
        let cap = match self.max_price {
            Some(_) => after(start + length - 1).saturating_sub(length - 1),
            None => i64::MAX,
        };
        after(start).min(right).min(cap)
    }
}

/// The starts from `first` to `last`, both included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) first: i64,
    pub(super) last: i64,
}

/// A slot that can hold its node's task.
#[derive(Debug, Clone, Copy)]
struct OpenSlot {
    first: i64,
    last: i64,
    rank: u32,
}

/// The pieces of a slot list, in order, and the nodes that are alive in each.
pub(super) struct Pieces<'a> {
    prices: &'a PriceList,
    ranking: &'a NodeRanking,
    /// In order of their first starts; those before `next` have opened.
    all: Vec<OpenSlot>,
    next: usize,
    open: Vec<OpenSlot>,
    at: i64,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(
        prices: &'a PriceList,
        ranking: &'a NodeRanking,
        slots: &[Slot],
        bracket: StartBounds,
    ) -> Pieces<'a> {
        let open = |slot: &Slot| {
            let fit = ranking.fits[slot.node.0 as usize];
            let (first, last) = bracket.starts(slot, fit.length)?;
            Some(OpenSlot { first, last, rank: fit.rank })
        };
        let all: Vec<OpenSlot> = slots.iter().filter_map(open).collect();
        let at = all.first().map_or(i64::MAX, |open| open.first);
        Pieces { prices, ranking, all, next: 0, open: Vec::new(), at }
    }

    /// The next piece; the ranks that are alive in it and keep to the price cap go to `alive`.
    /// O(open slots · log steps).
    pub(super) fn next(&mut self, alive: &mut Vec<u32>) -> Option<Piece> {
        let (prices, ranking) = (self.prices, self.ranking);
        let at = self.at;
        self.open.retain(|open| open.last >= at);
        while let Some(open) = self.all.get(self.next).filter(|open| open.first <= at) {
            self.open.push(*open);
            self.next += 1;
        }
        let opens = self.all.get(self.next).map_or(i64::MAX, |open| open.first);
        if self.open.is_empty() && opens == i64::MAX {
            return None;
        }
        let length = |open: &OpenSlot| ranking.nodes[open.rank as usize].length;
        let end = |open: &OpenSlot| prices.next(open.rank, length(open), at).min(open.last + 1);
        let until = self.open.iter().map(end).fold(opens, i64::min);
        alive.clear();
        let allowed = |open: &&OpenSlot| prices.is_allowed(open.rank, length(open), at);
        alive.extend(self.open.iter().filter(allowed).map(|open| open.rank));
        self.at = until;
        Some(Piece { first: at, last: until - 1 })
    }
}
