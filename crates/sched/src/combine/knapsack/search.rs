//! From the relaxation to the optimum: a growing core, searched from both ends.

use std::collections::BTreeSet;

use super::reduce::Reduced;
use super::relax::{RelaxedOptimum, Slope};
use super::states::{PartialSums, Sieve};
use super::{Goal, Sums};

/// The most states in the list of one half.
pub(super) const MOST_STATES: usize = 1 << 22;
/// The most when only a tie is left to break.
const MOST_TIE_STATES: usize = 1 << 20;
/// Members and states of the first, smallest core. Each further core is half as large again,
/// with lists four times as long.
const FIRST_MEMBERS: usize = 16;
const FIRST_STATES: usize = 1 << 10;

/// The best selection (one member per class), or `None` when none is better than `known`.
pub(super) fn search(
    reduced: &Reduced,
    relaxed: &RelaxedOptimum,
    known: Option<Sums>,
) -> Option<Vec<u32>> {
    let Some(slope) = relaxed.slope else {
        // Everything that is wanted fits; more than one goal cannot be at odds here, except for
        // a value limit, which `FullestWithin`'s callers have tested alone.
        return better_than_known(reduced, relaxed, known).then(|| relaxed.base.clone());
    };
    let mut search = KnapsackSearch::new(reduced, relaxed, slope, known);
    search.run();
    search.chosen
}

fn base_sums(reduced: &Reduced, relaxed: &RelaxedOptimum) -> Sums {
    let mut sums = Sums { weight: 0, value: 0 };
    for (class, &at) in reduced.classes.iter().zip(&relaxed.base) {
        sums.weight += class[at as usize].weight;
        sums.value += class[at as usize].value;
    }
    sums
}

fn better_than_known(reduced: &Reduced, relaxed: &RelaxedOptimum, known: Option<Sums>) -> bool {
    let base = base_sums(reduced, relaxed);
    let within = !matches!(reduced.goal, Goal::FullestWithin(max) if base.value > max);
    within && known.is_none_or(|known| reduced.goal.prefers(base, known))
}

impl Goal {
    /// Whether `a` is better than `b`, both within the limits.
    #[inline]
    fn prefers(self, a: Sums, b: Sums) -> bool {
        match self {
            Goal::Cheapest => (a.value, a.weight) < (b.value, b.weight),
            Goal::Fullest | Goal::FullestWithin(_) => (b.weight, a.value) < (a.weight, b.value),
        }
    }
}

/// A member other than the base's, with what it gives away.
#[derive(Debug, Clone, Copy)]
struct MemberExchange {
    loss: i128,
    /// How far from the base's member in the class: spreads equal losses over classes.
    distance: u32,
    class: u32,
    member: u32,
}

impl MemberExchange {
    fn by_loss(&self) -> (i128, u32, u32, u32) {
        (self.loss, self.distance, self.class, self.member)
    }

    fn by_distance(&self) -> (i128, u32, u32, u32) {
        (i128::from(self.distance), 0, self.class, self.member)
    }
}

type SortKey = fn(&MemberExchange) -> (i128, u32, u32, u32);

/// A class of which more than the base's member is considered.
#[derive(Debug)]
struct OpenClass {
    class: u32,
    members: Vec<u32>,
    /// What each member adds to the base, in the same order.
    moves: Vec<PartialSums>,
}

impl OpenClass {
    /// The most that its moves take away from the weight, and add to it.
    fn reach(&self) -> (i64, i64) {
        let weights = || self.moves.iter().map(|step| step.weight);
        (weights().min().unwrap_or_default(), weights().max().unwrap_or_default())
    }
}

fn add(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    (a.0 + b.0, a.1 + b.1)
}

/// The classes of a core in two halves of about equal weight in the search, and those for which
/// the lists had no room.
#[derive(Debug, Default)]
struct SplitCore {
    halves: [Vec<OpenClass>; 2],
    rest: Vec<OpenClass>,
}

/// Where the best selection of a core was found: a state of each half, and one move per class of
/// the rest.
#[derive(Debug, Clone)]
struct BestSplit {
    halves: [PartialSums; 2],
    rest: Vec<usize>,
}

struct KnapsackSearch<'a> {
    reduced: &'a Reduced,
    base: &'a [u32],
    slope: Slope,
    /// The goal with its value limit counted from the base.
    goal: Goal,
    /// Capacity left by the base.
    slack: i64,
    /// The best selection's sums, counted from the base.
    best: Sums,
    /// The best selection, unless it is the one that the caller knows.
    chosen: Option<Vec<u32>>,
    found: Option<BestSplit>,
}

