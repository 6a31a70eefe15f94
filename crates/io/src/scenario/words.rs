//! The names of criteria, objectives and measures in files and on the command line.

use tradewind_model::{Component, Criterion, Energy, Goal, Measure, Objective, Quantity};

pub(super) const OBJECTIVES: [(&str, Objective); 4] = [
    ("max-income", Objective::MaxIncome),
    ("min-time", Objective::MinTime),
    ("min-cost", Objective::MinCost),
    ("min-idle", Objective::MinIdle),
];

pub(super) const MEASURES: [(&str, Measure); 2] =
    [("runtime", Measure::Runtime), ("processor-time", Measure::ProcessorTime)];

/// What stands before an attribute's name in a criterion that sums it.
pub(super) const SUM: &str = "sum:";

/// The criteria without a parameter.
pub(super) const CRITERIA: [&str; 6] =
    ["start", "finish", "runtime", "cost", "processor-time", "energy"];

/// The criterion of this name: `start`, `finish`, `runtime`, `cost`, `processor-time`,
/// `sum:ATTRIBUTE`, or `energy`, which is `sum:watts`.
pub fn criterion(name: &str) -> Option<Criterion> {
    Some(match name {
        "start" => Criterion::Start,
        "finish" => Criterion::Finish,
        "runtime" => Criterion::Runtime,
        "cost" => Criterion::Cost,
        "processor-time" => Criterion::ProcessorTime,
        "energy" => Criterion::Sum(Energy::BUSY.to_owned()),
        _ => {
            let attribute = name.strip_prefix(SUM).filter(|it| !it.trim().is_empty())?;
            Criterion::Sum(attribute.to_owned())
        }
    })
}

/// The name that [`criterion`] reads.
pub fn criterion_name(criterion: &Criterion) -> String {
    match criterion {
        Criterion::Start => "start".to_owned(),
        Criterion::Finish => "finish".to_owned(),
        Criterion::Runtime => "runtime".to_owned(),
        Criterion::Cost => "cost".to_owned(),
        Criterion::ProcessorTime => "processor-time".to_owned(),
        Criterion::Sum(attribute) => format!("{SUM}{attribute}"),
    }
}

/// The objective's name in files and on the command line.
pub fn objective_name(objective: Objective) -> &'static str {
    match objective {
        Objective::MaxIncome => "max-income",
        Objective::MinTime => "min-time",
        Objective::MinCost => "min-cost",
        Objective::MinIdle => "min-idle",
    }
}

/// The measure's name in files and on the command line.
pub fn measure_name(measure: Measure) -> &'static str {
    match measure {
        Measure::Runtime => "runtime",
        Measure::ProcessorTime => "processor-time",
    }
}

/// What `lost-income` and `idleness` maximise: the vector ⟨C, B* − C, T, T* − T⟩ of paper 001.
const MOST: [(&str, Quantity); 2] = [("lost-income", Quantity::Cost), ("idleness", Quantity::Time)];

/// What stands before the name of a quantity of which most is wanted.
const MOST_OF: &str = "most:";

/// The names of components, for hints.
pub const COMPONENTS: [&str; 14] = [
    "cost",
    "lost-income",
    "time",
    "idleness",
    "runtime",
    "processor-time",
    "start",
    "finish",
    "energy",
    "carbon",
    "energy-price",
    "sum:ATTRIBUTE",
    "most:cost",
    "most:time",
];

/// The quantity of this name: `cost`, `time`, `runtime`, `processor-time`, `start`, `finish`,
/// `energy`, `carbon`, `energy-price` or `sum:ATTRIBUTE`.
pub fn quantity(name: &str) -> Option<Quantity> {
    const PLAIN: [Quantity; 9] = [
        Quantity::Cost,
        Quantity::Time,
        Quantity::Runtime,
        Quantity::ProcessorTime,
        Quantity::Start,
        Quantity::Finish,
        Quantity::Energy,
        Quantity::Carbon,
        Quantity::EnergyPrice,
    ];
    let sum = || {
        let attribute = name.strip_prefix(SUM).filter(|it| !it.trim().is_empty())?;
        Some(Quantity::Sum(attribute.to_owned()))
    };
    PLAIN.into_iter().find(|it| it.name() == name).or_else(sum)
}

/// The component of this name: a [`quantity`] of which least is wanted, `most:` and a quantity,
/// `lost-income` (the same as `most:cost`) or `idleness` (the same as `most:time`).
pub fn component(name: &str) -> Option<Component> {
    let most = |quantity| Component { quantity, goal: Goal::Most };
    if let Some((_, quantity)) = MOST.iter().find(|(word, _)| *word == name) {
        return Some(most(quantity.clone()));
    }
    match name.strip_prefix(MOST_OF) {
        Some(of) => quantity(of).map(most),
        None => quantity(name).map(|quantity| Component { quantity, goal: Goal::Least }),
    }
}

/// The name that [`component`] reads.
pub fn component_name(component: &Component) -> String {
    let Component { quantity, goal } = component;
    let of_paper = MOST.iter().find(|(_, it)| it == quantity).map(|(word, _)| (*word).to_owned());
    match goal {
        Goal::Least => quantity.name(),
        Goal::Most => of_paper.unwrap_or_else(|| format!("{MOST_OF}{}", quantity.name())),
    }
}

/// Decimals of a sum of the quantity in documents (credits, kWh, gCO2e, seconds, the attribute's
/// unit times a second), and what one unit of the last decimal is in the quantity's own unit.
pub fn quantity_scale(quantity: &Quantity) -> (u32, i64) {
    match quantity {
        Quantity::Cost | Quantity::EnergyPrice => (6, 1),
        Quantity::Energy => (6, Energy::MICRO_KWH),
        Quantity::Carbon | Quantity::Sum(_) => (3, 1),
        _ => (0, 1),
    }
}
