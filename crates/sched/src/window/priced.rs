//! Searches where prices change with time: a window's cost depends on its start.
//!
//! Within a [`Piece`] the cost of every task is linear in the start, so the cost of the cheapest
//! of any family of sets is concave, as the minimum of linear functions. Therefore
//! - the minimum over a piece is at one of its two ends;
//! - "a window of value ≤ v keeps to the budget" holds in a prefix and a suffix of a piece: if not
//!   at its first start, then the first start at which it does is found by bisection.
//!
//! Exact for every criterion, like the searches for constant prices, and with the same second
//! stage; for q pieces and a alive nodes in O(q · a log a), and a logarithm of the horizon more in
//! the pieces that are bisected. The finish costs a factor of the number of different lengths.
//! Processor time and sums under a budget are bounded by the work limit (see [`Proof`]).

use tradewind_model::{Criterion, Money, Slot, SlotList, Task, Time, Window};

use super::bounded::one::{self, AliveNode};
use super::csa::Score;
use super::pieces::{Piece, Pieces, PriceList};
use super::prepared::PreparedRequest;
use super::ranking::Ranked;
use super::search::{Algorithm, Found, Proof};
use super::sweep::{ANY_LENGTH, StartBounds};
use crate::window::work::Work;

/// A window at one start.
#[derive(Debug, Clone)]
struct PricedStart {
    /// By the criterion, where it does not depend on the start alone; else 0.
    value: i128,
    start: i64,
    ranks: Vec<u32>,
}

/// A node at one start: what its task costs then.
#[derive(Debug, Clone, Copy)]
struct PricedNode {
    rank: u32,
    cost: i64,
}

struct PricedSearch<'a> {
    prepared: &'a PreparedRequest,
    prices: &'a PriceList,
    criterion: &'a Criterion,
    budget: i128,
    work: Work,
    /// Whether the work limit was hit.
    is_cut: bool,
}

/// The best window; for CSA the best of all that AMP cuts one after the other.
pub(super) fn find(
    prepared: &PreparedRequest,
    prices: &PriceList,
    slots: &SlotList,
    bracket: StartBounds,
) -> Option<Found> {
    let Algorithm::Csa(criterion) = &prepared.search.algorithm else {
        let criterion = prepared.search.algorithm.criterion();
        return PricedSearch::new(prepared, prices, criterion).find(slots.as_slice(), bracket);
    };
    let (mut left, mut bracket) = (slots.clone(), bracket);
    let mut best: Option<(Score, Window)> = None;
    loop {
        let mut amp = PricedSearch::new(prepared, prices, &Criterion::Start);
        let Some(found) = amp.find(left.as_slice(), bracket) else { break };
        left.subtract_window(&found.window).ok()?;
        bracket.from = bracket.from.max(found.window.start().0);
        let score = Score::of_window(criterion, &found.window, &prepared.ranking);
        if best.as_ref().is_none_or(|(min, _)| score < *min) {
            best = Some((score, found.window));
        }
    }
    best.map(|(_, window)| Found { window, proof: Proof::Heuristic })
}

/// The most nodes that are alive together under the price cap.
pub(super) fn most_alive(
    prepared: &PreparedRequest,
    prices: &PriceList,
    slots: &[Slot],
    bracket: StartBounds,
) -> u32 {
    let mut pieces = Pieces::new(prices, &prepared.ranking, slots, bracket);
    let (mut alive, mut most) = (Vec::new(), 0);
    while pieces.next(&mut alive).is_some() {
        most = most.max(alive.len());
    }
    most as u32
}

/// What the cheapest of all windows costs, budget or not.
pub(super) fn least_cost(
    prepared: &PreparedRequest,
    prices: &PriceList,
    slots: &[Slot],
    bracket: StartBounds,
) -> Option<Money> {
    let mut search = PricedSearch::new(prepared, prices, &Criterion::Cost);
    search.budget = i128::MAX;
    search.find(slots, bracket).map(|found| found.window.cost())
}

impl<'a> PricedSearch<'a> {
    fn new(prepared: &'a PreparedRequest, prices: &'a PriceList, criterion: &'a Criterion) -> Self {
        let work = Work::new(prepared.search.work_limit);
        let budget = prepared.ceiling();
        PricedSearch { prepared, prices, criterion, budget, work, is_cut: false }
    }

