//! Why a job has no window, and the minimum that would have to change.

use std::borrow::Cow;
use std::ops::ControlFlow;

use tradewind_model::{
    Attribute, Attributes, Criterion, Grid, LicenceId, LicenceShare, Money, Performance, Price,
    Reason, Request, Resource, Resources, SlotList, Span, Spread, TaskGroup, TaskNeeds, Time,
    Window,
};

use crate::window::{Algorithm, Scratch, Search, Searcher, least_demand};

/// The caller stopped the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Whether a job can be placed, and what would help if not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The window by the job's own search, or why there is none.
    pub answer: Result<Window, Reason>,
    /// Each limit whose change alone would place the job, with the smallest such change. These
    /// are the limits that bind. Empty when the job is placed, or when only several changes
    /// together would help.
    pub relaxations: Vec<Relaxation>,
    /// Whether the job could be placed if every limit but its width were dropped.
    pub possible_without_limits: bool,
}

/// The smallest change of one limit that places the job, all else unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relaxation {
    /// What changes, and how far.
    pub change: Change,
    /// The request after the change.
    pub request: Request,
    /// The window that it then gets, by its own criterion.
    pub window: Window,
}

/// A change of one limit, by the smallest amount that helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Spend this much more.
    Budget(Money),
    /// Pay this much more per node-second.
    MaxPrice(Price),
    /// Be content this much later.
    Deadline(Span),
    /// Be ready this much earlier.
    EarliestStart(Span),
    /// Accept nodes slower by this many thousandths of the reference node.
    MinPerformance(u32),
    /// This many tasks fewer.
    Tasks(u32),
    /// Do without this attribute.
    Attribute(String),
    /// Let tasks lie at several sites.
    Spread,
    /// Leave its data where it is, and bring none away.
    Data,
    /// This much less of a resource for each task, where tasks may share nodes.
    Need(Resource, u64),
    /// This many fewer of a licence.
    Licences {
        /// Which one.
        licence: LicenceId,
        /// Its name.
        name: String,
        /// How many fewer.
        fewer: u32,
    },
    /// A change of the tasks of one group alone, where tasks differ; groups count from 0.
    InGroup(usize, Box<Change>),
}

impl Change {
    /// The scenario's name of the limit.
    pub fn limit(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Change::Budget(_) => "budget",
            Change::MaxPrice(_) => "max_price",
            Change::Deadline(_) => "deadline",
            Change::EarliestStart(_) => "earliest_start",
            Change::MinPerformance(_) => "min_performance",
            Change::Tasks(_) => "nodes",
            Change::Attribute(_) => "attributes",
            Change::Spread => "spread",
            Change::Data => "data",
            Change::Need(Resource::Cores, _) => "cores",
            Change::Need(Resource::Memory, _) => "memory",
            Change::Need(Resource::Gres(name), _) => return Cow::Owned(format!("gres.{name}")),
            Change::Licences { name, .. } => return Cow::Owned(format!("licences.{name}")),
            Change::InGroup(group, change) => {
                return Cow::Owned(format!("groups[{group}].{}", change.limit()));
            }
        })
    }
}

/// Explains `request` on what is free in `slots`, by the rules of `search`.
///
/// Every amount is found by bisection over the exact search: a larger allowance never makes a
/// placeable job unplaceable, so the minimum sufficient one exists, and one unit less fails.
pub fn explain(grid: &Grid, slots: &SlotList, request: &Request, search: &Search) -> Explanation {
    let mut watch = || ControlFlow::Continue(());
    explain_with(grid, slots, request, search, &mut watch).0
}

