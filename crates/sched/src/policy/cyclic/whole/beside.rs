//! Windows beside what the other jobs got.

use std::cell::OnceCell;

use tradewind_model::{SlotList, Snapshot, Window};

use super::super::{Cyclic, Meter, search_of, searcher};
use super::Candidate;
use crate::window::{Found, Proof, Scratch, SlotIndex, WholeList};

/// Placed jobs that look for another window per round, the first ones by priority: each costs
/// taking all other windows out of the list.
const MOST_PLACED: usize = 64;

/// Adds, for every job, the best window by its search on what the others' chosen windows leave;
/// whether any was new.
pub(super) fn add(
    (snapshot, index, order): (&Snapshot, Option<&SlotIndex<'_>>, &[usize]),
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
    let left_list = OnceCell::new();
    let left_index = index.map(|it| it.without(taken.iter().flatten()));
    let mut scratch = Scratch::default();
    let mut placed = 0;
    let mut any = false;
    for &job in order {
        if candidates[job].windows.is_empty() {
            continue;
        }
        let found = if taken[job].is_none() {
            let list =
                || left_list.get_or_init(|| without(&snapshot.slots, taken.iter().flatten()));
            best(snapshot, (cyclic, job), left_index.as_ref(), list, &mut scratch)
        } else if placed < MOST_PLACED {
            placed += 1;
            let others = taken.iter().enumerate().filter(|(other, _)| *other != job);
            let others = others.filter_map(|(_, window)| window.as_ref());
            let index = index.map(|it| it.without(others.clone()));
            let list = OnceCell::new();
            let list = || list.get_or_init(|| without(&snapshot.slots, others));
            best(snapshot, (cyclic, job), index.as_ref(), list, &mut scratch)
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

/// The job's best window by its search on the index, or else in the list.
fn best<'l>(
    snapshot: &Snapshot,
    (cyclic, job): (&Cyclic, usize),
    index: Option<&SlotIndex<'_>>,
    list: impl FnOnce() -> &'l SlotList,
    scratch: &mut Scratch,
) -> Option<Found> {
    let (request, from) = (&snapshot.jobs[job].request, snapshot.horizon.start);
    let search = search_of(snapshot, cyclic, request, job);
    let on_index = index.map(|it| it.find_among_some((request, &search), from, scratch));
    match on_index {
        Some(Ok(found)) => found,
        Some(Err(WholeList)) | None => {
            searcher(snapshot, cyclic, request, job).find(list(), from, scratch)
        }
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
