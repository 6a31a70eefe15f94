//! Many searches of one list: slots by node, and nodes in orders that no request changes.
//!
//! A search of the whole list looks at every node and every slot. Most nodes cannot be part of the
//! best window: those that cost more than is left when the cheapest others have been paid, and
//! those that are slower than a window already found. So a few nodes are searched first, in the
//! order of the criterion. What they give bounds which nodes matter at all; these are searched,
//! and nothing else. The answer is the same as that of a [`Searcher`], ties included. Where too many
//! nodes matter, a [`Searcher`] answers.

mod orders;
mod query;
mod subset;
#[cfg(test)]
mod tests;

use tradewind_model::{Grid, NodeId, Request, Slot, SlotList, Span, Spread, Time, Window};

use super::limits::MoneyLimits;
use super::search::{Algorithm, Found, Scratch, Search, Variant};
use super::searcher::Searcher;
use orders::{NodeOrders, OrderBy};
use query::Query;
use tradewind_model::Criterion;

/// When a search among some nodes is worth while.
#[derive(Debug, Clone, Copy)]
struct Tuning {
    /// For a list of fewer slots an index does not pay.
    few_slots: usize,
    /// So many nodes are searched first, by the tasks asked for and beside them.
    first_nodes: (usize, usize),
    /// The nodes or slots that are searched then are at most one of so many.
    share: usize,
}

impl Tuning {
    /// By measurements on lists of 1,000 to 100,000 slots.
    const USUAL: Tuning = Tuning { few_slots: 512, first_nodes: (3, 64), share: 4 };
}

/// A grid and what is free on it, prepared for many searches. Whoever changes the list says so.
#[derive(Debug, Clone)]
pub struct SlotIndex<'g> {
    grid: &'g Grid,
    orders: NodeOrders,
    /// By node, in order of start.
    by_node: Vec<Vec<Slot>>,
    tuning: Tuning,
}

/// Only a search of the whole list can answer, or it is faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeList;

/// Which of the exact searches is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Earliest,
    Least(OrderBy),
    Runtime,
    Finish,
}

impl<'g> SlotIndex<'g> {
    /// Prepares `slots` on `grid`. O(p + n log n) for p slots and n nodes.
    pub fn new(grid: &'g Grid, slots: &SlotList) -> SlotIndex<'g> {
        let mut by_node = vec![Vec::new(); grid.len()];
        for slot in slots.as_slice() {
            by_node[slot.node.0 as usize].push(*slot);
        }
        SlotIndex { grid, orders: NodeOrders::new(grid), by_node, tuning: Tuning::USUAL }
    }

    /// Whether it can be of use: for short lists it is not.
    pub fn is_for(slots: &SlotList) -> bool {
        slots.len() >= Tuning::USUAL.few_slots
    }

    /// The same as [`Searcher::find`] for this request and search. `slots` is the list that the
    /// index was made of, with the changes that it was told.
    pub fn find(
        &self,
        slots: &SlotList,
        (request, search): (&Request, &Search),
        from: Time,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let found = self.find_among_some(slots, (request, search), from, scratch);
        found.unwrap_or_else(|WholeList| {
            Searcher::new(self.grid, request, search).find(slots, from, scratch)
        })
    }

    /// The same, if not too many nodes matter.
    ///
    /// # Errors
    /// [`WholeList`] if a [`Searcher`] must answer.
    pub fn find_among_some(
        &self,
        slots: &SlotList,
        (request, search): (&Request, &Search),
        from: Time,
        scratch: &mut Scratch,
    ) -> Result<Option<Found>, WholeList> {
        let wanted = self.wanted(request, search).ok_or(WholeList)?;
        match Query::new(self, slots.as_slice(), (request, search), from) {
            Some(query) => query.answer(wanted, scratch),
            None => Ok(None),
        }
    }

    /// `None`: a search of the whole list only.
    fn wanted(&self, request: &Request, search: &Search) -> Option<Wanted> {
        let at_some_sites = request.spread != Spread::Grid && self.grid.sites().len() > 1;
        let unlike =
            !request.others.is_empty() || request.needs.is_some() || request.shapes.is_some();
        let is_long = request.work > Span(i64::MAX / 1_000);
        if self.grid.rates().is_some() || at_some_sites || unlike || is_long || request.tasks == 0 {
            return None;
        }
        let criterion = match (search.variant, &search.algorithm) {
            (Variant::Exact, Algorithm::Alp | Algorithm::Amp) => return Some(Wanted::Earliest),
            (Variant::Exact, Algorithm::Best(criterion)) => criterion,
            _ => return None,
        };
        match criterion {
            Criterion::Start => Some(Wanted::Earliest),
            Criterion::Cost => Some(Wanted::Least(OrderBy::Cost)),
            Criterion::Runtime => Some(Wanted::Runtime),
            Criterion::Finish => Some(Wanted::Finish),
            Criterion::ProcessorTime if MoneyLimits::of(request, search).budget.is_none() => {
                Some(Wanted::Least(OrderBy::Length))
            }
            Criterion::ProcessorTime | Criterion::Sum(_) => None,
        }
    }

    /// The slots of a node are others now, in order of start. O(their number).
    pub fn replace(&mut self, node: NodeId, slots: &[Slot]) {
        let of_node = &mut self.by_node[node.0 as usize];
        of_node.clear();
        of_node.extend_from_slice(slots);
    }

    /// A window was taken out of the list.
    pub fn take(&mut self, window: &Window) {
        for task in window.tasks() {
            let (start, end) = (window.start(), window.start() + task.length);
            let of_node = &mut self.by_node[task.node.0 as usize];
            let at = of_node.partition_point(|slot| slot.end <= start);
            let Some(slot) = of_node.get(at).copied() else { continue };
            let left = [Slot { end: start, ..slot }, Slot { start: end, ..slot }];
            let left = left.into_iter().filter(|slot| slot.start < slot.end);
            of_node.splice(at..=at, left);
        }
    }

    /// The slots of a node, in order of start.
    fn of(&self, node: NodeId) -> &[Slot] {
        &self.by_node[node.0 as usize]
    }
}
