//! What can be searched for, and the searcher that does it.

use std::sync::Arc;

use tradewind_model::{
    Criterion, Grid, Money, NodeId, Performance, Price, Rates, Reason, Request, Rho, Slot,
    SlotList, Span, Spread, Task, Time, Window,
};

use super::bounded::{self, Bounded};
use super::cheapest::{Buffers, CheapestNodes};
use super::groups::Groups;
use super::judges::{Earliest, Least, RightEdge, Shrinking};
use super::limits::MoneyLimits;
use super::pieces::PriceList;
use super::places::{self, Places};
use super::ranking::{NodeRanking, RankBy};
use super::sweep::{ANY_LENGTH, StartBounds, sweep};
use super::{csa, paper, priced, reason, sites};

/// How to choose a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Algorithm {
    /// The earliest window of slots that each keep to the price cap. Ignores the budget.
    Alp,
    /// The earliest window that as a whole keeps to the budget, given or derived from the price
    /// cap (see [`super::derived_budget`]). Ignores the price cap of the single slot.
    Amp,
    /// The best by the criterion of all disjoint AMP windows. A heuristic: the windows are those
    /// that AMP happens to cut.
    Csa(Criterion),
    /// The best by the criterion of all windows that keep to every limit given.
    Best(Criterion),
}

impl Algorithm {
    pub(super) fn criterion(&self) -> &Criterion {
        match self {
            Algorithm::Alp | Algorithm::Amp => &Criterion::Start,
            Algorithm::Csa(criterion) | Algorithm::Best(criterion) => criterion,
        }
    }
}

/// Whose steps to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// Ours: budgets are tested after all slots of one start, and every answer is best.
    #[default]
    Exact,
    /// The papers': budgets are tested after every slot in list order, with substitution for the
    /// runtime and random windows for processor time.
    Paper,
}

/// A search, apart from what is searched for and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// How to choose.
    pub algorithm: Algorithm,
    /// Whose steps to follow.
    pub variant: Variant,
    /// Scales a derived budget.
    pub rho: Rho,
    /// The most steps of a bounded search (processor time and sums under a budget); see
    /// [`Proof::Gap`]. One step looks at one node of one start.
    pub work_limit: u64,
    /// Seed of the random windows in [`Variant::Paper`]. Each call to find starts from it again.
    pub seed: u64,
}

impl Search {
    /// Far more than markets of 100,000 slots on 30,000 nodes have been seen to need (some ten
    /// milliseconds), and a few seconds at most.
    pub const DEFAULT_WORK_LIMIT: u64 = 20_000_000;

    /// The exact search for the best window by `criterion`.
    pub fn best(criterion: Criterion) -> Search {
        Search::new(Algorithm::Best(criterion))
    }

    /// The exact search by `algorithm`.
    pub fn new(algorithm: Algorithm) -> Search {
        Search {
            algorithm,
            variant: Variant::Exact,
            rho: Rho::ONE,
            work_limit: Search::DEFAULT_WORK_LIMIT,
            seed: 0,
        }
    }
}

/// A window, and how good it is known to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The window that was found.
    pub window: Window,
    /// What is known of its criterion's value.
    pub proof: Proof,
}

/// What is known of a window's value by the criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// No window is better.
    Exact,
    /// Found by a rule that does not promise the best.
    Heuristic,
    /// The work limit was hit: no window has a value below `bound`, in the criterion's unit
    /// (seconds, or thousandths × seconds for a [`Criterion::Sum`]).
    Gap {
        /// A proven lower bound.
        bound: i64,
    },
}

/// Buffers that searches share so as not to allocate again. Contents never influence results.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) buffers: Buffers,
    pub(super) ranks: Vec<u32>,
}

/// A request prepared for one grid: which nodes suit it, how long and how dear a task is on each,
/// and in which order they are wanted. Slot lists come and go.
#[derive(Debug, Clone)]
pub struct Searcher {
    pub(super) search: Search,
    pub(super) wanted: usize,
    earliest_start: Option<Time>,
    pub(super) deadline: Option<Time>,
    pub(super) min_performance: Option<Performance>,
    max_price: Option<Price>,
    pub(super) grid_size: u32,
    pub(super) budget: Option<Money>,
    pub(super) ranking: Arc<NodeRanking>,
    method: Method,
    /// Where prices change with time.
    pub(super) prices: Option<PriceList>,
    /// Where the window must lie at one site and several could have it: the search at each.
    by_site: Vec<Searcher>,
    /// Where the tasks differ: their groups. Then nothing else but limits is asked.
    groups: Option<Box<Groups>>,
    /// Where the job has several shapes: the search for each. Then nothing else is asked.
    by_shape: Vec<Searcher>,
    /// Where tasks may share nodes: the search on places. Then nothing else is asked.
    places: Option<Box<Places>>,
}

