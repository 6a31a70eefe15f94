//! Idle spans on nodes, and the ordered list of them that every search reads.

use crate::shared::{SharedFree, by_node};
use crate::{FreeLicences, Grid, Horizon, LicenceId, LicenceShare, NodeId, Span, Time, Window};

/// An idle span `[start, end)` on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    /// First idle second.
    pub start: Time,
    /// First second that is not idle any more.
    pub end: Time,
    /// Id of the node.
    pub node: NodeId,
}

impl Slot {
    /// How long it is.
    pub fn span(&self) -> Span {
        self.end - self.start
    }

    /// Its parts that lie in these intervals `[start, end)`, which are in order and apart.
    pub(crate) fn within(self, intervals: &[(Time, Time)]) -> impl Iterator<Item = Slot> + '_ {
        let first = intervals.partition_point(|(_, end)| *end <= self.start);
        let met = intervals[first..].iter().take_while(move |(start, _)| *start < self.end);
        met.map(move |&(start, end)| Slot {
            start: start.max(self.start),
            end: end.min(self.end),
            ..self
        })
    }
}

/// Slots in order of start. Slots of equal start keep the order in which they were given
/// (papers 001/002 depend on it); slots of one node never overlap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlotList {
    slots: Vec<Slot>,
    /// Where nodes are shared: what is free on them. The slots of these nodes are the spans in
    /// which the whole node is free.
    shared: Option<Box<SharedFree>>,
    /// Where jobs take licences along: what is free of them.
    licences: Option<Box<FreeLicences>>,
}

/// Why slots do not make a list, or why a span cannot be taken out of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// A slot that ends before or when it starts.
    #[error("the slot [{}, {}) on node {} is empty", .0.start, .0.end, .0.node.0)]
    Empty(Slot),
    /// Two slots of one node share time, or stand out of order.
    #[error("the slots [{}, {}) and [{}, {}) on node {} overlap", .0.start, .0.end, .1.start, .1.end, .0.node.0)]
    Overlap(Slot, Slot),
    /// The span to take is not within any one slot.
    #[error("no slot holds [{}, {}) on node {}", .0.start, .0.end, .0.node.0)]
    NotFree(Slot),
    /// Fewer of a licence are free than a window takes.
    #[error("licence {} is not free as often as the window takes it", .0.0)]
    NoLicence(LicenceId),
}

/// Nodes by their last bits: most nodes that are not among a few are ruled out without a search.
struct NodeFilter([u64; NodeFilter::WORDS]);

impl NodeFilter {
    const WORDS: usize = 16;

    fn of(nodes: impl Iterator<Item = NodeId>) -> NodeFilter {
        let mut words = [0; NodeFilter::WORDS];
        for NodeId(node) in nodes {
            words[(node / 64) as usize % NodeFilter::WORDS] |= 1 << (node % 64);
        }
        NodeFilter(words)
    }

    /// `false`: it is none of them.
    fn has(&self, NodeId(node): NodeId) -> bool {
        self.0[(node / 64) as usize % NodeFilter::WORDS] >> (node % 64) & 1 == 1
    }
}

impl SlotList {
    /// A list of `slots`, sorted by start; slots of equal start stay in the order given.
    ///
    /// # Errors
    /// [`SlotError::Empty`] or [`SlotError::Overlap`].
    pub fn new(mut slots: Vec<Slot>) -> Result<SlotList, SlotError> {
        if let Some(empty) = slots.iter().find(|slot| slot.end <= slot.start) {
            return Err(SlotError::Empty(*empty));
        }
        slots.sort_by_key(|slot| slot.start);
        let list = SlotList { slots, shared: None, licences: None };
        list.check()?;
        Ok(list)
    }

    /// What is idle within `horizon` on `grid`, given the busy spans of each node. Busy spans
    /// may overlap each other and reach beyond the horizon. Ordered by start, then node.
    pub fn from_busy(grid: &Grid, horizon: Horizon, busy: &[Slot]) -> SlotList {
        let mut by_node: Vec<Slot> = busy.to_vec();
        by_node.sort_by_key(|span| (span.node, span.start, span.end));
        let mut slots = Vec::new();
        let mut next = by_node.into_iter().peekable();
        for (node, _) in grid.iter() {
            let mut from = horizon.start;
            while let Some(span) = next.next_if(|span| span.node <= node) {
                let until = span.start.min(horizon.end);
                if until > from {
                    slots.push(Slot { start: from, end: until, node });
                }
                from = from.max(span.end);
            }
            if horizon.end > from {
                slots.push(Slot { start: from, end: horizon.end, node });
            }
        }
        slots.sort_by_key(|slot| slot.start);
        SlotList { slots, shared: None, licences: None }
    }

