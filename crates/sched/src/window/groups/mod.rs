//! Jobs whose tasks differ: groups of equal tasks that start together (paper 001, section 1).
//!
//! Which node takes a task of which group is an assignment problem, and each group has lengths,
//! costs and suitable nodes of its own. Where only the start decides, what is free changes at starts
//! of slots alone; where prices change with time, costs are linear within a [`Piece`](super::pieces::Piece),
//! and so the cost of the cheapest assignment is concave, as with equal tasks (see `priced`).
//!
//! Exact for start, finish, runtime, cost and for sums without a budget: O(q · m · (a + g²)·g) for q
//! starts, m tasks in g groups and a alive nodes. Processor time and sums under a budget are bounded
//! by the work limit (see [`Proof`]). The second stage is that of equal tasks up to the finish;
//! among windows equal until then the choice is deterministic and has no further rule.
//! [`Variant::Paper`](super::Variant::Paper) is answered like the exact one.

mod assign;
mod bounded;
mod hunt;
mod pieces;

use std::collections::BTreeSet;

use tradewind_model::{
    Criterion, Grid, Money, NodeId, Performance, Rates, Reason, Request, SiteId, Slot, SlotList,
    Span, Spread, Task, Time, Window,
};

use self::assign::{Pairs, Weight};
use self::hunt::GroupHunt;
use self::pieces::GroupPieces;
use super::csa::Score;
use super::limits::MoneyLimits;
use super::pieces::PriceList;
use super::prepared::PreparedRequest;
use super::ranking::{NodeRanking, RankBy, Ranked};
use super::search::{Algorithm, Found, Proof, Search};
use super::sites;
use super::sweep::StartBounds;

/// The groups of a request, prepared for one grid; one list for each site where all tasks must lie
/// at one.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    places: Vec<Vec<Group>>,
}

/// One group.
#[derive(Debug, Clone)]
struct Group {
    wanted: usize,
    min_performance: Option<Performance>,
    /// Its suitable nodes.
    ranking: NodeRanking,
    prices: PriceList,
}

impl Groups {
    /// `None` if all tasks of the request are equal.
    pub(super) fn of(grid: &Grid, request: &Request, search: &Search) -> Option<Box<Groups>> {
        if request.others.is_empty() {
            return None;
        }
        let limits = MoneyLimits::of(request, search);
        let criterion = search.algorithm.criterion();
        let group = |request: Request| {
            let ranking = NodeRanking::new(grid, &request, limits, criterion, RankBy::Cost);
            let like = (request.tasks as usize, request.min_performance);
            Group::new(grid, like, ranking, limits)
        };
        let groups: Vec<Group> = request.groups().map(group).collect();
        let places = match request.spread {
            Spread::Grid => vec![groups],
            Spread::Site => by_site(grid, &groups, limits),
        };
        Some(Box::new(Groups { places }))
    }

    /// The best window by the search's criterion, of all sites if there are several.
    pub(super) fn find(
        &self,
        prepared: &PreparedRequest,
        slots: &SlotList,
        bracket: StartBounds,
    ) -> Option<Found> {
        let criterion = prepared.search.algorithm.criterion();
        let of = |groups: &Vec<Group>| {
            let found = find(groups, prepared, slots, bracket)?;
            Some((score(criterion, groups, &found.window), found))
        };
        let all: Vec<(Score, Found)> = self.places.iter().filter_map(of).collect();
        let bound = |(score, found): &(Score, Found)| match found.proof {
            Proof::Gap { bound } => i128::from(bound),
            Proof::Exact | Proof::Heuristic => score.value(),
        };
        let bound = all.iter().map(bound).min()?;
        // The first of equals.
        let (score, found) = all.into_iter().min_by_key(|(score, _)| *score)?;
        let proof = match found.proof {
            Proof::Heuristic => Proof::Heuristic,
            _ if bound < score.value() => Proof::Gap { bound: bound as i64 },
            _ => Proof::Exact,
        };
        Some(Found { proof, ..found })
    }

    /// The same at other prices by node, without a cap, and with no task longer than `longest`.
    pub(super) fn repriced(&self, rates: &Rates, longest: Option<Span>) -> Box<Groups> {
        let longest = longest.map_or(i64::MAX, |span| span.0);
        let group = |group: &Group| Group {
            prices: PriceList::other(rates, &group.ranking, longest),
            ..group.clone()
        };
        let place = |groups: &Vec<Group>| groups.iter().map(group).collect();
        Box::new(Groups { places: self.places.iter().map(place).collect() })
    }

    /// The same where no task is longer than `longest` seconds.
    pub(super) fn capped(&self, longest: i64) -> Box<Groups> {
        let group = |group: &Group| Group {
            ranking: group.ranking.keeping(|it| it.length <= longest),
            prices: group.prices.capped(&group.ranking, longest),
            ..*group
        };
        let place = |groups: &Vec<Group>| groups.iter().map(group).collect();
        Box::new(Groups { places: self.places.iter().map(place).collect() })
    }

    /// The nodes of all groups.
    pub(super) fn rankings(&self) -> impl Iterator<Item = &NodeRanking> {
        self.places.iter().flatten().map(|group| &group.ranking)
    }

    /// Why there is no window: the first reason that holds, at the site that is nearest to one.
    pub(super) fn reason(&self, prepared: &PreparedRequest, slots: &SlotList) -> Reason {
        let bracket = prepared.bracket(Time(i64::MIN));
        let of = |groups: &Vec<Group>| reason(groups, prepared, slots.as_slice(), bracket);
        sites::nearest(self.places.iter().map(of)).unwrap_or(Reason::TooFewNodes {
            needed: prepared.wanted as u32,
            suitable: 0,
            min_performance: None,
        })
    }
}