/// The same, as long as `watch` says so: it is asked before each search.
///
/// # Errors
/// If it was stopped.
pub fn explain_while(
    grid: &Grid,
    slots: &SlotList,
    request: &Request,
    search: &Search,
    watch: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Explanation, Stopped> {
    match explain_with(grid, slots, request, search, watch) {
        (told, false) => Ok(told),
        (_, true) => Err(Stopped),
    }
}

/// What was found, and whether it was stopped before its end.
fn explain_with(
    grid: &Grid,
    slots: &SlotList,
    request: &Request,
    search: &Search,
    watch: &mut dyn FnMut() -> ControlFlow<()>,
) -> (Explanation, bool) {
    let scratch = Scratch::default();
    let mut trial = Trial { grid, slots, search, scratch, watch, is_stopped: false };
    let told = trial.explain(request, search);
    (told, trial.is_stopped)
}

impl Trial<'_> {
    fn explain(&mut self, request: &Request, search: &Search) -> Explanation {
        let trial = self;
        match trial.search(request, search) {
            Ok(window) => Explanation {
                answer: Ok(window),
                relaxations: Vec::new(),
                possible_without_limits: true,
            },
            Err(reason) => Explanation {
                answer: Err(reason),
                relaxations: trial.relaxations(request),
                possible_without_limits: trial.possible(&without_limits(request)),
            },
        }
    }
}

fn without_limits(request: &Request) -> Request {
    let criterion = request.criterion.clone();
    let free = |group: &TaskGroup| TaskGroup {
        min_performance: None,
        attributes: Attributes::new(),
        ..group.clone()
    };
    let others = request.others.iter().map(free).collect();
    let times = request.times;
    let each = Resources { cores: 1, ..Resources::default() };
    let packing = request.needs.as_ref().map(|needs| needs.packing);
    let needs = packing.map(|packing| Box::new(TaskNeeds { each, packing }));
    let shapes = request.shapes.clone();
    let free = Request::new(request.tasks, request.work);
    Request { criterion, times, others, needs, shapes, ..free }
}

struct Trial<'a> {
    grid: &'a Grid,
    slots: &'a SlotList,
    search: &'a Search,
    scratch: Scratch,
    watch: &'a mut dyn FnMut() -> ControlFlow<()>,
    is_stopped: bool,
}

