//! Jobs that take licences along.
//!
//! All tasks start together, and the licences are held until the last has ended. So a window with
//! licences is a window of the list in which only the intervals are left in which all of them are
//! free ([`SlotList::where_free`]), and every search answers on that list with its own proof.
//!
//! Where licences have a price, a window also costs λ · L, with λ for the licences of the job in a
//! second and L for the length of its longest task, which is no sum over tasks. With L fixed it is
//! a constant. So for each length L of a task on any node, the search runs among the nodes on which
//! no task is longer, with λ · L less of the budget; the best of these windows by (criterion, start,
//! total cost, finish, nodes) is the best of all. For the best window W with the longest task L* is
//! among those of the search at L*, which can find no other that is better by criterion, start,
//! cost of the tasks, finish and nodes, since no window of that search has longer tasks than W. And
//! every window that any of them finds keeps to the budget, since its longest task is at most L.
//!
//! From the greatest length down, a search with λ times the smallest length less of the budget goes
//! first: if its window keeps to the budget in total and has the longest task ℓ, no window with a
//! longest task from ℓ to L is better, and the next length is the first below ℓ. So there are at
//! most two searches for each length, and few where the budget does not bind.

use std::sync::Arc;

use tradewind_model::{
    Attribute, Criterion, Grid, Licence, LicenceShare, Money, NodeId, Reason, Request, SlotList,
    Span, Task, Time, Window,
};

use super::csa::Score;
use super::search::{Found, Scratch, Search};
use super::searcher::Searcher;
use super::sites::{self, WindowKey};

/// The licences of a request, prepared for one grid.
#[derive(Debug, Clone)]
pub(super) struct LicenceTerms {
    shares: Arc<[LicenceShare]>,
    /// By share; empty where the grid does not know the licence.
    names: Vec<String>,
    /// What all shares cost in a second, in micro-credits.
    per_second: i128,
    /// The lengths of tasks on suitable nodes, ascending, if licences have a price.
    lengths: Vec<i64>,
    criterion: Criterion,
    /// By node, the number that the criterion sums, if there is one.
    rates: Vec<i64>,
}

impl LicenceTerms {
    /// `searcher` is that of the same request without licences. `None` if it takes none along.
    pub(super) fn of(
        grid: &Grid,
        request: &Request,
        search: &Search,
        searcher: &Searcher,
    ) -> Option<Box<LicenceTerms>> {
        let shares = Arc::clone(request.licences.as_ref().filter(|shares| !shares.is_empty())?);
        let known = |share: &LicenceShare| grid.licences().get(share.licence.index());
        let name = |licence: &Licence| licence.name.clone();
        let per_second = grid.licences_per_second(&shares);
        let criterion = search.algorithm.criterion().clone();
        Some(Box::new(LicenceTerms {
            names: shares.iter().map(|it| known(it).map(name).unwrap_or_default()).collect(),
            per_second,
            lengths: if per_second == 0 { Vec::new() } else { searcher.lengths() },
            rates: rates(grid, &criterion),
            criterion,
            shares,
        }))
    }

    /// The best window with these licences.
    pub(super) fn find(
        &self,
        searcher: &Searcher,
        (slots, from): (&SlotList, Time),
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let list = slots.where_free(&self.shares);
        match self.per_second {
            0 => self.found(searcher.find_without(&list, from, scratch)),
            _ => self.by_length(searcher, (&list, from), scratch),
        }
    }

    /// The best of the windows of each length.
    fn by_length(
        &self,
        searcher: &Searcher,
        (list, from): (&SlotList, Time),
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let budget = searcher.budget();
        let mut at_most = |longest: i64, paid: i64| {
            let rest = budget.map(|budget| self.after_licences(budget, paid));
            if rest.is_some_and(|rest| rest < Money(0)) {
                return None;
            }
            self.found(searcher.capped(longest, rest).find_without(list, from, scratch))
        };
        let shortest = *self.lengths.first()?;
        let mut all: Vec<(WindowKey, Found)> = Vec::new();
        let mut left = self.lengths.len();
        while let Some(&longest) = self.lengths[..left].last() {
            let Some(found) = at_most(longest, shortest) else { break };
            let keeps = budget.is_none_or(|budget| found.window.cost() <= budget);
            left = match keeps {
                true => self.lengths.partition_point(|it| *it < found.window.runtime().0),
                false => left - 1,
            };
            let found = if keeps { Some(found) } else { at_most(longest, longest) };
            all.extend(found.map(|found| (self.key(&found.window), found)));
        }
        sites::best_by_key(all.into_iter())
    }

