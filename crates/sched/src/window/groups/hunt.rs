//! The best window of a job whose tasks differ.

use tradewind_model::{Criterion, NodeId, Slot, Task, Time, Window};

use super::assign::{self, Pair, Pairs, Weight};
use super::bounded;
use super::pieces::GroupPieces;
use super::{Group, tasks_of};
use crate::window::pieces::Piece;
use crate::window::prepared::PreparedRequest;
use crate::window::search::{Found, Proof};
use crate::window::sweep::{ANY_LENGTH, StartBounds, alive_at};
use crate::window::work::Work;

/// A start, and the criterion's value of the best window there (0 where the start alone decides).
#[derive(Debug, Clone, Copy)]
struct RankedStart {
    value: i128,
    start: i64,
}

pub(super) struct GroupHunt<'a> {
    groups: &'a [Group],
    wanted: Vec<usize>,
    criterion: &'a Criterion,
    budget: i128,
    work: Work,
    /// No window that was not looked at has a lower value, where the work limit was hit.
    bound: Option<i128>,
    /// The window that a bounded search found last: that of the best start so far.
    kept: Option<Vec<Pair>>,
}

/// A node at one start, for one group.
#[derive(Debug, Clone, Copy)]
struct GroupNode {
    node: NodeId,
    length: i64,
    cost: i64,
    value: i64,
}

