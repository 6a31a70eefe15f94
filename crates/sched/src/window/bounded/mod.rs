//! Processor time, and any sum over tasks, under a budget: a search that is exact as far as its
//! work limit reaches and says what is proven beyond.
//!
//! At one start time this is a knapsack with a fixed number of items (paper 000, section 3): the
//! least Σ value with Σ cost ≤ S over m of the alive nodes. For any multiplier b/a ≥ 0 the m
//! least a·value + b·cost give a lower bound, (Σ(a·value + b·cost) − b·S) / a, and a forward pass
//! yields it for *all* starts. Only starts whose bound beats the best window so far are solved
//! one by one, the most promising first; now and then a solved start offers its own best
//! multiplier for a further pass over the rest. Such a pass also shows which nodes are in no better
//! window at any start, and drops them.

pub(super) mod one;

use std::ops::ControlFlow;

use tradewind_model::{Slot, Time, Window};

use self::one::{AliveNode, Multiplier};
use super::cheapest::{Buffers, CheapestNodes};
use super::prepared::PreparedRequest;
use super::ranking::{NodeRanking, Ranked};
use super::search::{Found, Proof, Scratch};
use super::sweep::{StartBounds, SweepVisitor, alive_at, sweep};
use crate::window::work::Work;

/// Starts left for which a further pass over the list is not worth it.
const FEW_STARTS: usize = 8;

/// What a bounded search prepares besides the ranking by value.
#[derive(Debug, Clone)]
pub(super) struct Bounded {
    by_cost: NodeRanking,
}

impl Bounded {
    pub(super) fn new(by_value: &NodeRanking) -> Bounded {
        Bounded { by_cost: by_value.reweighted(|it| it.cost) }
    }
}

/// A start at which some window keeps to the budget.
#[derive(Debug, Clone, Copy)]
struct Start {
    at: i64,
    /// No window at this start has a lower value.
    bound: i128,
}

/// The best window so far.
#[derive(Debug)]
struct Incumbent {
    value: i128,
    at: i64,
    cost: i128,
    nodes: Vec<Ranked>,
}

/// One search under way.
struct BranchAndBound<'a> {
    prepared: &'a PreparedRequest,
    bracket: StartBounds,
    /// The nodes that can be in a better window,
    useful: NodeRanking,
    /// and their slots.
    slots: Vec<Slot>,
    /// The starts that can have one, in order of time.
    starts: Vec<Start>,
    best: Incumbent,
    work: Work,
}

/// The window of least value (then earliest start, then least cost) within the budget.
pub(super) fn find(
    prepared: &PreparedRequest,
    bounded: &Bounded,
    slots: &[Slot],
    bracket: StartBounds,
    scratch: &mut Scratch,
) -> Option<Found> {
    let Scratch { buffers, ranks } = scratch;
    let mut hunt = BranchAndBound::begin(prepared, bounded, slots, bracket, buffers)?;
    hunt.raise_bounds(Multiplier::VALUE_ONLY, buffers);
    let proof = hunt.run(buffers, ranks);
    hunt.lower_cost(slots, ranks);
    let tasks = hunt.best.nodes.iter().map(Ranked::task).collect();
    let window = Window::new(Time(hunt.best.at), tasks).ok()?;
    Some(Found { window, proof })
}