    /// Why there is no window: what holds without licences and budget, then the licence of which
    /// fewer would do, then the budget.
    pub(super) fn reason(
        &self,
        searcher: &Searcher,
        slots: &SlotList,
        scratch: &mut Scratch,
    ) -> Reason {
        let free = searcher.capped(i64::MAX, None);
        if free.find_without(slots, Time::MIN, scratch).is_none() {
            return free.reason_without(slots, scratch);
        }
        let mut has = |shares: &[LicenceShare]| {
            let list = slots.where_free(shares);
            shares.is_empty() || free.find_without(&list, Time::MIN, scratch).is_some()
        };
        if let Some((share, max)) = short(&self.shares, &mut has) {
            let LicenceShare { count: needed, .. } = self.shares[share];
            let licence = self.names[share].clone();
            return Reason::LicenceShort { licence, needed, max, deadline: searcher.deadline() };
        }
        let cheapest = self.cheapest(searcher, &slots.where_free(&self.shares), scratch);
        Reason::BudgetShort { cheapest, budget: searcher.budget().unwrap_or(cheapest) }
    }

    /// What the cheapest of all windows costs, budget or not.
    fn cheapest(&self, searcher: &Searcher, list: &SlotList, scratch: &mut Scratch) -> Money {
        let mut of = |length: i64| {
            // No budget is as small, so that the answer is what the cheapest costs.
            let none = searcher.capped(length, Some(Money(-1)));
            match none.reason_without(list, scratch) {
                Reason::BudgetShort { cheapest, .. } => {
                    let along = self.per_second * i128::from(length);
                    Some(i128::from(cheapest.0) + along)
                }
                _ => None,
            }
        };
        let least = match self.lengths.is_empty() {
            true => of(i64::MAX),
            false => self.lengths.iter().filter_map(|length| of(*length)).min(),
        };
        money(least.unwrap_or_default())
    }

    fn after_licences(&self, budget: Money, length: i64) -> Money {
        let rest = i128::from(budget.0) - self.per_second * i128::from(length);
        Money(rest.max(i128::from(i64::MIN)) as i64)
    }

    /// The window with its licences.
    fn found(&self, found: Option<Found>) -> Option<Found> {
        let Found { window, proof } = found?;
        let cost = money(self.per_second.saturating_mul(i128::from(window.runtime().0)));
        Some(Found { window: window.taking(Arc::clone(&self.shares), cost), proof })
    }

    /// What windows are ordered by.
    fn key(&self, window: &Window) -> WindowKey {
        let value = |task: &Task| match &self.criterion {
            Criterion::ProcessorTime => i128::from(task.length.0),
            _ => i128::from(self.rate(task.node).saturating_mul(task.length.0)),
        };
        let sum = window.tasks().iter().map(value).sum();
        let times = (window.start().0, window.runtime().0);
        let score = Score::new(&self.criterion, times, i128::from(window.cost().0), sum);
        let task = |it: &Task| (it.cost, it.length, it.node);
        let mut nodes: Vec<(Money, Span, NodeId)> = window.tasks().iter().map(task).collect();
        nodes.sort_unstable();
        (score, nodes)
    }

    fn rate(&self, node: NodeId) -> i64 {
        self.rates.get(node.0 as usize).copied().unwrap_or(0)
    }
}

fn money(amount: i128) -> Money {
    Money(amount.clamp(0, i128::from(Money::MAX.0)) as i64)
}

/// By node, the number that the criterion sums.
fn rates(grid: &Grid, criterion: &Criterion) -> Vec<i64> {
    let Criterion::Sum(name) = criterion else { return Vec::new() };
    let rate = |node: &tradewind_model::Node| match node.attributes.get(name) {
        Some(Attribute::Number(rate)) => *rate,
        _ => 0,
    };
    grid.nodes().iter().map(rate).collect()
}

/// Which of the shares is short, and how many of it would do; `None` if there is a window with all
/// of them. The first of which fewer alone would do; if there is none, the first that is not free
/// together with those before it.
fn short(
    shares: &[LicenceShare],
    has: &mut impl FnMut(&[LicenceShare]) -> bool,
) -> Option<(usize, u32)> {
    if has(shares) {
        return None;
    }
    let alone = (0..shares.len()).find(|&at| has(&with(shares, at, 0)));
    let mut prefix = || (0..shares.len()).find(|&at| !has(&shares[..=at]));
    let (at, of) = match alone {
        Some(at) => (at, shares),
        None => prefix().map(|at| (at, &shares[..=at]))?,
    };
    let (mut enough, mut short) = (0, shares[at].count);
    while short - enough > 1 {
        let middle = enough + (short - enough) / 2;
        match has(&with(of, at, middle)) {
            true => enough = middle,
            false => short = middle,
        }
    }
    Some((at, enough))
}

/// The shares with another number of one of them.
fn with(shares: &[LicenceShare], at: usize, count: u32) -> Vec<LicenceShare> {
    let mut all = shares.to_vec();
    all[at].count = count;
    all.retain(|share| share.count > 0);
    all
}
