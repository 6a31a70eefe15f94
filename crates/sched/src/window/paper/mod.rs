//! The papers' own searches, step by step, for their studies.
//!
//! All of them read the slots in list order and keep the "expanded window": the slots that are
//! still usable at the start of the slot added last. What they take from it is tested after every
//! slot, so the order of slots with equal start matters. Each costs O(alive) or more per slot, and
//! O(p · alive) in all: quadratic in the number of nodes, as paper 000 measures. The price cap is
//! judged with the nodes' other properties, where the algorithm applies it.

mod aep;
mod alp;
mod amp;
mod csa;
mod min_proc_time;
mod min_runtime;

use std::ops::ControlFlow;

use tradewind_model::{Criterion, Slot, SlotList, Time, Window};

use super::prepared::PreparedRequest;
use super::ranking::NodeRanking;
use super::search::{Algorithm, Found, Proof};
use super::sweep::StartBounds;

/// A slot in the expanded window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alive {
    /// Of its node.
    rank: u32,
    /// The last start at which the task still fits.
    last_start: i64,
}

/// A window by (start, ranks).
type RankedCut = (i64, Vec<u32>);

/// What the papers' algorithms know of the request.
struct PaperRequest<'a> {
    ranking: &'a NodeRanking,
    wanted: usize,
    budget: i128,
    criterion: &'a Criterion,
}

/// Runs the paper's version of the search.
pub(super) fn find(
    prepared: &PreparedRequest,
    slots: &SlotList,
    bracket: StartBounds,
) -> Option<Found> {
    let task = PaperRequest {
        ranking: &prepared.ranking,
        wanted: prepared.wanted,
        budget: prepared.ceiling(),
        criterion: prepared.search.algorithm.criterion(),
    };
    let (start, ranks) = match &prepared.search.algorithm {
        Algorithm::Alp => alp::find(&task, slots.as_slice(), bracket),
        Algorithm::Amp => amp::find(&task, slots.as_slice(), bracket),
        Algorithm::Csa(_) => csa::find(&task, slots, bracket),
        Algorithm::Best(_) => aep::find(&task, slots.as_slice(), bracket, prepared.search.seed),
    }?;
    Some(Found { window: task.window(start, &ranks)?, proof: Proof::Heuristic })
}

impl PaperRequest<'_> {
    /// Steps 1° to 4° of ALP (paper 001, section 3): takes suitable slots one by one, removes
    /// those that have expired at the start of the last one, and asks `judge` after each.
    fn expand(
        &self,
        slots: &[Slot],
        bracket: StartBounds,
        mut judge: impl FnMut(i64, &[Alive]) -> ControlFlow<()>,
    ) {
        let mut alive: Vec<Alive> = Vec::new();
        for slot in slots {
            let fit = self.ranking.fits[slot.node.0 as usize];
            let Some((now, last_start)) = bracket.starts(slot, fit.length) else {
                continue;
            };
            alive.retain(|it| it.last_start >= now);
            alive.push(Alive { rank: fit.rank, last_start });
            if alive.len() >= self.wanted && judge(now, &alive).is_break() {
                return;
            }
        }
    }

    /// The m cheapest by task cost; equal costs keep list order. `None` beyond the budget.
    fn cheapest(&self, alive: &[Alive]) -> Option<Vec<u32>> {
        let mut ranks = self.by_cost(alive);
        ranks.truncate(self.wanted);
        (self.cost(&ranks) <= self.budget).then_some(ranks)
    }

    /// Ranks from the cheapest task to the most expensive; equal costs keep list order.
    fn by_cost(&self, alive: &[Alive]) -> Vec<u32> {
        let mut ranks: Vec<u32> = alive.iter().map(|it| it.rank).collect();
        ranks.sort_by_key(|&rank| self.ranking.nodes[rank as usize].cost);
        ranks
    }

    fn cost(&self, ranks: &[u32]) -> i128 {
        ranks.iter().map(|&rank| i128::from(self.ranking.nodes[rank as usize].cost)).sum()
    }

    fn length(&self, rank: u32) -> i64 {
        self.ranking.nodes[rank as usize].length
    }

    fn window(&self, start: i64, ranks: &[u32]) -> Option<Window> {
        let tasks = ranks.iter().map(|&rank| self.ranking.task(rank)).collect();
        Window::new(Time(start), tasks).ok()
    }
}
