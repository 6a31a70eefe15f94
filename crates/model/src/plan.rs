//! What a policy decided, with the numbers that decided it.

use crate::{Component, Money, Reason, Span, Window};

/// A decision on every job of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// One entry per job, in the order of the batch as listed.
    pub jobs: Vec<JobPlan>,
    /// The VO's limits that applied, summed over sub-batches.
    pub limits: Limits,
    /// The number of sub-batches used.
    pub sub_batches: u32,
    /// How much better another choice among the windows found could be at most; `None` where the
    /// choice is proven best.
    pub gap: Option<Gap>,
}

/// What no choice among the windows found can better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// No choice places more jobs.
    pub placed: u32,
    /// No choice that places at least as many jobs as the plan has a better sum of what the
    /// objective is about.
    pub sum: Sum,
}

/// A sum that an objective is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sum {
    /// Σ time by the policy's measure.
    Time(Span),
    /// Sum of the costs.
    Cost(Money),
    /// Sum of the first component of the criteria that is not proven best, in its unit, with all
    /// earlier components as in the plan.
    Of(Component, i64),
}

/// The limits that a combination had to keep; `None` where none applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Limit T* on the sum of times.
    pub time: Option<Span>,
    /// Budget B*: limit on the sum of costs.
    pub budget: Option<Money>,
}

/// The decision on one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlan {
    /// Placed or postponed.
    pub outcome: Outcome,
    /// The windows that were considered, in the order found.
    pub alternatives: Vec<Window>,
    /// Whether the search stopped at the allowed number of alternatives.
    pub cut: bool,
    /// How many alternatives are not proven best by the job's criterion, because a bounded
    /// search hit its work limit.
    pub unproven: u32,
}

/// Placed or postponed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Runs in the alternative with this index.
    Placed(usize),
    /// Waits for a later cycle.
    Postponed(Reason),
}

/// Sums over the placed jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Σ runtime or processor time, by the policy's measure.
    pub time: Span,
    /// Sum of the costs.
    pub cost: Money,
    /// Σ processor time.
    pub processor_time: Span,
    /// How many jobs were placed.
    pub placed: u32,
}

impl JobPlan {
    /// The window in which the job runs, if it was placed.
    pub fn window(&self) -> Option<&Window> {
        match self.outcome {
            Outcome::Placed(index) => self.alternatives.get(index),
            Outcome::Postponed(_) => None,
        }
    }
}

impl Plan {
    /// Sums over the placed jobs, with `time_of` as the policy's measure.
    pub fn totals(&self, measure: crate::Measure) -> Totals {
        let mut totals = Totals::default();
        for window in self.jobs.iter().filter_map(JobPlan::window) {
            totals.time += measure.of(window);
            totals.cost += window.cost();
            totals.processor_time += window.processor_time();
            totals.placed += 1;
        }
        totals
    }
}

impl crate::Measure {
    /// This measure of `window`.
    pub fn of(self, window: &Window) -> Span {
        match self {
            crate::Measure::Runtime => window.runtime(),
            crate::Measure::ProcessorTime => window.processor_time(),
        }
    }
}