impl<'a> BranchAndBound<'a> {
    /// The starts within the budget, and the cheapest window as the first incumbent.
    fn begin(
        prepared: &'a PreparedRequest,
        bounded: &Bounded,
        slots: &'a [Slot],
        bracket: StartBounds,
        buffers: &mut Buffers,
    ) -> Option<BranchAndBound<'a>> {
        let mut cheapest = CheapestNodes::new(&bounded.by_cost, prepared.wanted, buffers);
        let mut judge = Affordable { budget: prepared.ceiling(), starts: Vec::new(), min: None };
        sweep(&bounded.by_cost, slots, bracket, &mut cheapest, &mut judge);
        let (cost, at) = judge.min?;
        let useful = NodeRanking::clone(&prepared.ranking);
        let mut ranks = Vec::new();
        alive_at(&useful, at, slots, bracket, &mut ranks);
        ranks.sort_unstable_by_key(|&rank| (useful.nodes[rank as usize].cost, rank));
        let first = ranks.iter().take(prepared.wanted);
        let nodes: Vec<Ranked> = first.map(|&rank| useful.nodes[rank as usize]).collect();
        let value = nodes.iter().map(|it| i128::from(it.value)).sum();
        let best = Incumbent { value, at, cost, nodes };
        let work = Work::new(prepared.search.work_limit);
        let slots = slots.to_vec();
        Some(BranchAndBound { prepared, bracket, useful, slots, starts: judge.starts, best, work })
    }

    /// Solves start after start until none can be better, or the work limit is hit.
    fn run(&mut self, buffers: &mut Buffers, ranks: &mut Vec<u32>) -> Proof {
        for solved in 1_u64.. {
            self.drop_hopeless();
            let Some((i, start)) = self.most_promising() else {
                break;
            };
            let Some(multiplier) = self.solve(start, ranks) else {
                let bound = start.bound.min(self.best.value);
                return Proof::Gap { bound: bound.clamp(i64::MIN.into(), i64::MAX.into()) as i64 };
            };
            self.starts.remove(i);
            if solved.is_power_of_two() && self.starts.len() > FEW_STARTS {
                self.raise_bounds(multiplier.within_words(&self.useful.nodes), buffers);
            }
        }
        Proof::Exact
    }

    /// Whether a window of value `bound` at `at` would be better.
    fn beats(&self, bound: i128, at: i64) -> bool {
        (bound, at) < (self.best.value, self.best.at)
    }

    fn drop_hopeless(&mut self) {
        let mut starts = std::mem::take(&mut self.starts);
        starts.retain(|start| self.beats(start.bound, start.at));
        self.starts = starts;
    }

    fn most_promising(&self) -> Option<(usize, Start)> {
        let all = self.starts.iter().copied().enumerate();
        all.min_by_key(|(_, start)| (start.bound, start.at))
    }

    /// Finds the best window at `start` if it beats the incumbent. `None` if the work limit was
    /// hit before that was settled.
    fn solve(&mut self, start: Start, ranks: &mut Vec<u32>) -> Option<Multiplier> {
        alive_at(&self.useful, start.at, &self.slots, self.bracket, ranks);
        let items = items(&self.useful, ranks, |it| (it.value, it.cost));
        // At an earlier start than the incumbent's an equal value is better, too.
        let cutoff = self.best.value + i128::from(start.at < self.best.at);
        let limit = self.prepared.ceiling();
        let answer = one::solve(items, self.prepared.wanted, limit, cutoff, &mut self.work);
        if let Some(set) = answer.best {
            let nodes = set.ranks.iter().map(|&rank| self.useful.nodes[rank as usize]).collect();
            let (value, cost, at) = (set.objective, set.constraint, start.at);
            self.best = Incumbent { value, at, cost, nodes };
        }
        answer.complete.then_some(answer.multiplier)
    }

    /// The second stage: at the incumbent's start and value, the minimum cost. The same problem
    /// with value and cost exchanged, on all nodes and slots.
    fn lower_cost(&mut self, slots: &[Slot], ranks: &mut Vec<u32>) {
        let all = &self.prepared.ranking;
        alive_at(all, self.best.at, slots, self.bracket, ranks);
        let items = items(all, ranks, |it| (it.cost, it.value));
        let (limit, cutoff) = (self.best.value, self.best.cost);
        let answer = one::solve(items, self.prepared.wanted, limit, cutoff, &mut self.work);
        if let Some(set) = answer.best {
            let nodes = set.ranks.iter().map(|&rank| all.nodes[rank as usize]).collect();
            let (value, cost, at) = (set.constraint, set.objective, self.best.at);
            self.best = Incumbent { value, at, cost, nodes };
        }
    }

    /// Raises the bound of every start to what `multiplier` proves, and keeps what is of use.
    fn raise_bounds(&mut self, multiplier: Multiplier, buffers: &mut Buffers) {
        let ranking = self.useful.reweighted(|it| multiplier.weight_of(it));
        let mut cheapest = CheapestNodes::new(&ranking, self.prepared.wanted, buffers);
        let budget = self.prepared.ceiling();
        let room = multiplier.weigh_sums(self.best.value, budget);
        let starts = &mut self.starts;
        let mut judge = Raise { multiplier, budget, room, starts, next: 0, heaviest: i128::MIN };
        sweep(&ranking, &self.slots, self.bracket, &mut cheapest, &mut judge);
        judge.give_up_before(i64::MAX);
        let heaviest = judge.heaviest;
        self.useful = ranking.keeping(|it| i128::from(it.weight) <= heaviest);
        let (useful, bracket) = (&self.useful, self.bracket);
        let fits = |slot: &Slot| bracket.starts(slot, useful.length_on(slot.node)).is_some();
        self.slots.retain(fits);
    }
}

