//! Why there is no window.

use tradewind_model::{Money, Reason, Slot};

use super::cheapest::CheapestNodes;
use super::judges::Least;
use super::prepared::PreparedRequest;
use super::priced;
use super::ranking::NodeRanking;
use super::search::Scratch;
use super::sweep::{StartBounds, sweep};

/// The first reason that holds, from the grid's size to the budget.
pub(super) fn reason(
    prepared: &PreparedRequest,
    slots: &[Slot],
    bracket: StartBounds,
    scratch: &mut Scratch,
) -> Reason {
    let needed = prepared.wanted as u32;
    if needed > prepared.grid_size {
        return Reason::WiderThanGrid { needed, nodes: prepared.grid_size };
    }
    let suitable = prepared.ranking.nodes.len() as u32;
    if suitable < needed {
        let min_performance = prepared.min_performance;
        return Reason::TooFewNodes { needed, suitable, min_performance };
    }
    let max = match &prepared.prices {
        Some(prices) => priced::most_alive(prepared, prices, slots, bracket),
        None => most_alive(&prepared.ranking, slots, bracket),
    };
    if max < needed {
        return Reason::NoCommonTime { needed, max, deadline: prepared.deadline };
    }
    let cheapest = match &prepared.prices {
        Some(prices) => priced::least_cost(prepared, prices, slots, bracket).unwrap_or_default(),
        None => cheapest_window(prepared, slots, bracket, scratch),
    };
    Reason::BudgetShort { cheapest, budget: prepared.budget.unwrap_or(cheapest) }
}

/// The most nodes that are free together, each for its task's length.
fn most_alive(ranking: &NodeRanking, slots: &[Slot], bracket: StartBounds) -> u32 {
    let fits = |slot: &Slot| bracket.starts(slot, ranking.fits[slot.node.0 as usize].length);
    let (firsts, mut lasts): (Vec<i64>, Vec<i64>) = slots.iter().filter_map(fits).unzip();
    lasts.sort_unstable();
    let (mut expired, mut max) = (0, 0);
    for (i, &now) in firsts.iter().enumerate() {
        while lasts[expired] < now {
            expired += 1;
        }
        max = max.max(i + 1 - expired);
    }
    max as u32
}

/// What the cheapest of all windows costs, budget or not.
fn cheapest_window(
    prepared: &PreparedRequest,
    slots: &[Slot],
    bracket: StartBounds,
    scratch: &mut Scratch,
) -> Money {
    let by_cost = prepared.ranking.reweighted(|it| it.cost);
    let mut cheapest = CheapestNodes::new(&by_cost, prepared.wanted, &mut scratch.buffers);
    let mut judge = Least { ceiling: i128::MAX, found: None };
    sweep(&by_cost, slots, bracket, &mut cheapest, &mut judge);
    let (_, cost) = judge.found.unwrap_or_default();
    Money(cost.clamp(0, i128::from(i64::MAX)) as i64)
}
