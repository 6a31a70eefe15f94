//! AMP: a budget for the whole window.

use std::ops::ControlFlow;

use tradewind_model::Slot;

use super::{PaperRequest, RankedCut};
use crate::window::sweep::StartBounds;

/// The N cheapest usable slots, as soon as they keep to the budget; tested after every slot
/// (papers 001/002, steps 1° to 4°). An exhausted list is a failure: the printed step 3° covers
/// fewer than N slots only.
pub(super) fn find(
    task: &PaperRequest<'_>,
    slots: &[Slot],
    bracket: StartBounds,
) -> Option<RankedCut> {
    let mut found = None;
    task.expand(slots, bracket, |now, alive| match task.cheapest(alive) {
        Some(ranks) => {
            found = Some((now, ranks));
            ControlFlow::Break(())
        }
        None => ControlFlow::Continue(()),
    });
    found
}