impl Trial<'_> {
    fn search(&mut self, request: &Request, search: &Search) -> Result<Window, Reason> {
        let searcher = Searcher::new(self.grid, request, search);
        match searcher.find(self.slots, Time::MIN, &mut self.scratch) {
            Some(found) => Ok(found.window),
            None => Err(searcher.reason_on(self.grid, request, self.slots, &mut self.scratch)),
        }
    }

    /// Whether any window answers `request`: the search for the earliest start, which is the
    /// quickest, under the same limits.
    fn possible(&mut self, request: &Request) -> bool {
        self.is_stopped = self.is_stopped || (self.watch)().is_break();
        if self.is_stopped {
            return false;
        }
        let mut search = self.search.clone();
        let mut request = request.clone();
        if let Algorithm::Best(criterion) = &search.algorithm {
            if let Criterion::Sum(name) = criterion {
                // Only nodes that state the number are used; any value will do.
                let stated = Attribute::Number(i64::MIN);
                for group in &mut request.others {
                    group.attributes.entry(name.clone()).or_insert(stated.clone());
                }
                request.attributes.entry(name.clone()).or_insert(stated);
            }
            search.algorithm = Algorithm::Best(Criterion::Start);
        }
        let searcher = Searcher::new(self.grid, &request, &search);
        searcher.find(self.slots, Time::MIN, &mut self.scratch).is_some()
    }

    fn relaxations(&mut self, request: &Request) -> Vec<Relaxation> {
        let mut changes = Vec::new();
        changes.extend(self.budget(request));
        changes.extend(self.max_price(request));
        changes.extend(self.deadline(request));
        changes.extend(self.earliest_start(request));
        changes.extend(self.min_performance(request));
        changes.extend(self.attributes(request));
        changes.extend(self.spread(request));
        changes.extend(self.data(request));
        changes.extend(self.needs(request));
        changes.extend(self.licences(request));
        changes.extend(self.tasks(request));
        let with_window = |change: Change| {
            let relaxed = change.apply(request);
            let window = self.search(&relaxed, &self.search.clone()).ok()?;
            Some(Relaxation { change, request: relaxed, window })
        };
        changes.into_iter().filter_map(with_window).collect()
    }

    /// The minimum `by` in 1..=`max` for which the change places the job.
    fn min(
        &mut self,
        request: &Request,
        max: i64,
        change: impl Fn(i64) -> Change,
    ) -> Option<Change> {
        if max < 1 || !self.possible(&change(max).apply(request)) {
            return None;
        }
        let (mut short, mut enough) = (0, max);
        while enough - short > 1 {
            let middle = short + (enough - short) / 2;
            match self.possible(&change(middle).apply(request)) {
                true => enough = middle,
                false => short = middle,
            }
        }
        Some(change(enough))
    }

    fn budget(&mut self, request: &Request) -> Option<Change> {
        let max = Money::MAX - request.budget?;
        self.min(request, max.0, |by| Change::Budget(Money(by)))
    }

    fn max_price(&mut self, request: &Request) -> Option<Change> {
        let cap = request.max_price?;
        let derives = matches!(self.search.algorithm, Algorithm::Amp | Algorithm::Csa(_))
            && request.budget.is_none();
        // A cap above every price rules out nothing more; a derived budget has no such end.
        let dearest = self.grid.dearest().0;
        let max = if derives { Money::MAX.0 - cap.0 } else { dearest - cap.0 };
        self.min(request, max, |by| Change::MaxPrice(Price(by)))
    }

    fn deadline(&mut self, request: &Request) -> Option<Change> {
        let (_, last) = self.slots.bounds()?;
        let max = last - request.deadline?;
        self.min(request, max.0, |by| Change::Deadline(Span(by)))
    }

    fn earliest_start(&mut self, request: &Request) -> Option<Change> {
        let (first, _) = self.slots.bounds()?;
        let max = request.earliest_start? - first;
        self.min(request, max.0, |by| Change::EarliestStart(Span(by)))
    }

    /// Of each group whose nodes must have some.
    fn min_performance(&mut self, request: &Request) -> Vec<Change> {
        let mut of_group = |(index, group): (usize, Request)| {
            let max = group.min_performance?.thousandths() - Performance::MIN.thousandths();
            let change = |by| in_group(request, index, Change::MinPerformance(by as u32));
            self.min(request, i64::from(max), change)
        };
        request.groups().enumerate().filter_map(&mut of_group).collect()
    }

    /// Of each group of several tasks. A job of several shapes has said which widths it can have.
    fn tasks(&mut self, request: &Request) -> Vec<Change> {
        if request.shapes.is_some() {
            return Vec::new();
        }
        let mut of_group = |(index, group): (usize, Request)| {
            let change = |by| in_group(request, index, Change::Tasks(by as u32));
            self.min(request, i64::from(group.tasks) - 1, change)
        };
        request.groups().enumerate().filter_map(&mut of_group).collect()
    }

    /// Of each resource that a task takes.
    fn needs(&mut self, request: &Request) -> Vec<Change> {
        let Some(needs) = &request.needs else { return Vec::new() };
        let mut of = |kind: Resource| {
            let max = needs.each.of(&kind).saturating_sub(least_demand(&kind));
            let change = |by: i64| Change::Need(kind.clone(), by.unsigned_abs());
            self.min(request, i64::try_from(max).unwrap_or(i64::MAX), change)
        };
        needs.each.kinds().filter_map(&mut of).collect()
    }

    /// Of each licence that the job takes along, none of it at the most.
    fn licences(&mut self, request: &Request) -> Vec<Change> {
        let mut of = |share: &LicenceShare| {
            let name = self.grid.licences().get(share.licence.index())?.name.clone();
            let licence = share.licence;
            let change =
                |by: i64| Change::Licences { licence, name: name.clone(), fewer: by as u32 };
            self.min(request, i64::from(share.count), change)
        };
        request.licences.iter().flat_map(|shares| shares.iter()).filter_map(&mut of).collect()
    }

    fn spread(&mut self, request: &Request) -> Option<Change> {
        let helps = request.spread == Spread::Site && self.possible(&Change::Spread.apply(request));
        helps.then_some(Change::Spread)
    }

    fn data(&mut self, request: &Request) -> Option<Change> {
        let helps = request.data.is_some() && self.possible(&Change::Data.apply(request));
        helps.then_some(Change::Data)
    }

    fn attributes(&mut self, request: &Request) -> Vec<Change> {
        let of_group = |(index, group): (usize, Request)| {
            let names = group.attributes.into_keys().map(Change::Attribute);
            names.map(move |change| in_group(request, index, change))
        };
        let all = request.groups().enumerate().flat_map(of_group);
        all.filter(|change| self.possible(&change.apply(request))).collect()
    }
}

