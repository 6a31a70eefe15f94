//! One cycle: its slots and jobs, the alternatives that a search finds, the best combinations.

use tradewind_model::{
    Limit, Money, Objective, Performance, Price, Rho, Snapshot, VoPolicy, Window, random,
};
use tradewind_sched::combine::{self, Choice, Combination};
use tradewind_sched::policy::cyclic::{Cyclic, SearchBy, plan};
use tradewind_sched::window::{Algorithm, Variant};
use tradewind_sim::models::Study1;

use super::parameters::{CAP, CAP_SPREAD, COUNTS, MEASURE, RESERVED, TICKS, TIME_LIMIT};
use crate::case::Case;

/// What is drawn for one cycle.
pub(super) struct World {
    pub(super) snapshot: Snapshot,
    /// Of the clock in the paper's unit of time.
    pub(super) ticks: f64,
}

/// How windows are searched.
pub(super) struct SearchScheme {
    pub(super) algorithm: Algorithm,
    pub(super) variant: Variant,
    pub(super) rho: Rho,
}

/// Time and cost of a batch per job, in the paper's units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PerJob {
    pub(super) time: f64,
    pub(super) cost: f64,
}

impl World {
    /// The cycle of this number; `None` if the parameters allow none.
    pub(super) fn draw(case: &Case, cycle: u64) -> Option<World> {
        let closed = case.word(&COUNTS) == "closed";
        let upto = |(low, high): (u32, u32)| (low, high + u32::from(closed));
        let ranges = Study1::default();
        let ticks = case.number(&TICKS);
        let model = Study1 {
            slots: upto(ranges.slots),
            jobs: upto(ranges.jobs),
            tasks: upto(ranges.tasks),
            ticks: ticks as u32,
            ..ranges
        };
        let mut stream = random::stream(case.seed, "alp-amp-cycle", cycle);
        let mut snapshot = model.draw(random::within(&mut stream, 0, i64::MAX) as u64)?;
        let mut caps = random::stream(case.seed, "alp-amp-cap", cycle);
        for job in &mut snapshot.jobs {
            let request = &mut job.request;
            let spread = random::within(&mut caps, -1_000_000, 1_000_000) as f64 / 1e6;
            let factor = case.number(&CAP) * (1.0 + spread * case.number(&CAP_SPREAD));
            let cap = request.max_price.map(|cap| cap.0 as f64 * factor);
            request.max_price = cap.map(|cap| Price(cap.round() as i64));
            let min = match case.word(&RESERVED) {
                "reference" => Performance::REFERENCE,
                _ => request.min_performance.unwrap_or(Performance::REFERENCE),
            };
            let span = request.work.0 as f64 * 1_000.0 / f64::from(min.thousandths());
            let budget = cap.map(|cap| cap * span * f64::from(request.tasks));
            request.budget = budget.map(|budget| Money(budget.floor() as i64));
        }
        Some(World { snapshot, ticks })
    }

    /// All alternatives of all jobs; `None` if a job has none.
    pub(super) fn alternatives(&self, scheme: &SearchScheme) -> Option<Vec<Vec<Window>>> {
        let cyclic = Cyclic {
            search: SearchBy::All(scheme.algorithm.clone()),
            variant: scheme.variant,
            max_alternatives: None,
            ..Cyclic::default()
        };
        let mut snapshot = self.asked(scheme);
        // The plan's own choice is of no interest here.
        snapshot.policy = VoPolicy { objective: Objective::MinCost, ..VoPolicy::default() };
        let plan = plan(&snapshot, &cyclic, &mut |_| {});
        let found: Vec<Vec<Window>> = plan.jobs.into_iter().map(|job| job.alternatives).collect();
        found.iter().all(|windows| !windows.is_empty()).then_some(found)
    }

