//! Windows beside what the other jobs got.

use tradewind_model::{SlotList, Snapshot, Window};

use super::super::{Cyclic, Meter, searcher};
use super::Candidate;
use crate::window::{Proof, Scratch};

/// Placed jobs that look for another window per round, the first ones by priority: each costs
/// taking all other windows out of the list.
const MOST_PLACED: usize = 64;

/// Adds, for every job, the best window by its search on what the others' chosen windows leave;
/// whether any was new.
pub(super) fn add(
    snapshot: &Snapshot,
    cyclic: &Cyclic,
    order: &[usize],
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
    let mut scratch = Scratch::default();
    let mut placed = 0;
    let mut any = false;
    for &job in order {
        if candidates[job].windows.is_empty() {
            continue;
        }
        let mine = searcher(snapshot, cyclic, &snapshot.jobs[job].request, job);
        let found = if taken[job].is_none() {
            mine.find(&left, snapshot.horizon.start, &mut scratch)
        } else if placed < MOST_PLACED {
            placed += 1;
            let others = taken.iter().enumerate().filter(|(other, _)| *other != job);
            let others = others.filter_map(|(_, window)| window.as_ref());
            let list = without(&snapshot.slots, others);
            mine.find(&list, snapshot.horizon.start, &mut scratch)
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

/// `slots` without `windows`, which are free and apart.
fn without<'a>(slots: &SlotList, windows: impl Iterator<Item = &'a Window>) -> SlotList {
    let mut left = slots.clone();
    for window in windows {
        let taken = left.subtract_window(window);
        debug_assert!(taken.is_ok(), "chosen windows are free and apart");
    }
    left
}