#[derive(Debug, Clone)]
enum Method {
    Earliest,
    Least,
    Shrinking(RightEdge),
    Bounded(Bounded),
    Csa,
    Paper,
}

/// The best window of `request` in `slots`, by one search alone. To search more than once keep a
/// [`Searcher`].
pub fn find(grid: &Grid, slots: &SlotList, request: &Request, search: &Search) -> Option<Found> {
    Searcher::new(grid, request, search).find(slots, Time(i64::MIN), &mut Scratch::default())
}

impl Searcher {
    /// Prepares `search` for `request` on `grid`. O(n log n) for n nodes.
    pub fn new(grid: &Grid, request: &Request, search: &Search) -> Searcher {
        if request.shapes.is_some() {
            let shapes = request.in_shapes();
            let by_shape: Vec<Searcher> =
                shapes.iter().map(|shape| Searcher::new(grid, shape, search)).collect();
            return Searcher { by_shape, ..Searcher::new(grid, &shapes[0], search) };
        }
        let limits = MoneyLimits::of(request, search);
        let criterion = search.algorithm.criterion();
        let ranking = NodeRanking::new(grid, request, limits, criterion, Method::order(search));
        let by_site = match request.spread {
            Spread::Site if request.others.is_empty() => sites::rankings(grid, &ranking),
            _ => Vec::new(),
        };
        let by_site = by_site.into_iter().map(Arc::new);
        Searcher::ranked((grid, request, search), Arc::new(ranking), by_site)
    }

    /// The same as [`Searcher::new`] for the same request, but that its budget, its deadline and its
    /// earliest start may be others: nodes are ranked again only if this search wants them in
    /// another order.
    pub(crate) fn again(&self, grid: &Grid, request: &Request, search: &Search) -> Searcher {
        if request.shapes.is_some() || !self.by_shape.is_empty() {
            return Searcher::new(grid, request, search);
        }
        let now = MoneyLimits::of(request, search);
        let before = self.max_price == now.max_price
            && self.grid_size == grid.len() as u32
            && self.places.is_none();
        match before && Method::same_order(&self.search, search) {
            true => {
                let by_site = self.by_site.iter().map(|site| Arc::clone(&site.ranking));
                Searcher::ranked((grid, request, search), Arc::clone(&self.ranking), by_site)
            }
            false => Searcher::new(grid, request, search),
        }
    }

    /// With the ranking of all nodes, and of each site's if the window must lie at one.
    fn ranked(
        (grid, request, search): (&Grid, &Request, &Search),
        ranking: Arc<NodeRanking>,
        by_site: impl Iterator<Item = Arc<NodeRanking>>,
    ) -> Searcher {
        let limits = MoneyLimits::of(request, search);
        let groups = Groups::of(grid, request, search);
        let places = Places::of(grid, request, search);
        let of = |ranking: Arc<NodeRanking>, by_site: Vec<Searcher>| Searcher {
            search: search.clone(),
            wanted: request.tasks as usize,
            earliest_start: request.earliest_start,
            deadline: request.deadline,
            min_performance: request.min_performance,
            max_price: limits.max_price,
            grid_size: grid.len() as u32,
            budget: limits.budget,
            method: Method::choose(search, limits, &ranking),
            prices: PriceList::of(grid, &ranking, limits.max_price),
            ranking,
            by_site,
            groups: groups.clone(),
            by_shape: Vec::new(),
            places: places.clone(),
        };
        let by_site = by_site.map(|ranking| of(ranking, Vec::new())).collect();
        of(ranking, by_site)
    }