impl<'a> KnapsackSearch<'a> {
    fn new(
        reduced: &'a Reduced,
        relaxed: &'a RelaxedOptimum,
        slope: Slope,
        known: Option<Sums>,
    ) -> KnapsackSearch<'a> {
        let sums = base_sums(reduced, relaxed);
        let from_base = |known: Sums| Sums {
            weight: known.weight - sums.weight,
            value: known.value - sums.value,
        };
        let base_wins = better_than_known(reduced, relaxed, known);
        let best = match known {
            Some(known) if !base_wins => from_base(known),
            _ => Sums { weight: 0, value: 0 },
        };
        let goal = match reduced.goal {
            Goal::FullestWithin(max) => Goal::FullestWithin(max - sums.value),
            other => other,
        };
        let chosen = base_wins.then(|| relaxed.base.clone());
        let (base, slack) = (&relaxed.base[..], relaxed.slack);
        KnapsackSearch { reduced, base, slope, goal, slack, best, chosen, found: None }
    }

    /// Searches cores of growing size until one is complete: until no member is left outside
    /// that a better selection could contain.
    fn run(&mut self) {
        let mut candidates = self.candidates();
        let (mut members, mut states) = (FIRST_MEMBERS, FIRST_STATES);
        for round in 0.. {
            let most_loss = self.most_loss();
            candidates.retain(|candidate| candidate.loss <= most_loss);
            if candidates.is_empty() {
                return;
            }
            let all = candidates.len() <= members;
            let open = self.open(&mut candidates, members, self.order(round));
            let weights = (i64::MIN, i64::MAX);
            let sieve = Sieve { goal: self.goal, slope: self.slope, most_loss, weights };
            let (core, lists) = halves(open, &sieve, self.wanted_weights(), states);
            let full = states >= MOST_STATES;
            let complete = all && (core.rest.is_empty() || full);
            if complete {
                self.sweep_rest(
                    &core.rest,
                    [&lists[0], &lists[1]],
                    PartialSums::BASE,
                    &mut Vec::new(),
                );
            } else {
                self.sweep([&lists[0], &lists[1]], PartialSums::BASE, &[]);
            }
            drop(lists);
            if let Some(found) = self.found.take() {
                self.choose(&core, &sieve, &found);
            }
            if complete || (self.only_ties_are_left() && states >= MOST_TIE_STATES) {
                return;
            }
            // Full lists have no room for a larger core but the complete one.
            members = if full { usize::MAX } else { members + members / 2 };
            states = MOST_STATES.min(states * 4);
        }
    }

    /// As long as the capacity is not filled within a value limit, it is not known which of the
    /// two is tight. Small steps in weight lead to sums close to the capacity, small losses keep
    /// to the limit: they take turns.
    fn order(&self, round: u32) -> SortKey {
        let open = matches!(self.goal, Goal::FullestWithin(_)) && !self.only_ties_are_left();
        if open && round.is_multiple_of(2) {
            MemberExchange::by_distance
        } else {
            MemberExchange::by_loss
        }
    }

    /// Between which weights a better selection lies.
    fn wanted_weights(&self) -> (i64, i64) {
        match self.goal {
            Goal::Cheapest => (i64::MIN, self.slack),
            Goal::Fullest | Goal::FullestWithin(_) => (self.best.weight, self.slack),
        }
    }

    /// Whether the capacity is used up where that is wanted most.
    fn only_ties_are_left(&self) -> bool {
        self.goal != Goal::Cheapest && self.best.weight == self.slack
    }

    /// The most that a better selection can lose in all: at least zero if there may be one.
    ///
    /// Sums are integers, so a better selection is better by one: in what is wanted first, with
    /// any weight within its bounds, or in what breaks the tie.
    fn most_loss(&self) -> i128 {
        let Sums { weight, value } = self.best;
        let loss = |weight, value| self.slope.loss(weight, value);
        let fuller = weight < self.slack;
        match self.goal {
            Goal::Cheapest => loss(self.slack, value - 1).max(loss(weight - 1, value)),
            Goal::Fullest if fuller => i128::MAX,
            Goal::FullestWithin(max) if fuller => {
                loss(weight, value - 1).max(loss(weight + 1, max)).max(loss(self.slack, max))
            }
            Goal::Fullest | Goal::FullestWithin(_) => loss(weight, value - 1),
        }
    }

    /// All members that a better selection could contain, beside the base's.
    fn candidates(&self) -> Vec<MemberExchange> {
        let most_loss = self.most_loss();
        let mut candidates = Vec::new();
        for (class, (members, &base)) in (0u32..).zip(self.reduced.classes.iter().zip(self.base)) {
            for member in 0..members.len() as u32 {
                let step = self.step(class, member);
                let loss = self.slope.loss(step.weight, step.value);
                if loss <= most_loss && member != base {
                    let distance = member.abs_diff(base);
                    candidates.push(MemberExchange { loss, distance, class, member });
                }
            }
        }
        candidates
    }

    /// What taking `member` instead of the base's changes.
    fn step(&self, class: u32, member: u32) -> PartialSums {
        let members = &self.reduced.classes[class as usize];
        let (to, from) = (members[member as usize], members[self.base[class as usize] as usize]);
        PartialSums { weight: to.weight - from.weight, value: to.value - from.value }
    }

    /// The classes of the first `max` candidates in this order, each with its base's member first;
    /// classes in order of their first candidate.
    fn open(
        &self,
        candidates: &mut [MemberExchange],
        max: usize,
        order: SortKey,
    ) -> Vec<OpenClass> {
        let take = max.min(candidates.len());
        if take < candidates.len() {
            candidates.select_nth_unstable_by_key(take, order);
        }
        let core = &mut candidates[..take];
        core.sort_unstable_by_key(order);
        let mut place = vec![usize::MAX; self.base.len()];
        let mut open: Vec<OpenClass> = Vec::new();
        for &MemberExchange { class, member, .. } in core.iter() {
            let at = &mut place[class as usize];
            if *at == usize::MAX {
                *at = open.len();
                let members = vec![self.base[class as usize]];
                open.push(OpenClass { class, members, moves: vec![PartialSums::BASE] });
            }
            open[*at].members.push(member);
            open[*at].moves.push(self.step(class, member));
        }
        open
    }

    /// Sweeps for every choice in `rest` from `sum` on (depth first, cut by the loss).
    fn sweep_rest(
        &mut self,
        rest: &[OpenClass],
        lists: [&[PartialSums]; 2],
        sum: PartialSums,
        taken: &mut Vec<usize>,
    ) {
        if self.slope.loss(sum.weight, sum.value) > self.most_loss() {
            return;
        }
        let Some((open, rest)) = rest.split_first() else {
            self.sweep(lists, sum, taken);
            return;
        };
        for (at, step) in open.moves.iter().enumerate() {
            if self.only_ties_are_left() {
                return;
            }
            taken.push(at);
            self.sweep_rest(rest, lists, sum.plus(*step), taken);
            taken.pop();
        }
    }

    /// Looks for the best pair of states, one of each list, on top of `sum`.
    fn sweep(&mut self, lists: [&[PartialSums]; 2], sum: PartialSums, taken: &[usize]) {
        match self.goal {
            Goal::FullestWithin(max) => {
                // Mostly the heaviest partners keep to the limit, and fill the capacity.
                self.sweep_heaviest(lists, sum, taken);
                if !self.only_ties_are_left() {
                    self.sweep_within(lists, sum, taken, max);
                }
            }
            Goal::Cheapest | Goal::Fullest => self.sweep_heaviest(lists, sum, taken),
        }
    }

    /// With each state goes the heaviest partner that fits: it has the minimum value, or the most
    /// weight, of all that fit. O(states).
    fn sweep_heaviest(
        &mut self,
        [left, right]: [&[PartialSums]; 2],
        sum: PartialSums,
        taken: &[usize],
    ) {
        let mut fitting = right.len();
        for &a in left {
            let room = self.slack - sum.weight - a.weight;
            while fitting > 0 && right[fitting - 1].weight > room {
                fitting -= 1;
            }
            let Some(&b) = right[..fitting].last() else {
                return;
            };
            self.offer(a, b, sum, taken);
        }
    }

    /// Left states in order of falling value meet ever more right states that keep to the limit
    /// with them; the heaviest of those that fits is the partner. Then, for the most weight
    /// found, the pairs of just that weight are swept for the minimum value. O(states · log
    /// states).
    fn sweep_within(
        &mut self,
        [left, right]: [&[PartialSums]; 2],
        sum: PartialSums,
        taken: &[usize],
        max: i64,
    ) {
        let by_value = |list: &[PartialSums]| {
            let mut sorted = list.to_vec();
            sorted.sort_unstable_by_key(|state| (state.value, state.weight));
            sorted
        };
        let right_by_value = by_value(right);
        let mut allowed = right_by_value.iter().peekable();
        let mut weights = BTreeSet::new();
        let mut heaviest = None;
        for a in by_value(left).iter().rev() {
            let room = max - sum.value - a.value;
            while let Some(b) = allowed.next_if(|b| b.value <= room) {
                weights.insert(b.weight);
            }
            let partner = weights.range(..=self.slack - sum.weight - a.weight).next_back();
            heaviest = heaviest.max(partner.map(|weight| a.weight + weight));
        }
        let Some(heaviest) = heaviest else { return };
        let mut partners = right.iter().rev().peekable();
        for &a in left {
            while partners.next_if(|b| a.weight + b.weight > heaviest).is_some() {}
            if let Some(&&b) = partners.peek()
                && a.weight + b.weight == heaviest
            {
                self.offer(a, b, sum, taken);
            }
        }
    }

    fn offer(&mut self, a: PartialSums, b: PartialSums, sum: PartialSums, taken: &[usize]) {
        let PartialSums { weight, value } = a.plus(b).plus(sum);
        let sums = Sums { weight, value };
        let within = !matches!(self.goal, Goal::FullestWithin(max) if value > max);
        if within && self.goal.prefers(sums, self.best) {
            self.best = sums;
            self.found = Some(BestSplit { halves: [a, b], rest: taken.to_vec() });
        }
    }

    /// Turns sums back into members. The lists keep no history: a state is found again by
    /// listing the halves of its half, and so on down.
    fn choose(&mut self, core: &SplitCore, sieve: &Sieve, found: &BestSplit) {
        let mut chosen = self.base.to_vec();
        for (half, state) in core.halves.iter().zip(found.halves) {
            let traced = trace(half, sieve, state, &mut chosen);
            debug_assert!(traced, "every listed state has a history");
        }
        for (open, &at) in core.rest.iter().zip(&found.rest) {
            chosen[open.class as usize] = open.members[at];
        }
        self.chosen = Some(chosen);
    }
}