    fn find(&mut self, slots: &[Slot], bracket: StartBounds) -> Option<Found> {
        let mut pieces = Pieces::new(self.prices, &self.prepared.ranking, slots, bracket);
        let mut alive = Vec::new();
        let mut best: Option<PricedStart> = None;
        while let Some(piece) = pieces.next(&mut alive) {
            if alive.len() < self.prepared.wanted {
                continue;
            }
            match self.criterion {
                Criterion::Finish => self.finish_in(piece, &alive, &mut best),
                _ => self.best_in(piece, &alive, &mut best),
            }
            let is_settled = match self.criterion {
                Criterion::Start => best.is_some(),
                Criterion::Finish => {
                    best.as_ref().is_some_and(|it| it.value <= i128::from(piece.last))
                }
                _ => false,
            };
            if is_settled {
                break;
            }
        }
        let best = best?;
        let window = Window::new(Time(best.start), self.tasks(&best)).ok()?;
        let proof = if self.is_cut { self.gap() } else { Proof::Exact };
        Some(Found { window, proof })
    }

    /// Takes the best window that starts in the piece, if it is better.
    fn best_in(&mut self, piece: Piece, alive: &[u32], best: &mut Option<PricedStart>) {
        let at_first = self.at(piece.first, alive);
        self.offer(at_first, best);
        if piece.first == piece.last {
            return;
        }
        let Some(at_last) = self.at(piece.last, alive) else { return };
        if best.as_ref().is_some_and(|best| best.value <= at_last.value) {
            return;
        }
        // Not so good at `no`, so good at `yes`, and between them one change.
        let (mut no, mut yes) = (piece.first, at_last);
        let enough = yes.value;
        while yes.start - no > 1 {
            let middle = no + (yes.start - no) / 2;
            match self.at(middle, alive).filter(|it| it.value <= enough) {
                Some(found) => yes = found,
                None => no = middle,
            }
        }
        *best = Some(yes);
    }

    /// The same for the finish, which grows with the start: for each length that no task may
    /// exceed, the earliest start.
    fn finish_in(&self, piece: Piece, alive: &[u32], best: &mut Option<PricedStart>) {
        let mut lengths: Vec<i64> = alive.iter().map(|&rank| self.node(rank).length).collect();
        lengths.sort_unstable();
        lengths.dedup();
        for longest in lengths {
            let by = best.as_ref().map_or(i128::MAX, |best| best.value);
            let latest = (by - i128::from(longest)).min(i128::from(piece.last)) as i64;
            if latest < piece.first {
                break;
            }
            let Some(ranks) = self.earliest(piece.first, latest, longest, alive) else { continue };
            let value = i128::from(ranks.start + longest);
            let found = PricedStart { value, ..ranks };
            let key = |it: &PricedStart| (it.value, it.start);
            if best.as_ref().is_none_or(|best| key(&found) < key(best)) {
                *best = Some(found);
            }
        }
        if let Some(best) = best.as_mut().filter(|best| best.start >= piece.first) {
            let longest = best.value as i64 - best.start;
            let ranks = self.cheapest(&self.items(best.start, alive, longest));
            best.ranks = ranks.map_or_else(|| best.ranks.clone(), |(_, ranks)| ranks);
        }
    }

    /// The first start from `first` to `latest` at which tasks no longer than this keep to the
    /// budget.
    fn earliest(
        &self,
        first: i64,
        latest: i64,
        longest: i64,
        alive: &[u32],
    ) -> Option<PricedStart> {
        let at = |start: i64| {
            let (_, ranks) = self.cheapest(&self.items(start, alive, longest))?;
            Some(PricedStart { value: 0, start, ranks })
        };
        if let Some(found) = at(first) {
            return Some(found);
        }
        let (mut no, mut yes) = (first, at(latest)?);
        while yes.start - no > 1 {
            let middle = no + (yes.start - no) / 2;
            match at(middle) {
                Some(found) => yes = found,
                None => no = middle,
            }
        }
        Some(yes)
    }

    fn offer(&self, found: Option<PricedStart>, best: &mut Option<PricedStart>) {
        if let Some(found) = found
            && best.as_ref().is_none_or(|best| found.value < best.value)
        {
            *best = Some(found);
        }
    }

    /// The best window at this start, by value, then cost, lengths and nodes.
    fn at(&mut self, start: i64, alive: &[u32]) -> Option<PricedStart> {
        let items = self.items(start, alive, ANY_LENGTH);
        let (value, ranks) = match self.criterion {
            Criterion::Start | Criterion::Finish => (0, self.cheapest(&items)?.1),
            Criterion::Cost => self.cheapest(&items)?,
            Criterion::Runtime => self.shortest(&items)?,
            Criterion::ProcessorTime | Criterion::Sum(_) if self.budget == i128::MAX => {
                self.least_value(&items)
            }
            Criterion::ProcessorTime | Criterion::Sum(_) => self.knapsack(&items)?,
        };
        Some(PricedStart { value, start, ranks })
    }

