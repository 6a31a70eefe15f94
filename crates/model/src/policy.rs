//! What the virtual organisation (VO) wants of a plan.

use crate::{Criteria, Money, Span};

/// What the combination of alternatives optimises over the batch (paper 000, problems (6)–(9)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Objective {
    /// (6) Most income for the owners within the time limit.
    MaxIncome,
    /// (7) Least time within the budget limit.
    #[default]
    MinTime,
    /// (8) Least cost within the time limit.
    MinCost,
    /// (9) Least idleness: most used time within the time limit.
    MinIdle,
}

impl Objective {
    /// Whether the time limit binds it; if not, the budget limit does.
    pub fn bound_by_time(self) -> bool {
        self != Objective::MinTime
    }
}

/// What "time" means in a combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// The window's runtime, its slowest task (papers 001, 002).
    #[default]
    Runtime,
    /// The sum of its tasks' lengths (paper 000's batch studies: T_CPU).
    ProcessorTime,
}

/// A limit over the whole batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit<T> {
    /// Computed from the alternatives: T* is the sum over jobs of the ceiling of the mean time of
    /// the job's alternatives, B* the most income under T*. Applies only where it binds the
    /// objective.
    #[default]
    Auto,
    /// Given by the administrator; always applies.
    At(T),
}

/// Factor on a *derived* budget S = ρ·C·t·N, in thousandths within (0, 1].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rho(u32);

impl Rho {
    /// No reduction.
    pub const ONE: Rho = Rho(1_000);

    /// `thousandths` in 1..=1,000, else `None`.
    pub fn from_thousandths(thousandths: u32) -> Option<Rho> {
        (1..=1_000).contains(&thousandths).then_some(Rho(thousandths))
    }

    /// ρ in thousandths.
    pub fn thousandths(self) -> u32 {
        self.0
    }
}

impl Default for Rho {
    fn default() -> Rho {
        Rho::ONE
    }
}

/// The policy of a virtual organisation for one cycle.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VoPolicy {
    /// What to optimise.
    pub objective: Objective,
    /// What time means in it.
    pub measure: Measure,
    /// T*: the most time for the batch.
    pub time_limit: Limit<Span>,
    /// B*: the most money for the batch.
    pub budget_limit: Limit<Money>,
    /// Scales derived budgets.
    pub rho: Rho,
    /// A vector of criteria and further limits; while it has an order, that decides and not the
    /// objective.
    pub criteria: Criteria,
}
