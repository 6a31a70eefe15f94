//! The best windows of many requests, kept while the list changes.
//!
//! If the slots of one node change, most windows stay the best. Windows without this node are
//! possible as before, so only two things can change the answer for a request: its window is not
//! free any more, or the node is now free at starts at which it was not. In the first case the
//! request is searched for again. In the second a better window contains the node and starts at
//! one of these starts; what the known window is worth bounds which nodes and starts can be part
//! of it, and mostly leaves none.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{
    Criterion, Grid, NodeId, Profile, Request, Slot, SlotError, SlotList, Span, Time, Window,
};

use super::super::csa::Score;
use super::super::ranking::Ranked;
use super::super::search::{Found, Scratch, Search};
use super::orders::{NodeOrders, OrderBy};
use super::query::Query;
use super::with_node::WindowBounds;
use super::{Base, SlotIndex, Tuning, Wanted, WholeList, cut};

/// The index is made again when more of its nodes were changed: one of so many, and some.
const CHANGED_NODES: (usize, usize) = (16, 64);

/// Requests with their best windows on one list. After each change these are the same as those of
/// a [`Searcher`](super::super::Searcher) on the changed list, ties included.
///
/// ```
/// # use tradewind_model::{Attributes, Criterion, Grid, Node, NodeId, Performance, Price, Request};
/// # use tradewind_model::{Site, SiteId, Slot, SlotList, Span, Time, Times};
/// # use tradewind_sched::window::{KeptWindows, Search};
/// # let node = |name: &str| Node {
/// #     name: name.to_owned(), site: SiteId(0), host: None, performance: Performance::REFERENCE,
/// #     price: Price(1), attributes: Attributes::new(), times: Times::Work,
/// # };
/// # let sites = vec![Site { name: "site".to_owned() }];
/// # let grid = Grid::new(sites, vec![node("a"), node("b")]).unwrap();
/// let slot = |node, start, end| Slot { node: NodeId(node), start: Time(start), end: Time(end) };
/// let list = SlotList::new(vec![slot(0, 0, 100), slot(1, 40, 100)]).unwrap();
/// let mut windows = KeptWindows::new(&grid, &list, Time(0));
/// let request = windows.add(Request::new(2, Span(30)), Search::best(Criterion::Start)).unwrap();
/// assert_eq!(windows.best(request).unwrap().start(), Time(40));
/// assert_eq!(windows.change(NodeId(1), vec![slot(1, 10, 100)]), Ok(vec![request]));
/// assert_eq!(windows.best(request).unwrap().start(), Time(10));
/// ```
#[derive(Debug)]
pub struct KeptWindows<'g> {
    list: Listed<'g>,
    /// By key.
    requests: BTreeMap<usize, Kept>,
    next: usize,
    scratch: Scratch,
}

/// What is free.
#[derive(Debug)]
struct Listed<'g> {
    index: SlotIndex<'g>,
    /// How many nodes are free, from the first start of the list at first.
    idle: Profile,
    /// No slot starts earlier.
    first: Time,
    /// No window starts earlier.
    from: Time,
    /// The index is made again when more nodes than so many were changed.
    changed_nodes: usize,
}

/// A request with its best window.
#[derive(Debug)]
struct Kept {
    request: Request,
    search: Search,
    wanted: Wanted,
    found: Option<Found>,
    /// What a task may cost at most.
    dearest: i128,
    /// What all tasks but one take at least, by what a [`Wanted::Least`] adds up.
    others: i128,
    /// No task is shorter.
    shortest: Span,
}

/// The slots of a node before a change.
struct Before {
    node: NodeId,
    slots: Vec<Slot>,
}

