//! Several windows for every job of a batch, none of which intersect.

use std::collections::BTreeMap;

use tradewind_model::{
    Criterion, Reason, Request, SlotList, Snapshot, Span, Time, TimeMode, Window,
};

use super::{Cyclic, Meter, searcher};
use crate::window::{Algorithm, Proof, Scratch, Searcher, Variant};

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
    searcher: Searcher,
    /// The list only shrinks, so the earliest window never starts before the last one found.
    from: Time,
    state: State,
    found: JobAlternatives,
}

#[derive(PartialEq)]
enum State {
    Open,
    /// Nothing was left, and nothing will be: the list only shrinks.
    Exhausted,
}

/// Searches pass after pass over `batch` (job indices in order of planning), one window per job
/// and pass, each taken out of the list, until a whole pass finds none (paper 001, section 2).
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
    let mut list = free.clone();
    let mut scratch = Scratch::default();
    let mut quests: Vec<Quest> =
        batch.iter().map(|&job| Quest::new(snapshot, cyclic, job)).collect();
    let max = cyclic.max_alternatives.map_or(usize::MAX, |max| max as usize);
    let shortest = shortest_lengths(snapshot, batch);
    loop {
        let mut any = false;
        drop_useless(&mut list, &shortest, &quests, max);
        for (quest, &job) in quests.iter_mut().zip(batch) {
            if quest.state == State::Open && quest.found.windows.len() < max {
                any |= quest.step(snapshot, cyclic, job, &mut list, &mut scratch);
                match quest.is_done(max) {
                    true => meter.job_done(),
                    false => meter.window_found(),
                }
            }
        }
        if !any {
            break;
        }
    }
    quests.into_iter().map(|quest| quest.finish(&snapshot.slots, max, &mut scratch)).collect()
}

/// By node, the length of the shortest task that any job of the batch would run there.
fn shortest_lengths(snapshot: &Snapshot, batch: &[usize]) -> Vec<Span> {
    // Of each way of counting, the shortest time is enough.
    let mut min: BTreeMap<TimeMode, &Request> = BTreeMap::new();
    for request in batch.iter().map(|&job| &snapshot.jobs[job].request) {
        let known = min.entry(request.times).or_insert(request);
        if request.work < known.work {
            *known = request;
        }
    }
    let shortest = |node| min.values().map(|request| request.length_on(node)).min();
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
    fn new(snapshot: &Snapshot, cyclic: &Cyclic, job: usize) -> Quest {
        Quest {
            searcher: searcher(snapshot, cyclic, &snapshot.jobs[job].request, job),
            from: snapshot.horizon.start,
            state: State::Open,
            found: JobAlternatives { windows: Vec::new(), unproven: 0, cut: false, reason: None },
        }
    }

    /// Looks for one more window and takes it out of `list`; whether there was one.
    fn step(
        &mut self,
        snapshot: &Snapshot,
        cyclic: &Cyclic,
        job: usize,
        list: &mut SlotList,
        scratch: &mut Scratch,
    ) -> bool {
        let best = self.searcher.find(list, self.from, scratch);
        let Some(found) = best.filter(|found| list.subtract_window(&found.window).is_ok()) else {
            if !is_random(cyclic, &snapshot.jobs[job].request.criterion) {
                self.state = State::Exhausted;
            }
            return false;
        };
        if starts_earliest(cyclic, &snapshot.jobs[job].request.criterion) {
            self.from = found.window.start();
        }
        self.found.unproven += u32::from(matches!(found.proof, Proof::Gap { .. }));
        self.found.windows.push(found.window);
        true
    }

    fn is_done(&self, max: usize) -> bool {
        self.state == State::Exhausted || self.found.windows.len() >= max
    }

    /// `all` is the list before any job took a slot.
    fn finish(mut self, all: &SlotList, max: usize, scratch: &mut Scratch) -> JobAlternatives {
        self.found.cut = self.state == State::Open && self.found.windows.len() >= max;
        if self.found.windows.is_empty() {
            let alone = self.searcher.find(all, Time::MIN, scratch);
            self.found.reason = Some(match alone {
                Some(_) => Reason::Outbid,
                None => self.searcher.reason(all, scratch),
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