    /// Those with tasks no longer than this.
    fn items(&self, start: i64, alive: &[u32], longest: i64) -> Vec<PricedNode> {
        let longest = longest.min(self.prices.longest);
        let short = |rank: &&u32| self.node(**rank).length <= longest;
        let item =
            |&rank: &u32| PricedNode { rank, cost: self.prices.cost(rank, self.node(rank), start) };
        alive.iter().filter(short).map(item).collect()
    }

    fn node(&self, rank: u32) -> &Ranked {
        &self.prepared.ranking.nodes[rank as usize]
    }

    /// The cheapest within the budget, and their cost.
    fn cheapest(&self, items: &[PricedNode]) -> Option<(i128, Vec<u32>)> {
        let chosen = self.first_by(items, |it| (0, it.cost))?;
        let cost = chosen.iter().map(|it| i128::from(it.cost)).sum();
        (cost <= self.budget).then(|| (cost, chosen.iter().map(|it| it.rank).collect()))
    }

    /// As many as are wanted, first in order of (`by`, length, node).
    fn first_by(
        &self,
        items: &[PricedNode],
        by: impl Fn(&PricedNode) -> (i64, i64),
    ) -> Option<Vec<PricedNode>> {
        let wanted = self.prepared.wanted;
        if items.len() < wanted {
            return None;
        }
        let mut chosen = items.to_vec();
        let key = |it: &PricedNode| (by(it), self.node(it.rank).length, self.node(it.rank).node);
        if wanted < chosen.len() {
            chosen.select_nth_unstable_by_key(wanted, key);
            chosen.truncate(wanted);
        }
        Some(chosen)
    }

    /// The shortest runtime within the budget: fewer lengths allowed never make a window cheaper.
    fn shortest(&self, items: &[PricedNode]) -> Option<(i128, Vec<u32>)> {
        let mut lengths: Vec<i64> = items.iter().map(|it| self.node(it.rank).length).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let within = |longest: i64| {
            let short = items.iter().filter(|it| self.node(it.rank).length <= longest);
            self.cheapest(&short.copied().collect::<Vec<_>>())
        };
        let at = lengths.partition_point(|&longest| within(longest).is_none());
        let longest = *lengths.get(at)?;
        within(longest).map(|(_, ranks)| (i128::from(longest), ranks))
    }

    /// The lowest value without a budget.
    fn least_value(&self, items: &[PricedNode]) -> (i128, Vec<u32>) {
        let by = |it: &PricedNode| (self.node(it.rank).value, it.cost);
        let chosen = self.first_by(items, by).unwrap_or_default();
        let ranks: Vec<u32> = chosen.iter().map(|it| it.rank).collect();
        (self.value_of(&ranks), ranks)
    }

    fn value_of(&self, ranks: &[u32]) -> i128 {
        ranks.iter().map(|&rank| i128::from(self.node(rank).value)).sum()
    }

    /// The lowest value within the budget, among equals the lowest cost.
    fn knapsack(&mut self, items: &[PricedNode]) -> Option<(i128, Vec<u32>)> {
        let (mut cost, mut ranks) = self.cheapest(items)?;
        let mut value = self.value_of(&ranks);
        let wanted = self.prepared.wanted;
        let of = |it: &PricedNode| (self.node(it.rank).value, it.cost, it.rank);
        let pairs: Vec<(i64, i64, u32)> = items.iter().map(of).collect();
        let alive = |(objective, constraint, rank)| AliveNode { objective, constraint, rank };
        let by_value = pairs.iter().map(|&it| alive(it)).collect();
        let answer = one::solve(by_value, wanted, self.budget, value, &mut self.work);
        self.is_cut |= !answer.complete;
        if let Some(set) = answer.best {
            (value, cost, ranks) = (set.objective, set.constraint, set.ranks);
        }
        let by_cost = pairs.iter().map(|&(value, cost, rank)| alive((cost, value, rank))).collect();
        let answer = one::solve(by_cost, wanted, value, cost, &mut self.work);
        if let Some(set) = answer.best {
            (value, ranks) = (set.constraint, set.ranks);
        }
        Some((value, ranks))
    }

    fn tasks(&self, choice: &PricedStart) -> Vec<Task> {
        let task = |&rank: &u32| {
            let cost = Money(self.prices.cost(rank, self.node(rank), choice.start));
            Task { cost, ..self.prepared.ranking.task(rank) }
        };
        choice.ranks.iter().map(task).collect()
    }

    /// No window is below the lowest values of all nodes.
    fn gap(&self) -> Proof {
        let mut values: Vec<i64> = self.prepared.ranking.nodes.iter().map(|it| it.value).collect();
        values.sort_unstable();
        let sum = values.iter().take(self.prepared.wanted).map(|&it| i128::from(it)).sum::<i128>();
        Proof::Gap { bound: sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64 }
    }
}