    /// The same list with what is free on shared nodes: their slots become the spans in which
    /// the whole node is free. O(n log n).
    pub fn with_shared(mut self, shared: SharedFree) -> SlotList {
        self.slots.retain(|slot| !shared.has(slot.node));
        self.slots.extend(shared.whole());
        self.slots.sort_by_key(|slot| slot.start);
        self.shared = Some(Box::new(shared));
        self
    }

    /// What is free on shared nodes, if there are any.
    pub fn shared(&self) -> Option<&SharedFree> {
        self.shared.as_deref()
    }

    /// The same list with what is free of licences.
    pub fn with_licences(mut self, free: FreeLicences) -> SlotList {
        self.licences = Some(Box::new(free));
        self
    }

    /// What is free of licences, if there are any.
    pub fn licences(&self) -> Option<&FreeLicences> {
        self.licences.as_deref()
    }

    /// What is idle while all of these shares are free, without licences: every window that takes
    /// them along is a window of this list and the other way round, because its tasks start together
    /// and it keeps the shares until the last has ended. For p slots, with n parts in all:
    /// O(p log p + n log n).
    pub fn where_free(&self, shares: &[LicenceShare]) -> SlotList {
        let free = self.licences.as_deref();
        let intervals = free.map_or(Vec::new(), |free| free.intervals(shares));
        let mut slots: Vec<Slot> =
            self.slots.iter().flat_map(|slot| slot.within(&intervals)).collect();
        slots.sort_by_key(|slot| slot.start);
        let shared = self.shared.as_ref().map(|shared| Box::new(shared.within(&intervals)));
        SlotList { slots, shared, licences: None }
    }