impl<'g> KeptWindows<'g> {
    /// No request yet, on what is free in `slots`; windows start at `from` or later. For p slots
    /// and n nodes O(p log p + n).
    pub fn new(grid: &'g Grid, slots: &SlotList, from: Time) -> KeptWindows<'g> {
        let list = Listed::new(grid, slots.as_slice().to_vec(), from);
        KeptWindows { list, requests: BTreeMap::new(), next: 0, scratch: Scratch::default() }
    }

    /// Searches for this request, and keeps it; its key. Keys are not used again.
    ///
    /// # Errors
    /// [`WholeList`] if no index can answer: tasks that differ or share nodes, licences, data, several
    /// shapes, prices that change with time, windows at one of several sites, CSA, the papers' own
    /// steps, and sums other than the cost under a budget.
    pub fn add(&mut self, request: Request, search: Search) -> Result<usize, WholeList> {
        let wanted = self.list.index.wanted(&request, &search).ok_or(WholeList)?;
        let key = self.next;
        self.next += 1;
        let kept = Kept::new(&self.list, (request, search), wanted, &mut self.scratch);
        self.requests.insert(key, kept);
        Ok(key)
    }

    /// Forgets a request.
    pub fn remove(&mut self, key: usize) {
        self.requests.remove(&key);
    }

    /// The best window of the request with this key, if there is any.
    pub fn best(&self, key: usize) -> Option<&Window> {
        self.requests.get(&key)?.found.as_ref().map(|found| &found.window)
    }

    /// From now on `slots`, in order, are what is free on `node`. Gives the keys of the requests
    /// whose best windows are others now, in order. O(r) for r requests, and a search for each whose
    /// window is not free any more or for which the node may make a better one.
    ///
    /// # Errors
    /// [`SlotError`] if these are no slots of this node in order, or the grid has no such node; nothing
    /// changes then.
    pub fn change(&mut self, node: NodeId, slots: Vec<Slot>) -> Result<Vec<usize>, SlotError> {
        let is_known = (node.0 as usize) < self.list.index.grid.len();
        if let Some(other) = slots.iter().find(|slot| !is_known || slot.node != node) {
            return Err(SlotError::NotFree(*other));
        }
        if !is_known {
            return Ok(Vec::new());
        }
        if let Some(pair) = slots.windows(2).find(|pair| pair[0].end > pair[1].start) {
            return Err(SlotError::Overlap(pair[0], pair[1]));
        }
        if let Some(empty) = slots.iter().find(|slot| slot.end <= slot.start) {
            return Err(SlotError::Empty(*empty));
        }
        let before = self.list.set(node, slots);
        Ok(self.update(&[before]))
    }

    /// A window was taken out of the list. Gives the keys as [`KeptWindows::change`] does.
    ///
    /// # Errors
    /// [`SlotError::NotFree`] for the first task that is not free; nothing changes then.
    pub fn take(&mut self, window: &Window) -> Result<Vec<usize>, SlotError> {
        let mut left = Vec::with_capacity(window.tasks().len());
        for taken in window.taken() {
            let mut slots = self.list.index.of(taken.node).to_vec();
            if !cut(&mut slots, taken) {
                return Err(SlotError::NotFree(taken));
            }
            left.push((taken.node, slots));
        }
        let before: Vec<Before> =
            left.into_iter().map(|(node, slots)| self.list.set(node, slots)).collect();
        Ok(self.update(&before))
    }

    /// Windows start at `from` or later. Gives the keys as [`KeptWindows::change`] does. Without
    /// effect if they do already.
    pub fn not_before(&mut self, from: Time) -> Vec<usize> {
        self.list.from = self.list.from.max(from);
        let KeptWindows { list, requests, scratch, .. } = self;
        let late = |kept: &Kept| kept.found.as_ref().is_some_and(|it| it.window.start() < from);
        let past = requests.iter_mut().filter(|(_, kept)| late(kept));
        past.map(|(key, kept)| {
            kept.search_again(list, scratch);
            *key
        })
        .collect()
    }

    #[cfg(test)]
    pub(super) fn search_among_some(&mut self, tuning: Tuning) {
        self.list.index.tuning = tuning;
    }

    #[cfg(test)]
    pub(super) fn make_the_index_again_after_each_change(&mut self) {
        self.list.changed_nodes = 0;
    }

    fn update(&mut self, changes: &[Before]) -> Vec<usize> {
        let KeptWindows { list, requests, scratch, .. } = self;
        let mut others = BTreeSet::new();
        let mut chances = Vec::new();
        for (key, kept) in requests.iter_mut() {
            if kept.loses(list, changes) {
                kept.search_again(list, scratch);
                others.insert(*key);
            } else {
                kept.chances(list, changes, |node, starts| chances.push((starts, *key, node)));
            }
        }
        // Those that look at similar times share the nodes that are free then.
        chances.sort_unstable_by_key(|((_, last), key, _)| (*last, *key));
        let from = chances.iter().map(|((first, _), ..)| *first).min().unwrap_or_default();
        let mut rest = &chances[..];
        while let [((_, last), ..), ..] = rest {
            let until = from.saturating_add((last - from).saturating_mul(2));
            let (some, later) = rest.split_at(rest.partition_point(|((_, it), ..)| *it <= until));
            let orders = list.free_within(from, some.last().map_or(from, |((_, it), ..)| *it));
            for (starts, key, node) in some {
                let Some(kept) = requests.get_mut(key) else { continue };
                if kept.improve(list, (node, &orders), *starts, scratch) {
                    others.insert(*key);
                }
            }
            rest = later;
        }
        self.list.tidy();
        others.into_iter().collect()
    }
}

impl<'g> Listed<'g> {
    fn new(grid: &'g Grid, slots: Vec<Slot>, from: Time) -> Listed<'g> {
        let first = slots.first().map_or(from, |slot| slot.start);
        let mut idle = Profile::new(0, first);
        slots.iter().for_each(|slot| idle.give(1, slot.start, slot.end));
        let base = Arc::new(Base::new(grid, Cow::Owned(slots)));
        let index = SlotIndex { grid, base, changed: BTreeMap::new(), tuning: Tuning::USUAL };
        let (share, some) = CHANGED_NODES;
        Listed { index, idle, first, from, changed_nodes: grid.len() / share + some }
    }

    fn set(&mut self, node: NodeId, slots: Vec<Slot>) -> Before {
        let before = self.index.of(node).to_vec();
        before.iter().for_each(|slot| self.idle.take(1, slot.start, slot.end));
        slots.iter().for_each(|slot| self.idle.give(1, slot.start, slot.end));
        self.first = slots.first().map_or(self.first, |slot| slot.start.min(self.first));
        self.index.changed.insert(node, slots);
        Before { node, slots: before }
    }

    /// Makes the index again if too much of it was changed.
    fn tidy(&mut self) {
        if self.index.changed.len() <= self.changed_nodes {
            return;
        }
        let grid = self.index.grid;
        let all = grid.iter().flat_map(|(node, _)| self.index.of(node));
        let mut slots: Vec<Slot> = all.copied().collect();
        slots.sort_by_key(|slot| slot.start);
        let (tuning, changed_nodes) = (self.index.tuning, self.changed_nodes);
        *self = Listed { changed_nodes, ..Listed::new(grid, slots, self.from) };
        self.index.tuning = tuning;
    }

    /// The nodes with slots that start by `last` and do not end before `first`.
    fn free_within(&self, first: i64, last: i64) -> NodeOrders {
        let SlotIndex { base, changed, grid, .. } = &self.index;
        let mut is_free = vec![false; grid.len()];
        let until = base.list.partition_point(|slot| slot.start.0 <= last);
        for slot in base.list[..until].iter().filter(|slot| slot.end.0 >= first) {
            is_free[slot.node.0 as usize] = true;
        }
        for (node, slots) in changed {
            let meets = |slot: &Slot| slot.start.0 <= last && slot.end.0 >= first;
            is_free[node.0 as usize] = slots.iter().any(meets);
        }
        base.orders.only(is_free)
    }

    /// The first moment of `[first, last]` from which on so many nodes are free for so long; no
    /// window starts before.
    fn first_with(&self, nodes: u32, span: Span, (first, last): (i64, i64)) -> Option<i64> {
        if Time(first) < self.idle.origin() {
            return Some(first); // not known
        }
        let until = Time(last.saturating_add(1));
        self.idle.earliest_before(nodes, span, Time(first), until).map(|start| start.0)
    }
}

impl Kept {
    fn new(
        list: &Listed<'_>,
        (request, search): (Request, Search),
        wanted: Wanted,
        scratch: &mut Scratch,
    ) -> Kept {
        let by = if let Wanted::Least(by) = wanted { by } else { OrderBy::Cost };
        let query = Query::new(&list.index, (&request, &search), list.from);
        let of_query =
            |query: Query<'_>| (query.dearest(), query.least_of_others(by), query.shortest());
        // Without a query too few nodes suit, whatever is free: no task is cheap enough then.
        let (dearest, others, shortest) = query.map_or((-1, None, 0), of_query);
        let shortest = Span(shortest);
        let others = others.unwrap_or_default();
        let mut kept = Kept { request, search, wanted, found: None, dearest, others, shortest };
        kept.search_again(list, scratch);
        kept
    }

