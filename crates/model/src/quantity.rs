//! Additive quantities of windows, which a virtual organisation may optimise and limit.

use crate::{Attribute, Carbon, Energy, Grid, Measure, Money, Time, Window, thousandths};

/// A number of a window that adds up over the jobs of a batch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Σ price × length, micro-credits.
    Cost,
    /// Runtime or processor time, by the policy's measure, seconds.
    Time,
    /// The longest task, seconds.
    Runtime,
    /// Σ length, seconds.
    ProcessorTime,
    /// The start, seconds from the beginning of the horizon.
    Start,
    /// The finish, seconds from the beginning of the horizon.
    Finish,
    /// Energy, millijoules.
    Energy,
    /// Emissions, milligrams of CO₂e.
    Carbon,
    /// What the electricity costs the sites, micro-credits.
    EnergyPrice,
    /// Σ attribute × length, thousandths of the attribute's unit times a second.
    Sum(String),
}

/// Whether little or much of a quantity is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Goal {
    /// The minimum of the sum.
    Least,
    /// The maximum of the sum.
    Most,
}

/// One component of the vector of criteria.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Component {
    /// What is summed.
    pub quantity: Quantity,
    /// The wanted direction.
    pub goal: Goal,
}

/// The vector of criteria of a virtual organisation, and its limits beside those on time and cost.
/// Empty: the policy's one objective decides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Criteria {
    /// Most important first: the best in the first component, among those the best in the second,
    /// and so on. Empty: the policy's objective.
    pub order: Vec<Component>,
    /// The largest sum over the batch (inclusive) of each quantity, in its unit.
    pub limits: Vec<(Quantity, i64)>,
}

impl Criteria {
    /// Whether the policy's objective decides, within the limits on time and cost alone.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty() && self.limits.is_empty()
    }

    /// All quantities that are optimised or limited, in the order of their first mention.
    pub fn quantities(&self) -> impl Iterator<Item = &Quantity> {
        self.order.iter().map(|it| &it.quantity).chain(self.limits.iter().map(|(it, _)| it))
    }
}

impl Quantity {
    /// The window's number, in the quantity's unit. Nodes without the attribute count as zero.
    ///
    /// # Panics
    /// If the window is from another grid.
    pub fn of(&self, window: &Window, grid: &Grid, (measure, from): (Measure, Time)) -> i64 {
        match self {
            Quantity::Cost => window.cost().0,
            Quantity::Time => measure.of(window).0,
            Quantity::Runtime => window.runtime().0,
            Quantity::ProcessorTime => window.processor_time().0,
            Quantity::Start => (window.start() - from).0,
            Quantity::Finish => (window.finish() - from).0,
            Quantity::Energy => grid.consumption(window).energy.0,
            Quantity::Carbon => grid.consumption(window).carbon.0,
            Quantity::EnergyPrice => grid.consumption(window).price.0,
            Quantity::Sum(attribute) => {
                let task = |task: &crate::Task| {
                    thousandths(&grid.node(task.node).attributes, attribute)
                        .saturating_mul(task.length.0)
                };
                window.tasks().iter().map(task).fold(0, i64::saturating_add)
            }
        }
    }

    /// The name in files and on the command line.
    pub fn name(&self) -> String {
        match self {
            Quantity::Cost => "cost".to_owned(),
            Quantity::Time => "time".to_owned(),
            Quantity::Runtime => "runtime".to_owned(),
            Quantity::ProcessorTime => "processor-time".to_owned(),
            Quantity::Start => "start".to_owned(),
            Quantity::Finish => "finish".to_owned(),
            Quantity::Energy => "energy".to_owned(),
            Quantity::Carbon => "carbon".to_owned(),
            Quantity::EnergyPrice => "energy-price".to_owned(),
            Quantity::Sum(attribute) => format!("sum:{attribute}"),
        }
    }

    /// A sum of it for people, with its unit: `2.5 kWh`.
    pub fn show(&self, sum: i64) -> String {
        match self {
            Quantity::Cost | Quantity::EnergyPrice => format!("{} credits", Money(sum)),
            Quantity::Energy => format!("{} kWh", Energy(sum)),
            Quantity::Carbon => format!("{} gCO2e", Carbon(sum)),
            Quantity::Sum(_) => Attribute::Number(sum).to_string(),
            _ => format!("{sum} s"),
        }
    }

    /// The attribute of nodes that it needs as a number.
    pub fn attribute(&self) -> Option<&str> {
        match self {
            Quantity::Sum(attribute) => Some(attribute),
            Quantity::Energy | Quantity::Carbon | Quantity::EnergyPrice => Some(Energy::BUSY),
            _ => None,
        }
    }
}
