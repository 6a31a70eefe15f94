//! Several windows for every job of a batch, none of which intersect.

use std::collections::BTreeMap;

use tradewind_model::{Criterion, Node, Reason, SlotList, Snapshot, Span, Time, TimeMode, Window};

use super::{Cyclic, Meter, search_of, searcher};
use crate::window::{
    Algorithm, Found, FreeAtOnce, FrontRequest, LazyIndex, Proof, Scratch, Searcher, SlotIndex,
    Variant, WholeList,
};

/// What the search found for one job.
pub(super) struct JobAlternatives {
    /// In the order found.
    pub(super) windows: Vec<Window>,
    /// How many of them are not proven best (the work limit was hit).
    pub(super) unproven: u32,
    /// Whether the allowed number was reached, so that there may be more.
    pub(super) cut: bool,
    /// Why there is none, when there is none.
    pub(super) reason: Option<Reason>,
}

/// One job's search over all passes.
struct Quest {
    job: usize,
    /// Until the list's front has no window for it any more.
    front: Option<FrontRequest>,
    /// Until too many nodes mattered for a search on the index.
    by_index: bool,
    /// Once it was needed.
    searcher: Option<Searcher>,
    /// The list only shrinks, so the earliest window never starts before the last one found.
    from: Time,
    state: PassState,
    found: JobAlternatives,
}

#[derive(PartialEq)]
enum PassState {
    Open,
    /// Nothing was left, and nothing will be: the list only shrinks.
    Exhausted,
}

/// Searches pass after pass over `batch` (job indices in order of planning), one window per job
/// and pass, in all shapes of a moldable job in turn, each taken out of the list, until a whole pass finds none (paper 001, section 2).
/// `free` itself is not changed: the alternatives are offers, not bookings.
///
/// O(windows × slots) for searches by start, times a logarithm for the others.
pub(super) fn search(
    snapshot: &Snapshot,
    cyclic: &Cyclic,
    batch: &[usize],
    free: &Free<'_, '_>,
    meter: &mut Meter<'_>,
) -> Vec<JobAlternatives> {
    let mut left = Left::new(snapshot, batch, free);
    let mut quests: Vec<Quest> =
        batch.iter().map(|&job| Quest::new(snapshot, cyclic, job, &left.front)).collect();
    let max = cyclic.max_alternatives.map_or(usize::MAX, |max| max as usize);
    loop {
        let mut any = false;
        left.dropped = false;
        for at in 0..quests.len() {
            if quests[at].is_done(max) {
                continue;
            }
            if !quests[at].step_in_front(&mut left) {
                left.prepare(&quests, max);
                any |= quests[at].step(snapshot, cyclic, &mut left);
            } else {
                any = true;
            }
            match quests[at].is_done(max) {
                true => meter.job_done(),
                false => meter.window_found(),
            }
        }
        if !any {
            break;
        }
    }
    let finish = |quest: Quest| quest.finish(snapshot, cyclic, max, &mut left.scratch);
    quests.into_iter().map(finish).collect()
}

/// What there is to search.
pub(super) struct Free<'a, 'g> {
    pub(super) slots: &'a SlotList,
    /// Of the snapshot's slots.
    pub(super) index: &'a LazyIndex<'g>,
    /// Windows that were taken out of those.
    pub(super) booked: &'a [Window],
}

/// What the windows found so far leave of a list. Those that begin at its first moment are taken
/// out of its front at once, and out of the list itself when a search reads it.
struct Left<'a, 'g> {
    free: &'a Free<'a, 'g>,
    batch: &'a [usize],
    snapshot: &'a Snapshot,
    front: FreeAtOnce,
    /// Taken out of the front alone.
    pending: Vec<Window>,
    /// The list, once a search has read it.
    list: Option<SlotList>,
    /// Of the list, if there were many slots. It may hold slots that were dropped.
    index: Option<SlotIndex<'g>>,
    /// By node, the length of the shortest task of the batch.
    shortest: Vec<Span>,
    /// Whether useless slots were dropped in this pass.
    dropped: bool,
    scratch: Scratch,
}