    fn query<'a>(&'a self, list: &'a Listed<'_>) -> Query<'a> {
        let from = list.from.max(list.first);
        Query::within_cost(&list.index, (&self.request, &self.search), from, self.dearest)
    }

    fn search_again(&mut self, list: &Listed<'_>, scratch: &mut Scratch) {
        self.found = self.query(list).answer_anyhow(self.wanted, scratch);
    }

    /// Whether the window has a task that is in no slot of its node any more.
    fn loses(&self, list: &Listed<'_>, changes: &[Before]) -> bool {
        let Some(Found { window, .. }) = &self.found else { return false };
        let start = window.start();
        changes.iter().any(|change| {
            let at = window.tasks().binary_search_by_key(&change.node, |task| task.node);
            let end = at.map(|at| start + window.tasks()[at].length);
            let holds = |slot: &Slot| slot.start <= start && end.is_ok_and(|end| end <= slot.end);
            end.is_ok() && !list.index.of(change.node).iter().any(holds)
        })
    }

    /// Hands each changed node with new starts to `each`, if a window there may be better.
    fn chances(
        &self,
        list: &Listed<'_>,
        changes: &[Before],
        mut each: impl FnMut(Ranked, (i64, i64)),
    ) {
        let query = self.query(list);
        for change in changes {
            let Some(node) = query.ranked(change.node) else { continue };
            let starts = |slot: &Slot| query.bounds.starts(slot, node.length);
            let now = list.index.of(change.node).iter().filter_map(starts);
            let before = || change.slots.iter().filter_map(starts);
            for_new_starts(now, before, |new| {
                let Some(bounds) = self.reach(&node, new) else { return };
                if let Some(first) =
                    list.first_with(self.request.tasks, self.shortest, bounds.starts)
                {
                    each(node, (first, bounds.starts.1));
                }
            });
        }
    }

