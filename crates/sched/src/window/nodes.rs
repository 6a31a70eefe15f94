//! The searcher of whole nodes, all of whose tasks are equal.

use std::sync::Arc;

use tradewind_model::{
    Criterion, Grid, Money, Rates, Reason, Request, Slot, SlotList, Span, Spread, Task, Time,
    Window,
};

use super::bounded::{self, Bounded};
use super::cheapest::CheapestNodes;
use super::judges::{Earliest, Least, RightEdge, Shrinking};
use super::limits::MoneyLimits;
use super::prepared::PreparedRequest;
use super::ranking::{NodeRanking, RankBy};
use super::search::{Algorithm, Found, Proof, Scratch, Search, Variant};
use super::sweep::{ANY_LENGTH, StartBounds, alive_at, sweep};
use super::{csa, paper, priced, reason, sites};

/// A request prepared for one grid, and what answers it.
#[derive(Debug, Clone)]
pub(super) struct NodeSearcher {
    pub(super) prepared: PreparedRequest,
    /// `None`: the papers' own steps.
    method: Option<Method>,
    /// Where the window must lie at one site and several could have it: the search at each.
    by_site: Vec<NodeSearcher>,
}

/// The exact searches at constant prices.
#[derive(Debug, Clone)]
pub(super) enum Method {
    Earliest,
    Least,
    Shrinking(RightEdge),
    Bounded(Bounded),
    Csa,
}

impl NodeSearcher {
    /// O(n log n) for n nodes.
    pub(super) fn new(grid: &Grid, request: &Request, search: &Search) -> NodeSearcher {
        let limits = MoneyLimits::of(request, search);
        let criterion = search.algorithm.criterion();
        let ranking = NodeRanking::new(grid, request, limits, criterion, RankBy::of(search));
        let by_site = match request.spread {
            Spread::Site if request.others.is_empty() => sites::rankings(grid, &ranking),
            _ => Vec::new(),
        };
        let by_site = by_site.into_iter().map(Arc::new);
        NodeSearcher::ranked((grid, request, search), Arc::new(ranking), by_site)
    }

    /// The same for the same request, but that its budget, its deadline and its earliest start may
    /// be others: nodes are ranked again only if this search wants them in another order.
    pub(super) fn again(&self, grid: &Grid, request: &Request, search: &Search) -> NodeSearcher {
        let before = &self.prepared;
        let same = before.max_price == MoneyLimits::of(request, search).max_price
            && before.grid_size == grid.len() as u32
            && Method::same_order(&before.search, search);
        match same {
            true => {
                let by_site = self.by_site.iter().map(|site| Arc::clone(&site.prepared.ranking));
                NodeSearcher::ranked((grid, request, search), Arc::clone(&before.ranking), by_site)
            }
            false => NodeSearcher::new(grid, request, search),
        }
    }

    /// With the ranking of all nodes, and of each site's if the window must lie at one.
    fn ranked(
        (grid, request, search): (&Grid, &Request, &Search),
        ranking: Arc<NodeRanking>,
        by_site: impl Iterator<Item = Arc<NodeRanking>>,
    ) -> NodeSearcher {
        let limits = MoneyLimits::of(request, search);
        let of = |ranking: Arc<NodeRanking>, by_site: Vec<NodeSearcher>| NodeSearcher {
            method: Method::choose(search, limits, &ranking),
            prepared: PreparedRequest::new(grid, request, search, ranking),
            by_site,
        };
        let by_site = by_site.map(|ranking| of(ranking, Vec::new())).collect();
        of(ranking, by_site)
    }

    /// The same at other prices; see [`PreparedRequest::repriced`].
    pub(super) fn repriced(&self, rates: &Rates, longest: Option<Span>) -> NodeSearcher {
        NodeSearcher {
            prepared: self.prepared.repriced(rates, longest),
            method: self.method.clone(),
            by_site: self.by_site.iter().map(|it| it.repriced(rates, longest)).collect(),
        }
    }

    /// The same where no task is longer than `longest` seconds, with another budget.
    pub(super) fn capped(&self, longest: i64, budget: Option<Money>) -> NodeSearcher {
        let prepared = self.prepared.capped(longest, budget);
        let limits = MoneyLimits { budget, max_price: prepared.max_price };
        NodeSearcher {
            method: Method::choose(&prepared.search, limits, &prepared.ranking),
            by_site: self.by_site.iter().map(|it| it.capped(longest, budget)).collect(),
            prepared,
        }
    }

    /// The best window that starts at `from` or later, of all sites if there are several.
    pub(super) fn find<'s>(
        &'s self,
        slots: &SlotList,
        from: Time,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let prepared = &self.prepared;
        if prepared.wanted == 0 || prepared.ranking.nodes.len() < prepared.wanted {
            return None;
        }
        if !self.by_site.is_empty() {
            let found = |it: &'s NodeSearcher| Some((&it.prepared, it.find(slots, from, scratch)?));
            return sites::best(self.by_site.iter().filter_map(found));
        }
        let (list, bracket) = (slots, prepared.bracket(from));
        if let Some(prices) = &prepared.prices {
            return priced::find(prepared, prices, list, bracket);
        }
        match &self.method {
            Some(method) => prepared.find_by(method, list.as_slice(), bracket, scratch),
            None => paper::find(prepared, list, bracket),
        }
    }

    /// Why there is no window: the first reason that holds, at the site that is nearest to one.
    pub(super) fn reason(&self, slots: &SlotList, scratch: &mut Scratch) -> Reason {
        let slots = slots.as_slice();
        let mut of = |it: &NodeSearcher| {
            reason::reason(&it.prepared, slots, it.prepared.bracket(Time(i64::MIN)), scratch)
        };
        let nearest = sites::nearest(self.by_site.iter().map(&mut of));
        nearest.unwrap_or_else(|| of(self))
    }
}