impl<'a, 'g> Left<'a, 'g> {
    fn new(snapshot: &'a Snapshot, batch: &'a [usize], free: &'a Free<'a, 'g>) -> Left<'a, 'g> {
        Left {
            free,
            batch,
            snapshot,
            front: FreeAtOnce::new(&snapshot.grid, free.slots.as_slice(), snapshot.horizon.start),
            pending: Vec::new(),
            list: None,
            index: None,
            shortest: Vec::new(),
            dropped: false,
            scratch: Scratch::default(),
        }
    }

    /// Brings the list up to date for a search that reads it.
    fn prepare(&mut self, quests: &[Quest], max: usize) {
        if self.list.is_none() {
            self.shortest = shortest_lengths(self.snapshot, self.batch);
            self.index = self.free.index.without(self.free.booked);
        }
        let list = self.list.get_or_insert_with(|| self.free.slots.clone());
        let taken = list.subtract_together(&self.pending);
        debug_assert!(taken.is_ok(), "what the front gives is free in the list");
        if let Some(index) = &mut self.index {
            self.pending.iter().for_each(|window| index.take(window));
        }
        self.pending.clear();
        if !self.dropped {
            drop_useless(list, &self.shortest, quests, max);
            self.dropped = true;
        }
    }
}

/// By node, the length of the shortest task that any job of the batch would run there.
fn shortest_lengths(snapshot: &Snapshot, batch: &[usize]) -> Vec<Span> {
    // Of each way of counting, the shortest time is enough.
    let mut min: BTreeMap<TimeMode, Span> = BTreeMap::new();
    for request in batch.iter().map(|&job| &snapshot.jobs[job].request) {
        let others = request.others.iter().map(|group| group.work);
        let shapes = request
            .shapes
            .iter()
            .flat_map(tradewind_model::Shapes::as_slice)
            .map(|shape| shape.time);
        let work = others.chain(shapes).fold(request.work, Span::min);
        let known = min.entry(request.times).or_insert(work);
        *known = work.min(*known);
    }
    let length = |(times, work): (&TimeMode, &Span), node: &Node| {
        times.at(node.times).length_of(*work, node.performance)
    };
    let shortest = |node| min.iter().map(|it| length(it, node)).min();
    snapshot.grid.nodes().iter().map(|node| shortest(node).unwrap_or_default()).collect()
}

/// Drops the slots that are too short for every job from here on: scraps that earlier windows
/// left, and what lies before all searches that resume. No search would have used them.
fn drop_useless(list: &mut SlotList, shortest: &[Span], quests: &[Quest], max: usize) {
    let open = quests.iter().filter(|quest| !quest.is_done(max));
    let Some(from) = open.map(|quest| quest.from).min() else { return };
    list.retain(|slot| slot.end - slot.start.max(from) >= shortest[slot.node.0 as usize]);
}

impl Quest {
    fn new(snapshot: &Snapshot, cyclic: &Cyclic, job: usize, front: &FreeAtOnce) -> Quest {
        let request = &snapshot.jobs[job].request;
        let search = search_of(snapshot, cyclic, request, job);
        Quest {
            job,
            front: front.request(&snapshot.grid, request, &search),
            by_index: true,
            searcher: None,
            from: snapshot.horizon.start,
            state: PassState::Open,
            found: JobAlternatives { windows: Vec::new(), unproven: 0, cut: false, reason: None },
        }
    }

    /// Takes one more window at the list's first moment; whether there was one.
    fn step_in_front(&mut self, left: &mut Left<'_, '_>) -> bool {
        let Some(request) = &self.front else { return false };
        let Some(found) = left.front.find(request) else {
            // The front only shrinks.
            self.front = None;
            return false;
        };
        left.front.take(&found.window);
        left.pending.push(found.window.clone());
        self.note(found);
        true
    }

    /// Looks for one more window and takes it out of the list; whether there was one.
    fn step(&mut self, snapshot: &Snapshot, cyclic: &Cyclic, left: &mut Left<'_, '_>) -> bool {
        let request = &snapshot.jobs[self.job].request;
        let Left { list: Some(list), front, index, scratch, .. } = left else { return false };
        let best = match request.shapes {
            Some(_) => self.find_shape(snapshot, cyclic, list, scratch),
            None => self.find((snapshot, cyclic), (list, index.as_ref()), scratch),
        };
        let Some(found) = best.filter(|found| list.subtract_window(&found.window).is_ok()) else {
            if !is_random(cyclic, &request.criterion) {
                self.state = PassState::Exhausted;
            }
            return false;
        };
        front.take(&found.window);
        if let Some(index) = index {
            index.take(&found.window);
        }
        if starts_earliest(cyclic, &request.criterion) && request.shapes.is_none() {
            self.from = found.window.start();
        }
        self.note(found);
        true
    }

