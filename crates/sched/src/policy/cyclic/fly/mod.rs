//! On the fly: slots, windows and the choice for the whole batch in one search, without a separate
//! phase (paper 001, section 7, names it as future work).
//!
//! No two chosen windows may take the same second of a node. In the Lagrangian relaxation of these
//! constraints every second of every node has a price, and each job on its own takes the window
//! that costs least at these prices: a window search where tasks cost integrals (`window::priced`),
//! exact. So each round of searches proves a bound, and its windows are new columns of the choice
//! (column generation). Prices rise where several jobs want the same slots and fall where nothing
//! is wanted (a subgradient step of Polyak's length). Every few rounds a plan is made job by job on
//! what is left, at the same prices; in the end [`disjoint::select`] chooses among all windows
//! found.
//!
//! The value of a plan is Σ time or Σ cost, and a penalty above all such sums for each job that is
//! left out, so that most jobs come first. The bound leaves out the jobs' budgets and the VO's
//! limits: it holds with them, and is not sharp then. A job's own criterion is of no account.

mod plan;
mod prices;

use tradewind_model::{Criterion, Measure, Objective, Plan, Price, Snapshot, Span, Time, Window};

use super::whole::{self, Candidate};
use super::{Cyclic, Meter, Progress, choose};
use crate::combine::disjoint::{Gap, Selected, Selection};
use crate::window::{Scratch, Search, Searcher};
use plan::{Greedy, PlanSoFar};
use prices::SlotPrices;

/// Rounds of searches at most.
const MOST_ROUNDS: u32 = 120;
/// A plan is made in the first round, and in every so many.
const PLAN_EVERY: u32 = 5;
/// Rounds without a better bound until steps are halved, and how often they are.
const PATIENCE: u32 = 8;
const HALVINGS: u32 = 6;

/// What windows are worth to the VO.
#[derive(Debug, Clone, Copy)]
struct Worth {
    objective: Objective,
    measure: Measure,
    /// What a job that is left out counts, in the objective's unit: more than all windows together.
    penalty: i128,
}

impl Worth {
    /// Values are counted in this part of a second or micro-credit, so that prices of slots are
    /// fine enough.
    fn scale(&self) -> i128 {
        match self.objective {
            Objective::MinCost | Objective::MaxIncome => 1 << 4,
            Objective::MinTime | Objective::MinIdle => 1 << 16,
        }
    }

    fn of(&self, window: &Window) -> i128 {
        i128::from(match self.objective {
            Objective::MinCost | Objective::MaxIncome => window.cost().0,
            Objective::MinTime | Objective::MinIdle => self.measure.of(window).0,
        })
    }

    /// Whether a window is worth what its longest task takes: no sum over tasks.
    fn by_longest(&self) -> bool {
        self.objective == Objective::MinTime && self.measure == Measure::Runtime
    }

    /// The criterion of a search for one job alone.
    fn criterion(&self) -> Criterion {
        match (self.objective, self.measure) {
            (Objective::MinCost | Objective::MaxIncome, _) => Criterion::Cost,
            (_, Measure::Runtime) => Criterion::Runtime,
            (_, Measure::ProcessorTime) => Criterion::ProcessorTime,
        }
    }
}

/// One job's searches.
struct Agent {
    /// By cost, to be given prices of slots.
    pricing: Searcher,
    /// By the VO's objective and within all limits of the job.
    own: Searcher,
    /// The lengths that a task may have, ascending, where windows are worth their longest task.
    lengths: Vec<Span>,
    /// The most that a window of the job can be worth.
    most: i128,
}

/// A job's best window at some prices.
struct PricedWindow {
    /// Its worth and the prices of its slots, scaled.
    value: i128,
    /// As it is in the scenario, with its own cost.
    window: Window,
}

/// Plans the batch on the fly.
///
/// At most [`MOST_ROUNDS`] searches for each job (times the number of its task lengths where time
/// is the runtime), a plan in every fifth round, and one choice of `cyclic.choice_limit` looks.
/// The plan's gap is what the prices prove.
pub(super) fn plan_on_the_fly(
    snapshot: &Snapshot,
    cyclic: &Cyclic,
    progress: &mut dyn FnMut(Progress),
) -> Plan {
    let mut meter = Meter::new(snapshot.jobs.len() as u64, progress);
    let mut flight = Flight::new(snapshot, cyclic);
    flight.rounds(&mut meter);
    flight.land(cyclic, &mut meter)
}

struct Flight<'a> {
    snapshot: &'a Snapshot,
    worth: Worth,
    agents: Vec<Agent>,
    prices: SlotPrices,
    candidates: Vec<Candidate>,
    best: PlanSoFar,
    /// No plan has a smaller value, in the objective's unit.
    bound: i128,
    scratch: Scratch,
}

