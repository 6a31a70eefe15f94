//! One request on an index: which nodes may matter, and the search among them.

use tradewind_model::{Criterion, NodeId, Request, Slot, Span, Time};

use super::super::limits::MoneyLimits;
use super::super::ranking::{RankBy, Ranked};
use super::super::search::{Found, Scratch, Search};
use super::super::sweep::StartBounds;
use super::orders::OrderBy;
use super::subset::Subset;
use super::{SlotIndex, Wanted, WholeList};

/// Places in a table of nodes that are not in a subset.
const ABSENT: u32 = u32::MAX;

/// The best window, if there is any, as far as not too many nodes matter.
type Answer = Result<Option<Found>, WholeList>;

/// Nodes in one of the orders, up to some bound.
struct Candidates {
    nodes: Vec<Ranked>,
    /// The bound of the first node that was left out; `None` if none was.
    next: Option<i64>,
}

/// A request, its limits, and where to look.
pub(super) struct Query<'a> {
    index: &'a SlotIndex<'a>,
    pub(super) request: &'a Request,
    search: &'a Search,
    limits: MoneyLimits,
    pub(super) bounds: StartBounds,
    /// What a task may cost at most: the budget without the minimum that all others cost.
    dearest: i128,
}

impl<'a> Query<'a> {
    /// `None` if no window can be.
    pub(super) fn new(
        index: &'a SlotIndex<'a>,
        (request, search): (&'a Request, &'a Search),
        from: Time,
    ) -> Option<Query<'a>> {
        // No window starts before the first slot.
        let from = index.base.list.first().map_or(from, |first| first.start.max(from));
        let mut query = Query::within_cost(index, (request, search), from, i128::MAX);
        let others = query.least_of_others(OrderBy::Cost)?;
        if let Some(budget) = query.limits.budget {
            query.dearest = i128::from(budget.0) - others;
        }
        Some(query)
    }

    /// If it is known what a task may cost at most.
    pub(super) fn within_cost(
        index: &'a SlotIndex<'a>,
        (request, search): (&'a Request, &'a Search),
        from: Time,
        dearest: i128,
    ) -> Query<'a> {
        let from = request.earliest_start.unwrap_or(from).max(from);
        let until = request.deadline.map_or(i64::MAX, |deadline| deadline.0);
        let bounds = StartBounds { from: from.0, until };
        let limits = MoneyLimits::of(request, search);
        Query { index, request, search, limits, bounds, dearest }
    }

    pub(super) fn dearest(&self) -> i128 {
        self.dearest
    }

    /// The budget, if there is one.
    pub(super) fn budget(&self) -> Option<i128> {
        self.limits.budget.map(|budget| i128::from(budget.0))
    }

    pub(super) fn slots_of(&self, node: NodeId) -> &[Slot] {
        self.index.of(node)
    }

    /// The answer in any case.
    pub(super) fn answer_anyhow(&self, wanted: Wanted, scratch: &mut Scratch) -> Option<Found> {
        let all = self.index.base.list.len();
        let answer = self.answer(wanted, scratch);
        answer.unwrap_or_else(|WholeList| self.in_first(all, |_, _| true, scratch))
    }

    pub(super) fn answer(&self, wanted: Wanted, scratch: &mut Scratch) -> Answer {
        if self.limits.budget.is_some() {
            // If the budget leaves few nodes, these are searched at once.
            let dearest = self.dearest;
            let count = self.count(OrderBy::Cost, dearest);
            if count < self.wanted() {
                return Ok(None);
            }
            if count <= self.many_nodes() / 4 {
                let all = self.candidates(OrderBy::Cost, |_, bound| i128::from(bound) > dearest);
                return Ok(self.among(all.nodes, |_, _| true, scratch));
            }
        }
        match wanted {
            Wanted::Earliest => self.earliest(scratch),
            Wanted::Least(by) => self.least(by, scratch),
            Wanted::Runtime => self.fastest(scratch).0,
            Wanted::Finish => self.soonest(scratch),
        }
    }

    pub(super) fn wanted(&self) -> usize {
        self.request.tasks as usize
    }

    /// More nodes than these are not searched by themselves.
    fn many_nodes(&self) -> usize {
        self.index.grid.len() / self.index.tuning.share
    }

    /// The same of slots.
    fn many_slots(&self) -> usize {
        self.index.base.list.len() / self.index.tuning.share
    }

    /// So many slots of the list start by then.
    fn slots_by(&self, start: i64) -> usize {
        self.index.base.list.partition_point(|slot| slot.start.0 <= start)
    }

    /// So many slots are searched first.
    fn first_slots(&self) -> usize {
        self.slots_by(self.bounds.from) + self.first_nodes()
    }

    /// So many nodes are searched first.
    fn first_nodes(&self) -> usize {
        let (by_task, beside) = self.index.tuning.first_nodes;
        by_task * self.wanted() + beside
    }

    /// A lower bound of what all tasks but one take, whatever the nodes; `None` if too few suit.
    pub(super) fn least_of_others(&self, by: OrderBy) -> Option<i128> {
        let (mut sum, mut count) = (0, 0);
        for (bound, node) in self.index.base.orders.walk(self.request, by) {
            if !self.suits(node) {
                continue;
            }
            count += 1;
            if count == self.wanted() {
                return Some(sum);
            }
            sum += i128::from(bound);
        }
        None
    }

    /// No task is shorter, in seconds.
    pub(super) fn shortest(&self) -> i64 {
        self.index.base.orders.walk(self.request, OrderBy::Length).next().map_or(0, |it| it.0)
    }

    fn count(&self, by: OrderBy, limit: i128) -> usize {
        self.index.base.orders.count(self.request, by, limit)
    }

    fn suits(&self, node: NodeId) -> bool {
        let facts = self.index.base.orders.facts(node);
        let fast = self.request.min_performance.is_none_or(|min| facts.performance >= min);
        let cheap = self.limits.max_price.is_none_or(|max| facts.price <= max);
        let asks = !self.request.attributes.is_empty();
        fast && cheap && (!asks || self.request.suits(self.index.grid.node(node)))
    }

    /// A task on the node, if it suits and is not too dear.
    pub(super) fn ranked(&self, node: NodeId) -> Option<Ranked> {
        let facts = self.index.base.orders.facts(node);
        let times = self.request.times.at(facts.times);
        let length = times.length_of(self.request.work, facts.performance).max(Span(1));
        let cost = (facts.price * length).0;
        if i128::from(cost) > self.dearest || !self.suits(node) {
            return None;
        }
        let value = match self.search.algorithm.criterion() {
            Criterion::ProcessorTime => length.0,
            _ => cost,
        };
        let weight = if RankBy::of(self.search) == RankBy::Cost { cost } else { value };
        Some(Ranked { node, length: length.0, cost, value, weight })
    }

    /// Nodes that suit and are not too dear, until `enough` says so of their number and a bound.
    fn candidates(&self, by: OrderBy, mut enough: impl FnMut(usize, i64) -> bool) -> Candidates {
        let mut nodes = Vec::new();
        for (bound, node) in self.index.base.orders.walk(self.request, by) {
            if enough(nodes.len(), bound) {
                return Candidates { nodes, next: Some(bound) };
            }
            nodes.extend(self.ranked(node));
        }
        Candidates { nodes, next: None }
    }

    /// The best window of these nodes, in slots that `keep` says.
    pub(super) fn among(
        &self,
        nodes: Vec<Ranked>,
        keep: impl Fn(&Ranked, &Slot) -> bool,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let mut subset = Subset { nodes, slots: Vec::new() };
        for place in 0..subset.nodes.len() {
            let node = subset.nodes[place];
            for slot in self.index.of(node.node) {
                if self.bounds.starts(slot, node.length).is_some() && keep(&node, slot) {
                    subset.add(place, slot);
                }
            }
        }
        self.within(subset, scratch)
    }

    /// The same in the first `count` slots of the list, and in those of nodes that were changed.
    fn in_first(
        &self,
        count: usize,
        keep: impl Fn(&Ranked, &Slot) -> bool,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let changed = &self.index.changed;
        let same = self.index.base.list[..count].iter();
        let same = same.filter(|slot| changed.is_empty() || !changed.contains_key(&slot.node));
        let mut places = vec![ABSENT; self.index.grid.len()];
        let mut subset = Subset::default();
        for slot in same.chain(changed.values().flatten()) {
            let place = &mut places[slot.node.0 as usize];
            if *place == ABSENT {
                let Some(node) = self.ranked(slot.node) else { continue };
                *place = subset.nodes.len() as u32;
                subset.nodes.push(node);
            }
            let node = &subset.nodes[*place as usize];
            if self.bounds.starts(slot, node.length).is_some() && keep(node, slot) {
                subset.add(*place as usize, slot);
            }
        }
        self.within(subset, scratch)
    }

    fn within(&self, mut subset: Subset, scratch: &mut Scratch) -> Option<Found> {
        if self.budget().is_some_and(|budget| !subset.keep_affordable(self.wanted(), budget)) {
            return None;
        }
        subset.find((self.index.grid, self.request, self.search), self.bounds, scratch)
    }

    /// What [`Query::among`] says of nodes up to a bound, or [`Query::in_first`] of slots up to a start,
    /// whichever looks at less.
    fn up_to(
        &self,
        (by, limit): (OrderBy, i128),
        last_start: Time,
        keep: impl Fn(&Ranked, &Slot) -> bool,
        scratch: &mut Scratch,
    ) -> Answer {
        let nodes = self.count(by, limit);
        let list = &self.index.base.list;
        let slots = self.slots_by(last_start.0);
        // The smaller share of all.
        let by_nodes =
            nodes as u128 * list.len() as u128 <= slots as u128 * self.index.grid.len() as u128;
        if by_nodes && nodes <= self.many_nodes() {
            let all = self.candidates(by, |_, bound| i128::from(bound) > limit);
            Ok(self.among(all.nodes, keep, scratch))
        } else if slots <= self.many_slots() {
            Ok(self.in_first(slots, keep, scratch))
        } else {
            Err(WholeList)
        }
    }

    /// The minimum sum. Once some window is known, nodes that take more than it leaves for one task
    /// are out.
    fn least(&self, by: OrderBy, scratch: &mut Scratch) -> Answer {
        let Some(others) = self.least_of_others(by) else { return Ok(None) };
        // The limit of what nodes are ordered by.
        let limit = if by == OrderBy::Cost { self.dearest } else { i128::MAX };
        let mut count = self.first_nodes();
        while count <= self.many_nodes() {
            let beyond = |bound: i64| i128::from(bound) > limit;
            let first = self.candidates(by, |n, bound| n >= count || beyond(bound));
            let next = first.next.filter(|bound| !beyond(*bound));
            if let Some(found) = self.among(first.nodes, |_, _| true, scratch) {
                let sum = match by {
                    OrderBy::Cost => found.window.cost().0,
                    OrderBy::Length => found.window.processor_time().0,
                };
                let limit = i128::from(sum) - others;
                return match next.is_none_or(|bound| i128::from(bound) > limit) {
                    true => Ok(Some(found)),
                    false => self.up_to((by, limit), Time::INFINITY, |_, _| true, scratch),
                };
            }
            if next.is_none() {
                return Ok(None);
            }
            count *= 4;
        }
        Err(WholeList)
    }

    /// The shortest runtime, or the earliest finish among the nodes that gave some window: no
    /// slower node can be in a window with a shorter runtime. With the length up to which nodes were
    /// searched.
    fn fastest(&self, scratch: &mut Scratch) -> (Answer, i64) {
        let mut count = self.first_nodes();
        while count <= self.many_nodes() {
            let (mut last, mut looks) = (i64::MIN, 0);
            // Nodes that are as fast as the last one count, too.
            let first = self.candidates(OrderBy::Length, |n, bound| {
                looks += 1;
                let enough = bound > last && (n >= count || looks > self.many_nodes());
                last = bound;
                enough
            });
            if first.nodes.len() > self.many_nodes() {
                break;
            }
            if let Some(found) = self.among(first.nodes, |_, _| true, scratch) {
                let reach = first.next.map_or(i64::MAX, |next| next - 1);
                return (Ok(Some(found)), reach);
            }
            if first.next.is_none() {
                return (Ok(None), i64::MAX);
            }
            if looks > self.many_nodes() {
                break;
            }
            count *= 4;
        }
        (Err(WholeList), i64::MIN)
    }

    /// The earliest finish. A window that ends no later than a known one has only nodes that are
    /// fast enough to do so from the first moment on, and slots that begin early enough.
    fn soonest(&self, scratch: &mut Scratch) -> Answer {
        let (found, reach) = match self.fastest(scratch) {
            (Ok(Some(found)), reach) => (found, reach),
            (other, _) => return other,
        };
        let mut finish = found.window.finish().0;
        if finish - self.bounds.from <= reach {
            return Ok(Some(found));
        }
        // Early slots mostly give a window that ends sooner, and leave less to look at.
        let in_time = |finish: i64| {
            move |it: &Ranked, slot: &Slot| slot.start.0.max(self.bounds.from) + it.length <= finish
        };
        let mut count = self.first_slots();
        while count < self.slots_by(finish - self.shortest()).min(self.many_slots()) {
            let sooner = self.in_first(count, in_time(finish), scratch);
            finish = sooner.map_or(finish, |it| it.window.finish().0);
            count *= 4;
        }
        let longest = finish - self.bounds.from;
        let last_start = Time(finish - self.shortest());
        let bound = (OrderBy::Length, i128::from(longest));
        self.up_to(bound, last_start, in_time(finish), scratch)
    }

    /// The earliest start. The cheapest nodes give some window; all that begin no later have slots
    /// that do.
    fn earliest(&self, scratch: &mut Scratch) -> Answer {
        let mut count = self.first_nodes();
        while count <= self.many_nodes() {
            let beyond = |bound: i64| i128::from(bound) > self.dearest;
            let first = self.candidates(OrderBy::Cost, |n, bound| n >= count || beyond(bound));
            let next = first.next.filter(|bound| !beyond(*bound));
            if let Some(found) = self.among(first.nodes, |_, _| true, scratch) {
                let dearest = found.window.tasks().iter().map(|task| task.cost.0).max();
                let at_once = found.window.start().0 == self.bounds.from;
                // Those that were left out cost more.
                if next.is_none_or(|next| at_once && dearest < Some(next)) {
                    return Ok(Some(found));
                }
                let start = found.window.start();
                if let Some(first) = self.earliest_of_first(start, scratch) {
                    return Ok(Some(first));
                }
                let in_time = |_: &Ranked, slot: &Slot| slot.start <= start;
                return self.up_to((OrderBy::Cost, self.dearest), start, in_time, scratch);
            }
            if next.is_none() {
                return Ok(None);
            }
            count *= 4;
        }
        Err(WholeList)
    }

    /// The earliest start, if a small part of the slots up to this one shows it: a window needs no
    /// slot that starts later than itself.
    fn earliest_of_first(&self, start: Time, scratch: &mut Scratch) -> Option<Found> {
        let all = self.slots_by(start.0);
        if all > self.many_slots() {
            return None;
        }
        let mut count = self.first_slots();
        while count < all {
            let next = self.index.base.list[count].start;
            let found = self.in_first(count, |_, _| true, scratch);
            if found.as_ref().is_some_and(|found| found.window.start() < next) {
                return found;
            }
            count *= 4;
        }
        None
    }
}
