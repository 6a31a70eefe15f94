//! ALP: a price cap for every slot.

use std::ops::ControlFlow;

use tradewind_model::Slot;

use super::{PaperRequest, RankedCut};
use crate::window::sweep::StartBounds;

/// The first moment at which N slots are usable, and the first N of them in list order
/// (papers 001/002, steps 1° to 6°).
pub(super) fn find(
    task: &PaperRequest<'_>,
    slots: &[Slot],
    bracket: StartBounds,
) -> Option<RankedCut> {
    let mut found = None;
    task.expand(slots, bracket, |now, alive| {
        found = Some((now, alive[..task.wanted].iter().map(|it| it.rank).collect()));
        ControlFlow::Break(())
    });
    found
}
