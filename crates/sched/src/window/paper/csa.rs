//! CSA: all AMP windows, then the best by a criterion.

use tradewind_model::{SlotList, Time};

use super::{PaperRequest, RankedCut, amp};
use crate::window::csa::Score;
use crate::window::sweep::StartBounds;

/// AMP again and again on what the earlier windows left (paper 000, section 6.1, strategy 6); the
/// first of equals by (criterion, start, cost, finish).
pub(super) fn find(
    task: &PaperRequest<'_>,
    slots: &SlotList,
    bracket: StartBounds,
) -> Option<RankedCut> {
    let mut left = slots.clone();
    let mut best: Option<(Score, RankedCut)> = None;
    while let Some((start, ranks)) = amp::find(task, left.as_slice(), bracket) {
        let window = task.window(start, &ranks)?;
        debug_assert_eq!(window.start(), Time(start));
        if left.subtract_window(&window).is_err() {
            break;
        }
        let score = Score::of(task.criterion, start, &ranks, task.ranking);
        if best.as_ref().is_none_or(|(min, _)| score < *min) {
            best = Some((score, (start, ranks)));
        }
    }
    best.map(|(_, cut)| cut)
}