    fn find(
        &mut self,
        (snapshot, cyclic): (&Snapshot, &Cyclic),
        (list, index): (&SlotList, Option<&SlotIndex<'_>>),
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let request = &snapshot.jobs[self.job].request;
        if let Some(index) = index.filter(|_| self.by_index) {
            let search = search_of(snapshot, cyclic, request, self.job);
            match index.find_among_some(list, (request, &search), self.from, scratch) {
                Ok(found) => return found,
                Err(WholeList) => self.by_index = false,
            }
        }
        let from = self.from;
        self.searcher(snapshot, cyclic).find(list, from, scratch)
    }

    /// The best window in any of the job's shapes; once it has one, the best in the shapes of which it has
    /// fewest, as long as they have any: so that the choice is among all shapes.
    fn find_shape(
        &mut self,
        snapshot: &Snapshot,
        cyclic: &Cyclic,
        list: &SlotList,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let request = &snapshot.jobs[self.job].request;
        let widths = request.shapes.iter().flat_map(tradewind_model::Shapes::as_slice);
        let windows = &self.found.windows;
        let count = |nodes: usize| windows.iter().filter(|it| it.tasks().len() == nodes).count();
        let counts: BTreeMap<usize, usize> =
            widths.map(|shape| (shape.nodes as usize, count(shape.nodes as usize))).collect();
        let mut levels: Vec<usize> = counts.values().copied().collect();
        levels.sort_unstable();
        levels.dedup();
        let (from, searcher) = (self.from, self.searcher(snapshot, cyclic));
        let of = |level: usize| {
            let wanted = |nodes: usize| counts.get(&nodes) == Some(&level);
            searcher.find_shape(wanted, (list, from), scratch)
        };
        levels.into_iter().find_map(of)
    }

    fn note(&mut self, found: Found) {
        self.found.unproven += u32::from(matches!(found.proof, Proof::Gap { .. }));
        self.found.windows.push(found.window);
    }

    fn searcher(&mut self, snapshot: &Snapshot, cyclic: &Cyclic) -> &Searcher {
        let make = || searcher(snapshot, cyclic, &snapshot.jobs[self.job].request, self.job);
        self.searcher.get_or_insert_with(make)
    }

    fn is_done(&self, max: usize) -> bool {
        self.state == PassState::Exhausted || self.found.windows.len() >= max
    }

    /// The reason is that of the list before any job took a slot.
    fn finish(
        mut self,
        snapshot: &Snapshot,
        cyclic: &Cyclic,
        max: usize,
        scratch: &mut Scratch,
    ) -> JobAlternatives {
        self.found.cut = self.state == PassState::Open && self.found.windows.len() >= max;
        if self.found.windows.is_empty() {
            let (all, grid) = (&snapshot.slots, &snapshot.grid);
            let request = &snapshot.jobs[self.job].request;
            let searcher = self.searcher(snapshot, cyclic);
            self.found.reason = Some(match searcher.find(all, Time::MIN, scratch) {
                Some(_) => Reason::Outbid,
                None => searcher.reason_on(grid, request, all, scratch),
            });
        }
        self.found
    }
}

/// Whether the next window of such a search never starts before the last one.
fn starts_earliest(cyclic: &Cyclic, criterion: &Criterion) -> bool {
    match cyclic.search.algorithm(criterion) {
        Algorithm::Alp | Algorithm::Amp => cyclic.variant == Variant::Exact,
        Algorithm::Best(criterion) => {
            cyclic.variant == Variant::Exact && criterion == Criterion::Start
        }
        Algorithm::Csa(_) => false,
    }
}

/// Whether such a search draws lots, so that failing once does not mean failing always.
fn is_random(cyclic: &Cyclic, criterion: &Criterion) -> bool {
    cyclic.variant == Variant::Paper
        && cyclic.search.algorithm(criterion) == Algorithm::Best(Criterion::ProcessorTime)
}