impl Group {
    fn new(
        grid: &Grid,
        (wanted, min_performance): (usize, Option<Performance>),
        ranking: NodeRanking,
        limits: MoneyLimits,
    ) -> Group {
        let prices = PriceList::of(grid, &ranking, limits.max_price)
            .unwrap_or_else(|| PriceList::constant(&ranking));
        Group { wanted, min_performance, ranking, prices }
    }

    fn node(&self, rank: u32) -> &Ranked {
        &self.ranking.nodes[rank as usize]
    }

    /// The task of this group on a node, from `start` on.
    fn task(&self, group: usize, node: NodeId, start: i64) -> Task {
        let rank = self.ranking.fits[node.0 as usize].rank;
        let cost = Money(self.prices.cost(rank, self.node(rank), start));
        Task { cost, group: group as u16, ..self.ranking.task(rank) }
    }
}

/// Tasks of all groups.
fn tasks_of(groups: &[Group]) -> usize {
    groups.iter().map(|group| group.wanted).sum()
}

/// The groups on the nodes of each site where any group has one.
fn by_site(grid: &Grid, groups: &[Group], limits: MoneyLimits) -> Vec<Vec<Group>> {
    let site = |node: NodeId| grid.node(node).site;
    let nodes = groups.iter().flat_map(|group| &group.ranking.nodes);
    let sites: BTreeSet<SiteId> = nodes.map(|it| site(it.node)).collect();
    let at = |of: &SiteId| {
        let here = |group: &Group| {
            let ranking = group.ranking.keeping(|it| site(it.node) == *of);
            Group::new(grid, (group.wanted, group.min_performance), ranking, limits)
        };
        groups.iter().map(here).collect()
    };
    sites.iter().map(at).collect()
}

/// The best window at one place; for CSA the best of all that AMP cuts one after the other.
fn find(
    groups: &[Group],
    prepared: &PreparedRequest,
    slots: &SlotList,
    bracket: StartBounds,
) -> Option<Found> {
    let Algorithm::Csa(criterion) = &prepared.search.algorithm else {
        let criterion = prepared.search.algorithm.criterion();
        return GroupHunt::new(groups, prepared, criterion).find(slots.as_slice(), bracket);
    };
    let (mut left, mut bracket) = (slots.clone(), bracket);
    let mut best: Option<(Score, Window)> = None;
    let amp = |left: &SlotList, bracket| {
        GroupHunt::new(groups, prepared, &Criterion::Start).find(left.as_slice(), bracket)
    };
    while let Some(found) = amp(&left, bracket) {
        left.subtract_window(&found.window).ok()?;
        bracket.from = bracket.from.max(found.window.start().0);
        let score = score(criterion, groups, &found.window);
        if best.as_ref().is_none_or(|(min, _)| score < *min) {
            best = Some((score, found.window));
        }
    }
    best.map(|(_, window)| Found { window, proof: Proof::Heuristic })
}

fn score(criterion: &Criterion, groups: &[Group], window: &Window) -> Score {
    let value = |task: &Task| {
        let ranking = &groups[usize::from(task.group)].ranking;
        i128::from(ranking.nodes[ranking.fits[task.node.0 as usize].rank as usize].value)
    };
    let sum = window.tasks().iter().map(value).sum();
    let times = (window.start().0, window.runtime().0);
    Score::new(criterion, times, i128::from(window.cost().0), sum)
}

/// The first reason that holds, from the grid's size to the budget.
fn reason(
    groups: &[Group],
    prepared: &PreparedRequest,
    slots: &[Slot],
    bracket: StartBounds,
) -> Reason {
    let needed = tasks_of(groups) as u32;
    if needed > prepared.grid_size {
        return Reason::WiderThanGrid { needed, nodes: prepared.grid_size };
    }
    if let Some(short) = groups.iter().find(|group| group.ranking.nodes.len() < group.wanted) {
        let suitable = short.ranking.nodes.len() as u32;
        let min_performance = short.min_performance;
        return Reason::TooFewNodes { needed: short.wanted as u32, suitable, min_performance };
    }
    let all: Vec<Vec<u32>> =
        groups.iter().map(|group| (0..group.ranking.nodes.len() as u32).collect()).collect();
    let suitable = most(groups, &all);
    if suitable < needed {
        return Reason::TooFewNodes { needed, suitable, min_performance: None };
    }
    let mut pieces = GroupPieces::new(groups, slots, bracket);
    let mut max = 0;
    while pieces.next().is_some() {
        max = max.max(most(groups, &pieces.alive));
    }
    if max < needed {
        return Reason::NoCommonTime { needed, max, deadline: prepared.deadline };
    }
    let hunt = GroupHunt::new(groups, prepared, &Criterion::Cost).without_budget();
    let cheapest = hunt.find(slots, bracket).map(|it| it.window.cost()).unwrap_or_default();
    Reason::BudgetShort { cheapest, budget: prepared.budget.unwrap_or(cheapest) }
}

/// The most tasks that run together on nodes of these ranks.
fn most(groups: &[Group], alive: &[Vec<u32>]) -> u32 {
    let of_group = |(group, ranks): (&Group, &Vec<u32>)| {
        ranks.iter().map(|&rank| (group.node(rank).node, Weight::NONE)).collect()
    };
    let pairs = Pairs::new(groups.iter().zip(alive).map(of_group).collect());
    let wanted: Vec<usize> = groups.iter().map(|group| group.wanted).collect();
    assign::most(&pairs, &wanted) as u32
}