    /// The batch with the limits that the search applies.
    pub(super) fn asked(&self, scheme: &SearchScheme) -> Snapshot {
        let mut snapshot = self.snapshot.clone();
        for job in &mut snapshot.jobs {
            let request = &mut job.request;
            if scheme.rho != Rho::ONE {
                let scaled = |budget: Money| budget.0 * i64::from(scheme.rho.thousandths()) / 1_000;
                request.budget = request.budget.map(|budget| Money(scaled(budget)));
            }
            if scheme.algorithm != Algorithm::Alp {
                request.max_price = None;
            }
        }
        snapshot
    }

    /// Times by the case's measure, in ticks, and costs.
    pub(super) fn choices(&self, case: &Case, alternatives: &[Vec<Window>]) -> Vec<Vec<Choice>> {
        let of_window = |window: &Window| {
            let time = match case.word(&MEASURE) {
                "processor-time" => window.processor_time(),
                _ => window.runtime(),
            };
            Choice { time: time.0, cost: window.cost().0 }
        };
        alternatives.iter().map(|windows| windows.iter().map(of_window).collect()).collect()
    }

    /// The best combination for `objective` under T* or B*; `None` if T* cannot be kept.
    pub(super) fn combine(
        &self,
        case: &Case,
        jobs: &[Vec<Choice>],
        objective: Objective,
    ) -> Option<PerJob> {
        let bounds = combine::limits(jobs, objective, self.time_limit(case, jobs), Limit::Auto);
        let bounds = bounds.ok()?;
        let best = combine::best(jobs, objective, bounds).ok()?;
        Some(self.per_job(&best))
    }

    /// The same by the papers' backward recursion, whose table counts whole units of time and
    /// whole credits: costs and times are rounded up into it, limits down, so that every limit
    /// is kept.
    pub(super) fn by_recursion(
        &self,
        case: &Case,
        jobs: &[Vec<Choice>],
        objective: Objective,
    ) -> Option<PerJob> {
        let bounds = combine::limits(jobs, objective, self.time_limit(case, jobs), Limit::Auto);
        let (credit, unit) = (1_000_000, self.ticks as i64);
        let bounds = bounds.ok()?;
        let limit = match objective.bound_by_time() {
            true => bounds.time? / unit,
            false => bounds.budget? / credit,
        };
        let up = |value: i64, unit: i64| (value + unit - 1) / unit;
        let whole =
            |choice: &Choice| Choice { time: up(choice.time, unit), cost: up(choice.cost, credit) };
        let rounded: Vec<Vec<Choice>> =
            jobs.iter().map(|job| job.iter().map(whole).collect()).collect();
        let table = combine::recursion::best(&rounded, objective, limit).ok()?;
        Some(self.per_job(&Combination::of(jobs, table.chosen)))
    }

    fn per_job(&self, of: &Combination) -> PerJob {
        let jobs = of.chosen.len() as f64;
        PerJob { time: of.time as f64 / self.ticks / jobs, cost: of.cost as f64 / 1e6 / jobs }
    }

    fn time_limit(&self, case: &Case, jobs: &[Vec<Choice>]) -> Limit<i64> {
        match case.word(&TIME_LIMIT) {
            "terms-down" => Limit::At(printed_limit(jobs, self.ticks)),
            "mean-down" => Limit::At(mean_down(jobs, self.ticks)),
            _ => Limit::Auto,
        }
    }
}

/// T* by equation (2) as printed: the brackets round each term down to whole units.
pub(super) fn printed_limit(jobs: &[Vec<Choice>], ticks: f64) -> i64 {
    let ticks = ticks as i64;
    let of_job = |job: &Vec<Choice>| {
        let count = (job.len() as i64).max(1);
        job.iter().map(|choice| choice.time / count / ticks * ticks).sum::<i64>()
    };
    jobs.iter().map(of_job).sum()
}

fn mean_down(jobs: &[Vec<Choice>], ticks: f64) -> i64 {
    let ticks = ticks as i64;
    let of_job = |job: &Vec<Choice>| {
        let sum: i64 = job.iter().map(|choice| choice.time).sum();
        let min = job.iter().map(|choice| choice.time).min().unwrap_or(0);
        (sum / (job.len() as i64).max(1) / ticks * ticks).max(min)
    };
    jobs.iter().map(of_job).sum()
}
