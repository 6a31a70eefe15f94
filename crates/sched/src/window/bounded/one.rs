//! One start: the minimum Σ objective with Σ constraint within a limit over exactly m items.

use crate::window::ranking::Ranked;
use crate::window::work::Work;

/// Rounds of tightening the multiplier; each adds to the bound, and a handful is usual.
const MOST_ROUNDS: usize = 64;

/// An alive node.
#[derive(Debug, Clone, Copy)]
pub(in crate::window) struct AliveNode {
    pub(in crate::window) objective: i64,
    pub(in crate::window) constraint: i64,
    pub(in crate::window) rank: u32,
}

/// The Lagrangian multiplier b/a as two integers: items weigh a·objective + b·constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::window) struct Multiplier {
    a: i128,
    b: i128,
}

impl Multiplier {
    pub(in crate::window) const VALUE_ONLY: Multiplier = Multiplier { a: 1, b: 0 };

    /// The minimum Σ objective that a set of weight `sum` or more can have within `limit`.
    pub(in crate::window) fn bound(self, sum: i128, limit: i128) -> i128 {
        if self.b == 0 {
            return ceil_div(sum, self.a);
        }
        ceil_div(sum - self.b * limit, self.a)
    }

    /// Whether [`Multiplier::bound`] is below `cutoff`, without a division.
    fn admits(self, sum: i128, limit: i128, cutoff: i128) -> bool {
        let min = if self.b == 0 { sum } else { sum - self.b * limit };
        min <= self.a.saturating_mul(cutoff - 1)
    }

    fn weigh(self, objective: i64, constraint: i64) -> i128 {
        self.weigh_sums(objective.into(), constraint.into())
    }

    /// What a set with these sums weighs.
    pub(in crate::window) fn weigh_sums(self, objective: i128, constraint: i128) -> i128 {
        self.a * objective + self.b * constraint
    }

    /// Scaled down (any ratio gives a valid bound) until no weight of (|objective|, |constraint|)
    /// up to `greatest` reaches 2^`bits`.
    fn scaled(mut self, greatest: (u64, u64), bits: u32) -> Multiplier {
        let max = (1_i128 << (bits - 1)) - 1;
        let by = |x: u64| max / i128::from(x.max(1));
        while self.a > by(greatest.0) || self.b > by(greatest.1) {
            self.a /= 2;
            self.b /= 2;
        }
        Multiplier { a: self.a.max(1), b: self.b }
    }

    /// Scaled so that the weights of `nodes` (value, cost) fit 64-bit words.
    pub(in crate::window) fn within_words(self, nodes: &[Ranked]) -> Multiplier {
        let value = nodes.iter().map(|it| it.value.unsigned_abs()).max().unwrap_or(0);
        let cost = nodes.iter().map(|it| it.cost.unsigned_abs()).max().unwrap_or(0);
        self.scaled((value, cost), 62)
    }

