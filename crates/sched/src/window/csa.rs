//! CSA: all disjoint AMP windows, then the best of them by a criterion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use tradewind_model::{Criterion, Slot, Task, Time, Window};

use super::cheapest::CheapestNodes;
use super::prepared::PreparedRequest;
use super::ranking::{Fit, NodeRanking};
use super::search::{Found, Proof, Scratch};
use super::sweep::StartBounds;

/// The rest of a slot after a task was cut out of it: (start, last start, rank).
type Rest = Reverse<(i64, i64, u32)>;

/// The best by the the search's criterion of the windows that AMP cuts, each from what the earlier
/// ones left (paper 000, section 6.1, strategy 6); the first of equals.
pub(super) fn find(
    prepared: &PreparedRequest,
    slots: &[Slot],
    bracket: StartBounds,
    scratch: &mut Scratch,
) -> Option<Found> {
    let criterion = prepared.search.algorithm.criterion();
    let ranking = &prepared.ranking;
    let mut best: Option<(Score, Vec<Task>)> = None;
    cut_all(prepared, slots, bracket, scratch, |start, ranks| {
        let score = Score::of(criterion, start, ranks, ranking);
        if best.as_ref().is_none_or(|(min, _)| score < *min) {
            best = Some((score, ranks.iter().map(|&rank| ranking.task(rank)).collect()));
        }
    });
    let (score, tasks) = best?;
    let window = Window::new(Time(score.start), tasks).ok()?;
    Some(Found { window, proof: Proof::Heuristic })
}

/// What a window is judged by, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    value: i128,
    start: i64,
    cost: i128,
    finish: i64,
}

impl Score {
    /// The criterion's value.
    pub(super) fn value(&self) -> i128 {
        self.value
    }

    pub(super) fn of(
        criterion: &Criterion,
        start: i64,
        ranks: &[u32],
        ranking: &NodeRanking,
    ) -> Score {
        let tasks = || ranks.iter().map(|&rank| &ranking.nodes[rank as usize]);
        let cost: i128 = tasks().map(|it| i128::from(it.cost)).sum();
        let runtime = tasks().map(|it| it.length).max().unwrap_or(0);
        let sum = tasks().map(|it| i128::from(it.value)).sum();
        Score::new(criterion, (start, runtime), cost, sum)
    }

    /// The same for a window whose tasks say what they cost.
    pub(super) fn of_window(
        criterion: &Criterion,
        window: &Window,
        ranking: &NodeRanking,
    ) -> Score {
        let value = |task: &Task| {
            let rank = ranking.fits[task.node.0 as usize].rank;
            i128::from(ranking.nodes[rank as usize].value)
        };
        let sum = window.tasks().iter().map(value).sum();
        let cost = i128::from(window.cost().0);
        Score::new(criterion, (window.start().0, window.runtime().0), cost, sum)
    }

    pub(super) fn new(
        criterion: &Criterion,
        (start, runtime): (i64, i64),
        cost: i128,
        sum: i128,
    ) -> Score {
        let finish = start + runtime;
        let value = match criterion {
            Criterion::Start => i128::from(start),
            Criterion::Finish => i128::from(finish),
            Criterion::Runtime => i128::from(runtime),
            Criterion::Cost => cost,
            Criterion::ProcessorTime | Criterion::Sum(_) => sum,
        };
        Score { value, start, cost, finish }
    }
}

/// Hands every AMP window (start, ranks), in the order cut, to `each`.
///
/// One pass for all of them: a window's nodes leave the scan where it stands, and what remains of
/// their slots comes back when its time comes. A search from the top of the list would find the
/// same windows, because the list only shrinks. O((p + w) log n) for w tasks in all windows.
fn cut_all(
    prepared: &PreparedRequest,
    slots: &[Slot],
    bracket: StartBounds,
    scratch: &mut Scratch,
    mut each: impl FnMut(i64, &[u32]),
) {
    let Scratch { buffers, ranks } = scratch;
    let ranking = &prepared.ranking;
    let mut cheapest = CheapestNodes::new(ranking, prepared.wanted, buffers);
    let mut rests: BinaryHeap<Rest> = BinaryHeap::new();
    let mut given = slots
        .iter()
        .filter_map(|slot| {
            let Fit { length, rank } = ranking.fits[slot.node.0 as usize];
            bracket.starts(slot, length).map(|(first, last)| (first, last, rank))
        })
        .peekable();
    loop {
        let next_given = given.peek().map(|&(first, ..)| first);
        let next_rest = rests.peek().map(|&Reverse((first, ..))| first);
        let Some(now) = next_given.into_iter().chain(next_rest).min() else {
            break;
        };
        cheapest.advance(now);
        while let Some((_, last, rank)) = given.next_if(|&(first, ..)| first == now) {
            cheapest.insert(rank, last);
        }
        while rests.peek().is_some_and(|&Reverse((first, ..))| first == now)
            && let Some(Reverse((_, last, rank))) = rests.pop()
        {
            cheapest.insert(rank, last);
        }
        while cut_one(prepared, now, &mut cheapest, ranks, &mut rests).is_continue() {
            each(now, ranks);
        }
    }
}

/// Cuts the m cheapest out at `now`, if they keep to the budget: their ranks go to `ranks`, what
/// remains of their slots to `rests`. Breaks if there is no window.
fn cut_one(
    prepared: &PreparedRequest,
    now: i64,
    cheapest: &mut CheapestNodes<'_>,
    ranks: &mut Vec<u32>,
    rests: &mut BinaryHeap<Rest>,
) -> ControlFlow<()> {
    if cheapest.sum().is_none_or(|sum| sum > prepared.ceiling()) {
        return ControlFlow::Break(());
    }
    ranks.clear();
    ranks.extend(cheapest.members());
    for &rank in &*ranks {
        cheapest.remove(rank);
        let first = now + prepared.ranking.nodes[rank as usize].length;
        let last = cheapest.last_start(rank);
        if first <= last {
            rests.push(Reverse((first, last, rank)));
        }
    }
    cheapest.refill();
    ControlFlow::Continue(())
}
