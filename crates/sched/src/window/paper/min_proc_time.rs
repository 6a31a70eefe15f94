//! A random subset.

use rand::seq::index;
use rand_pcg::Pcg64Mcg;

use super::{Alive, PaperRequest};

/// MinProcTime of paper 000, section 6.1, strategy 5: any m usable slots, drawn evenly, if they
/// keep to the budget. It may miss every window though there is one.
pub(super) fn choose(
    task: &PaperRequest<'_>,
    alive: &[Alive],
    random: &mut Pcg64Mcg,
) -> Option<Vec<u32>> {
    let drawn = index::sample(random, alive.len(), task.wanted);
    let ranks: Vec<u32> = drawn.iter().map(|i| alive[i].rank).collect();
    (task.cost(&ranks) <= task.budget).then_some(ranks)
}