    /// What a node weighs with a multiplier from [`Multiplier::within_words`].
    pub(in crate::window) fn weight_of(self, node: &Ranked) -> i64 {
        let weight = self.weigh(node.value, node.cost);
        weight.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// A set of m items with its sums.
#[derive(Debug, Clone)]
pub(in crate::window) struct ItemSet {
    pub(in crate::window) objective: i128,
    pub(in crate::window) constraint: i128,
    pub(in crate::window) ranks: Vec<u32>,
}

/// What happened to one problem.
#[derive(Debug)]
pub(in crate::window) struct BoundedAnswer {
    /// The best set below the cutoff that was found.
    pub(in crate::window) best: Option<ItemSet>,
    /// Whether no better one exists; else the work limit was hit.
    pub(in crate::window) complete: bool,
    /// The multiplier with the best bound.
    pub(in crate::window) multiplier: Multiplier,
}

/// Searches `wanted` of `items` with Σ constraint ≤ `limit` and the minimum Σ objective below
/// `cutoff`. Exact unless the work limit is hit: the multiplier is tightened to the optimum of the
/// relaxation (tangents to its concave bound, in integers), then sets are built depth first in
/// order of weight, as long as the bound leaves room below the cutoff.
pub(in crate::window) fn solve(
    items: Vec<AliveNode>,
    wanted: usize,
    limit: i128,
    cutoff: i128,
    work: &mut Work,
) -> BoundedAnswer {
    let mut problem = Problem { items, wanted, limit, cutoff, best: None };
    let multiplier = Multiplier::VALUE_ONLY;
    if problem.items.len() < wanted {
        return BoundedAnswer { best: None, complete: true, multiplier };
    }
    if !work.spend(problem.items.len()) {
        return BoundedAnswer { best: None, complete: false, multiplier };
    }
    let (multiplier, bound) = problem.tighten();
    let complete = bound >= problem.cutoff || problem.search(multiplier, work);
    BoundedAnswer { best: problem.best, complete, multiplier }
}

struct Problem {
    items: Vec<AliveNode>,
    wanted: usize,
    limit: i128,
    /// Only an objective below it counts; falls to that of the best set.
    cutoff: i128,
    best: Option<ItemSet>,
}

impl Problem {
    /// Takes the set of these items, if it keeps to the limit and is better.
    fn offer(&mut self, objective: i128, constraint: i128, ranks: impl Fn(&Problem) -> Vec<u32>) {
        if constraint <= self.limit && objective < self.cutoff {
            self.cutoff = objective;
            self.best = Some(ItemSet { objective, constraint, ranks: ranks(self) });
        }
    }

    /// The sums (objective, constraint) of the m least items by `weight`, which are offered.
    fn least_by(&mut self, weight: impl Fn(&AliveNode) -> i128) -> (i128, i128) {
        let key = |it: &AliveNode| (weight(it), it.objective, it.constraint, it.rank);
        if self.wanted < self.items.len() {
            self.items.select_nth_unstable_by_key(self.wanted, key);
        }
        let min = &self.items[..self.wanted];
        let objective = min.iter().map(|it| i128::from(it.objective)).sum();
        let constraint = min.iter().map(|it| i128::from(it.constraint)).sum();
        self.offer(objective, constraint, |problem| {
            problem.items[..problem.wanted].iter().map(|it| it.rank).collect()
        });
        (objective, constraint)
    }

    /// The best multiplier and its bound. Sets found on the way are offered.
    fn tighten(&mut self) -> (Multiplier, i128) {
        let mut best = Multiplier::VALUE_ONLY;
        // The best set without the limit, and the most modest one.
        let mut beyond = self.least_by(|it| it.objective.into());
        let mut bound = beyond.0;
        if beyond.1 <= self.limit {
            return (best, bound);
        }
        let mut within = self.least_by(|it| it.constraint.into());
        if within.1 > self.limit {
            return (best, i128::MAX);
        }
        let objective = self.items.iter().map(|it| it.objective.unsigned_abs()).max().unwrap_or(0);
        let constraint =
            self.items.iter().map(|it| it.constraint.unsigned_abs()).max().unwrap_or(0);
        for _ in 0..MOST_ROUNDS {
            let tangent = Multiplier { a: beyond.1 - within.1, b: (within.0 - beyond.0).max(0) };
            let multiplier = tangent.scaled((objective, constraint), 96);
            let sums = self.least_by(|it| multiplier.weigh(it.objective, it.constraint));
            let weight = |(o, c): (i128, i128)| multiplier.weigh_sums(o, c);
            let reached = multiplier.bound(weight(sums), self.limit);
            if reached > bound {
                (best, bound) = (multiplier, reached);
            }
            if bound >= self.cutoff || weight(sums) >= weight(beyond).min(weight(within)) {
                break;
            }
            if sums.1 <= self.limit {
                within = sums;
            } else {
                beyond = sums;
            }
        }
        (best, bound)
    }

    /// Depth first over sets in order of weight; whether it came to its end.
    ///
    /// Of items with equal objectives the ones with less constraint come first, and a set that
    /// passes one over and takes a later one is no better than the other way round. So passing
    /// one over shuts out the rest of its class: with few different node speeds the search is
    /// over numbers of nodes per speed.
    fn search(&mut self, multiplier: Multiplier, work: &mut Work) -> bool {
        let weigh = |it: &AliveNode| multiplier.weigh(it.objective, it.constraint);
        self.items.sort_unstable_by_key(|it| (weigh(it), it.objective, it.constraint, it.rank));
        let floors = Floors::new(&self.items, multiplier);
        let mut classes = ShutClasses::new(&self.items);
        let mut path = Path::default();
        let mut next = 0;
        loop {
            let open = classes.first_open(next);
            if !work.spend(1 + (open - next)) {
                return false;
            }
            next = open;
            let missing = self.wanted - path.taken.len();
            if missing == 0 {
                self.offer(path.objective, path.constraint, |problem| {
                    path.taken.iter().map(|&i| problem.items[i].rank).collect()
                });
            } else if self.has_room(&floors, &path, next, missing, multiplier) {
                path.push(next, &self.items);
                next += 1;
                continue;
            }
            // What fails from here on fails from every later item on, too.
            match path.pop(&self.items) {
                Some(last) => {
                    classes.pass_over(last, path.taken.len());
                    next = last + 1;
                }
                None => return true,
            }
        }
    }

    /// Whether `path` and `missing` items from number `next` on can still make a better set.
    fn has_room(
        &self,
        floors: &Floors,
        path: &Path,
        next: usize,
        missing: usize,
        multiplier: Multiplier,
    ) -> bool {
        if next + missing > self.items.len() {
            return false;
        }
        let count = missing as i128;
        let rest = floors.prefix[next + missing] - floors.prefix[next];
        let so_far = multiplier.weigh_sums(path.objective, path.constraint);
        path.constraint + count * floors.constraint[next] <= self.limit
            && path.objective + count * floors.objective[next] < self.cutoff
            && multiplier.admits(so_far + rest, self.limit, self.cutoff)
    }
}

/// The items taken so far, by number.
#[derive(Debug, Default)]
struct Path {
    taken: Vec<usize>,
    objective: i128,
    constraint: i128,
}

impl Path {
    fn push(&mut self, i: usize, items: &[AliveNode]) {
        self.taken.push(i);
        self.objective += i128::from(items[i].objective);
        self.constraint += i128::from(items[i].constraint);
    }

    fn pop(&mut self, items: &[AliveNode]) -> Option<usize> {
        let i = self.taken.pop()?;
        self.objective -= i128::from(items[i].objective);
        self.constraint -= i128::from(items[i].constraint);
        Some(i)
    }
}

/// Items of equal objective, and which of these classes the path has shut.
struct ShutClasses {
    /// Class of each item.
    class: Vec<u32>,
    /// Whether each class is excluded.
    is_shut: Vec<bool>,
    /// (length of the path when it was shut, class).
    shut: Vec<(usize, u32)>,
}

impl ShutClasses {
    fn new(items: &[AliveNode]) -> ShutClasses {
        let mut objectives: Vec<i64> = items.iter().map(|it| it.objective).collect();
        objectives.sort_unstable();
        objectives.dedup();
        let class = |it: &AliveNode| objectives.partition_point(|&min| min < it.objective) as u32;
        let is_shut = vec![false; objectives.len()];
        ShutClasses { class: items.iter().map(class).collect(), is_shut, shut: Vec::new() }
    }

    /// The first item from `next` on whose class is open; the number of items if there is none.
    fn first_open(&self, next: usize) -> usize {
        let rest = self.class.get(next..).unwrap_or_default();
        let open = rest.iter().position(|&class| !self.is_shut[class as usize]);
        next + open.unwrap_or(rest.len())
    }

    /// The path, now of `length` items, goes on without `item`.
    fn pass_over(&mut self, item: usize, length: usize) {
        while let Some((_, class)) = self.shut.pop_if(|(at, _)| *at > length) {
            self.is_shut[class as usize] = false;
        }
        let class = self.class[item];
        self.is_shut[class as usize] = true;
        self.shut.push((length, class));
    }
}

/// What the items from each number on weigh at least.
struct Floors {
    /// Sums of the weights of the items before each number.
    prefix: Vec<i128>,
    /// The minimum objective from each number on.
    objective: Vec<i128>,
    /// The minimum constraint from each number on.
    constraint: Vec<i128>,
}

impl Floors {
    fn new(items: &[AliveNode], multiplier: Multiplier) -> Floors {
        let mut prefix = vec![0];
        let mut sum = 0;
        for it in items {
            sum += multiplier.weigh(it.objective, it.constraint);
            prefix.push(sum);
        }
        let suffix = |number: fn(&AliveNode) -> i64| {
            let mut min = vec![i128::MAX; items.len() + 1];
            for (i, it) in items.iter().enumerate().rev() {
                min[i] = min[i + 1].min(i128::from(number(it)));
            }
            min
        };
        let objective = suffix(|it| it.objective);
        let constraint = suffix(|it| it.constraint);
        Floors { prefix, objective, constraint }
    }
}

/// ⌈n / d⌉ for d > 0.
fn ceil_div(n: i128, d: i128) -> i128 {
    n.div_euclid(d) + i128::from(n.rem_euclid(d) != 0)
}