    /// Takes a better window than the known one that starts in this span, in which `node` is new, if
    /// there is any.
    fn improve(
        &mut self,
        list: &Listed<'_>,
        (node, orders): (&Ranked, &NodeOrders),
        starts: (i64, i64),
        scratch: &mut Scratch,
    ) -> bool {
        let Some(bounds) = self.reach(node, starts) else { return false };
        let query = self.query(list);
        let sum = bounds.sum.or(query.budget().map(|budget| (OrderBy::Cost, budget)));
        let found = query.with_node((node, orders), WindowBounds { sum, ..bounds }, scratch);
        let known = self.found.as_ref();
        let is_better =
            |found: &Found| known.is_none_or(|known| self.is_before(&found.window, &known.window));
        let better = found.filter(is_better);
        let is_another = better.is_some();
        self.found = better.or(self.found.take());
        is_another
    }

    /// Bounds of the windows with `node` that start in `[first, last]` and may be better than the
    /// known one. `None`: there are none.
    fn reach(&self, node: &Ranked, (first, last): (i64, i64)) -> Option<WindowBounds> {
        let any = (OrderBy::Cost, self.dearest);
        let of = |last, each| WindowBounds { starts: (first, last), each, sum: None };
        let Some(Found { window, .. }) = &self.found else { return Some(of(last, any)) };
        match self.wanted {
            Wanted::Earliest => {
                let start = window.start().0;
                let key = |it: &Ranked| (it.cost, it.length, it.node);
                let behind = || {
                    let tasks = window.tasks().iter();
                    tasks.map(|it| (it.cost.0, it.length.0, it.node)).max() < Some(key(node))
                };
                let is_out = first > start || first == start && behind();
                (!is_out).then(|| of(last.min(start), any))
            }
            Wanted::Least(by) => {
                let (sum, own) = match by {
                    OrderBy::Cost => (window.cost().0, node.cost),
                    OrderBy::Length => (window.processor_time().0, node.length),
                };
                let limit = i128::from(sum) - self.others;
                let sum = Some((by, i128::from(sum)));
                (i128::from(own) <= limit).then_some(WindowBounds { sum, ..of(last, (by, limit)) })
            }
            Wanted::Runtime => {
                let runtime = window.runtime().0;
                let bound = (OrderBy::Length, i128::from(runtime));
                (node.length <= runtime).then_some(of(last, bound))
            }
            Wanted::Finish => {
                let finish = window.finish().0;
                let last = last.min(finish - node.length);
                let bound = (OrderBy::Length, i128::from(finish) - i128::from(first));
                (first <= last).then_some(of(last, bound))
            }
        }
    }

    /// Whether `one` comes before `other` in the order of windows.
    fn is_before(&self, one: &Window, other: &Window) -> bool {
        let criterion = self.search.algorithm.criterion();
        let score = |it: &Window| {
            let (start, runtime) = (it.start().0, it.runtime().0);
            let sum = i128::from(it.processor_time().0);
            Score::new(criterion, (start, runtime), i128::from(it.cost().0), sum)
        };
        let by_length = *criterion == Criterion::ProcessorTime;
        let nodes = |it: &Window| {
            let key = |task: &tradewind_model::Task| {
                let weight = if by_length { task.length.0 } else { task.cost.0 };
                (weight, task.cost, task.length, task.node)
            };
            let mut nodes: Vec<_> = it.tasks().iter().map(key).collect();
            nodes.sort_unstable();
            nodes
        };
        let order = score(one).cmp(&score(other));
        order.then_with(|| nodes(one).cmp(&nodes(other))).is_lt()
    }
}

/// Hands the parts of these spans `[first, last]` to `each` that are in none of the earlier ones;
/// both are in order and apart.
fn for_new_starts<I: Iterator<Item = (i64, i64)>>(
    now: impl Iterator<Item = (i64, i64)>,
    before: impl Fn() -> I,
    mut each: impl FnMut((i64, i64)),
) {
    for (mut first, last) in now {
        for (start, end) in before() {
            if end < first || last < start {
                continue;
            }
            if first < start {
                each((first, start - 1));
            }
            first = end.saturating_add(1);
        }
        if first <= last {
            each((first, last));
        }
    }
}