impl<'a> Flight<'a> {
    fn new(snapshot: &'a Snapshot, cyclic: &Cyclic) -> Flight<'a> {
        let policy = &snapshot.policy;
        let (objective, measure) = (policy.objective, policy.measure);
        let mut worth = Worth { objective, measure, penalty: 1 };
        let agent = |job: &tradewind_model::Job| Agent::new(snapshot, cyclic, &job.request, &worth);
        let agents: Vec<Agent> = snapshot.jobs.iter().map(agent).collect();
        worth.penalty += agents.iter().map(|agent| agent.most).sum::<i128>();
        let jobs = snapshot.jobs.len();
        Flight {
            snapshot,
            worth,
            agents,
            prices: SlotPrices::new(snapshot, &worth),
            candidates: std::iter::repeat_with(Candidate::default).take(jobs).collect(),
            best: PlanSoFar::nothing(jobs, worth.penalty),
            bound: 0,
            scratch: Scratch::default(),
        }
    }

    fn rounds(&mut self, meter: &mut Meter<'_>) {
        let scale = self.worth.scale();
        let (mut since, mut halvings, mut best_scaled) = (0, 0, i128::MIN);
        for round in 0..MOST_ROUNDS {
            let taken = self.price_all(meter, round == 0);
            let penalty = self.worth.penalty * scale;
            let sum: i128 = taken.iter().map(|it| it.as_ref().map_or(penalty, |it| it.value)).sum();
            let scaled = sum - self.prices.whole();
            since += 1;
            if scaled > best_scaled {
                (best_scaled, since) = (scaled, 0);
                self.bound = self.bound.max(-(-scaled).div_euclid(scale));
            }
            if round % PLAN_EVERY == 0 {
                self.plan(&taken, meter);
            }
            if self.bound >= self.best.value {
                break;
            }
            if since == PATIENCE {
                (since, halvings) = (0, halvings + 1);
            }
            if halvings > HALVINGS {
                break;
            }
            let push = (self.best.value * scale - scaled) >> halvings;
            let windows = taken.iter().flatten().map(|it| &it.window);
            if !self.prices.follow(windows, push) {
                break;
            }
        }
    }

    /// Each job's best window at the prices of now; none where leaving the job out is better.
    fn price_all(&mut self, meter: &mut Meter<'_>, first: bool) -> Vec<Option<PricedWindow>> {
        let rates = self.prices.rates();
        let penalty = self.worth.penalty * self.worth.scale();
        let mut all = Vec::with_capacity(self.agents.len());
        for (job, agent) in self.agents.iter().enumerate() {
            let slots = &self.snapshot.slots;
            let found = agent.price(self.snapshot, slots, &rates, &self.worth, &mut self.scratch);
            if let Some(found) = &found {
                self.candidates[job].offer(self.snapshot, job, &found.window, meter);
            }
            if first {
                let own = agent.own.find(slots, self.snapshot.horizon.start, &mut self.scratch);
                if let Some(own) = own {
                    self.candidates[job].offer(self.snapshot, job, &own.window, meter);
                }
                meter.job_done();
            }
            all.push(found.filter(|found| found.value < penalty));
        }
        all
    }

    /// A plan at the prices of now, job by job.
    fn plan(&mut self, taken: &[Option<PricedWindow>], meter: &mut Meter<'_>) {
        let rates = self.prices.rates();
        let value = |job: usize| taken[job].as_ref().map(|it| it.value);
        let by_priority = self.snapshot.by_priority();
        let mut costliest = by_priority.clone();
        costliest.sort_by_key(|&job| std::cmp::Reverse(value(job)));
        for order in [by_priority, costliest] {
            let greedy = Greedy::new(self.snapshot, &self.worth);
            let made = greedy.run(&order, &self.agents, &rates, &mut self.scratch);
            let mut chosen = vec![None; order.len()];
            let (mut value, mut windows) = (0, 0);
            for (job, window) in made {
                self.candidates[job].offer(self.snapshot, job, &window, meter);
                chosen[job] = self.candidates[job].windows.iter().position(|it| *it == window);
                value += self.worth.of(&window);
                windows += 1;
            }
            value += self.worth.penalty * (order.len() - windows) as i128;
            self.best.offer(value, chosen);
        }
    }

    /// The best choice among all windows found, with what is proven of it.
    fn land(mut self, cyclic: &Cyclic, meter: &mut Meter<'_>) -> Plan {
        let limits = choose::given(&self.snapshot.policy);
        let known = self.best.chosen.clone();
        let selected =
            whole::choose_from(self.snapshot, cyclic, &mut self.candidates, limits, &known);
        meter.chosen(selected.steps);
        for (candidate, agent) in self.candidates.iter_mut().zip(&self.agents) {
            if candidate.windows.is_empty() {
                candidate.reason = Some(agent.own.reason(&self.snapshot.slots, &mut self.scratch));
            }
        }
        let gap = self.gap(&selected.selection);
        let selected = Selected { gap, ..selected };
        whole::finish(self.snapshot, self.candidates, limits, Some(&selected))
    }

    /// What the bound says of a selection.
    fn gap(&self, selection: &Selection) -> Option<Gap> {
        let jobs = self.agents.len();
        let Worth { objective, penalty, .. } = self.worth;
        // So many jobs are left out of any plan: those that keep windows are worth less than the
        // penalty together.
        let least_out = (self.bound - (penalty - 1)).max(0);
        let least_out = (least_out + penalty - 1).div_euclid(penalty) as usize;
        let placed = (jobs - least_out.min(jobs)).max(selection.placed());
        let attained = selection.objective(objective);
        let possible = self.bound - penalty * (jobs - selection.placed()) as i128;
        let possible = possible.clamp(0, i128::from(attained)) as i64;
        let proven = placed == selection.placed() && possible == attained;
        (!proven).then_some(Gap { placed, objective: possible })
    }
}

impl Agent {
    fn new(
        snapshot: &Snapshot,
        cyclic: &Cyclic,
        request: &tradewind_model::Request,
        worth: &Worth,
    ) -> Agent {
        let grid = &snapshot.grid;
        let search = |criterion| Search {
            work_limit: cyclic.work_limit,
            rho: snapshot.policy.rho,
            ..Search::best(criterion)
        };
        let (mut lengths, mut costliest) = (Vec::new(), Price::default());
        for group in request.in_shapes().iter().flat_map(tradewind_model::Request::groups) {
            for (id, node) in grid.iter().filter(|(_, node)| group.suits(node)) {
                lengths.push(group.length_on(node).max(Span(1)));
                costliest = costliest.max(grid.highest_price(id));
            }
        }
        lengths.sort_unstable();
        lengths.dedup();
        let longest = lengths.last().copied().unwrap_or_default();
        let shapes = request.shapes.iter().flat_map(tradewind_model::Shapes::as_slice);
        let tasks = shapes.map(|shape| shape.nodes).fold(request.all_tasks(), u32::max);
        let (tasks, length) = (i128::from(tasks), i128::from(longest.0));
        let most = match worth.objective {
            Objective::MinCost | Objective::MaxIncome => tasks * length * i128::from(costliest.0),
            _ => tasks * length,
        };
        let pricing = Searcher::new(grid, request, &search(Criterion::Cost));
        Agent {
            own: pricing.again(grid, request, &search(worth.criterion())),
            pricing,
            lengths: if worth.by_longest() { lengths } else { vec![Span::MAX] },
            most,
        }
    }

