//! AEP: at every step the best subset of the expanded window, and the best of all steps.

use std::ops::ControlFlow;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use tradewind_model::{Criterion, Slot};

use super::{PaperRequest, RankedCut, min_proc_time, min_runtime};
use crate::window::csa::Score;
use crate::window::sweep::StartBounds;

/// Algorithm 1 of paper 000, corrected: it minimises, and each step keeps to the budget. The step
/// is the m cheapest for start and cost, Algorithm 2 for runtime and finish, and a random window
/// for processor time and other sums. The first of equals wins.
pub(super) fn find(
    task: &PaperRequest<'_>,
    slots: &[Slot],
    bracket: StartBounds,
    seed: u64,
) -> Option<RankedCut> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut best: Option<(i128, RankedCut)> = None;
    task.expand(slots, bracket, |now, alive| {
        let step = match task.criterion {
            Criterion::Start | Criterion::Cost => task.cheapest(alive),
            Criterion::Runtime | Criterion::Finish => min_runtime::choose(task, alive),
            Criterion::ProcessorTime | Criterion::Sum(_) => {
                min_proc_time::choose(task, alive, &mut random)
            }
        };
        if let Some(ranks) = step {
            let value = Score::of(task.criterion, now, &ranks, task.ranking).value();
            if best.as_ref().is_none_or(|(min, _)| value < *min) {
                best = Some((value, (now, ranks)));
            }
        }
        match (&best, task.criterion) {
            (Some(_), Criterion::Start) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    best.map(|(_, cut)| cut)
}