    /// The best window that starts at `from` or later, if there is any. `from` acts like a later
    /// earliest start: slots that begin before are clipped.
    ///
    /// For p slots and n nodes:
    /// - ALP, AMP, and the criteria start, cost, runtime and finish: exact, in one pass of
    ///   O((p + n) log n) (paper 000, Algorithm 1 with the best subset of each step kept up to
    ///   date instead of searched again). So are processor time and sums if no budget applies.
    ///   The whole second stage is kept.
    /// - Processor time and sums under a budget: a knapsack with a fixed number of items, NP-hard;
    ///   exact by bounded search, see [`Proof`]. Among equals the start is the earliest and the
    ///   cost the minimum (least as far as the work limit reaches); finish and nodes are not
    ///   minimised beyond that.
    /// - CSA: a heuristic, in one pass of O((p + w) log n) for w tasks in all its windows. Among
    ///   windows equal by criterion, start, cost and finish it takes the one cut first.
    /// - A request for one site: the same at each site, and the best of their windows; the first
    ///   site among equals.
    /// - A job of several shapes: the same for each shape, and the best of their windows; among
    ///   equals by criterion, start, cost and finish, the one whose nodes come first.
    /// - Tasks that differ: exact for the same searches, in the order of an assignment at each
    ///   start (see `groups`).
    /// - Tasks that may share nodes: the same on places (see `places`); nodes by the packing rule.
    /// - Where prices change with time: exact for the same searches, but slower (see `priced`);
    ///   CSA stays a heuristic, and [`Variant::Paper`] is answered like [`Variant::Exact`].
    /// - [`Variant::Paper`]: O(p · alive nodes) as in the papers; the first among equals.
    pub fn find(&self, slots: &SlotList, from: Time, scratch: &mut Scratch) -> Option<Found> {
        if !self.by_shape.is_empty() {
            return sites::find(self.by_shape.iter(), slots, from, scratch);
        }
        if let Some(places) = &self.places {
            return places.find(slots, from, scratch);
        }
        if let Some(groups) = &self.groups {
            return groups.find(self, slots, self.bracket(from));
        }
        if self.wanted == 0 || self.ranking.nodes.len() < self.wanted {
            return None;
        }
        if !self.by_site.is_empty() {
            return sites::find(self.by_site.iter(), slots, from, scratch);
        }
        let (list, bracket) = (slots, self.bracket(from));
        if let Some(prices) = &self.prices {
            return priced::find(self, prices, list, bracket);
        }
        let slots = list.as_slice();
        match &self.method {
            Method::Earliest => self.earliest(slots, bracket, scratch),
            Method::Least => self.min(slots, bracket, scratch),
            Method::Shrinking(edge) => self.shrink(*edge, slots, bracket, scratch),
            Method::Bounded(bounded) => bounded::find(self, bounded, slots, bracket, scratch),
            Method::Csa => csa::find(self, slots, bracket, scratch),
            Method::Paper => paper::find(self, list, bracket),
        }
    }

    /// The same among some shapes of a job that has several, by their widths.
    pub(crate) fn find_shape(
        &self,
        widths: impl Fn(usize) -> bool,
        (slots, from): (&SlotList, Time),
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let shapes = self.by_shape.iter().filter(|shape| widths(shape.wanted));
        sites::find(shapes, slots, from, scratch)
    }

    /// The same search where a task costs the integral of other prices, by node, over its own time;
    /// no task is longer than `longest`, and neither the budget nor the price cap applies. The
    /// pricing step of a Lagrangian relaxation, exact if this searches by cost. O(n).
    pub fn repriced(&self, rates: &Rates, longest: Option<Span>) -> Searcher {
        let longest = longest.map_or(i64::MAX, |span| span.0);
        Searcher {
            budget: None,
            prices: Some(PriceList::other(rates, &self.ranking, longest)),
            by_site: self
                .by_site
                .iter()
                .map(|it| it.repriced(rates, Some(Span(longest))))
                .collect(),
            groups: self.groups.as_ref().map(|it| it.repriced(rates, Some(Span(longest)))),
            by_shape: self
                .by_shape
                .iter()
                .map(|it| it.repriced(rates, Some(Span(longest))))
                .collect(),
            ..self.clone()
        }
    }

