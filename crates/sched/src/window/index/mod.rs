//! Many searches of one list: slots by node, and nodes in orders that no request changes.
//!
//! A search of the whole list looks at every node and every slot. Most nodes cannot be part of the
//! best window: those that cost more than is left when the cheapest others have been paid, and
//! those that are slower than a window already found. So a few nodes are searched first, in the
//! order of the criterion. What they give bounds which nodes matter at all; these are searched,
//! and nothing else. The answer is the same as that of a [`Searcher`], ties included. Where too many
//! nodes matter, a [`Searcher`] answers.

mod kept;
mod orders;
mod query;
mod subset;
#[cfg(test)]
mod tests;
mod with_node;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_model::{
    Criterion, Grid, NodeId, Request, Slot, SlotList, Span, Spread, Time, Window,
};

use super::limits::MoneyLimits;
use super::search::{Algorithm, Found, Scratch, Search, Variant};
use super::searcher::Searcher;
pub use kept::KeptWindows;
use orders::{NodeOrders, OrderBy};
use query::Query;

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
    const USUAL: Tuning = Tuning { few_slots: 4_096, first_nodes: (3, 64), share: 4 };
}

/// A grid and what is free on it, prepared for many searches. It follows its list by
/// [`SlotIndex::take`]; a copy shares all but these changes.
#[derive(Debug, Clone)]
pub struct SlotIndex<'g> {
    grid: &'g Grid,
    base: Arc<Base<'g>>,
    /// Slots of nodes that were changed since.
    changed: BTreeMap<NodeId, Vec<Slot>>,
    tuning: Tuning,
}

/// The list as it was at first.
#[derive(Debug)]
struct Base<'g> {
    orders: Arc<NodeOrders>,
    /// In order of start.
    list: Cow<'g, [Slot]>,
    /// By node, in order of start.
    by_node: Vec<Slot>,
    /// By node, where its slots begin; and the end of all.
    first: Vec<u32>,
}

impl<'g> Base<'g> {
    fn new(grid: &Grid, list: Cow<'g, [Slot]>) -> Base<'g> {
        let mut first = vec![0; grid.len() + 1];
        for slot in list.iter() {
            first[slot.node.0 as usize + 1] += 1;
        }
        for node in 0..grid.len() {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut by_node = list.to_vec();
        for slot in list.iter() {
            let place = &mut next[slot.node.0 as usize];
            by_node[*place as usize] = *slot;
            *place += 1;
        }
        Base { orders: Arc::new(NodeOrders::new(grid)), list, by_node, first }
    }

    /// None of a node that the grid does not have.
    fn of(&self, node: NodeId) -> &[Slot] {
        let node = node.0 as usize;
        let bounds = self.first.get(node).zip(self.first.get(node + 1));
        bounds.map_or(&[], |(first, end)| &self.by_node[*first as usize..*end as usize])
    }
}

/// Takes a span out of the slot of its node that holds it; `false` if none does.
fn cut(slots: &mut Vec<Slot>, taken: Slot) -> bool {
    let at = slots.partition_point(|slot| slot.end <= taken.start);
    let holds = |slot: &Slot| slot.start <= taken.start && taken.end <= slot.end;
    let Some(slot) = slots.get(at).copied().filter(holds) else { return false };
    let left = [Slot { end: taken.start, ..slot }, Slot { start: taken.end, ..slot }];
    slots.splice(at..=at, left.into_iter().filter(|slot| slot.start < slot.end));
    true
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
    /// Prepares `slots` on `grid`. O(p + n) for p slots and n nodes, and O(n log n) once by searches.
    pub fn new(grid: &'g Grid, slots: &'g SlotList) -> SlotIndex<'g> {
        let base = Arc::new(Base::new(grid, Cow::Borrowed(slots.as_slice())));
        SlotIndex { grid, base, changed: BTreeMap::new(), tuning: Tuning::USUAL }
    }

    /// Whether it can be of use: for short lists it is not.
    pub fn is_for(slots: &SlotList) -> bool {
        slots.len() >= Tuning::USUAL.few_slots
    }

    /// The same as [`Searcher::find`] for this request and search in `slots`, the list that the index
    /// has followed.
    pub fn find(
        &self,
        slots: &SlotList,
        (request, search): (&Request, &Search),
        from: Time,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let found = self.find_among_some((request, search), from, scratch);
        found.unwrap_or_else(|WholeList| {
            Searcher::new(self.grid, request, search).find(slots, from, scratch)
        })
    }

    /// The same without the list, if not too many nodes matter.
    ///
    /// # Errors
    /// [`WholeList`] if a [`Searcher`] must answer.
    pub fn find_among_some(
        &self,
        (request, search): (&Request, &Search),
        from: Time,
        scratch: &mut Scratch,
    ) -> Result<Option<Found>, WholeList> {
        let wanted = self.wanted(request, search).ok_or(WholeList)?;
        match Query::new(self, (request, search), from) {
            Some(query) => query.answer(wanted, scratch),
            None => Ok(None),
        }
    }

    /// `None`: a search of the whole list only.
    fn wanted(&self, request: &Request, search: &Search) -> Option<Wanted> {
        let at_some_sites = request.spread != Spread::Grid && self.grid.sites().len() > 1;
        let unlike =
            !request.others.is_empty() || request.needs.is_some() || request.shapes.is_some();
        let unlike = unlike || request.licences.is_some() || request.data.is_some();
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

    /// The index of what these windows leave.
    pub fn without<'w>(&self, windows: impl IntoIterator<Item = &'w Window>) -> SlotIndex<'g> {
        let mut index = self.clone();
        windows.into_iter().for_each(|window| index.take(window));
        index
    }

    /// A window was taken out of the list. Logarithmic in the changes, for each task.
    pub fn take(&mut self, window: &Window) {
        for taken in window.taken() {
            let base = &self.base;
            cut(
                self.changed.entry(taken.node).or_insert_with(|| base.of(taken.node).to_vec()),
                taken,
            );
        }
    }

    /// The slots of a node, in order of start.
    fn of(&self, node: NodeId) -> &[Slot] {
        if self.changed.is_empty() {
            return self.base.of(node);
        }
        self.changed.get(&node).map_or_else(|| self.base.of(node), Vec::as_slice)
    }
}
