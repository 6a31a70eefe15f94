//! Windows beside what the other jobs got.

use tradewind_model::{SlotList, Snapshot, Window};

use super::super::{Cyclic, Meter, search_of, searcher};
use super::Candidate;
use crate::window::{Found, LazyIndex, Proof, Scratch, SlotIndex};

/// Placed jobs that look for another window per round, the first ones by priority: each costs
/// taking all other windows out of the list.
const MOST_PLACED: usize = 64;

/// Adds, for every job, the best window by its search on what the others' chosen windows leave;
/// whether any was new.
pub(super) fn add(
    (snapshot, index, order): (&Snapshot, &LazyIndex<'_>, &[usize]),
    cyclic: &Cyclic,
    candidates: &mut [Candidate],
    chosen: &[Option<usize>],
    meter: &mut Meter<'_>,
) -> bool {
    let taken: Vec<Option<Window>> = candidates
        .iter()
        .zip(chosen)
        .map(|(candidate, at)| at.map(|at| candidate.windows[at].clone()))
        .collect();
    let left = without(&snapshot.slots, taken.iter().flatten());
    let index_of_left = index.without(taken.iter().flatten());
    let mut scratch = Scratch::default();
    let mut placed = 0;
    let mut any = false;
    for &job in order {
        if candidates[job].windows.is_empty() {
            continue;
        }
        let mut find = |list: &SlotList, index: Option<&SlotIndex<'_>>| {
            best(snapshot, (cyclic, job), (list, index), &mut scratch)
        };
        let found = if taken[job].is_none() {
            find(&left, index_of_left.as_ref())
        } else if placed < MOST_PLACED {
            placed += 1;
            let others = taken.iter().enumerate().filter(|(other, _)| *other != job);
            let others = others.filter_map(|(_, window)| window.as_ref());
            let list = without(&snapshot.slots, others.clone());
            find(&list, index.without(others).as_ref())
        } else {
            None
        };
        let Some(found) = found else { continue };
        if candidates[job].add(snapshot, found.window) {
            any = true;
            meter.window_found();
            candidates[job].unproven += u32::from(matches!(found.proof, Proof::Gap { .. }));
        }
    }
    any
}

/// The job's best window by its search in this list.
fn best(
    snapshot: &Snapshot,
    (cyclic, job): (&Cyclic, usize),
    (list, index): (&SlotList, Option<&SlotIndex<'_>>),
    scratch: &mut Scratch,
) -> Option<Found> {
    let (request, from) = (&snapshot.jobs[job].request, snapshot.horizon.start);
    match index {
        Some(index) => {
            let search = search_of(snapshot, cyclic, request, job);
            index.find(list, (request, &search), from, scratch)
        }
        None => searcher(snapshot, cyclic, request, job).find(list, from, scratch),
    }
}

/// `slots` without `windows`, which are free and apart.
fn without<'a>(slots: &SlotList, windows: impl Iterator<Item = &'a Window>) -> SlotList {
    let mut left = slots.clone();
    for window in windows {
        let taken = left.subtract_window(window);
        debug_assert!(taken.is_ok(), "chosen windows are free and apart");
    }
    left
}