    /// The slots, in order.
    pub fn as_slice(&self) -> &[Slot] {
        &self.slots
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing is idle.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The first and the last moment between which anything is idle, parts of shared nodes
    /// included. O(slots).
    pub fn bounds(&self) -> Option<(Time, Time)> {
        let (starts, ends) = self.shared.as_ref().map_or((None, None), |shared| shared.bounds());
        let first = self.slots.first().map(|slot| slot.start);
        let last = self.slots.iter().map(|slot| slot.end).max();
        let start = first.into_iter().chain(starts).min()?;
        Some((start, last.into_iter().chain(ends).max()?))
    }

    /// Drops the slots for which `keep` is false; the others stay in order.
    pub fn retain(&mut self, keep: impl FnMut(&Slot) -> bool) {
        self.slots.retain(keep);
    }

    /// Takes the span `taken` (K′) out of the slot K that holds it, leaving
    /// K1 = [K.start, K′.start) in K's place and K2 = [K′.end, K.end) after all slots of equal
    /// start; empty remainders are not kept (paper 001, section 2, figure 1 b).
    ///
    /// ```
    /// use tradewind_model::{NodeId, Slot, SlotList, Time};
    /// let slot = |start, end| Slot { node: NodeId(0), start: Time(start), end: Time(end) };
    /// let mut list = SlotList::new(vec![slot(0, 100)]).unwrap();
    /// list.subtract(slot(20, 60)).unwrap();
    /// assert_eq!(list.as_slice(), [slot(0, 20), slot(60, 100)]);
    /// ```
    ///
    /// O(slots).
    ///
    /// # Errors
    /// [`SlotError::NotFree`] if no slot holds all of `taken`; the list is unchanged then.
    pub fn subtract(&mut self, taken: Slot) -> Result<(), SlotError> {
        self.subtract_slot(taken)?;
        if let Some(shared) = &mut self.shared {
            shared.take(taken, None, 1);
        }
        Ok(())
    }

    fn subtract_slot(&mut self, taken: Slot) -> Result<(), SlotError> {
        let reach = self.slots.partition_point(|slot| slot.start <= taken.start);
        let holds = |slot: &Slot| slot.node == taken.node && slot.end >= taken.end;
        let found = self.slots[..reach].iter().rposition(holds);
        let at = found.filter(|_| taken.end > taken.start).ok_or(SlotError::NotFree(taken))?;
        let whole = self.slots[at];
        let rest = Slot { start: taken.end, ..whole };
        if whole.start < taken.start {
            self.slots[at].end = taken.start;
            if rest.start < rest.end {
                self.slots.insert(self.place_for(rest.start), rest);
            }
        } else if rest.start < rest.end {
            let to = self.place_for(rest.start) - 1;
            self.slots[at..=to].rotate_left(1);
            self.slots[to] = rest;
        } else {
            self.slots.remove(at);
        }
        Ok(())
    }

    /// Takes every task of `window` out of the list, and the licences that it takes along.
    ///
    /// O(tasks × slots) at worst; moves only what lies between.
    ///
    /// # Errors
    /// [`SlotError::NotFree`] for the first task that is not free, [`SlotError::NoLicence`] for the
    /// first licence; the list is unchanged then.
    pub fn subtract_window(&mut self, window: &Window) -> Result<(), SlotError> {
        let Some(shares) = window.licences() else { return self.subtract_tasks(window) };
        let (start, runtime) = (window.start(), window.runtime());
        let free = self.licences.as_deref();
        let lacking = match free {
            Some(free) => free.lacking(shares, start, runtime),
            None => shares.first().copied(),
        };
        if let Some(share) = lacking {
            return Err(SlotError::NoLicence(share.licence));
        }
        self.subtract_tasks(window)?;
        if let Some(free) = &mut self.licences {
            shares.iter().for_each(|share| free.take(*share, start, start + runtime));
        }
        Ok(())
    }

    fn subtract_tasks(&mut self, window: &Window) -> Result<(), SlotError> {
        if self.shared.is_some() {
            return self.subtract_parts(window);
        }
        if window.tasks().len() == 1 {
            return self.subtract(window.taken().next().unwrap_or(EMPTY));
        }
        self.subtract_many(window)
    }

    /// Takes the parts of shared nodes, and of others the whole.
    fn subtract_parts(&mut self, window: &Window) -> Result<(), SlotError> {
        let Some(mut shared) = self.shared.take() else { return Ok(()) };
        let each = window.each();
        let is_free = |(span, count): &(Slot, u32)| match shared.has(span.node) {
            true => shared.places(*span, each) >= *count,
            false => *count == 1 && self.holds(*span),
        };
        let lacking = by_node(window).find(|it| !is_free(it));
        if lacking.is_none() {
            for (span, count) in by_node(window) {
                shared.take(span, each, count);
                self.cut(span);
            }
        }
        self.shared = Some(shared);
        lacking.map_or(Ok(()), |(span, _)| Err(SlotError::NotFree(span)))
    }

    /// Whether one slot holds all of the span.
    fn holds(&self, span: Slot) -> bool {
        let reach = self.slots.partition_point(|slot| slot.start <= span.start);
        let holds = |slot: &Slot| slot.node == span.node && slot.end >= span.end;
        self.slots[..reach].iter().any(holds)
    }

    /// Takes the span out of every slot of its node that it meets.
    fn cut(&mut self, span: Slot) {
        let meets =
            |slot: &Slot| slot.node == span.node && slot.start < span.end && span.start < slot.end;
        let met: Vec<Slot> = self.slots.iter().filter(|slot| meets(slot)).copied().collect();
        self.slots.retain(|slot| !meets(slot));
        for slot in met {
            let before = Slot { end: span.start, ..slot };
            let after = Slot { start: span.end, ..slot };
            for rest in [before, after].into_iter().filter(|rest| rest.start < rest.end) {
                self.slots.insert(self.place_for(rest.start), rest);
            }
        }
    }

    /// One pass over the slots that start by the window's start, so that a wide window costs no
    /// more than a narrow one.
    fn subtract_many(&mut self, window: &Window) -> Result<(), SlotError> {
        let reach = self.slots.partition_point(|slot| slot.start <= window.start());
        let tasks = window.tasks();
        let maybe = NodeFilter::of(tasks.iter().map(|task| task.node));
        let mut at = vec![usize::MAX; tasks.len()];
        let shortest = tasks.iter().map(|task| task.length).min().unwrap_or_default();
        for (i, slot) in self.slots[..reach].iter().enumerate() {
            if slot.end < window.start() + shortest || !maybe.has(slot.node) {
                continue;
            }
            if let Ok(k) = tasks.binary_search_by_key(&slot.node, |task| task.node)
                && slot.end >= window.start() + tasks[k].length
            {
                at[k] = i;
            }
        }
        if let Some(k) = at.iter().position(|&i| i == usize::MAX) {
            let (start, task) = (window.start(), &tasks[k]);
            let taken = Slot { start, end: start + task.length, node: task.node };
            return Err(SlotError::NotFree(taken));
        }
        self.cut_out(window, &at);
        Ok(())
    }

    /// Takes windows out of the list that start together and share no node: the same list as taking
    /// one after the other, in one pass.
    ///
    /// # Errors
    /// As of [`SlotList::subtract_window`]; the list is unchanged then.
    pub fn subtract_together(&mut self, windows: &[Window]) -> Result<(), SlotError> {
        if self.shared.is_some() || windows.iter().any(|window| window.licences().is_some()) {
            let mut left = self.clone();
            windows.iter().try_for_each(|window| left.subtract_window(window))?;
            *self = left;
            return Ok(());
        }
        let Some(start) = windows.first().map(Window::start) else { return Ok(()) };
        let mut taken: Vec<(Slot, usize)> =
            windows.iter().flat_map(Window::taken).zip(0..).collect();
        taken.sort_unstable_by_key(|(slot, _)| slot.node);
        let maybe = NodeFilter::of(taken.iter().map(|(slot, _)| slot.node));
        let mut at = vec![usize::MAX; taken.len()];
        let reach = self.slots.partition_point(|slot| slot.start <= start);
        for (i, slot) in self.slots[..reach].iter().enumerate() {
            if slot.end > start
                && maybe.has(slot.node)
                && let Ok(k) = taken.binary_search_by_key(&slot.node, |(taken, _)| taken.node)
                && slot.end >= taken[k].0.end
            {
                at[taken[k].1] = i;
            }
        }
        let tasks: Vec<Slot> = windows.iter().flat_map(Window::taken).collect();
        if let Some(k) = at.iter().position(|&i| i == usize::MAX) {
            return Err(SlotError::NotFree(tasks[k]));
        }
        self.cut_all(&tasks, &at);
        Ok(())
    }

    /// Cuts task k of `window` out of slot `at[k]` and merges the remainders in.
    fn cut_out(&mut self, window: &Window, at: &[usize]) {
        let taken: Vec<Slot> = window.taken().collect();
        self.cut_all(&taken, at);
    }

    /// Cuts `taken[k]` out of slot `at[k]`, each another one, and merges the remainders in.
    fn cut_all(&mut self, taken: &[Slot], at: &[usize]) {
        let mut rests = Vec::with_capacity(at.len());
        let mut emptied = false;
        for (taken, &i) in taken.iter().zip(at) {
            let slot = &mut self.slots[i];
            let rest = Slot { start: taken.end, ..*slot };
            if rest.start < rest.end {
                rests.push(rest);
            }
            slot.end = taken.start;
            emptied |= slot.end <= slot.start;
        }
        if emptied {
            let first = at.iter().copied().min().unwrap_or(0);
            let mut keep = first;
            for i in first..self.slots.len() {
                if self.slots[i].start < self.slots[i].end {
                    self.slots[keep] = self.slots[i];
                    keep += 1;
                }
            }
            self.slots.truncate(keep);
        }
        rests.sort_by_key(|rest| rest.start);
        self.merge(&rests);
    }

    /// Inserts `rests` (sorted by start), each after all slots of equal start: a merge from the
    /// back that stops at the first slot that need not move.
    fn merge(&mut self, rests: &[Slot]) {
        let mut old = self.slots.len();
        self.slots.extend_from_slice(rests);
        let mut to = self.slots.len();
        for rest in rests.iter().rev() {
            while old > 0 && self.slots[old - 1].start > rest.start {
                old -= 1;
                to -= 1;
                self.slots[to] = self.slots[old];
            }
            to -= 1;
            self.slots[to] = *rest;
        }
    }

    fn place_for(&self, start: Time) -> usize {
        self.slots.partition_point(|slot| slot.start <= start)
    }

    /// Whether the invariants hold: no empty slot, order by start, no overlap on one node.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self) -> Result<(), SlotError> {
        if let Some(empty) = self.slots.iter().find(|slot| slot.end <= slot.start) {
            return Err(SlotError::Empty(*empty));
        }
        if let Some(pair) = self.slots.windows(2).find(|pair| pair[0].start > pair[1].start) {
            return Err(SlotError::Overlap(pair[0], pair[1]));
        }
        let mut by_node = self.slots.clone();
        by_node.sort_by_key(|slot| (slot.node, slot.start));
        let overlap = |pair: &&[Slot]| pair[0].node == pair[1].node && pair[0].end > pair[1].start;
        match by_node.windows(2).find(overlap) {
            Some(pair) => Err(SlotError::Overlap(pair[0], pair[1])),
            None => Ok(()),
        }
    }
}

const EMPTY: Slot = Slot { start: Time(0), end: Time(0), node: NodeId(0) };

#[cfg(test)]
mod tests;
