//! Several windows for every job of a batch, none of which intersect.

use std::collections::BTreeMap;

use tradewind_model::{
    Criterion, Node, Reason, Request, SlotList, Snapshot, Span, Time, TimeMode, Window,
};

use super::{Cyclic, Meter, search_of, searcher};
use crate::window::{
    Algorithm, Found, FreeAtOnce, FrontRequest, Proof, Scratch, Searcher, SlotIndex, Variant,
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
    free: &SlotList,
    meter: &mut Meter<'_>,
) -> Vec<JobAlternatives> {
    search_in(Left::new(snapshot, batch, free, None), snapshot, cyclic, meter)
}

/// The same for one job, on an index of the list.
pub(super) fn search_alone(
    snapshot: &Snapshot,
    cyclic: &Cyclic,
    job: usize,
    (free, index): (&SlotList, Option<SlotIndex<'_>>),
    meter: &mut Meter<'_>,
) -> Option<JobAlternatives> {
    let left = Left::new(snapshot, std::slice::from_ref(&job), free, index);
    search_in(left, snapshot, cyclic, meter).pop()
}

fn search_in(
    mut left: Left<'_, '_>,
    snapshot: &Snapshot,
    cyclic: &Cyclic,
    meter: &mut Meter<'_>,
) -> Vec<JobAlternatives> {
    let batch = left.batch;
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
            let quest = &mut quests[at];
            let stepped = match quest.step_in_front(&mut left) {
                true => Some(true),
                false => quest.step_on_index(snapshot, cyclic, &mut left),
            };
            any |= stepped.unwrap_or_else(|| {
                left.prepare(&quests, max);
                quests[at].step(snapshot, cyclic, &mut left)
            });
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

/// What the windows found so far leave of a list. Those that begin at its first moment are taken
/// out of its front at once, those found on its index out of that, and both out of the list itself
/// when a search reads it.
struct Left<'a, 'g> {
    free: &'a SlotList,
    batch: &'a [usize],
    snapshot: &'a Snapshot,
    front: FreeAtOnce,
    /// Found at the first moment, and not yet taken out of the list.
    of_front: Vec<Window>,
    /// Found on the index, and not yet taken out of the list.
    of_index: Vec<Window>,
    /// The list, once a search has read it.
    list: Option<SlotList>,
    /// Where there is one. It may hold slots that were dropped from the list.
    index: Option<SlotIndex<'g>>,
    /// By node, the length of the shortest task of the batch.
    shortest: Vec<Span>,
    /// Whether useless slots were dropped in this pass.
    dropped: bool,
    scratch: Scratch,
}

impl<'a, 'g> Left<'a, 'g> {
    fn new(
        snapshot: &'a Snapshot,
        batch: &'a [usize],
        free: &'a SlotList,
        index: Option<SlotIndex<'g>>,
    ) -> Left<'a, 'g> {
        Left {
            free,
            batch,
            snapshot,
            front: FreeAtOnce::new(&snapshot.grid, free.as_slice(), snapshot.horizon.start),
            of_front: Vec::new(),
            of_index: Vec::new(),
            list: None,
            index,
            shortest: Vec::new(),
            dropped: false,
            scratch: Scratch::default(),
        }
    }

    /// Brings the list up to date for a search that reads it.
    fn prepare(&mut self, quests: &[Quest], max: usize) {
        if self.list.is_none() {
            self.shortest = shortest_lengths(self.snapshot, self.batch);
        }
        let list = self.list.get_or_insert_with(|| self.free.clone());
        let mut taken = list.subtract_together(&self.of_front);
        for window in &self.of_index {
            taken = taken.and(list.subtract_window(window));
        }
        debug_assert!(taken.is_ok(), "what the front and the index give is free in the list");
        self.of_front.clear();
        self.of_index.clear();
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
        if let Some(index) = &mut left.index {
            index.take(&found.window);
        }
        left.of_front.push(found.window.clone());
        self.note(found);
        true
    }

    /// Takes one more window by the index; whether there was one. `None` if the list must be searched.
    fn step_on_index(
        &mut self,
        snapshot: &Snapshot,
        cyclic: &Cyclic,
        left: &mut Left<'_, '_>,
    ) -> Option<bool> {
        let request = &snapshot.jobs[self.job].request;
        let index = left.index.as_mut().filter(|_| self.by_index)?;
        let search = search_of(snapshot, cyclic, request, self.job);
        let Ok(found) = index.find_among_some((request, &search), self.from, &mut left.scratch)
        else {
            self.by_index = false;
            return None;
        };
        let Some(found) = found else {
            self.state = PassState::Exhausted;
            return Some(false);
        };
        index.take(&found.window);
        left.front.take(&found.window);
        left.of_index.push(found.window.clone());
        self.go_on_from(&found, cyclic, request);
        self.note(found);
        Some(true)
    }

    /// Looks for one more window and takes it out of the list; whether there was one.
    fn step(&mut self, snapshot: &Snapshot, cyclic: &Cyclic, left: &mut Left<'_, '_>) -> bool {
        let request = &snapshot.jobs[self.job].request;
        let from = self.from;
        let Left { list: Some(list), front, index, scratch, .. } = left else { return false };
        let best = match request.shapes {
            Some(_) => self.find_shape(snapshot, cyclic, list, scratch),
            None => self.searcher(snapshot, cyclic).find(list, from, scratch),
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
        self.go_on_from(&found, cyclic, request);
        self.note(found);
        true
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

    /// Where no later search finds an earlier window, it does not look for one.
    fn go_on_from(&mut self, found: &Found, cyclic: &Cyclic, request: &Request) {
        if starts_earliest(cyclic, &request.criterion) && request.shapes.is_none() {
            self.from = found.window.start();
        }
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