/// Deals classes in turn to two halves and lists the states of each, as long as no list gets
/// longer than `max`; the classes left over are the rest.
///
/// States from which the other classes cannot reach the weights that are `wanted` are left out.
fn halves(
    open: Vec<OpenClass>,
    sieve: &Sieve,
    wanted: (i64, i64),
    max: usize,
) -> (SplitCore, [Vec<PartialSums>; 2]) {
    let (down, up) = open.iter().map(OpenClass::reach).fold((0, 0), add);
    // What the classes outside each half can still take away or add.
    let mut outside = [(down, up); 2];
    let mut core = SplitCore::default();
    let mut lists = [vec![PartialSums::BASE], vec![PartialSums::BASE]];
    let mut open = open.into_iter();
    for class in open.by_ref() {
        let half = usize::from(lists[1].len() < lists[0].len());
        let (down, up) = class.reach();
        outside[half] = add(outside[half], (-down, -up));
        let (down, up) = outside[half];
        let weights = (wanted.0.saturating_sub(up), wanted.1.saturating_sub(down));
        let sieve = Sieve { weights, ..*sieve };
        let Ok(longer) = sieve.extend(&lists[half], &class.moves, max) else {
            core.rest.push(class);
            break;
        };
        lists[half] = longer;
        core.halves[half].push(class);
    }
    core.rest.extend(open);
    (core, lists)
}