/// A change of one group, named so only where tasks differ.
fn in_group(request: &Request, index: usize, change: Change) -> Change {
    match request.others.is_empty() {
        true => change,
        false => Change::InGroup(index, Box::new(change)),
    }
}

/// `request` with `group` for its group of this index.
fn with_group(request: &Request, index: usize, group: Request) -> Request {
    let mut all = request.clone();
    let Request { tasks, work, min_performance, attributes, .. } = group;
    match index.checked_sub(1).and_then(|index| all.others.get_mut(index)) {
        Some(other) => *other = TaskGroup { tasks, work, min_performance, attributes },
        None => all = Request { tasks, work, min_performance, attributes, ..all },
    }
    all
}

impl Change {
    /// `request` with this change made.
    pub fn apply(&self, request: &Request) -> Request {
        let mut relaxed = request.clone();
        match self {
            Change::Budget(by) => relaxed.budget = relaxed.budget.map(|budget| budget + *by),
            Change::MaxPrice(by) => {
                relaxed.max_price = relaxed.max_price.map(|cap| Price(cap.0 + by.0));
            }
            Change::Deadline(by) => relaxed.deadline = relaxed.deadline.map(|end| end + *by),
            Change::EarliestStart(by) => {
                relaxed.earliest_start = relaxed.earliest_start.map(|start| start - *by);
            }
            Change::MinPerformance(by) => {
                let slower = |min: Performance| {
                    Performance::from_thousandths(min.thousandths().saturating_sub(*by))
                };
                relaxed.min_performance = relaxed.min_performance.and_then(slower);
            }
            Change::Tasks(by) => relaxed.tasks = relaxed.tasks.saturating_sub(*by).max(1),
            Change::Attribute(name) => {
                relaxed.attributes.remove(name);
            }
            Change::Spread => relaxed.spread = Spread::Grid,
            Change::Data => relaxed.data = None,
            Change::Need(kind, by) => {
                if let Some(needs) = &mut relaxed.needs {
                    let less = needs.each.of(kind).saturating_sub(*by);
                    needs.each = needs.each.with(kind, less);
                }
            }
            Change::Licences { licence, fewer, .. } => {
                let less = |it: &LicenceShare| match it.licence == *licence {
                    true => LicenceShare { count: it.count.saturating_sub(*fewer), ..*it },
                    false => *it,
                };
                let shares = request.licences.iter().flat_map(|it| it.iter().map(less));
                let left: Vec<LicenceShare> = shares.filter(|it| it.count > 0).collect();
                relaxed.licences = (!left.is_empty()).then(|| left.into());
            }
            Change::InGroup(index, change) => {
                if let Some(group) = request.groups().nth(*index) {
                    return with_group(request, *index, change.apply(&group));
                }
            }
        }
        relaxed
    }
}

#[cfg(test)]
mod tests;