impl PreparedRequest {
    /// The best window in these slots, in order of start, at constant prices and wherever it lies.
    pub(super) fn find_by(
        &self,
        method: &Method,
        slots: &[Slot],
        bracket: StartBounds,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        match method {
            Method::Earliest => self.earliest(slots, bracket, scratch),
            Method::Least => self.min(slots, bracket, scratch),
            Method::Shrinking(edge) => self.shrink(*edge, slots, bracket, scratch),
            Method::Bounded(bounded) => bounded::find(self, bounded, slots, bracket, scratch),
            Method::Csa => csa::find(self, slots, bracket, scratch),
        }
    }

    fn earliest(
        &self,
        slots: &[Slot],
        bracket: StartBounds,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let mut cheapest = CheapestNodes::new(&self.ranking, self.wanted, &mut scratch.buffers);
        let mut judge = Earliest { budget: self.ceiling(), found: None };
        sweep(&self.ranking, slots, bracket, &mut cheapest, &mut judge);
        let tasks = cheapest.members().map(|rank| self.ranking.task(rank)).collect();
        exact(judge.found?, tasks)
    }

    fn min(&self, slots: &[Slot], bracket: StartBounds, scratch: &mut Scratch) -> Option<Found> {
        let ceiling = match self.search.algorithm.criterion() {
            Criterion::Cost => self.ceiling(),
            // No budget applies here, or the search would be a bounded one.
            _ => i128::MAX,
        };
        let mut cheapest = CheapestNodes::new(&self.ranking, self.wanted, &mut scratch.buffers);
        let mut judge = Least { ceiling, found: None };
        sweep(&self.ranking, slots, bracket, &mut cheapest, &mut judge);
        let (start, _) = judge.found?;
        exact(start, self.first_at(start, ANY_LENGTH, slots, bracket, &mut scratch.ranks))
    }

    fn shrink(
        &self,
        edge: RightEdge,
        slots: &[Slot],
        bracket: StartBounds,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let ranking: &NodeRanking = &self.ranking;
        let mut cheapest = CheapestNodes::new(ranking, self.wanted, &mut scratch.buffers);
        let mut judge = Shrinking::new(edge, self.ceiling(), self.wanted, ranking);
        sweep(ranking, slots, bracket, &mut cheapest, &mut judge);
        let (start, longest) = judge.found?;
        exact(start, self.first_at(start, longest, slots, bracket, &mut scratch.ranks))
    }

    /// Tasks on the first nodes by rank that are alive at `start`, none longer than `longest`.
    /// O(slots that start by then).
    fn first_at(
        &self,
        start: i64,
        longest: i64,
        slots: &[Slot],
        bracket: StartBounds,
        ranks: &mut Vec<u32>,
    ) -> Vec<Task> {
        alive_at(&self.ranking, start, slots, bracket, ranks);
        ranks.retain(|&rank| self.ranking.nodes[rank as usize].length <= longest);
        if self.wanted < ranks.len() {
            ranks.select_nth_unstable(self.wanted);
            ranks.truncate(self.wanted);
        }
        ranks.iter().map(|&rank| self.ranking.task(rank)).collect()
    }
}

impl Method {
    /// Whether both searches rank nodes by the same numbers.
    fn same_order(one: &Search, other: &Search) -> bool {
        let value = |search: &Search| match search.algorithm.criterion() {
            sum @ (Criterion::ProcessorTime | Criterion::Sum(_)) => Some(sum.clone()),
            _ => None, // the cost
        };
        RankBy::of(one) == RankBy::of(other) && value(one) == value(other)
    }

    /// What answers `search`; `ranking` is in its order. `None`: the papers' own
    /// steps do.
    pub(super) fn choose(
        search: &Search,
        limits: MoneyLimits,
        ranking: &NodeRanking,
    ) -> Option<Method> {
        let criterion = match (search.variant, &search.algorithm) {
            (Variant::Paper, _) => return None,
            (Variant::Exact, Algorithm::Csa(_)) => return Some(Method::Csa),
            (Variant::Exact, algorithm) => algorithm.criterion(),
        };
        Some(match criterion {
            Criterion::Start => Method::Earliest,
            Criterion::Cost => Method::Least,
            Criterion::Runtime => Method::Shrinking(RightEdge::Runtime),
            Criterion::Finish => Method::Shrinking(RightEdge::Finish),
            Criterion::ProcessorTime | Criterion::Sum(_) => match limits.budget {
                None => Method::Least,
                Some(_) => Method::Bounded(Bounded::new(ranking)),
            },
        })
    }
}

fn exact(start: i64, tasks: Vec<Task>) -> Option<Found> {
    let window = Window::new(Time(start), tasks).ok()?;
    Some(Found { window, proof: Proof::Exact })
}