    /// The best window at these prices of slots. Exact, budget and price cap left out.
    fn price(
        &self,
        snapshot: &Snapshot,
        slots: &tradewind_model::SlotList,
        rates: &tradewind_model::Rates,
        worth: &Worth,
        scratch: &mut Scratch,
    ) -> Option<PricedWindow> {
        let mut best: Option<(i128, Window)> = None;
        for &longest in &self.lengths {
            let of_length = match worth.by_longest() {
                true => i128::from(longest.0) * worth.scale(),
                false => 0,
            };
            if best.as_ref().is_some_and(|(value, _)| *value <= of_length) {
                break;
            }
            let searcher = self.pricing.repriced(rates, Some(longest));
            let Some(found) = searcher.find(slots, Time(i64::MIN), scratch) else { continue };
            let value = i128::from(found.window.cost().0) + of_length;
            if best.as_ref().is_none_or(|(min, _)| value < *min) {
                best = Some((value, found.window));
            }
        }
        let (value, window) = best?;
        Some(PricedWindow { value, window: plan::at_own_prices(snapshot, &window)? })
    }
}

impl Candidate {
    /// Adds a window that keeps every limit of the job, unless there are many already.
    fn offer(&mut self, snapshot: &Snapshot, job: usize, window: &Window, meter: &mut Meter<'_>) {
        if !plan::is_allowed(snapshot, job, window) {
            return;
        }
        if self.windows.len() >= MOST_WINDOWS {
            self.cut = true;
        } else if self.add(snapshot, window.clone()) {
            meter.window_found();
        }
    }
}

/// Windows of one job that the choice looks at.
const MOST_WINDOWS: usize = 100;
