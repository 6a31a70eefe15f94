//! Plans made job by job at prices of slots, and windows as they are in the scenario.

use tradewind_model::{Limit, Money, Rates, SlotList, Snapshot, Span, Task, Window};

use super::{Agent, Worth};
use crate::window::Scratch;

/// The best plan so far.
pub(super) struct PlanSoFar {
    /// In the objective's unit, with the penalty of jobs left out.
    pub(super) value: i128,
    /// By job, an index into its windows.
    pub(super) chosen: Vec<Option<usize>>,
}

impl PlanSoFar {
    pub(super) fn nothing(jobs: usize, penalty: i128) -> PlanSoFar {
        PlanSoFar { value: penalty * jobs as i128, chosen: vec![None; jobs] }
    }

    pub(super) fn offer(&mut self, value: i128, chosen: Vec<Option<usize>>) {
        if value < self.value {
            (self.value, self.chosen) = (value, chosen);
        }
    }
}

/// A plan in the making: each job gets its best window on what is left, within the VO's limits.
pub(super) struct Greedy<'a> {
    snapshot: &'a Snapshot,
    worth: &'a Worth,
    left: SlotList,
    time: Option<Span>,
    budget: Option<Money>,
}

impl<'a> Greedy<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, worth: &'a Worth) -> Greedy<'a> {
        let policy = &snapshot.policy;
        let time = if let Limit::At(limit) = policy.time_limit { Some(limit) } else { None };
        let budget = if let Limit::At(limit) = policy.budget_limit { Some(limit) } else { None };
        Greedy { snapshot, worth, left: snapshot.slots.clone(), time, budget }
    }

    /// The windows of those jobs that get one, in this order.
    pub(super) fn run(
        mut self,
        order: &[usize],
        agents: &[Agent],
        rates: &Rates,
        scratch: &mut Scratch,
    ) -> Vec<(usize, Window)> {
        let mut made = Vec::new();
        for &job in order {
            if let Some(window) = self.window(job, &agents[job], rates, scratch) {
                made.push((job, window));
            }
        }
        made
    }

    /// The best at the prices if the job may have it, or else the best by the objective alone.
    fn window(
        &mut self,
        job: usize,
        agent: &Agent,
        rates: &Rates,
        scratch: &mut Scratch,
    ) -> Option<Window> {
        let priced = agent.price(self.snapshot, &self.left, rates, self.worth, scratch);
        let priced = priced.map(|it| it.window);
        let allowed = priced.filter(|it| is_allowed(self.snapshot, job, it) && self.fits(it));
        let own = || {
            let start = self.snapshot.horizon.start;
            agent.own.find(&self.left, start, &mut Scratch::default()).map(|it| it.window)
        };
        let window = allowed.or_else(|| own().filter(|it| self.fits(it)))?;
        self.left.subtract_window(&window).ok()?;
        let time = self.snapshot.policy.measure.of(&window);
        self.time = self.time.map(|left| Span(left.0 - time.0));
        self.budget = self.budget.map(|left| left - window.cost());
        Some(window)
    }

    fn fits(&self, window: &Window) -> bool {
        let time = self.snapshot.policy.measure.of(window);
        self.time.is_none_or(|left| time <= left)
            && self.budget.is_none_or(|left| window.cost() <= left)
    }
}

/// The same window at what its nodes cost in the scenario.
pub(super) fn at_own_prices(snapshot: &Snapshot, window: &Window) -> Option<Window> {
    let start = window.start();
    let task =
        |task: &Task| Task { cost: snapshot.grid.cost(task.node, start, task.length), ..*task };
    Window::new(start, window.tasks().iter().map(task).collect()).ok()
}

/// Whether the window keeps the job's budget and price cap; searches keep all other limits.
pub(super) fn is_allowed(snapshot: &Snapshot, job: usize, window: &Window) -> bool {
    let request = &snapshot.jobs[job].request;
    let capped = |task: &Task| {
        let (Some(max), Some(rate)) = (request.max_price, snapshot.grid.rate(task.node)) else {
            return true;
        };
        rate.most_within(window.start(), window.start() + task.length) <= max.0
    };
    request.budget.is_none_or(|budget| window.cost() <= budget) && window.tasks().iter().all(capped)
}