/// Finds the members of the classes `open` whose moves sum to `target`, a state that these
/// classes list under `sieve`. Whether it was found.
fn trace(open: &[OpenClass], sieve: &Sieve, target: PartialSums, chosen: &mut [u32]) -> bool {
    if let [one] = open {
        let at = one.moves.iter().position(|step| *step == target);
        if let Some(at) = at {
            chosen[one.class as usize] = one.members[at];
        }
        return at.is_some();
    }
    if open.is_empty() {
        return target == PartialSums::BASE;
    }
    let (left, right) = open.split_at(open.len() / 2);
    let (lefts, rights) = (list(left, sieve), list(right, sieve));
    let mut partners = rights.iter().rev().peekable();
    for &a in &lefts {
        while partners.next_if(|b| a.weight + b.weight > target.weight).is_some() {}
        if let Some(&&b) = partners.peek()
            && a.plus(b) == target
        {
            return trace(left, sieve, a, chosen) && trace(right, sieve, b, chosen);
        }
    }
    false
}

/// The states of some classes of a half, which are fewer than the half's.
fn list(open: &[OpenClass], sieve: &Sieve) -> Vec<PartialSums> {
    open.iter().fold(vec![PartialSums::BASE], |list, open| {
        sieve.extend(&list, &open.moves, usize::MAX).unwrap_or_default()
    })
}
