//! The names of criteria, objectives and measures in files and on the command line.

use tradewind_model::{Criterion, Measure, Objective};

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
pub(super) const CRITERIA: [&str; 5] = ["start", "finish", "runtime", "cost", "processor-time"];

/// The criterion of this name: `start`, `finish`, `runtime`, `cost`, `processor-time` or
/// `sum:ATTRIBUTE`.
pub fn criterion(name: &str) -> Option<Criterion> {
    Some(match name {
        "start" => Criterion::Start,
        "finish" => Criterion::Finish,
        "runtime" => Criterion::Runtime,
        "cost" => Criterion::Cost,
        "processor-time" => Criterion::ProcessorTime,
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
