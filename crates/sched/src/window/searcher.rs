//! The searcher: which of the searches answers for a request.

use tradewind_model::{Grid, Money, Rates, Reason, Request, SlotList, Span, Time};

use super::groups::Groups;
use super::licences::LicenceTerms;
use super::nodes::NodeSearcher;
use super::places::{self, Places};
use super::search::{Found, Scratch, Search};
use super::sites;

/// A request prepared for one grid: which nodes suit it, how long and how dear a task is on each,
/// and in which order they are wanted. Slot lists come and go.
#[derive(Debug, Clone)]
pub struct Searcher {
    nodes: NodeSearcher,
    /// Where the tasks differ: their groups. Then nothing else but limits is asked.
    groups: Option<Box<Groups>>,
    /// Where the job has several shapes: the search for each. Then nothing else is asked.
    by_shape: Vec<Searcher>,
    /// Where tasks may share nodes: the search on places. Then nothing else is asked.
    places: Option<Box<Places>>,
    /// Where the job takes licences along. All of the above is without them.
    licences: Option<Box<LicenceTerms>>,
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
        Searcher::on(NodeSearcher::new(grid, request, search), (grid, request, search))
    }

    /// The same as [`Searcher::new`] for the same request, but that its budget, its deadline and its
    /// earliest start may be others: nodes are ranked again only if this search wants them in
    /// another order.
    pub(crate) fn again(&self, grid: &Grid, request: &Request, search: &Search) -> Searcher {
        let is_new = request.shapes.is_some() || !self.by_shape.is_empty() || self.places.is_some();
        match is_new || request.licences.is_some() || self.licences.is_some() {
            true => Searcher::new(grid, request, search),
            false => Searcher::on(self.nodes.again(grid, request, search), (grid, request, search)),
        }
    }

    fn on(nodes: NodeSearcher, (grid, request, search): (&Grid, &Request, &Search)) -> Searcher {
        let groups = Groups::of(grid, request, search);
        let places = Places::of(grid, request, search);
        let without = Searcher { nodes, groups, by_shape: Vec::new(), places, licences: None };
        let licences = LicenceTerms::of(grid, request, search, &without);
        Searcher { licences, ..without }
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
    ///   exact by bounded search, see [`Proof`](super::Proof). Among equals the start is the earliest and the
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
    /// - A job that takes licences along: the same on what is idle while they are free; where they
    ///   have a price, at most twice for each length of a task (see `licences`).
    /// - Where prices change with time: exact for the same searches, but slower (see `priced`);
    ///   CSA stays a heuristic, and [`Variant::Paper`](super::Variant::Paper) is answered like [`Variant::Exact`](super::Variant::Exact).
    /// - [`Variant::Paper`](super::Variant::Paper): O(p · alive nodes) as in the papers; the first among equals.
    pub fn find(&self, slots: &SlotList, from: Time, scratch: &mut Scratch) -> Option<Found> {
        if !self.by_shape.is_empty() {
            return self.find_shape(|_| true, (slots, from), scratch);
        }
        match &self.licences {
            Some(licences) => licences.find(self, (slots, from), scratch),
            None => self.find_without(slots, from, scratch),
        }
    }

    /// The best window without licences, whether the job takes any along or not; not of a job of
    /// several shapes.
    pub(super) fn find_without(
        &self,
        slots: &SlotList,
        from: Time,
        scratch: &mut Scratch,
    ) -> Option<Found> {
        if let Some(places) = &self.places {
            return places.find(slots, from, scratch);
        }
        if let Some(groups) = &self.groups {
            let prepared = &self.nodes.prepared;
            return groups.find(prepared, slots, prepared.bracket(from));
        }
        self.nodes.find(slots, from, scratch)
    }

    /// The same among some shapes of a job that has several, by their widths.
    pub(crate) fn find_shape<'s>(
        &'s self,
        widths: impl Fn(usize) -> bool,
        (slots, from): (&SlotList, Time),
        scratch: &mut Scratch,
    ) -> Option<Found> {
        let shapes = self.by_shape.iter().filter(|shape| widths(shape.nodes.prepared.wanted));
        let found = |it: &'s Searcher| Some((&it.nodes.prepared, it.find(slots, from, scratch)?));
        sites::best(shapes.filter_map(found))
    }

    /// The same search where a task costs the integral of other prices, by node, over its own time;
    /// no task is longer than `longest`, and neither the budget nor the price cap applies. The
    /// pricing step of a Lagrangian relaxation, exact if this searches by cost. O(n).
    pub fn repriced(&self, rates: &Rates, longest: Option<Span>) -> Searcher {
        Searcher {
            nodes: self.nodes.repriced(rates, longest),
            groups: self.groups.as_ref().map(|it| it.repriced(rates, longest)),
            by_shape: self.by_shape.iter().map(|it| it.repriced(rates, longest)).collect(),
            places: self.places.clone(),
            licences: self.licences.clone(),
        }
    }

    /// The same search without licences, where no task is longer than `longest` seconds, and with
    /// another budget. O(n log n).
    pub(super) fn capped(&self, longest: i64, budget: Option<Money>) -> Searcher {
        Searcher {
            nodes: self.nodes.capped(longest, budget),
            groups: self.groups.as_ref().map(|it| it.capped(longest)),
            by_shape: Vec::new(),
            places: self.places.as_ref().map(|it| it.capped(longest, budget)),
            licences: None,
        }
    }

    /// How long a task of the request is on any suitable node, in seconds: ascending, each once.
    pub(super) fn lengths(&self) -> Vec<i64> {
        let rankings = match (&self.places, &self.groups) {
            (Some(places), _) => vec![places.ranking()],
            (None, Some(groups)) => groups.rankings().collect(),
            (None, None) => vec![&*self.nodes.prepared.ranking],
        };
        let nodes = rankings.into_iter().flat_map(|ranking| &ranking.nodes);
        let mut lengths: Vec<i64> = nodes.map(|it| it.length).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// Why [`Searcher::find`] gave nothing: the first of too wide for the grid, too few suitable
    /// nodes (price cap and the attribute to sum up counted, where they apply), never enough of
    /// them free together, too few licences while they are, budget too small. O((p + n) log n),
    /// with licences for each step of a bisection.
    pub fn reason(&self, slots: &SlotList, scratch: &mut Scratch) -> Reason {
        if !self.by_shape.is_empty() {
            let reasons = self.by_shape.iter().map(|shape| shape.reason(slots, scratch));
            if let Some(nearest) = sites::nearest(reasons) {
                return nearest;
            }
        }
        match &self.licences {
            Some(licences) => licences.reason(self, slots, scratch),
            None => self.reason_without(slots, scratch),
        }
    }

    /// Why there is no window without licences; not of a job of several shapes.
    pub(super) fn reason_without(&self, slots: &SlotList, scratch: &mut Scratch) -> Reason {
        if let Some(places) = &self.places {
            return places.reason(slots, scratch);
        }
        if let Some(groups) = &self.groups {
            return groups.reason(&self.nodes.prepared, slots);
        }
        self.nodes.reason(slots, scratch)
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
        let search = &self.nodes.prepared.search;
        let find = |less: &Request| {
            let found = Searcher::new(grid, less, search).find(slots, Time::MIN, scratch);
            found.map(|found| found.window)
        };
        let short = of_places.then(|| places::reason(grid, slots, request, find)).flatten();
        short.unwrap_or(reason)
    }

    /// The budget that this search applies: the request's own, or the derived one for AMP and CSA.
    pub fn budget(&self) -> Option<Money> {
        self.nodes.prepared.budget
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.nodes.prepared.deadline
    }
}