    /// Why [`Searcher::find`] gave nothing: the first of too wide for the grid, too few suitable
    /// nodes (price cap and the attribute to sum up counted, where they apply), never enough of
    /// them free together, budget too small. O((p + n) log n).
    pub fn reason(&self, slots: &SlotList, scratch: &mut Scratch) -> Reason {
        if !self.by_shape.is_empty() {
            let reasons = self.by_shape.iter().map(|shape| shape.reason(slots, scratch));
            if let Some(nearest) = sites::nearest(reasons) {
                return nearest;
            }
        }
        if let Some(places) = &self.places {
            return places.reason(slots, scratch);
        }
        if let Some(groups) = &self.groups {
            return groups.reason(self, slots);
        }
        let slots = slots.as_slice();
        let mut of = |it: &Searcher| reason::reason(it, slots, it.bracket(Time(i64::MIN)), scratch);
        let nearest = sites::nearest(self.by_site.iter().map(&mut of));
        nearest.unwrap_or_else(|| of(self))
    }

    /// The same for the request and the grid that this searcher was made for. Where tasks may
    /// share nodes and one resource alone is short, it says which and how much would do, which
    /// takes a search for each step of a bisection.
    pub fn reason_on(
        &self,
        grid: &Grid,
        request: &Request,
        slots: &SlotList,
        scratch: &mut Scratch,
    ) -> Reason {
        let reason = self.reason(slots, scratch);
        let of_places = matches!(reason, Reason::TooFewPlaces { .. });
        let short = of_places
            .then(|| places::reason(grid, slots, request, &self.search, scratch))
            .flatten();
        short.unwrap_or(reason)
    }

    /// The budget that this search applies: the request's own, or the derived one for AMP and CSA.
    pub fn budget(&self) -> Option<Money> {
        self.budget
    }

    pub(super) fn bracket(&self, from: Time) -> StartBounds {
        StartBounds {
            from: self.earliest_start.unwrap_or(from).max(from).0,
            until: self.deadline.map_or(i64::MAX, |deadline| deadline.0),
        }
    }

    /// The budget as a number that every sum can be compared with.
    pub(super) fn ceiling(&self) -> i128 {
        self.budget.map_or(i128::MAX, |budget| i128::from(budget.0))
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

/// Fills `ranks` with the nodes that are alive at `start`.
pub(super) fn alive_at(
    ranking: &NodeRanking,
    start: i64,
    slots: &[Slot],
    bracket: StartBounds,
    ranks: &mut Vec<u32>,
) {
    ranks.clear();
    let reach = slots.partition_point(|slot| slot.start.0 <= start);
    for slot in slots[..reach].iter().filter(|slot| slot.end.0 > start) {
        let NodeId(node) = slot.node;
        let fit = ranking.fits[node as usize];
        if bracket.starts(slot, fit.length).is_some_and(|(_, last)| start <= last) {
            ranks.push(fit.rank);
        }
    }
}

impl Method {
    /// What the ranking for `search` goes by.
    fn order(search: &Search) -> RankBy {
        match (search.variant, &search.algorithm) {
            (Variant::Exact, Algorithm::Best(Criterion::ProcessorTime | Criterion::Sum(_))) => {
                RankBy::Value
            }
            _ => RankBy::Cost,
        }
    }

    /// Whether both searches rank nodes by the same numbers.
    fn same_order(one: &Search, other: &Search) -> bool {
        let value = |search: &Search| match search.algorithm.criterion() {
            sum @ (Criterion::ProcessorTime | Criterion::Sum(_)) => Some(sum.clone()),
            _ => None, // the cost
        };
        Method::order(one) == Method::order(other) && value(one) == value(other)
    }

    /// What answers `search`; `ranking` is in its [`Method::order`].
    fn choose(search: &Search, limits: MoneyLimits, ranking: &NodeRanking) -> Method {
        let criterion = match (search.variant, &search.algorithm) {
            (Variant::Paper, _) => return Method::Paper,
            (Variant::Exact, Algorithm::Csa(_)) => return Method::Csa,
            (Variant::Exact, algorithm) => algorithm.criterion(),
        };
        match criterion {
            Criterion::Start => Method::Earliest,
            Criterion::Cost => Method::Least,
            Criterion::Runtime => Method::Shrinking(RightEdge::Runtime),
            Criterion::Finish => Method::Shrinking(RightEdge::Finish),
            Criterion::ProcessorTime | Criterion::Sum(_) => match limits.budget {
                None => Method::Least,
                Some(_) => Method::Bounded(Bounded::new(ranking)),
            },
        }
    }
}

fn exact(start: i64, tasks: Vec<Task>) -> Option<Found> {
    let window = Window::new(Time(start), tasks).ok()?;
    Some(Found { window, proof: Proof::Exact })
}