impl<'a> GroupHunt<'a> {
    pub(super) fn new(
        groups: &'a [Group],
        prepared: &PreparedRequest,
        criterion: &'a Criterion,
    ) -> GroupHunt<'a> {
        GroupHunt {
            groups,
            wanted: groups.iter().map(|group| group.wanted).collect(),
            criterion,
            budget: prepared.ceiling(),
            work: Work::new(prepared.search.work_limit),
            bound: None,
            kept: None,
        }
    }

    pub(super) fn without_budget(self) -> GroupHunt<'a> {
        GroupHunt { budget: i128::MAX, ..self }
    }

    pub(super) fn find(mut self, slots: &[Slot], bracket: StartBounds) -> Option<Found> {
        let mut pieces = GroupPieces::new(self.groups, slots, bracket);
        let mut best: Option<RankedStart> = None;
        while let Some(piece) = pieces.next() {
            match self.criterion {
                Criterion::Finish => self.finish_in(piece, &pieces.alive, &mut best),
                _ => self.best_in(piece, &pieces.alive, &mut best),
            }
            let is_settled = match self.criterion {
                Criterion::Start => best.is_some(),
                Criterion::Finish => best.is_some_and(|it| it.value <= i128::from(piece.last)),
                _ => false,
            };
            if is_settled {
                break;
            }
        }
        let best = best?;
        let chosen = self.settle(best, &self.alive(best.start, slots, bracket))?;
        let task = |&(node, group): &Pair| self.groups[group].task(group, node, best.start);
        let tasks: Vec<Task> = chosen.iter().map(task).collect();
        let window = Window::new(Time(best.start), tasks).ok()?;
        let proof = match self.bound.filter(|&bound| bound < best.value) {
            Some(bound) => {
                Proof::Gap { bound: bound.clamp(i64::MIN.into(), i64::MAX.into()) as i64 }
            }
            None => Proof::Exact,
        };
        Some(Found { window, proof })
    }

    /// Takes the best window that starts in the piece, if it is better.
    fn best_in(&mut self, piece: Piece, alive: &[Vec<u32>], best: &mut Option<RankedStart>) {
        let better = |best: &Option<RankedStart>| best.map_or(i128::MAX, |best| best.value);
        if let Some(value) = self.at(piece.first, alive, better(best)) {
            *best = Some(RankedStart { value, start: piece.first });
        }
        if piece.first == piece.last {
            return;
        }
        let Some(enough) = self.at(piece.last, alive, better(best)) else { return };
        // Not so good at `no`, so good at `yes`, and between them one change.
        let (mut no, mut yes) = (piece.first, piece.last);
        while yes - no > 1 {
            let middle = no + (yes - no) / 2;
            match self.at(middle, alive, enough + 1) {
                Some(_) => yes = middle,
                None => no = middle,
            }
        }
        *best = Some(RankedStart { value: enough, start: yes });
    }

    /// The same for the finish, which grows with the start: for each length that no task may
    /// exceed, the earliest start.
    fn finish_in(&self, piece: Piece, alive: &[Vec<u32>], best: &mut Option<RankedStart>) {
        for longest in self.lengths(alive) {
            let by = best.map_or(i128::MAX, |best| best.value);
            let latest = (by - i128::from(longest)).min(i128::from(piece.last)) as i64;
            if latest < piece.first {
                break;
            }
            let Some(start) = self.earliest(piece.first, latest, longest, alive) else { continue };
            let found = RankedStart { value: i128::from(start + longest), start };
            let key = |it: &RankedStart| (it.value, it.start);
            if best.as_ref().is_none_or(|best| key(&found) < key(best)) {
                *best = Some(found);
            }
        }
    }

    /// The first start from `first` to `latest` at which tasks no longer than this keep to the
    /// budget.
    fn earliest(&self, first: i64, latest: i64, longest: i64, alive: &[Vec<u32>]) -> Option<i64> {
        let holds = |start: i64| self.cheapest(&self.items(start, alive, longest)).is_some();
        if holds(first) {
            return Some(first);
        }
        if latest == first || !holds(latest) {
            return None;
        }
        let (mut no, mut yes) = (first, latest);
        while yes - no > 1 {
            let middle = no + (yes - no) / 2;
            if holds(middle) { yes = middle } else { no = middle }
        }
        Some(yes)
    }

    /// The lengths that a task of any group may have, ascending.
    fn lengths(&self, alive: &[Vec<u32>]) -> Vec<i64> {
        let of = |(group, ranks): (&'a Group, &Vec<u32>)| {
            ranks.iter().map(|&rank| group.node(rank).length).collect::<Vec<i64>>()
        };
        let mut lengths: Vec<i64> = self.groups.iter().zip(alive).flat_map(of).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// The best value at this start, if it is below `cutoff`.
    fn at(&mut self, start: i64, alive: &[Vec<u32>], cutoff: i128) -> Option<i128> {
        let items = self.items(start, alive, ANY_LENGTH);
        let value = match self.criterion {
            Criterion::Start | Criterion::Finish => self.cheapest(&items).map(|_| 0),
            Criterion::Cost => self.cheapest(&items),
            Criterion::Runtime => self.shortest(&items, alive),
            Criterion::ProcessorTime | Criterion::Sum(_) if self.budget == i128::MAX => {
                let pairs = self.pairs(&items, |it| Weight(it.value.into(), it.cost.into()));
                assign::lightest(&pairs, &self.wanted).map(|(sum, _)| sum.0)
            }
            Criterion::ProcessorTime | Criterion::Sum(_) => {
                let pairs = self.all_pairs(&items);
                let answer =
                    bounded::solve(&pairs, &self.wanted, self.budget, cutoff, &mut self.work);
                if !answer.complete {
                    // Of a piece, too: its values are those of one start.
                    let bound = answer.free.min(self.bound.unwrap_or(i128::MAX));
                    self.bound = Some(bound);
                }
                let set = answer.best?;
                self.kept = Some(set.pairs);
                Some(set.objective)
            }
        };
        value.filter(|&value| value < cutoff)
    }

    /// By group, those with tasks no longer than this.
    fn items(&self, start: i64, alive: &[Vec<u32>], longest: i64) -> Vec<Vec<GroupNode>> {
        let of_group = |(group, ranks): (&Group, &Vec<u32>)| {
            let longest = longest.min(group.prices.longest);
            let item = |&rank: &u32| {
                let it = group.node(rank);
                let cost = || group.prices.cost(rank, it, start);
                (it.length <= longest).then(|| GroupNode {
                    node: it.node,
                    length: it.length,
                    cost: cost(),
                    value: it.value,
                })
            };
            ranks.iter().filter_map(item).collect()
        };
        self.groups.iter().zip(alive).map(of_group).collect()
    }

    /// Pairs of the first nodes of each group by weight and length. As many as there are tasks in
    /// all groups are enough: the others have all but one of these at most.
    fn pairs(&self, items: &[Vec<GroupNode>], weight: impl Fn(&GroupNode) -> Weight) -> Pairs {
        let enough = tasks_of(self.groups);
        let of_group = |items: &Vec<GroupNode>| {
            let mut items = items.clone();
            if items.len() > enough {
                items.select_nth_unstable_by_key(enough, |it| (weight(it), it.length, it.node));
                items.truncate(enough);
            }
            items.iter().map(|it| (it.node, weight(it))).collect()
        };
        Pairs::new(items.iter().map(of_group).collect())
    }

    /// All pairs, with value and cost.
    fn all_pairs(&self, items: &[Vec<GroupNode>]) -> Pairs {
        let of = |it: &GroupNode| (it.node, Weight(it.value.into(), it.cost.into()));
        Pairs::new(items.iter().map(|items| items.iter().map(of).collect()).collect())
    }

    /// The lowest cost, if it is within the budget.
    fn cheapest(&self, items: &[Vec<GroupNode>]) -> Option<i128> {
        let enough = items.iter().zip(&self.wanted).all(|(items, wanted)| items.len() >= *wanted);
        if !enough || self.least(items) > self.budget {
            return None;
        }
        let pairs = self.pairs(items, |it| Weight(it.cost.into(), 0));
        let (sum, _) = assign::lightest(&pairs, &self.wanted)?;
        (sum.0 <= self.budget).then_some(sum.0)
    }

    /// What all groups would cost if they could share nodes: not above the lowest cost.
    fn least(&self, items: &[Vec<GroupNode>]) -> i128 {
        let of_group = |(items, wanted): (&Vec<GroupNode>, &usize)| {
            let mut costs: Vec<i64> = items.iter().map(|it| it.cost).collect();
            if *wanted < costs.len() {
                costs.select_nth_unstable(*wanted);
            }
            costs.iter().take(*wanted).map(|&cost| i128::from(cost)).sum::<i128>()
        };
        items.iter().zip(&self.wanted).map(of_group).sum()
    }

    /// The shortest runtime within the budget: fewer lengths allowed never make a window cheaper.
    fn shortest(&self, items: &[Vec<GroupNode>], alive: &[Vec<u32>]) -> Option<i128> {
        let lengths = self.lengths(alive);
        let within = |longest: i64| self.cheapest(&no_longer(items, longest)).is_some();
        let at = lengths.partition_point(|&longest| !within(longest));
        lengths.get(at).map(|&longest| i128::from(longest))
    }

    /// By group, the ranks that are alive at the start and keep to the price cap.
    fn alive(&self, start: i64, slots: &[Slot], bracket: StartBounds) -> Vec<Vec<u32>> {
        let of = |group: &Group| {
            let mut ranks = Vec::new();
            alive_at(&group.ranking, start, slots, bracket, &mut ranks);
            ranks.retain(|&rank| group.prices.is_allowed(rank, group.node(rank).length, start));
            ranks
        };
        self.groups.iter().map(of).collect()
    }

    /// The second stage: of all windows with this start and value the cheapest, and of these one
    /// that finishes first.
    fn settle(&mut self, best: RankedStart, alive: &[Vec<u32>]) -> Option<Vec<Pair>> {
        let longest = match self.criterion {
            Criterion::Runtime => best.value as i64,
            Criterion::Finish => best.value as i64 - best.start,
            _ => ANY_LENGTH,
        };
        let items = self.items(best.start, alive, longest);
        let by_cost = |it: &GroupNode| Weight(it.cost.into(), 0);
        let by_value = |it: &GroupNode| Weight(it.value.into(), it.cost.into());
        match self.criterion {
            Criterion::ProcessorTime | Criterion::Sum(_) if self.budget == i128::MAX => {
                self.first_to_finish(&items, alive, by_value)
            }
            Criterion::ProcessorTime | Criterion::Sum(_) => {
                let pairs = self.all_pairs(&items).weighed(|it| Weight(it.1, it.0));
                let limit = best.value;
                let answer =
                    bounded::solve(&pairs, &self.wanted, limit, self.budget + 1, &mut self.work);
                answer.best.map(|set| set.pairs).or_else(|| self.kept.take())
            }
            _ => self.first_to_finish(&items, alive, by_cost),
        }
    }

    /// The lightest assignment with the shortest longest task.
    fn first_to_finish(
        &self,
        items: &[Vec<GroupNode>],
        alive: &[Vec<u32>],
        weight: impl Fn(&GroupNode) -> Weight + Copy,
    ) -> Option<Vec<Pair>> {
        let within = |longest: i64| {
            let pairs = self.pairs(&no_longer(items, longest), weight);
            assign::lightest(&pairs, &self.wanted)
        };
        let (least, _) = within(ANY_LENGTH)?;
        let lengths = self.lengths(alive);
        let too_short = |&longest: &i64| within(longest).is_none_or(|(sum, _)| sum > least);
        let at = lengths.partition_point(too_short);
        within(*lengths.get(at)?).map(|(_, pairs)| pairs)
    }
}

fn no_longer(items: &[Vec<GroupNode>], longest: i64) -> Vec<Vec<GroupNode>> {
    let of =
        |items: &Vec<GroupNode>| items.iter().filter(|it| it.length <= longest).copied().collect();
    items.iter().map(of).collect()
}