/// The nodes of these ranks, with (objective, constraint) as `numbers` reads them.
fn items(
    ranking: &NodeRanking,
    ranks: &[u32],
    numbers: impl Fn(&Ranked) -> (i64, i64),
) -> Vec<AliveNode> {
    let item = |&rank: &u32| {
        let (objective, constraint) = numbers(&ranking.nodes[rank as usize]);
        AliveNode { objective, constraint, rank }
    };
    ranks.iter().map(item).collect()
}

/// Collects the starts at which the cheapest window keeps to the budget.
struct Affordable {
    budget: i128,
    starts: Vec<Start>,
    /// (cost, start) of the cheapest window.
    min: Option<(i128, i64)>,
}

impl SweepVisitor for Affordable {
    fn close(&mut self, now: i64, cheapest: &mut CheapestNodes<'_>) -> ControlFlow<()> {
        if let Some(sum) = cheapest.sum()
            && sum <= self.budget
        {
            self.starts.push(Start { at: now, bound: i128::MIN });
            if self.min.is_none_or(|(min, _)| sum < min) {
                self.min = Some((sum, now));
            }
        }
        ControlFlow::Continue(())
    }
}

/// Raises the bounds of the starts that are left, and notes how heavy a node in a better window
/// can be at most: beside the m − 1 least at that start it must leave the sum within `room`.
struct Raise<'a> {
    multiplier: Multiplier,
    budget: i128,
    /// What a window at the best value and the whole budget weighs.
    room: i128,
    starts: &'a mut [Start],
    next: usize,
    heaviest: i128,
}

impl Raise<'_> {
    /// Gives up the starts before `now` at which no useful slot starts any more: what is alive
    /// then was alive at an earlier start, which is better.
    fn give_up_before(&mut self, now: i64) {
        while let Some(start) = self.starts.get_mut(self.next).filter(|start| start.at < now) {
            start.bound = i128::MAX;
            self.next += 1;
        }
    }
}

impl SweepVisitor for Raise<'_> {
    fn close(&mut self, now: i64, cheapest: &mut CheapestNodes<'_>) -> ControlFlow<()> {
        self.give_up_before(now);
        let Some(start) = self.starts.get_mut(self.next) else {
            return ControlFlow::Break(());
        };
        if start.at == now {
            self.next += 1;
            if let Some((sum, without_last)) = cheapest.sum().zip(cheapest.sum_without_last()) {
                start.bound = start.bound.max(self.multiplier.bound(sum, self.budget));
                if sum <= self.room {
                    self.heaviest = self.heaviest.max(self.room - without_last);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
